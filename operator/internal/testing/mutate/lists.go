package mutate

import (
	"reflect"
	"strings"
)

// Lists calls a function with a document for each list and map that a type has in JSON, at its path, and each of the
// entries that take much more in memory than in a document. The list is about as long as asked for, in bytes.
func Lists(t reflect.Type, bytes int, use func(path, document string)) {
	lists(t, "", "", "", func(path, before, after string, isMap bool) {
		for _, entry := range []string{"0", "{}", `""`, "[]", "null"} {
			open, end := "[", "]"
			if isMap {
				open, end, entry = "{", "}", `"":`+entry
			}
			count := max(1, bytes/(len(entry)+1))
			use(path+" "+entry, before+open+strings.Repeat(entry+",", count-1)+entry+end+after)
		}
	})
}

func lists(t reflect.Type, path, before, after string, use func(path, before, after string, isMap bool)) {
	switch t.Kind() {
	case reflect.Pointer:
		lists(t.Elem(), path, before, after, use)
	case reflect.Map:
		use(path, before, after, true)
	case reflect.Slice:
		use(path, before, after, false)
		lists(t.Elem(), path+"[]", before+"[", "]"+after, use)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				lists(f.Type, path, before, after, use)
			case f.IsExported() && name != "-":
				lists(f.Type, path+"."+name, before+`{"`+name+`":`, "}"+after, use)
			}
		}
	}
}

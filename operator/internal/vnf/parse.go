package vnf

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// findTextError names the field whose text cannot be parsed: the JSON package
// names the field of a wrong type, but not that of a wrong address. It returns
// nil when another part of the document is wrong.
func findTextError(kind reflect.Type, data json.RawMessage, field string) error {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if text, ok := reflect.New(kind).Interface().(encoding.TextUnmarshaler); ok {
		var value *string
		if json.Unmarshal(data, &value) != nil || value == nil {
			return nil
		}
		if err := text.UnmarshalText([]byte(*value)); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		return nil
	}
	var problems []error
	switch kind.Kind() {
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			return nil
		}
		for i, item := range items {
			problems = append(problems, findTextError(kind.Elem(), item, fmt.Sprintf("%s[%d]", field, i)))
		}
	case reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil {
			return nil
		}
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if kind.Field(i).Anonymous && name == "" {
				problems = append(problems, findTextError(kind.Field(i).Type, data, field))
			} else if member, found := members[name]; found {
				problems = append(problems, findTextError(kind.Field(i).Type, member, strings.TrimPrefix(field+"."+name, ".")))
			}
		}
	}
	return errors.Join(problems...)
}

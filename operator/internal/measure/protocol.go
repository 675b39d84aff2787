package measure

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// protocolMeaning is raised if an exchanged value changes its meaning, or the procedure
// asks for other trials, and no field shows it.
//
// 5: agents ask for the measurer's token. 6: all repeats of a fixed load are made again where one of them is prolonged, and
// chains with a virtual machine after pods have hop Tap, after builds that gave them another one.
const protocolMeaning = 6

// Protocol returns a name for what operator and measurer exchange: a digest over the fields
// of all values, with their names and types. Both must have been built with the same one.
// They are in different images, and an image that a user builds may be older.
var Protocol = sync.OnceValue(func() string {
	return protocolOf(
		Instructions{}, Record{}, Holder{}, Progress{}, GeneratorState{}, DeviceState{},
		[]NeighborState{}, FailureState{}, Sources{}, Endpoints{}, []Deployment{}, []Chunk{},
	)
})

// protocolOf returns 16 hexadecimal digits.
func protocolOf(values ...any) string {
	var text strings.Builder
	fmt.Fprintln(&text, protocolMeaning)
	for _, value := range values {
		writeShape(&text, reflect.TypeOf(value), map[reflect.Type]bool{})
		text.WriteByte('\n')
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:8])
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// writeShape writes what JSON makes of a type. It writes the name of a type that marshals
// itself, and of a type that it is already writing.
func writeShape(text *strings.Builder, t reflect.Type, within map[reflect.Type]bool) {
	if own := reflect.PointerTo(t); own.Implements(jsonMarshaler) || own.Implements(textMarshaler) || within[t] {
		text.WriteString(t.String())
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		writeShape(text, t.Elem(), within)
	case reflect.Slice:
		text.WriteString("[]")
		writeShape(text, t.Elem(), within)
	case reflect.Array:
		fmt.Fprintf(text, "[%d]", t.Len())
		writeShape(text, t.Elem(), within)
	case reflect.Map:
		text.WriteString("map[")
		writeShape(text, t.Key(), within)
		text.WriteByte(']')
		writeShape(text, t.Elem(), within)
	case reflect.Struct:
		within[t] = true
		text.WriteByte('{')
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			if name == "" && !f.Anonymous {
				name = f.Name
			}
			text.WriteString(name + " ")
			writeShape(text, f.Type, within)
			text.WriteByte(';')
		}
		text.WriteByte('}')
		delete(within, t)
	default:
		text.WriteString(t.Kind().String())
	}
}

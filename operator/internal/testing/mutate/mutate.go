// Package mutate changes JSON documents for fuzz tests. A fuzzer that changes bytes makes texts that no
// parser takes; this package changes values, so that what comes after the parser is tested too.
package mutate

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

const (
	// bytesPerEdit are two for the place, one for the kind of edit and one for its argument.
	bytesPerEdit = 4
	// maxEdits limits the time of one input.
	maxEdits = 24
	// maxPlaces is the number of values from which on no edit makes a document longer.
	maxPlaces = 20_000
)

// interesting are values at the limits of the types that a document can have.
var interesting = []any{
	json.Number("0"), json.Number("1"), json.Number("-1"), json.Number("2"), json.Number("64"), json.Number("1000000"),
	json.Number("2147483647"), json.Number("-2147483648"), json.Number("9223372036854775807"), json.Number("-9223372036854775808"),
	json.Number("18446744073709551615"), json.Number("1e300"), json.Number("0.5"), json.Number("-0.000001"),
	"", "0", "x", "forward", "reverse", "64", "NaN", "1e99999999999", "../..", "\u0000",
	true, false, nil, []any{}, map[string]any{},
}

// place is a value inside of a document.
type place struct {
	// get and set read and replace the value.
	get func() any
	set func(any)
	// drop removes the value from what holds it, and twice puts it there a second time. They are nil
	// for the document itself; twice is nil for a member of an object.
	drop, twice func()
}

// JSON applies edits to a document and returns it. It returns the document as it was if it is not JSON.
// Equal edits of an equal document give the same result.
func JSON(document, edits []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var root any
	if decoder.Decode(&root) != nil {
		return document
	}
	for n := 0; n < maxEdits && len(edits) >= bytesPerEdit; n++ {
		all := places(&root)
		at := all[(int(edits[0])<<8|int(edits[1]))%len(all)]
		edit(all, at, int(edits[2]), int(edits[3]))
		edits = edits[bytesPerEdit:]
	}
	text, err := json.Marshal(root)
	if err != nil {
		// What was decoded from JSON always marshals.
		panic(err)
	}
	return text
}

func edit(all []place, at place, kind, argument int) {
	switch short := len(all) < maxPlaces; kind % 6 {
	case 0, 1:
		at.set(interesting[argument%len(interesting)])
	case 2:
		if at.drop != nil {
			at.drop()
		}
	case 3:
		if at.twice != nil && short {
			at.twice()
		}
	case 4:
		if other := all[argument*len(all)/256]; short {
			at.set(copyOf(other.get()))
		}
	case 5:
		if number, ok := at.get().(json.Number); ok {
			at.set(changed(number, argument))
		}
	}
}

// changed returns a number near another one, or far from it.
func changed(number json.Number, argument int) json.Number {
	text := number.String()
	switch argument % 4 {
	case 0:
		if text == "0" || text == "-0" {
			return "10"
		}
		return json.Number(text + "0")
	case 1:
		if text[0] == '-' {
			return json.Number(text[1:])
		}
		return json.Number("-" + text)
	case 2:
		if len(text) > 1 && text[len(text)-2] >= '1' && text[len(text)-2] <= '9' {
			return json.Number(text[:len(text)-1])
		}
		return "0"
	}
	if last := text[len(text)-1]; last < '9' {
		return json.Number(text[:len(text)-1] + string(last+1))
	}
	return number
}

// places lists a document's values in an order that depends only on the document.
func places(root *any) []place {
	var all []place
	var walk func(place)
	walk = func(at place) {
		all = append(all, at)
		switch value := at.get().(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				walk(place{
					get: func() any { return value[key] }, set: func(to any) { value[key] = to },
					drop: func() { delete(value, key) },
				})
			}
		case []any:
			for i := range value {
				walk(place{
					get: func() any { return value[i] }, set: func(to any) { value[i] = to },
					drop:  func() { at.set(slices.Delete(slices.Clone(value), i, i+1)) },
					twice: func() { at.set(slices.Insert(slices.Clone(value), i, copyOf(value[i]))) },
				})
			}
		}
	}
	walk(place{get: func() any { return *root }, set: func(to any) { *root = to }})
	return all
}

// copyOf returns a value that shares nothing, so that no document contains itself.
func copyOf(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			out[key] = copyOf(member)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = copyOf(item)
		}
		return out
	}
	return value
}

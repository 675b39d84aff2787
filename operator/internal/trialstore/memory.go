package trialstore

import (
	"fmt"
	"reflect"

	"vnfbench.io/operator/internal/measure"
)

const (
	// maxMemoryBytes is what the records of a run may take in memory. Those that fill the results take about 1 MiB,
	// and up to four times as much where all are as short as a record can be.
	maxMemoryBytes = 8 << 20
	// maxListed is how many entries a list in a record has at most, except for the slots of a series. The
	// longest are the ports in the evidence of a function that someone else made.
	maxListed = 512
	// mapFactor is about what a map takes for each byte of keys and values.
	mapFactor = 3
)

// memoryBytes returns what a record takes in memory, or why it is none that a measurer stores.
func memoryBytes(record *measure.Record) (int, error) {
	bytes, longest := referred(reflect.ValueOf(record).Elem())
	if longest > maxListed {
		return 0, fmt.Errorf("it has a list of %d entries, and there are at most %d", longest, maxListed)
	}
	return bytes + int(reflect.TypeFor[measure.Record]().Size()), record.Check()
}

// referred returns what a value takes besides its own size, and the length of its longest list that is not
// one of plain numbers.
func referred(v reflect.Value) (bytes, longest int) {
	add := func(inner reflect.Value) {
		more, length := referred(inner)
		bytes, longest = bytes+more, max(longest, length)
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len(), 0
	case reflect.Pointer:
		if !v.IsNil() {
			bytes = int(v.Type().Elem().Size())
			add(v.Elem())
		}
	case reflect.Slice:
		bytes = v.Cap() * int(v.Type().Elem().Size())
		if kind := v.Type().Elem().Kind(); kind == reflect.Struct || kind == reflect.String {
			longest = v.Len()
			for i := range v.Len() {
				add(v.Index(i))
			}
		}
	case reflect.Map:
		bytes = mapFactor * v.Len() * int(v.Type().Key().Size()+v.Type().Elem().Size())
		longest = v.Len()
		for _, key := range v.MapKeys() {
			add(key)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				add(v.Field(i))
			}
		}
	}
	return bytes, longest
}

package plan

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// digest returns the name of the experiment: "sha256:" and hexadecimal digits over everything in
// the plan that a figure can depend on. A field is part of it unless its tag is digest:"-", so
// that a forgotten field makes two experiments different, and never equal. The digest leaves out
// what distinguishes runs and testbeds, such as names, UIDs, bridges and MAC addresses, and what
// does not affect a figure, such as the deadline, tolerations and pull secrets.
func digest(p *Plan) string {
	data, err := json.Marshal(digested(reflect.ValueOf(withoutOwnNetworks(*p))))
	if err != nil {
		// Strings, integers and network addresses always marshal.
		panic(err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// withoutOwnNetworks leaves out the names of networks that are made for the run; existing
// networks are part of the experiment.
func withoutOwnNetworks(p Plan) Plan {
	p.Segments = append([]Segment(nil), p.Segments...)
	for i := range p.Segments {
		p.Segments[i] = withoutOwnNetwork(p.Segments[i])
	}
	if p.Calibration != nil {
		p.Calibration = new(withoutOwnNetwork(*p.Calibration))
	}
	p.Endpoints = append([]Endpoint(nil), p.Endpoints...)
	for i, end := range p.Endpoints {
		p.Endpoints[i].Port = withoutOwnName(end.Port)
	}
	p.Neighbors = append([]Neighbor(nil), p.Neighbors...)
	for i, neighbor := range p.Neighbors {
		if neighbor.Network != nil {
			p.Neighbors[i].Network = new(withoutOwnNetwork(*neighbor.Network))
		}
	}
	return p
}

func withoutOwnNetwork(segment Segment) Segment {
	segment.West, segment.East = withoutOwnName(segment.West), withoutOwnName(segment.East)
	return segment
}

func withoutOwnName(end End) End {
	if !end.Existing {
		end.Network = ""
	}
	return end
}

// digested returns what a value adds to the digest: for a struct its fields by their JSON names.
// It leaves out what is empty, so that a new field that is not used changes no digest.
func digested(v reflect.Value) any {
	if writesItself(v.Type()) {
		return v.Interface()
	}
	switch v.Kind() {
	case reflect.Pointer:
		return digested(v.Elem())
	case reflect.Struct:
		members := map[string]any{}
		addMembers(members, v)
		return members
	case reflect.Slice, reflect.Array:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = digested(v.Index(i))
		}
		return items
	case reflect.Bool, reflect.String, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Interface()
	default:
		panic(fmt.Sprintf("%s has no digest", v.Type()))
	}
}

func addMembers(members map[string]any, v reflect.Value) {
	for i := range v.NumField() {
		kind, field := v.Type().Field(i), v.Field(i)
		empty := field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0
		name, _, _ := strings.Cut(kind.Tag.Get("json"), ",")
		switch {
		case kind.Tag.Get("digest") == "-" || empty:
		case kind.Anonymous && name == "":
			addMembers(members, field)
		default:
			members[name] = digested(field)
		}
	}
}

// writesItself reports whether values of a type produce their own JSON.
func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

package series

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// ErrTooManyKept is returned for BenchmarkMeasurements with more than MaxPoints points.
var ErrTooManyKept = fmt.Errorf("the BenchmarkMeasurements have more than %d points: name a suite, or export and delete the oldest", MaxPoints)

// objectsOfPage is how many BenchmarkMeasurements are read at once. Each has less than 400 KiB.
const objectsOfPage = 50

// ErrTooManyParts is returned for the points of one measurement that do not fit into MaxMeasurementParts objects.
var ErrTooManyParts = fmt.Errorf("they do not fit into %d objects of %d points and %d KiB: measure fewer sizes, loads and repeats in a cell",
	v1alpha1.MaxMeasurementParts, v1alpha1.MaxMeasurementPoints, v1alpha1.MaxMeasurementPointsBytes>>10)

// Parts distributes the points of a measurement over parts, so that each is within the bounds of one object. The fields that all of
// them share are common, and are in no part. It encodes each point twice, so that what they share is in memory once.
func Parts(points []Point) (common apiextensionsv1.JSON, parts [][]apiextensionsv1.JSON, err error) {
	if len(points) > v1alpha1.MaxMeasurementParts*v1alpha1.MaxMeasurementPoints {
		return common, nil, ErrTooManyParts
	}
	shared := map[string]json.RawMessage{}
	for i, p := range points {
		fields, err := fieldsOf(p)
		if err != nil {
			return common, nil, err
		}
		if i == 0 {
			shared = maps.Clone(fields)
		}
		maps.DeleteFunc(shared, func(name string, value json.RawMessage) bool { return !bytes.Equal(fields[name], value) })
	}
	if common.Raw, err = json.Marshal(shared); err != nil {
		return common, nil, err
	}
	size := 0
	for _, p := range points {
		fields, err := fieldsOf(p)
		if err != nil {
			return common, nil, err
		}
		maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return shared[name] != nil })
		text, err := json.Marshal(fields)
		if err != nil {
			return common, nil, err
		}
		last := len(parts) - 1
		if last < 0 || len(parts[last]) == v1alpha1.MaxMeasurementPoints || size+len(text) > v1alpha1.MaxMeasurementPointsBytes {
			parts, last, size = append(parts, nil), last+1, 0
		}
		if len(parts) > v1alpha1.MaxMeasurementParts {
			return common, nil, ErrTooManyParts
		}
		parts[last] = append(parts[last], apiextensionsv1.JSON{Raw: text})
		size += len(text)
	}
	return common, parts, nil
}

// fieldsOf returns the fields of a point as JSON.
func fieldsOf(p Point) (fields map[string]json.RawMessage, err error) {
	line, err := encode(p)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(line, &fields)
}

// OfMeasurement returns the points of a BenchmarkMeasurement, which says in which namespace and of which run's object they are. It reads no more of them than one object may have, and of no more parts than one
// measurement may have.
func OfMeasurement(m *v1alpha1.BenchmarkMeasurement) ([]Point, error) {
	switch {
	case m.Spec.Part > v1alpha1.MaxMeasurementParts:
		return nil, fmt.Errorf("BenchmarkMeasurement %q: it is part %d, and %d is the most", m.Name, m.Spec.Part, v1alpha1.MaxMeasurementParts)
	case len(m.Spec.Points) > v1alpha1.MaxMeasurementPoints:
		return nil, fmt.Errorf("BenchmarkMeasurement %q: it has %d points, and %d is the most", m.Name, len(m.Spec.Points), v1alpha1.MaxMeasurementPoints)
	}
	points := make([]Point, len(m.Spec.Points))
	for i, text := range m.Spec.Points {
		err := fmt.Errorf("it has %d bytes: at most %d can be read", len(m.Spec.Common.Raw)+len(text.Raw), MaxLineBytes)
		if len(m.Spec.Common.Raw)+len(text.Raw) <= MaxLineBytes {
			points[i], err = decode(m.Spec.Common.Raw, text.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("BenchmarkMeasurement %q: point %d: %w", m.Name, i+1, err)
		}
		points[i].Namespace, points[i].RunUID = m.Namespace, m.Spec.RunUID
	}
	return points, nil
}

// SameMeasurement reports whether two specs say the same, in whatever order the fields of their JSON are.
func SameMeasurement(a, b *v1alpha1.BenchmarkMeasurementSpec) (bool, error) {
	var decoded [2]any
	for i, spec := range []*v1alpha1.BenchmarkMeasurementSpec{a, b} {
		text, err := json.Marshal(spec)
		if err != nil {
			return false, err
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		// A figure can have more digits than a floating-point number.
		decoder.UseNumber()
		if err := decoder.Decode(&decoded[i]); err != nil {
			return false, err
		}
	}
	return reflect.DeepEqual(decoded[0], decoded[1]), nil
}

// ReadMeasurements reads the points of a suite's BenchmarkMeasurements in a namespace, those of all suites for "". It reads pages, and
// calls visit with each object before the next page.
func ReadMeasurements(ctx context.Context, reader client.Reader, namespace, suite string, visit func(*v1alpha1.BenchmarkMeasurement)) ([]Point, error) {
	var points []Point
	err := EachMeasurement(ctx, reader, namespace, suite, func(m *v1alpha1.BenchmarkMeasurement, found []Point, unreadable error) error {
		if unreadable != nil {
			return unreadable
		}
		points = append(points, found...)
		visit(m)
		return nil
	})
	return points, err
}

// EachMeasurement calls visit with each BenchmarkMeasurement of a suite in a namespace, those of all suites for "", and its points, or why
// they cannot be read. It reads pages, and one page is in memory at a time. ErrTooManyKept is returned for more points than a file may have.
func EachMeasurement(ctx context.Context, reader client.Reader, namespace, suite string, visit func(*v1alpha1.BenchmarkMeasurement, []Point, error) error) error {
	options := []client.ListOption{client.InNamespace(namespace), client.Limit(objectsOfPage)}
	if suite != "" {
		options = append(options, client.MatchingLabels{v1alpha1.LabelSuite: suite})
	}
	count := 0
	for next := ""; ; {
		var page v1alpha1.BenchmarkMeasurementList
		if err := reader.List(ctx, &page, append(options, client.Continue(next))...); err != nil {
			return fmt.Errorf("listing BenchmarkMeasurements: %w", err)
		}
		for i := range page.Items {
			found, err := OfMeasurement(&page.Items[i])
			if count += len(found); count > MaxPoints {
				return ErrTooManyKept
			}
			if err := visit(&page.Items[i], found, err); err != nil {
				return err
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

package series

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestPartsKeepEverything checks that objects within their bounds have all points of a measurement, in their order.
func TestPartsKeepEverything(t *testing.T) {
	var points []Point
	for i := range 450 {
		p := full()
		p.Figure = fmt.Sprintf("figure %d", i)
		if i >= 300 {
			// About 30 KiB each.
			p.Warnings = nil
			for range maxWords {
				p.Warnings = append(p.Warnings, strings.Repeat("w", maxWord-8))
			}
		}
		points = append(points, p)
	}
	common, parts, err := Parts(points)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(common.Raw); !strings.Contains(text, `"platformParts"`) || strings.Contains(text, `"figure"`) || strings.Contains(string(parts[0][0].Raw), `"platformParts"`) {
		t.Errorf("all share %s, and the first has %s", text, parts[0][0].Raw)
	}
	if len(parts) < 20 {
		t.Errorf("%d parts", len(parts))
	}
	var got []Point
	for i, part := range parts {
		size := 0
		for _, p := range part {
			size += len(p.Raw)
		}
		if len(part) > v1alpha1.MaxMeasurementPoints || size > v1alpha1.MaxMeasurementPointsBytes {
			t.Errorf("part %d has %d points and %d bytes", i+1, len(part), size)
		}
		found, err := OfMeasurement(&v1alpha1.BenchmarkMeasurement{ObjectMeta: metav1.ObjectMeta{Namespace: "bench"}, Spec: v1alpha1.BenchmarkMeasurementSpec{RunUID: "0d1e", Common: common, Points: part}})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, found...)
	}
	if diff := cmp.Diff(points, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, _, err := Parts([]Point{{}}); err == nil || !strings.Contains(err.Error(), "experiment is empty") {
		t.Errorf("a point without a key: %v", err)
	}
}

// TestTooManyParts checks that one measurement has a bounded number of objects, by its points and by their bytes, when it is written and when it is
// read.
func TestTooManyParts(t *testing.T) {
	points := func(count, words int) (all []Point) {
		for i := range count {
			p := full()
			p.Figure, p.Warnings = fmt.Sprintf("figure %d", i), nil
			for range words {
				p.Warnings = append(p.Warnings, fmt.Sprintf("%0*d", maxWord-8, i))
			}
			all = append(all, p)
		}
		return all
	}
	const most = v1alpha1.MaxMeasurementParts * v1alpha1.MaxMeasurementPoints
	for name, test := range map[string]struct{ count, words, parts int }{
		"as many as there may be": {most, 0, v1alpha1.MaxMeasurementParts}, "one more": {most + 1, 0, 0}, "long ones": {300, maxWords, 0},
	} {
		_, parts, err := Parts(points(test.count, test.words))
		if len(parts) != test.parts || errors.Is(err, ErrTooManyParts) != (test.parts == 0) {
			t.Errorf("%s: %d parts, %v", name, len(parts), err)
		}
	}
	common, parts, err := Parts(points(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	m := &v1alpha1.BenchmarkMeasurement{Spec: v1alpha1.BenchmarkMeasurementSpec{Part: v1alpha1.MaxMeasurementParts, Common: common, Points: parts[0]}}
	if _, err := OfMeasurement(m); err != nil {
		t.Error(err)
	}
	m.Spec.Part++
	if _, err := OfMeasurement(m); err == nil || !strings.Contains(err.Error(), "32 is the most") {
		t.Errorf("a further part: %v", err)
	}
	m.Spec.Part, m.Spec.Points = 1, slices.Repeat(parts[0], v1alpha1.MaxMeasurementPoints+1)
	if _, err := OfMeasurement(m); err == nil || !strings.Contains(err.Error(), "200 is the most") {
		t.Errorf("a further point: %v", err)
	}
}

func TestBadMeasurements(t *testing.T) {
	for text, want := range map[string]string{
		`{"figure":"x"}`:  `BenchmarkMeasurement "m": point 1: experiment is empty`,
		`{"figures":"x"}`: `unknown field "figures"`,
		`"` + strings.Repeat("x", MaxLineBytes) + `"`: "at most 65536 can be read",
	} {
		m := &v1alpha1.BenchmarkMeasurement{Spec: v1alpha1.BenchmarkMeasurementSpec{Common: apiextensionsv1.JSON{Raw: []byte("{}")}, Points: []apiextensionsv1.JSON{{Raw: []byte(text)}}}}
		m.Name = "m"
		if _, err := OfMeasurement(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", text, err, want)
		}
	}
}

// TestSameMeasurement checks that the order of fields is nothing, and that every digit of a figure counts.
func TestSameMeasurement(t *testing.T) {
	spec := func(text string) *v1alpha1.BenchmarkMeasurementSpec {
		empty := apiextensionsv1.JSON{Raw: []byte("{}")}
		return &v1alpha1.BenchmarkMeasurementSpec{Run: "r", Experiment: empty, Common: empty, Points: []apiextensionsv1.JSON{{Raw: []byte(text)}}}
	}
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2]}`, `{"b":[2],"a":1}`, true},
		{`{"a":1,"b":[2]}`, `{"a":1,"b":[3]}`, false},
		{fmt.Sprint(int64(math.MaxInt64)), fmt.Sprint(int64(math.MaxInt64) - 1), false},
	} {
		if same, err := SameMeasurement(spec(test.a), spec(test.b)); err != nil || same != test.same {
			t.Errorf("%s and %s: %v, %v", test.a, test.b, same, err)
		}
	}
}

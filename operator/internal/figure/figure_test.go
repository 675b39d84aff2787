package figure

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
)

// filler gives every number and every name of a result a different value, so that
// a figure that is read from the wrong field is found.
type filler struct {
	next  int64
	paths map[int64]string
}

func (f *filler) fill(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.String:
		f.next++
		v.SetString(fmt.Sprint("name-", f.next))
	case reflect.Int32, reflect.Int64:
		f.next++
		v.SetInt(f.next)
		f.paths[f.next] = path
	}
}

// everything returns a result with all of its fields.
func everything() (Results, map[int64]string) {
	f := &filler{next: 1000, paths: map[int64]string{}}
	var r Results
	f.fill(reflect.ValueOf(&r).Elem(), "")
	return r, f.paths
}

// noFigures are the fields that hold no figure, or repeat one.
var noFigures = regexp.MustCompile(strings.Join([]string{
	`\.FrameBytes$`, `\.Packet\.`, `\.Ends\.`, // properties of the size and of the ends
	`\.Statistics\.`,                                    // kept with its figure
	`\.Streams$`, `\.Repeat$`, `\.Percent$`, `\.Trial$`, // the key
	`\.(Latency|DelayVariation)\.Samples$`, `\.(Throughput|CPU)\.Trials$`, // the samples of figures
	`\.StartSeconds$`, // in milliseconds
	`\.Censored\.N$`,  // the number of its values
	`\.Comparison\.(With|WithoutFirst|WithoutLast|Pairs|Difference(Low|High)?PartsPerMillion)$`,                    // what the run found, and what follows from it
	`\.Baseline\.Figures\.(Measured|DifferencePartsPerMillion)$`,                                                   // likewise
	`\.Baseline\.Figures\.(Values|BaselineLoadFramesPerSecond|MeasuredLoadFramesPerSecond|PValuePartsPerMillion)$`, // what it is judged by
}, "|"))

func TestEveryFieldIsReached(t *testing.T) {
	results, paths := everything()
	reached := map[int64]bool{}
	for _, f := range results.Figures() {
		reached[f.Value] = true
	}
	for value, path := range paths {
		if !reached[value] && !noFigures.MatchString(path) {
			t.Errorf("%s is not a figure", path)
		}
		if reached[value] && noFigures.MatchString(path) {
			t.Errorf("%s is a figure: take it off the list", path)
		}
	}
}

func TestKeysAreUnique(t *testing.T) {
	results, _ := everything()
	seen := map[Key]bool{}
	for _, f := range results.Figures() {
		if seen[f.Key] {
			t.Errorf("two figures have the key %+v", f.Key)
		}
		seen[f.Key] = true
	}
}

// TestKeysOfPartsAreUnique checks that a soak's first interval and a fixed load's worst case have different keys, even
// where all names are as short as possible.
func TestKeysOfPartsAreUnique(t *testing.T) {
	direction := []v1alpha1.DirectionResult{{Direction: "Forward"}, {Direction: "Reverse"}}
	results := Results{Frames: []v1alpha1.FrameResult{{
		Size:        "64",
		Latency:     []v1alpha1.LatencyResult{{Load: "warm-up", Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: direction[0]}, {DirectionResult: direction[1]}}}},
		FixedLoad:   []v1alpha1.FixedLoadResult{{Profile: "p", Repeats: []v1alpha1.RepeatResult{{Repeat: 1, Directions: direction}, {Repeat: 2, Directions: direction}}}},
		FirstFrame:  []v1alpha1.FirstFrameResult{{Direction: "Forward"}, {Direction: "Reverse"}},
		Soak:        &v1alpha1.SoakResult{Intervals: []v1alpha1.SoakInterval{{}, {StartSeconds: 300}}},
		BackToBack:  &v1alpha1.BackToBackResult{Bursts: []int64{1, 2}},
		Recovery:    &v1alpha1.RecoveryResult{UpperBoundMilliseconds: new(int64(2)), LowerBoundMilliseconds: new(int64(1)), ResolutionMilliseconds: new(int64(1))},
		ReceiveRate: &v1alpha1.ReceiveRateResult{Trials: []v1alpha1.ReceiveRateTrial{{Trial: 1}, {Trial: 2}}},
	}}}
	for _, key := range []v1alpha1.FigureKey{
		{Size: "64", Goal: "NDR"}, {Size: "64", Load: "p"}, {Size: "64", Metric: v1alpha1.MetricReceiveRate}, {Streams: 1}, {Load: "p"},
	} {
		results.CPU = append(results.CPU, v1alpha1.CPUResult{FigureKey: key, Node: &v1alpha1.NodeCPU{}})
	}
	seen := map[Key]bool{}
	for _, f := range results.Figures() {
		if seen[f.Key] {
			t.Errorf("two figures have the key %+v", f.Key)
		}
		seen[f.Key] = true
	}
}

// TestRecoveryBounds checks that each bound of a recovery says which it is, and that neither is a floor for the device.
func TestRecoveryBounds(t *testing.T) {
	got := map[v1alpha1.Metric]Bound{}
	for _, f := range (Results{Frames: []v1alpha1.FrameResult{{Size: "64", Recovery: &v1alpha1.RecoveryResult{
		End: v1alpha1.RecoveryRecovered, UpperBoundMilliseconds: new(int64(2)), LowerBoundMilliseconds: new(int64(1)), Trials: 10,
	}}}}).Figures() {
		got[f.Metric] = f.Bound
		if f.Cause != "Recovered" || f.IsFloor() {
			t.Errorf("%+v", f)
		}
	}
	if got[v1alpha1.MetricRecovery] != AtMost || got["RecoveryLowerBoundMilliseconds"] != AtLeast || got["RecoveryTrials"] != Exact {
		t.Errorf("got %v", got)
	}
}

func TestEveryMetricHasARow(t *testing.T) {
	results, _ := everything()
	found := map[v1alpha1.Metric]Figure{}
	for _, f := range results.Figures() {
		if _, known := byName[f.Metric]; !known && f.Side == "" {
			t.Errorf("%s has no row", f.Metric)
		}
		found[f.Metric] = f
	}
	for _, m := range Metrics {
		f, ok := found[m.Name]
		if !ok && m.Name != TCPScalingEfficiency {
			t.Errorf("%s is the metric of no figure", m.Name)
		}
		if ok && f.Unit != m.Unit {
			t.Errorf("%s is in %s, want %s", m.Name, f.Unit, m.Unit)
		}
		if m.Unit == "" || m.Better == "" || m.Of == "" || m.Words == "" {
			t.Errorf("%s has an empty column: %+v", m.Name, m)
		}
		if m.Is(Compared) && (!m.Is(Judged) || m.Better == Neither) || m.Is(Default) && !m.Is(Compared) || m.Is(Limited) && !m.Is(Judged) {
			t.Errorf("%s has uses that contradict each other: %+v", m.Name, m)
		}
	}
	// What is divided by more than the sending time is in no comparison.
	for _, m := range Metrics {
		if m.IsDiluted() != (m.Unit == MilliCPU && m.Of == OfTrials) || m.IsDiluted() && m.Uses != 0 {
			t.Errorf("%s is diluted: %t, uses %d", m.Name, m.IsDiluted(), m.Uses)
		}
	}
	if len(byName) != len(Metrics) {
		t.Errorf("%d rows have %d names", len(Metrics), len(byName))
	}
}

// TestNamesEndWithTheUnit checks that a metric's name ends with its unit. People and machines depend on it.
func TestNamesEndWithTheUnit(t *testing.T) {
	suffixes := map[Unit]string{
		FramesPerSecond: "FramesPerSecond", FragmentsPerSecond: "FragmentsPerSecond", BitsPerSecond: "BitsPerSecond", OperationsPerSecond: "OperationsPerSecond", ConnectionsPerSecond: "PerSecond",
		Nanoseconds: "Nanoseconds", Milliseconds: "Milliseconds", Seconds: "Seconds", PartsPerMillion: "PartsPerMillion", MilliCPU: "MilliCPU", NanosecondsPerFrame: "NanosecondsPerFrame", CyclesPerFrame: "CyclesPerFrame", Bytes: "Bytes",
	}
	for _, m := range Metrics {
		suffix, ok := suffixes[m.Unit]
		if ok && !strings.HasSuffix(string(m.Name), suffix) {
			t.Errorf("%s is in %s: it should end with %s", m.Name, m.Unit, suffix)
		}
		if !ok && m.Unit != Number {
			t.Errorf("the unit %s of %s has no suffix here", m.Unit, m.Name)
		}
	}
}

// TestAPIListsAreColumns checks that the lists of metrics in the API's rules are columns of the table.
func TestAPIListsAreColumns(t *testing.T) {
	policy, baseline := source(t, "../../../config/admission/benchmarkrun-acceptance.yaml"), source(t, "../../api/v1alpha1/baseline_types.go")
	for name, list := range map[string]struct {
		text string
		use  Use
	}{
		"criteria":             {between(t, policy, "name: judgedMetrics\n    expression: >-\n", "]"), Judged},
		"limits":               {between(t, policy, "name: limitedMetrics\n    expression: >-\n", "]"), Limited},
		"baseline":             {between(t, policy, "name: comparedMetrics\n    expression: >-\n", "]"), Compared},
		"baseline, by default": {between(t, baseline, "kubebuilder:default={", "}"), Default},
	} {
		var got, want []string
		got = regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(list.text, -1)
		for _, m := range Metrics {
			if m.Is(list.use) {
				want = append(want, string(m.Name))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the API has %v, the table %v", name, got, want)
		}
	}
}

func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, text, found := strings.Cut(text, from)
	text, _, ended := strings.Cut(text, to)
	if !found || !ended {
		t.Fatalf("there is no list between %q and %q", from, to)
	}
	return text
}

// TestWorst checks that a value without samples does not count, and one direction without a value leaves none.
func TestWorst(t *testing.T) {
	key := v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: "64", Load: "idle"}
	of := func(direction string, value, samples int64) Figure {
		return Figure{Key: Key{FigureKey: key, Direction: direction}, Value: value, Samples: samples}
	}
	interval := of("", 99, 1)
	interval.Interval = 1
	absent := of("Reverse", 9, 5000)
	absent.Absent = true
	for name, test := range map[string]struct {
		figures []Figure
		want    *int64
	}{
		"the larger":            {[]Figure{of("Forward", 1, 1), of("Reverse", 2, 1)}, new(int64(2))},
		"a starved direction":   {[]Figure{of("Forward", 1, 1), of("Reverse", 0, 0)}, nil},
		"one of too few frames": {[]Figure{of("Forward", 1, 1), absent}, nil},
		"of all together":       {[]Figure{of("", 7, 1), interval}, new(int64(7))},
		"its own directions":    {[]Figure{of("", 7, 1), of("Forward", 3, 1)}, new(int64(3))},
		"an interval alone":     {[]Figure{interval}, nil},
		"nothing":               {nil, nil},
	} {
		if diff := cmp.Diff(test.want, Find(test.figures, key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// The closure names its figures by the key.
	key.Metric = v1alpha1.MetricReceiveRate
	if got := Find([]Figure{of("Forward", 1, 1), of("Reverse", 2, 1)}, key); got == nil || *got != 1 {
		t.Errorf("the worse of two rates is %v, want 1", got)
	}
}

// A column of a misspelled metric would be empty in every report.
func TestColumnsHaveMetricsOfSizes(t *testing.T) {
	for _, table := range Tables() {
		for _, c := range table.Columns {
			if m := byName[c.Metric]; m.Of != OfSize || c.Head == "" {
				t.Errorf("%s: column %q shows %q, which is no metric of a size", table.Title, c.Head, c.Metric)
			}
		}
	}
}

// TestDoubtsOf checks that the doubts about a figure are those of the worse direction, and where it has no value those of the directions without one.
func TestDoubtsOf(t *testing.T) {
	key := v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: "64", Load: "pdr50"}
	of := func(direction string, value int64, absent bool, codes ...v1alpha1.DoubtCode) Figure {
		f := Figure{Key: Key{FigureKey: key, Direction: direction}, Value: value, Absent: absent, Samples: 1000}
		for _, code := range codes {
			f.Doubts = append(f.Doubts, Doubt{Code: code})
		}
		return f
	}
	for name, test := range map[string]struct {
		figures []Figure
		want    []v1alpha1.DoubtCode
	}{
		"no doubt":      {[]Figure{of("Forward", 10, false), of("Reverse", 20, false)}, nil},
		"of the better": {[]Figure{of("Forward", 10, false, v1alpha1.DoubtDrift), of("Reverse", 20, false)}, nil},
		"of the worse":  {[]Figure{of("Forward", 10, false), of("Reverse", 20, false, v1alpha1.DoubtDrift)}, []v1alpha1.DoubtCode{v1alpha1.DoubtDrift}},
		"no value": {
			[]Figure{of("Forward", 10, false, v1alpha1.DoubtDrift), of("Reverse", 0, true, v1alpha1.DoubtFewSamples), of("Reverse", 0, true, v1alpha1.DoubtFewSamples)},
			[]v1alpha1.DoubtCode{v1alpha1.DoubtFewSamples},
		},
	} {
		if got := DoubtsOf(test.figures, key); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

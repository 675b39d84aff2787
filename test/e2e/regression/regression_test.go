package regression

import (
	"math"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// ratesOf returns the rates of a firewall whose frames take 1000 ns and 3 ns for each rule, and runs that differ by some shares.
func ratesOf(rules int, shares ...float64) Level {
	l := Level{Rules: rules}
	for _, share := range shares {
		l.FramesPerSecond = append(l.FramesPerSecond, int64(math.Round(1e9/(1000+3*float64(rules))*(1+share))))
	}
	return l
}

func TestChoose(t *testing.T) {
	// 1000 + 3 * 300 ns become 1900 / 0.95 = 2000 ns with 100 ns more, 33 rules.
	c, err := Choose(ratesOf(300, 0, 0, 0), ratesOf(450, 0, 0, 0), 0.05)
	if err != nil || c.Rules != 333 || math.Abs(c.NanosecondsPerFrame-1900) > 1 || math.Abs(c.NanosecondsPerRule-3) > 0.01 || c.Variation != 0 {
		t.Errorf("%s, %v, want 333 rules of 3 ns", c, err)
	}
	noisy, err := Choose(ratesOf(300, -0.01, 0, 0.01, 0.5), ratesOf(450, -0.01, 0, 0.01, 0), 0.05)
	if err == nil {
		t.Errorf("%s: runs that differ by half are not refused", noisy)
	}
	noisy, err = Choose(ratesOf(300, -0.01, 0.005, 0, 0.01), ratesOf(450, -0.01, 0, 0.01, 0), 0.05)
	reached := ratesOf(noisy.Rules, 0).FramesPerSecond[0]
	if fall := 1 - float64(reached)/float64(ratesOf(300, 0).FramesPerSecond[0]); err != nil || fall < 0.045 || fall > 0.055 || noisy.Variation < 0.005 || noisy.Variation > 0.012 {
		t.Errorf("%s, %v: the rate falls by %g with runs that vary by 1 %%", noisy, err, fall)
	}
	tests := map[string]struct {
		few, more Level
		fall      float64
		want      string
	}{
		"rules that cost nothing":   {ratesOf(300, 0, 0), Level{450, ratesOf(300, 0, 0).FramesPerSecond}, 0.05, "rules cost nothing"},
		"no value":                  {ratesOf(300), ratesOf(450, 0, 0), 0.05, "want two or more"},
		"one value":                 {ratesOf(300, 0, 0), ratesOf(450, 0), 0.05, "want two or more"},
		"a rate of 0":               {Level{300, []int64{0, 5}}, ratesOf(450, 0, 0), 0.05, "each above 0"},
		"fewer rules":               {ratesOf(450, 0, 0), ratesOf(300, 0, 0), 0.05, "no more than"},
		"no fall":                   {ratesOf(300, 0, 0), ratesOf(450, 0, 0), 0, "is none"},
		"more rules than there are": {Level{0, []int64{1000, 1000}}, Level{60000, []int64{999, 999}}, 0.05, "at most 65535"},
		"a change below one rule":   {Level{0, []int64{1000, 1000}}, Level{1, []int64{10, 10}}, 0.05, "want more than 0"},
	}
	for name, test := range tests {
		if c, err := Choose(test.few, test.more, test.fall); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s, %v, want an error with %q", name, c, err, test.want)
		}
	}
}

func TestMarginPercent(t *testing.T) {
	for variation, want := range map[float64]int{0: 2, 0.005: 2, 0.0118: 4, 0.02: 6} {
		if got := (Choice{Variation: variation}).MarginPercent(); got != want {
			t.Errorf("with %g: %d, want %d", variation, got, want)
		}
	}
}

func TestVariation(t *testing.T) {
	if got := Variation([]int64{99, 100, 101}); math.Abs(got-0.01) > 1e-9 {
		t.Errorf("got %g, want 0.01", got)
	}
	if got := Variation([]int64{100}) + Variation(nil); got != 0 {
		t.Errorf("got %g of too few values, want 0", got)
	}
}

// execution returns one with a value and a verdict, of 10 s, and with two extra runs.
func execution(number int, value int64, verdict string) Execution {
	return Execution{Number: number, Value: value, Verdict: v1alpha1.SeriesVerdict{Verdict: verdict}, ExtraRuns: 2, Took: 10 * time.Second}
}

func TestSummarize(t *testing.T) {
	list := []Execution{
		execution(1, 99, "NotEnoughData"), execution(2, 100, "Pass"), execution(3, 101, "Inconclusive"), execution(4, 0, "Inconclusive"),
		execution(5, 95, "Inconclusive"), execution(6, 95, regressed), execution(7, 95, regressed), execution(8, 95, "Pass"),
	}
	list[7].Accepted = true
	s := Summarize(list, 4)
	want := Summary{Executions: 8, Values: 7, FoundAfter: 2, ExtraRuns: 16, QuietExtraRuns: 10, Variation: s.Variation, Change: s.Change, Took: 80 * time.Second}
	if s != want || math.Abs(s.Variation-0.01) > 1e-9 || math.Abs(s.Change+0.05) > 1e-9 {
		t.Errorf("got %+v, want %+v with a variation of 0.01 and a change of -0.05", s, want)
	}
	list[1].Verdict.Verdict, list[7].Verdict.Verdict = regressed, regressed
	if s := Summarize(list, 4); s.FalseAlarms != 2 || s.FoundAfter != 2 {
		t.Errorf("%+v: want a false alarm before the change and one after it was accepted", s)
	}
	if s := Summarize(list[:5], 4); s.FoundAfter != 0 || !strings.Contains(s.String(), "not found") {
		t.Errorf("%+v: want that the change was not found", s)
	}
	if s := Summarize(nil, 4); s != (Summary{}) {
		t.Errorf("%+v of nothing", s)
	}
}

func TestExecutionString(t *testing.T) {
	e := Execution{Revision: "r21", Rules: 333, Value: 500000, Succeeded: "RegressionFound", ExtraRuns: 6, Took: time.Minute, Verdict: v1alpha1.SeriesVerdict{
		Verdict: regressed, Reason: "Confirmed", VariationPartsPerMillion: 4200,
		Change: &v1alpha1.SeriesChange{Revision: "r21", PartsPerMillion: -51000, LowPartsPerMillion: -55000, HighPartsPerMillion: -47000, Pairs: 3},
	}}
	want := "r21: 333 rules, 500000 frames/s, Regression Confirmed, suite RegressionFound, varies by 0.42 %, 6 extra runs, 60 s; since r21 by -5.10 % (-5.50 to -4.70 %), 3 pairs"
	if got := e.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e.Value, e.NoValue = 0, "AtLeast 7"
	if got := e.String(); !strings.Contains(got, "no value: AtLeast 7") {
		t.Errorf("got %s", got)
	}
}

func TestValueOf(t *testing.T) {
	tests := map[string]struct {
		common, point string
		value         int64
		why           string
	}{
		"all in common": {`{"figure": "ReceiveRateFramesPerSecond 64", "value": 5}`, `{}`, 5, ""},
		"split":         {`{"figure": "ReceiveRateFramesPerSecond 64"}`, `{"value": 6, "bound": "Exact"}`, 6, ""},
		"a floor":       {`{"bound": "AtLeast"}`, `{"figure": "ReceiveRateFramesPerSecond 64", "value": 7}`, 0, "AtLeast 7"},
		"in doubt":      {`{"doubts": ["QueueGrowing"]}`, `{"figure": "ReceiveRateFramesPerSecond 64", "value": 8}`, 0, "8 in doubt: QueueGrowing"},
		"with a bound":  {`{"doubts": ["UnsteadyPacing"]}`, `{"figure": "ReceiveRateFramesPerSecond 64", "value": 9, "upperBound": 10}`, 9, ""},
		"without one":   {`{"doubts": ["UnsteadyPacing"]}`, `{"figure": "ReceiveRateFramesPerSecond 64", "value": 9}`, 0, "9 in doubt: UnsteadyPacing"},
	}
	for name, test := range tests {
		m := &v1alpha1.BenchmarkMeasurement{}
		m.Spec.Common.Raw = []byte(test.common)
		m.Spec.Points = []apiextensionsv1.JSON{{Raw: []byte(test.point)}}
		if value, why, err := ValueOf(m, v1alpha1.MetricReceiveRate); err != nil || value != test.value || why != test.why {
			t.Errorf("%s: %d, %q, %v", name, value, why, err)
		}
		if value, why, err := ValueOf(m, v1alpha1.MetricThroughputFramesPerSecond); err == nil {
			t.Errorf("%s: %d, %q of a metric that it does not have", name, value, why)
		}
	}
	// Fields of one point are not those of the next one.
	m := &v1alpha1.BenchmarkMeasurement{}
	m.Spec.Common.Raw = []byte(`{}`)
	m.Spec.Points = []apiextensionsv1.JSON{{Raw: []byte(`{"figure": "LatencyP99Nanoseconds 64", "value": 1, "doubts": ["x"]}`)}, {Raw: []byte(`{"figure": "ReceiveRateFramesPerSecond 64", "value": 2}`)}}
	if value, why, err := ValueOf(m, v1alpha1.MetricReceiveRate); err != nil || value != 2 || why != "" {
		t.Errorf("%d, %q, %v", value, why, err)
	}
}

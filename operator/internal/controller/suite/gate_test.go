package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

// TestGateFailsWhatIsNotKnown checks that a gate does not pass where it is not known whether a series that it selects became worse.
func TestGateFailsWhatIsNotKnown(t *testing.T) {
	asked := fallen(t).judge(gateOfThroughput, "nightly-2", nil)
	// The level is 100,000 frames per second.
	ended := func(change func(*series.Point)) *nights {
		return (&nights{t: t}).add("nightly-1", "base", 12, 10, 100_000).add("nightly-2", "base", 1, 10, 100_000).edit(change)
	}
	disturbed := func(p *series.Point) { p.Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing} }
	// Three repeats, of which other work disturbs the last ones.
	repeats := func(disturbances int) *nights {
		n := (&nights{t: t}).add("nightly-1", "base", 12, 10, 100_000).add("nightly-2", "base", 3-disturbances, 10, 100_000)
		for range disturbances {
			n.add("nightly-2", "base", 1, 10, 100_000).edit(disturbed)
		}
		return n
	}
	bound := func(value int64, b figure.Bound) func(*series.Point) {
		return func(p *series.Point) { p.Value, p.Bound = value, b }
	}
	for name, test := range map[string]struct {
		nights *nights
		before *v1alpha1.RegressionStatus
		last   ending
		want   bool
		reason string
	}{
		"the confirmation was deleted": {fallen(t), madeOf(asked), endOf(nil), true, "ConfirmationFailed"},
		"the last run has 0":           {ended(bound(0, "")), nil, ending{}, true, "NoValue"},
		"the last run is in doubt":     {ended(func(p *series.Point) { p.Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtIrregularResult} }), nil, ending{}, true, "NoValue"},
		"the only run is disturbed":    {ended(disturbed), nil, ending{}, true, "NoValue"},
		"one repeat of three is":       {repeats(1), nil, ending{}, false, "NoChange"},
		"two repeats of three are":     {repeats(2), nil, ending{}, true, "NoValue"},
		"a floor below the level":      {ended(bound(90_000, figure.AtLeast)), nil, ending{}, true, "NoValue"},
		"a floor at the level":         {ended(bound(100_000, figure.AtLeast)), nil, ending{}, false, "NoValue"},
		"a floor, and a doubt of that": {ended(func(p *series.Point) {
			p.Bound, p.Doubts = figure.AtLeast, []v1alpha1.DoubtCode{v1alpha1.DoubtGeneratorCeiling}
		}), nil, ending{}, false, "NoValue"},
		"a floor, and another doubt": {ended(func(p *series.Point) {
			p.Bound, p.Doubts = figure.AtLeast, []v1alpha1.DoubtCode{v1alpha1.DoubtIrregularResult}
		}), nil, ending{}, true, "NoValue"},
		"a ceiling at the level": {ended(bound(100_000, figure.AtMost)), nil, ending{}, true, "NoValue"},
		"nothing happened":       {ended(func(*series.Point) {}), nil, ending{}, false, "NoChange"},
		"too few runs":           {(&nights{t: t}).add("nightly-2", "base", 3, 10, 100_000), nil, ending{}, false, "FewRuns"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.nights.judgeAfter(gateOfThroughput, "nightly-2", test.before, test.last)
			if v := got.Verdicts[0]; v.Gated != test.want || v.Reason != test.reason || got.Confirmation != nil || got.Cells[0].Gated != test.want {
				t.Errorf("%+v", got)
			}
			free := test.nights.judgeAfter(&v1alpha1.SuiteRegression{}, "nightly-2", test.before, test.last)
			if free.Verdicts[0].Gated {
				t.Errorf("without a gate: %+v", free)
			}
		})
	}
}

// confirmed judges nightly-2 until there is nothing to confirm. All pairs find that it has fallen by a tenth.
func (n *nights) confirmed(spec *v1alpha1.SuiteRegression) *v1alpha1.RegressionStatus {
	status := n.judge(spec, "nightly-2", nil)
	for status.Confirmation != nil {
		n.confirms(status.Confirmation, 100_000, 90_000)
		status = n.judge(spec, "nightly-2", madeOf(status))
	}
	return status
}

// TestSmallRegressionHidesNothing checks that a regression that the gate lets pass does not hide that the last run has no value.
func TestSmallRegressionHidesNothing(t *testing.T) {
	spec := gateOfThroughput.DeepCopy()
	spec.Gate[0].LeastLossPercent = 30
	n := fallen(t)
	status := n.confirmed(spec)
	if v := status.Verdicts[0]; v.Verdict != "Regression" || v.Gated {
		t.Fatalf("%+v", status)
	}
	n.add("nightly-3", "base", 1, 1000, 90_000).edit(func(p *series.Point) { p.Value = 0 })
	if v := n.judge(spec, "nightly-3", nil).Verdicts[0]; v.Verdict != "Regression" || v.Reason != "NotConfirmed" || !v.Gated || !strings.HasPrefix(v.Message, "the gate lets this loss pass") {
		t.Errorf("%+v", v)
	}
}

// TestGateFailsWhatIsNotJudged checks that a gate does not pass an execution of an older version, which is left out, and that the message counts its series.
func TestGateFailsWhatIsNotJudged(t *testing.T) {
	made := func(days int) func(*series.Point) {
		return func(p *series.Point) { p.SubjectTime = epoch.AddDate(0, 0, days) }
	}
	week := func(rules int, framesPerSecond int64) *nights {
		n := &nights{t: t}
		for range 11 {
			n.add("nightly-1", "base", 1, rules, framesPerSecond).edit(made(-10))
		}
		return n
	}
	for name, test := range map[string]struct {
		days    int
		verdict string
	}{"a newer version": {-9, "Pass"}, "the same time": {-10, "Pass"}, "an older version": {-20, "Inconclusive"}, "a build without a date": {-20_000, "Inconclusive"}} {
		n := week(10, 100_000).add("nightly-2", "base", 1, 1000, 100_000).edit(made(test.days))
		got := n.judge(gateOfThroughput, "nightly-2", nil)
		v, isLeftOut := got.Verdicts[0], test.verdict != "Pass"
		if v.Verdict != test.verdict || v.Gated != isLeftOut || got.Cells[0].Gated != isLeftOut || strings.Contains(got.Message, "; the last run of 1 series is left out, because") != isLeftOut {
			t.Errorf("%s: %+v", name, got)
		}
		if isLeftOut && (v.Reason != "NotConfirmed" || got.Counts != (v1alpha1.VerdictCounts{Inconclusive: 1}) || !strings.HasPrefix(v.Message, "no run of this execution is judged: ") || !strings.HasSuffix(v.Message, "or correct spec.template.subject.time")) {
			t.Errorf("%s: %+v", name, got)
		}
		if free := n.judge(&v1alpha1.SuiteRegression{}, "nightly-2", nil); free.Verdicts[0].Verdict != "Pass" || free.Verdicts[0].Gated {
			t.Errorf("%s, without a gate: %+v", name, free)
		}
	}
	many := make([]regression.Acknowledgement, 10)
	var leftOut problems
	for i := range many {
		many[i].Revision = strings.Repeat("r", 20)
		leftOut.add(strings.Repeat("e", 2000))
	}
	text := sentenceOf("nightly-2", v1alpha1.VerdictCounts{Pass: 1}, 4, many, &leftOut)
	if !strings.Contains(text, "; the last run of 4 series is left out, because it tested an older version") || !strings.Contains(text, ", and 7 more; left out: e") {
		t.Errorf("with long texts: %s", text)
	}
	// A regression that the gate lets pass stays one, and fails it.
	spec := gateOfThroughput.DeepCopy()
	spec.Gate[0].LeastLossPercent = 30
	n := fallen(t)
	n.confirmed(spec)
	n.add("nightly-3", "base", 1, 1000, 90_000).edit(made(-1)).add("nightly-4", "base", 1, 10, 100_000).edit(made(-2))
	if v := n.judge(spec, "nightly-4", nil).Verdicts[0]; v.Verdict != "Regression" || v.Reason != "NotConfirmed" || !v.Gated || v.Change == nil {
		t.Errorf("%+v", v)
	}
}

// TestGateFailsAFallFromAFloor checks that a gate does not pass a device that was at the generator's ceiling before, nor a small regression that hides that.
func TestGateFailsAFallFromAFloor(t *testing.T) {
	atCeiling := func(n *nights, execution string, count int) *nights {
		for range count {
			n.add(execution, "base", 1, 10, 200_000).edit(func(p *series.Point) { p.Bound = figure.AtLeast })
		}
		return n
	}
	for _, count := range []int{1, 11, 20} {
		n := atCeiling(&nights{t: t}, "nightly-1", 20).add("nightly-2", "base", count, 1000, 100_000)
		got := n.judge(gateOfThroughput, "nightly-2", nil)
		if v := got.Verdicts[0]; v.Verdict != "Inconclusive" || v.Reason != "BelowFloor" || !v.Gated || got.Confirmation != nil {
			t.Errorf("%d runs: %+v", count, got)
		}
		accepted := gateOfThroughput.DeepCopy()
		accepted.Acknowledgements = []v1alpha1.Acknowledgement{{Kind: "Accepted", Revision: "rules-1000"}}
		if got := n.judge(accepted, "nightly-2", nil); got.Verdicts[0].Gated || strings.Contains(got.Message, "match no change") {
			t.Errorf("%d runs that are accepted: %+v", count, got)
		}
	}
	spec := gateOfThroughput.DeepCopy()
	spec.Gate[0].LeastLossPercent = 30
	n := atCeiling(&nights{t: t}, "nightly-0", 5).add("nightly-1", "base", 10, 10, 100_000).add("nightly-2", "base", 3, 1000, 90_000)
	status := n.confirmed(spec)
	if v := status.Verdicts[0]; v.Verdict != "Regression" || v.Reason != "NotConfirmed" || !v.Gated || !strings.Contains(v.Message, "has no value, and shows that the device does at least as well as") {
		t.Errorf("a small regression: %+v", v)
	}
}

// TestGateFailsAFloorAtTheFallenLevel checks that one run that shows only what the device does at least does not let an open fall pass, unless it is at
// the level before that.
func TestGateFailsAFloorAtTheFallenLevel(t *testing.T) {
	ceiling := func() *nights {
		n := &nights{t: t}
		for range 60 {
			n.add("nightly-1", "base", 1, 10, 200_000).edit(func(p *series.Point) { p.Bound = figure.AtLeast })
		}
		return n.add("nightly-2", "base", 11, 1000, 40_000)
	}
	for name, test := range map[string]struct {
		nights *nights
		floor  int64
		want   bool
	}{
		"a fall from a floor": {ceiling(), 40_000, true}, "that floor": {ceiling(), 200_000, false},
		"an open question":  {fallen(t).add("nightly-2", "base", 6, 1000, 90_000), 90_000, true},
		"the level before":  {fallen(t).add("nightly-2", "base", 6, 1000, 90_000), 100_000, false},
		"a closed question": {fallen(t).add("nightly-2", "base", 12, 1000, 90_000), 90_000, true},
	} {
		got := test.nights.add("nightly-3", "base", 1, 1000, test.floor).edit(func(p *series.Point) { p.Bound = figure.AtLeast }).judge(gateOfThroughput, "nightly-3", nil)
		if v := got.Verdicts[0]; v.Reason != "NoValue" || v.Gated != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	accepted := gateOfThroughput.DeepCopy()
	accepted.Acknowledgements = []v1alpha1.Acknowledgement{{Kind: "Accepted", Revision: "rules-1000"}}
	n := ceiling().add("nightly-3", "base", 1, 1000, 40_000).edit(func(p *series.Point) { p.Bound = figure.AtLeast })
	if got := n.judge(accepted, "nightly-3", nil); got.Verdicts[0].Gated || strings.Contains(got.Message, "match no change") {
		t.Errorf("a fall that is accepted: %+v", got)
	}
}

// TestPairsOfAllExecutions checks that a question that a later execution asks again continues after the pairs that are kept, and that their runs
// do not count for that execution.
func TestPairsOfAllExecutions(t *testing.T) {
	n := fallen(t)
	asked := n.judge(gateOfThroughput, "nightly-2", nil).Confirmation
	n.keep(asked.Name, "base", asked.Name+"-old-1", 10, 100_000, &series.Leg{Run: asked.Run, Cause: string(asked.Cause), OldRun: asked.OldRun, Side: series.Old, Pair: 1})
	n.add("nightly-3", "base", 1, 1000, 90_000)
	h := n.history("nightly-3")
	j := judging{spec: gateOfThroughput, history: h, after: &v1alpha1.RegressionStatus{Execution: "nightly-3"}}
	j.remember(nil, ending{})
	if j.after.ExtraRuns != 0 || len(j.after.Questions) != 0 {
		t.Errorf("%+v", j.after)
	}
	reason, message := j.ask(&regression.Request{Run: asked.Run, Cause: regression.Cause(asked.Cause), OldRun: asked.OldRun, NewRun: asked.Run, Pairs: 2})
	if got := j.after.Confirmation; reason != "" || got == nil || got.Name != "nightly-3-confirm-1" || got.FirstPair != 2 || got.Pairs != 2 {
		t.Errorf("%s %s: %+v", reason, message, got)
	}
	// Pairs with another old version answer another question.
	j.after.Confirmation = nil
	reason, message = j.ask(&regression.Request{Run: asked.Run, Cause: regression.Cause(asked.Cause), OldRun: "nightly-1-base-2", NewRun: asked.Run, Pairs: 2})
	if got := j.after.Confirmation; reason != "" || got == nil || got.OldRun != "nightly-1-base-2" || got.FirstPair != 1 {
		t.Errorf("%s %s: %+v", reason, message, got)
	}
}

// TestNothingIsAskedWithoutAValue checks that an execution whose last run has no value asks no question of an earlier one again.
func TestNothingIsAskedWithoutAValue(t *testing.T) {
	n := fallen(t)
	n.judge(gateOfThroughput, "nightly-2", nil)
	n.add("nightly-3", "base", 1, 1000, 90_000).edit(func(p *series.Point) { p.Bound = figure.AtLeast })
	if got := n.judge(gateOfThroughput, "nightly-3", nil); got.Confirmation != nil || got.Verdicts[0].Reason != "NoValue" {
		t.Errorf("%+v", got)
	}
}

// TestSecondLegsAreLeftOut checks that a leg that is there twice counts once, is named, and that the series is judged.
func TestSecondLegsAreLeftOut(t *testing.T) {
	n := fallen(t)
	asked := n.judge(gateOfThroughput, "nightly-2", nil)
	n.confirms(asked.Confirmation, 100_000, 90_000)
	n.keep("nightly-2-confirm-2", "base", "again", 10, 50_000, &series.Leg{Run: asked.Confirmation.Run, Cause: string(asked.Confirmation.Cause), OldRun: asked.Confirmation.OldRun, Side: series.Old, Pair: 1})
	got := n.judge(gateOfThroughput, "nightly-2", madeOf(asked))
	if got.Confirmation == nil || got.Confirmation.FirstPair != 3 || got.Confirmation.Pairs != 1 || !strings.Contains(got.Message, "; left out: again in series") {
		t.Errorf("%+v", got)
	}
}

// TestMissingPairsAreMadeAgain checks that pairs with a leg that has no value are made again, and that this ends.
func TestMissingPairsAreMadeAgain(t *testing.T) {
	n := fallen(t)
	status := n.judge(gateOfThroughput, "nightly-2", nil)
	n.confirms(status.Confirmation, 100_000, 90_000).edit(func(p *series.Point) { p.Bound = figure.AtLeast })
	status = n.judge(gateOfThroughput, "nightly-2", madeOf(status))
	if asked := status.Confirmation; asked == nil || asked.FirstPair != 3 || asked.Pairs != 1 || status.ExtraRuns != 6 {
		t.Fatalf("%+v", status)
	}
	made := 2
	for status.Confirmation != nil {
		made += int(status.Confirmation.Pairs)
		status = n.judgeAfter(gateOfThroughput, "nightly-2", madeOf(status), ending{problem: "the run failed"})
	}
	if v := status.Verdicts[0]; made != 4 || v.Reason != "ConfirmationFailed" || !v.Gated || !strings.Contains(v.Message, "of the 4 pairs that were made, 1 are complete, and it takes 2: the run failed") {
		t.Errorf("%d pairs: %+v", made, status)
	}
}

// TestAbandonedPairsAreNotMade checks that pairs that spec.regression no longer asks for are asked for again when it does.
func TestAbandonedPairsAreNotMade(t *testing.T) {
	n := fallen(t)
	before := madeOf(n.judge(gateOfThroughput, "nightly-2", nil))
	s := newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded), judged(func(r *v1alpha1.RegressionStatus) { *r = *before }), confirming("Unknown"))
	s.known.Regression.Confirmation = before.Confirmation
	s.suite.Spec.Regression = &v1alpha1.SuiteRegression{Confirm: ptr.To(false)}
	d := decide(s)
	cleared := summarize(s, d).Regression
	if d.action != actAbandon || cleared.Confirmation != nil || cleared.ExtraRuns != 0 {
		t.Fatalf("%s: %+v", d.action, cleared)
	}
	// An operator that ended before it stored that finds the confirmation deleted.
	for name, known := range map[string]*v1alpha1.RegressionStatus{"stored": cleared, "not stored": before} {
		off := n.judgeAfter(s.suite.Spec.Regression, "nightly-2", known, endOf(nil))
		if asked := n.judge(gateOfThroughput, "nightly-2", off).Confirmation; asked == nil || asked.FirstPair != 1 || asked.Pairs != 2 || asked.Name != "nightly-2-confirm-2" {
			t.Errorf("%s: %+v", name, asked)
		}
	}
}

// TestBudgetGoesToTheGate checks that extra runs are made first for what the gate selects, and then for the largest loss.
func TestBudgetGoesToTheGate(t *testing.T) {
	n := &nights{t: t}
	cells := []string{"a", "b", "c", "d"}
	for _, cell := range cells {
		n.add("nightly-1", cell, 10, 10, 100_000)
	}
	for cell, value := range map[string]int64{"a": 90_000, "b": 80_000, "c": 70_000, "d": 90_000} {
		n.add("nightly-2", cell, 3, 1000, value)
	}
	cellOf := func(spec *v1alpha1.SuiteRegression) string {
		return strings.Split(n.judge(spec, "nightly-2", nil).Confirmation.Run, "-")[2]
	}
	gate := []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond, Cells: []string{"d"}}}
	if got := cellOf(&v1alpha1.SuiteRegression{Gate: gate}); got != "d" {
		t.Errorf("with a gate cell %s is confirmed first", got)
	}
	if got := cellOf(&v1alpha1.SuiteRegression{}); got != "c" {
		t.Errorf("without a gate cell %s is confirmed first", got)
	}
}

// TestGateWithoutSeries checks that an entry that selects no series is named, with the cells that have none.
func TestGateWithoutSeries(t *testing.T) {
	n := fallen(t)
	of := v1alpha1.MetricThroughputFramesPerSecond
	for name, test := range map[string]struct {
		gate v1alpha1.RegressionGate
		want string
	}{
		"a series":     {v1alpha1.RegressionGate{Metric: of, Goal: "NDR", Cells: []string{"base"}}, ""},
		"a metric":     {v1alpha1.RegressionGate{Metric: v1alpha1.MetricLatencyP99}, "spec.regression.gate[0] selects no series: correct metric, goal and cells; the execution has the figures " + throughput},
		"a size":       {v1alpha1.RegressionGate{Metric: of, Goal: "64"}, "spec.regression.gate[0] selects no series: "},
		"another cell": {v1alpha1.RegressionGate{Metric: of, Cells: []string{"base", "other"}}, "spec.regression.gate[0] selects no series of the cells other: "},
	} {
		got := n.judge(&v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{test.gate}}, "nightly-2", nil).GateProblem
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestWhatCannotBeReadIsLeftOut checks that a measurement or a series that cannot be read fails itself alone, and the gate where it concerns that.
func TestWhatCannotBeReadIsLeftOut(t *testing.T) {
	spec := &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond, Cells: []string{"base"}}}}
	quiet := func() *nights {
		n := &nights{t: t}
		for _, cell := range []string{"base", "other"} {
			n.add("nightly-1", cell, 11, 10, 100_000).add("nightly-2", cell, 1, 10, 100_000)
		}
		return n
	}
	units := quiet().edit(func(p *series.Point) { p.Unit = "bit/s" })
	got := units.judge(spec, "nightly-2", nil)
	i := slices.IndexFunc(got.Verdicts, func(v v1alpha1.SeriesVerdict) bool { return v.Cell == "other" })
	if i < 0 || got.Counts != (v1alpha1.VerdictCounts{Pass: 1, Inconclusive: 1}) || got.Problem != "" || got.Verdicts[i].Reason != "NotJudged" || got.Verdicts[i].Gated || !strings.Contains(got.Verdicts[i].Message, "has the units") {
		t.Errorf("two units: %+v", got)
	}
	spec.Gate[0].Cells = []string{"other"}
	if got := units.judge(spec, "nightly-2", nil); got.GateProblem != "" || !got.Verdicts[0].Gated || got.Verdicts[0].Cell != "other" {
		t.Errorf("two units of a gated series: %+v", got)
	}
	old := quiet()
	old.measured[3].Spec.Points[0].Raw = []byte(`{"valu":1}`)
	if got := old.judge(spec, "nightly-2", nil); got.Counts.Pass != 2 || got.Problem != "" || !strings.Contains(got.Message, "; left out: BenchmarkMeasurement \""+old.measured[3].Name) {
		t.Errorf("an old measurement: %+v", got)
	}
	experiment := quiet()
	experiment.measured[3].Spec.Experiment.Raw = []byte(`[]`)
	if got := experiment.judge(spec, "nightly-2", nil); got.Counts.Pass != 2 || !strings.Contains(got.Message, "; left out: BenchmarkMeasurement \""+experiment.measured[3].Name) {
		t.Errorf("an old experiment: %+v", got)
	}
	latest := quiet().add("nightly-2", "other", 1, 10, 100_000)
	latest.measured[len(latest.measured)-1].Spec.Points[0].Raw = []byte(`{"valu":1}`)
	if got := latest.judge(spec, "nightly-2", nil); got.Counts.Pass != 2 || !strings.HasPrefix(got.Problem, "measurements of the execution cannot be read: BenchmarkMeasurement \"nightly-2-other-24\": point 1: ") {
		t.Errorf("a measurement of the execution: %+v", got)
	}
}

// TestLatestExecutionStays checks that history limits do not delete the execution that is judged, and that one that a person deletes can still be
// judged again.
func TestLatestExecutionStays(t *testing.T) {
	done := executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	seen := func(s *scope) {
		s.suite.Status = s.known
		s.suite.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRegressionFound, Message: "worse"}}
		s.suite.Spec.SucceededHistoryLimit = ptr.To[int32](0)
	}
	quiet := judged(func(*v1alpha1.RegressionStatus) {})
	if got := newScope(done, quiet, seen).surplus(); len(got) != 0 {
		t.Errorf("%d executions are deleted", len(got))
	}
	if got := newScope(done, seen).surplus(); len(got) != 1 {
		t.Errorf("without spec.regression %d executions are deleted", len(got))
	}
	awaits := newScope(done, seen)
	awaits.awaitsArchive = true
	if got := awaits.surplus(); len(got) != 0 {
		t.Errorf("%d executions are deleted before they are archived", len(got))
	}
	awaits.executions[0].Status.Conditions = append(awaits.executions[0].Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue})
	if got := awaits.surplus(); len(got) != 1 {
		t.Errorf("%d executions are deleted when they are archived", len(got))
	}
	s := newScope(judged(func(r *v1alpha1.RegressionStatus) { r.Digest = "before it was accepted" }), seen)
	d := decide(s)
	if d.action != actJudge || s.toJudge() != "nightly-1" {
		t.Fatalf("%s after %q", d.action, s.toJudge())
	}
	for want, verdict := range map[string]v1alpha1.SeriesVerdict{
		"True/Succeeded":        {Verdict: "Pass"},
		"False/RegressionFound": {Verdict: "Regression", Gated: true},
		"False/NotConfirmed":    {Verdict: "Inconclusive", Gated: true},
	} {
		d.verdicts = &v1alpha1.RegressionStatus{Execution: "nightly-1", Digest: "j", Verdicts: []v1alpha1.SeriesVerdict{verdict}}
		status := summarize(s, d)
		if c := succeeded(&status); string(c.Status)+"/"+c.Reason != want {
			t.Errorf("%s: %s/%s", want, c.Status, c.Reason)
		}
	}
	h := fallen(t).history("nightly-2")
	h.isDeleted = true
	got, err := judge(gateOfThroughput, h, nil, ending{})
	if err != nil || got.Confirmation != nil || got.ExtraRuns != 0 || !strings.Contains(got.Verdicts[0].Message, "the execution was deleted") {
		t.Errorf("%+v %v", got, err)
	}
}

// TestLimitOfConfirmation checks that a confirmation with more runs than an execution has more time.
func TestLimitOfConfirmation(t *testing.T) {
	for name, test := range map[string]struct {
		limit          *int32
		cells          int
		repeats, pairs int32
		want           *int32
	}{
		"no limit":   {nil, 2, 1, 16, nil},
		"fewer runs": {ptr.To[int32](60), 12, 3, 2, ptr.To[int32](60)},
		"more runs":  {ptr.To[int32](60), 2, 1, 16, ptr.To[int32](960)},
		"odd runs":   {ptr.To[int32](10), 3, 1, 2, ptr.To[int32](14)},
		"the bound":  {ptr.To[int32](43200), 1, 1, 16, ptr.To[int32](43200)},
	} {
		s := newScope(func(s *scope) {
			s.cells = test.cells
			s.suite.Spec.Template.MaximumDurationMinutes, s.suite.Spec.Template.Repeats = test.limit, test.repeats
		})
		if diff := cmp.Diff(test.want, s.limitOf(test.pairs)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestProblemKeepsWhatIsKnown checks that series that cannot be judged lose no question and no count of the execution.
func TestProblemKeepsWhatIsKnown(t *testing.T) {
	s := newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded), judged(func(r *v1alpha1.RegressionStatus) {
		r.Confirmations, r.ExtraRuns, r.Counts.Pass = 3, 8, 5
		r.Questions = []v1alpha1.RegressionQuestion{{Run: "other", Cause: "Step", Pairs: 2}}
	}), confirming("False"))
	got := unjudged(s, "too many")
	want := &v1alpha1.RegressionStatus{
		Execution: "nightly-1", Digest: "j", Problem: "too many", Confirmations: 3, ExtraRuns: 8, Counts: v1alpha1.VerdictCounts{Pass: 5},
		Questions: []v1alpha1.RegressionQuestion{{Run: "other", Cause: "Step", Pairs: 2}, {Run: "new", OldRun: "old", Pairs: 2, Message: "nightly-1-confirm-1: Because:"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.known.Regression.Execution = "nightly-0"
	if diff := cmp.Diff(&v1alpha1.RegressionStatus{Execution: "nightly-1", Problem: "too many"}, unjudged(s, "too many")); diff != "" {
		t.Error("another execution", diff)
	}
}

// confirmationFor returns an execution that the status of a suite has asked for.
func confirmationFor(of *v1alpha1.BenchmarkSuiteRun, asked *v1alpha1.AskedConfirmation) *v1alpha1.BenchmarkSuiteRun {
	c := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: asked.Name, UID: "made"}}
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkSuiteRun", Name: of.Name, UID: of.UID, Controller: ptr.To(true)}}
	c.Spec.Confirmation = &v1alpha1.SuiteConfirmation{Suite: "nightly", Cell: "base", Run: asked.Run, Cause: asked.Cause, OldRun: asked.OldRun, FirstPair: asked.FirstPair}
	c.Spec.Template = v1alpha1.SuiteTemplate{Repeats: asked.Pairs, MaximumAttempts: 2, MaximumDurationMinutes: ptr.To[int32](60)}
	return c
}

// TestUnknownConfirmationIsAbandoned checks that a confirmation whose UID was not stored yet is deleted when spec.regression is removed or asks for
// none, and that an object of someone else in its name is not.
func TestUnknownConfirmationIsAbandoned(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	asked := &v1alpha1.AskedConfirmation{Name: "nightly-1-confirm-1", Run: "new", OldRun: "old", Cause: "Step", FirstPair: 1, Pairs: 2}
	for name, test := range map[string]struct {
		spec   *v1alpha1.SuiteRegression
		change func(*v1alpha1.BenchmarkSuiteRun)
		want   action
	}{
		"spec.regression is removed":    {nil, func(*v1alpha1.BenchmarkSuiteRun) {}, actAbandon},
		"confirm is false":              {&v1alpha1.SuiteRegression{Confirm: ptr.To(false)}, func(*v1alpha1.BenchmarkSuiteRun) {}, actAbandon},
		"it is still asked for":         {&v1alpha1.SuiteRegression{}, func(*v1alpha1.BenchmarkSuiteRun) {}, actConfirm},
		"of someone else":               {nil, func(c *v1alpha1.BenchmarkSuiteRun) { c.OwnerReferences = nil }, actWait},
		"an answer of another question": {nil, func(c *v1alpha1.BenchmarkSuiteRun) { c.Spec.Confirmation.FirstPair = 3 }, actWait},
		"with another old version":      {nil, func(c *v1alpha1.BenchmarkSuiteRun) { c.Spec.Confirmation.OldRun = "older" }, actWait},
	} {
		s := newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded))
		s.suite.Spec.Regression = test.spec
		latest := s.latest()
		c := confirmationFor(latest, asked)
		test.change(c)
		s.known.Regression = &v1alpha1.RegressionStatus{Execution: "nightly-1", Confirmation: asked, ExtraRuns: 4}
		r := &Reconciler{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).Build()}
		if err := r.observeRegression(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		s.known.Regression.Digest = s.judged
		if d := decide(s); d.action != test.want || test.want == actAbandon && d.execution.UID != "made" {
			t.Errorf("%s: %s", name, d.action)
		}
	}
}

// TestSameConfirmation checks that a confirmation is found again although the limits of the suite have changed since it was made.
func TestSameConfirmation(t *testing.T) {
	of := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Name: "nightly-1"}}
	asked := &v1alpha1.AskedConfirmation{Name: "nightly-1-confirm-1", Run: "new", OldRun: "old", Cause: "Step", FirstPair: 1, Pairs: 2}
	existing, wanted := confirmationFor(of, asked), confirmationFor(of, asked)
	wanted.Spec.Template.MaximumAttempts, wanted.Spec.Template.MaximumDurationMinutes = 3, nil
	if same, err := isSame(existing, wanted); !same || err != nil {
		t.Errorf("other limits: %t %v", same, err)
	}
	wanted.Spec.Template.Repeats = 3
	if same, err := isSame(existing, wanted); same || err != nil {
		t.Errorf("other pairs: %t %v", same, err)
	}
}

// TestTakenNameOfConfirmation checks that a confirmation takes the next number where an execution that measures something else has its name, also
// one that says the same owner.
func TestTakenNameOfConfirmation(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	n := fallen(t)
	status := n.judge(gateOfThroughput, "nightly-2", nil)
	objects := make([]client.Object, len(n.measured))
	for i, m := range n.measured {
		objects[i] = m
	}
	s := newScope(executed("nightly-2", metav1.ConditionTrue, v1alpha1.ReasonSucceeded), judged(func(r *v1alpha1.RegressionStatus) { *r = *status }))
	s.known.LastExecution.Name = "nightly-2"
	s.latest().UID = "latest"
	taken := confirmationFor(s.latest(), status.Confirmation)
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, taken)...).Build()
	r := &Reconciler{Client: cache, Reader: cache}
	d := decision{action: actConfirm}
	if err := r.confirm(t.Context(), s, &d); err != nil || d.foreign != taken.Name || d.unmade != "" || d.made != "" {
		t.Fatalf("%+v %v", d, err)
	}
	s.known.Regression = summarize(s, d).Regression
	if asked := s.asked(); asked.Name != "nightly-2-confirm-2" || asked.UID != "" || asked.Problem != "" {
		t.Fatalf("%+v", asked)
	}
	d = decision{action: actConfirm}
	if err := r.confirm(t.Context(), s, &d); err != nil || d.foreign != "" || d.unmade != "" {
		t.Fatalf("%+v %v", d, err)
	}
	made := &v1alpha1.BenchmarkSuiteRun{}
	if err := cache.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "nightly-2-confirm-2"}, made); err != nil || made.Spec.Confirmation.FirstPair != 1 {
		t.Errorf("%+v %v", made, err)
	}
}

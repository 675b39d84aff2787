package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

const throughput = "ThroughputFramesPerSecond 64 NDR"

// nights makes the measurements of executions "nightly-1" and so on, of a cell each.
type nights struct {
	t        *testing.T
	measured []*v1alpha1.BenchmarkMeasurement
	// image is that of the installation's function.
	image string
}

// add adds runs of an execution that have a number of rules.
func (n *nights) add(execution, cell string, count, rules int, framesPerSecond int64) *nights {
	for range count {
		n.keep(execution, cell, fmt.Sprintf("%s-%s-%d", execution, cell, len(n.measured)), rules, framesPerSecond, nil)
	}
	return n
}

func (n *nights) keep(execution, cell, run string, rules int, framesPerSecond int64, leg *series.Leg) {
	n.t.Helper()
	number := len(n.measured)
	revision := fmt.Sprint("rules-", rules)
	p := series.Point{
		Key: series.Key{Experiment: "nightly." + cell + "@1", Testbed: "lab", Figure: throughput}, Time: epoch.Add(time.Duration(number) * time.Minute),
		Run: run, Execution: execution, Unit: "frames/s", Leg: leg,
		// Runs vary by 0.1 %.
		Value:   framesPerSecond + framesPerSecond/1000*int64(number%3-1),
		Subject: series.Subject{Name: "fw", Revision: revision, Image: n.image},
	}
	common, parts, err := series.Parts([]series.Point{p})
	if err != nil {
		n.t.Fatal(err)
	}
	m := &v1alpha1.BenchmarkMeasurement{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: run, Labels: map[string]string{v1alpha1.LabelSuite: "nightly"}}}
	m.Spec = v1alpha1.BenchmarkMeasurementSpec{Suite: "nightly", Execution: execution, Cell: cell, Run: run, Common: common, Points: parts[0], Subject: &v1alpha1.Subject{Name: "fw", Revision: revision}}
	m.Spec.Experiment.Raw = fmt.Appendf(nil, `{"chain":[{"name":"fw","function":"Firewall","firewall":{"rules":%d}}],"acceptance":[{"number":%d}]}`, rules, number)
	n.measured = append(n.measured, m)
}

// confirms measures what was asked for: the old version forwards before frames per second, the new one after.
func (n *nights) confirms(asked *v1alpha1.AskedConfirmation, before, after int64) *nights {
	n.t.Helper()
	for pair := asked.FirstPair; pair < asked.FirstPair+asked.Pairs; pair++ {
		for side, framesPerSecond := range map[series.Side]int64{series.Old: before, series.New: after} {
			cell := strings.ToLower(string(side))
			n.keep(asked.Name, "base", fmt.Sprintf("%s-%s-%d", asked.Name, cell, pair), 0, framesPerSecond, &series.Leg{Run: asked.Run, Cause: string(asked.Cause), OldRun: asked.OldRun, Side: side, Pair: int(pair)})
		}
	}
	return n
}

func (n *nights) history(execution string) *history {
	n.t.Helper()
	h := newHistory(execution)
	for _, m := range n.measured {
		points, err := series.OfMeasurement(m)
		if err := h.add(m, points, err); err != nil {
			n.t.Fatal(err)
		}
	}
	h.group()
	return h
}

// edit changes the last point that was kept.
func (n *nights) edit(change func(*series.Point)) *nights {
	n.t.Helper()
	m := n.measured[len(n.measured)-1]
	points, err := series.OfMeasurement(m)
	if err != nil {
		n.t.Fatal(err)
	}
	change(&points[0])
	common, parts, err := series.Parts(points)
	if err != nil {
		n.t.Fatal(err)
	}
	m.Spec.Common, m.Spec.Points = common, parts[0]
	return n
}

func (n *nights) judge(spec *v1alpha1.SuiteRegression, execution string, before *v1alpha1.RegressionStatus) *v1alpha1.RegressionStatus {
	n.t.Helper()
	return n.judgeAfter(spec, execution, before, ending{})
}

func (n *nights) judgeAfter(spec *v1alpha1.SuiteRegression, execution string, before *v1alpha1.RegressionStatus, last ending) *v1alpha1.RegressionStatus {
	n.t.Helper()
	after, err := judge(spec, n.history(execution), before, last)
	if err != nil {
		n.t.Fatal(err)
	}
	return after
}

// madeOf returns a status whose confirmation exists.
func madeOf(status *v1alpha1.RegressionStatus) *v1alpha1.RegressionStatus {
	status = status.DeepCopy()
	status.Confirmation.UID = "uid"
	return status
}

// fallen has a quiet week, and a night after a change to 1,000 rules that costs 10 %.
func fallen(t *testing.T) *nights {
	n := &nights{t: t}
	return n.add("nightly-1", "base", 10, 10, 100_000).add("nightly-2", "base", 3, 1000, 90_000)
}

var gateOfThroughput = &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}}}

// TestRegressionIsConfirmed follows a fall from the suspicion over its confirmations to the verdict.
func TestRegressionIsConfirmed(t *testing.T) {
	n := fallen(t)
	status := n.judge(gateOfThroughput, "nightly-2", nil)
	want := &v1alpha1.AskedConfirmation{Name: "nightly-2-confirm-1", Run: "nightly-2-base-12", Cause: "Step", OldRun: status.Confirmation.OldRun, FirstPair: 1, Pairs: 2}
	if diff := cmp.Diff(want, status.Confirmation); diff != "" {
		t.Fatal(diff)
	}
	if !strings.HasPrefix(want.OldRun, "nightly-1-") || status.Verdicts[0].Verdict != "Inconclusive" || status.Verdicts[0].Reason != "Unconfirmed" || status.ExtraRuns != 4 {
		t.Fatalf("%+v", status)
	}
	for range 3 {
		if status.Confirmation == nil {
			break
		}
		n.confirms(status.Confirmation, 100_000, 90_000)
		status = n.judge(gateOfThroughput, "nightly-2", madeOf(status))
	}
	v := status.Verdicts[0]
	if status.Confirmation != nil || v.Verdict != "Regression" || v.Reason != "Confirmed" || !v.Gated || v.Cell != "base" || v.Change == nil || v.Change.Revision != "rules-1000" {
		t.Fatalf("%+v", status)
	}
	if diff := cmp.Diff([]v1alpha1.CellVerdict{{Name: "base", Verdict: "Regression", Gated: true}}, status.Cells); diff != "" {
		t.Error(diff)
	}
	if status.ExtraRuns != 6 || status.Counts != (v1alpha1.VerdictCounts{Regression: 1}) || len(status.Groups) != 1 || !strings.Contains(status.Groups[0], "became worse with fw rules-1000 (after fw rules-10)") {
		t.Errorf("%+v", status)
	}
	accepted := gateOfThroughput.DeepCopy()
	accepted.Acknowledgements = []v1alpha1.Acknowledgement{{Kind: "Accepted", Revision: "rules-1000"}}
	if v := n.judge(accepted, "nightly-2", status).Verdicts[0]; v.Verdict == "Regression" || v.Gated {
		t.Errorf("an accepted change: %+v", v)
	}
	for largest, want := range map[int32]string{9: "Regression", 11: "Pass"} {
		accepted.Acknowledgements[0].MaximumLossPercent = &largest
		if v := n.judge(accepted, "nightly-2", status).Verdicts[0]; v.Verdict != want {
			t.Errorf("at most %d %% accepted of a loss of 10 %%: %+v", largest, v)
		}
	}
	accepted.Acknowledgements[0].Revision = "misspelled"
	if got := n.judge(accepted, "nightly-2", status); !strings.HasSuffix(got.Message, "; acknowledgements that match no change: misspelled") || got.Counts.Regression != 1 {
		t.Errorf("%+v", got)
	}
}

// TestQuietSeriesRaiseNothing checks that no confirmation is asked for without a change, and that a fall that does not repeat is none.
func TestQuietSeriesRaiseNothing(t *testing.T) {
	n := (&nights{t: t}).add("nightly-1", "base", 10, 10, 100_000).add("nightly-2", "base", 3, 1000, 100_000)
	status := n.judge(gateOfThroughput, "nightly-2", nil)
	if status.Confirmation != nil || status.Verdicts[0].Verdict != "Pass" || status.ExtraRuns != 0 {
		t.Errorf("%+v", status)
	}
	n = fallen(t)
	status = n.judge(gateOfThroughput, "nightly-2", nil)
	for range 3 {
		if status.Confirmation == nil {
			break
		}
		n.confirms(status.Confirmation, 90_000, 90_000)
		status = n.judge(gateOfThroughput, "nightly-2", madeOf(status))
	}
	if status.Confirmation != nil || status.Counts.Regression != 0 || status.Verdicts[0].Gated {
		t.Errorf("the old version is slower too: %+v", status)
	}
}

// TestWhatIsNotConfirmed checks the reasons of questions that stay open.
func TestWhatIsNotConfirmed(t *testing.T) {
	asked := fallen(t).judge(gateOfThroughput, "nightly-2", nil)
	image := &nights{t: t, image: "vnf@sha256:1"}
	image.add("nightly-1", "base", 10, 10, 100_000)
	image.image = "vnf@sha256:2"
	image.add("nightly-2", "base", 3, 10, 90_000)
	refused := asked.DeepCopy()
	refused.Confirmation.Problem = "it is refused"
	for name, test := range map[string]struct {
		nights  *nights
		spec    v1alpha1.SuiteRegression
		before  *v1alpha1.RegressionStatus
		last    ending
		reason  regression.Reason
		message string
	}{
		"confirm is false":                 {fallen(t), v1alpha1.SuiteRegression{Confirm: ptr.To(false)}, nil, ending{}, regression.ReasonUnconfirmed, "2 times each"},
		"the confirmation was deleted":     {fallen(t), v1alpha1.SuiteRegression{}, madeOf(asked), endOf(nil), regression.ReasonConfirmationFailed, "0 of 2 pairs are complete, and this execution asks for no more: a confirmation was deleted"},
		"the confirmation is refused":      {fallen(t), v1alpha1.SuiteRegression{}, refused, ending{}, regression.ReasonConfirmationFailed, "it is refused"},
		"the installation's image":         {image, v1alpha1.SuiteRegression{}, nil, ending{}, regression.ReasonNotDeployable, "has changed from vnf@sha256:1 to vnf@sha256:2"},
		"more runs than the limit":         {fallen(t).confirms(asked.Confirmation, 100_000, 90_000), v1alpha1.SuiteRegression{MaximumExtraRuns: 4}, madeOf(asked), ending{}, regression.ReasonConfirmationLimit, "leaves no room for 1 more pairs after the 4 runs"},
		"a status that was lost, and legs": {fallen(t).confirms(asked.Confirmation, 100_000, 90_000), v1alpha1.SuiteRegression{MaximumExtraRuns: 5}, nil, ending{}, regression.ReasonConfirmationLimit, "after the 4 runs"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.nights.judgeAfter(&test.spec, "nightly-2", test.before, test.last)
			v := got.Verdicts[0]
			if got.Confirmation != nil || v.Verdict != "Inconclusive" || v.Reason != string(test.reason) || !strings.Contains(v.Message, test.message) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestConfirmationsContinue checks that a status that was lost leads to no name and no pair that was there before.
func TestConfirmationsContinue(t *testing.T) {
	n := fallen(t)
	n.confirms(n.judge(gateOfThroughput, "nightly-2", nil).Confirmation, 100_000, 90_000)
	if asked := n.judge(gateOfThroughput, "nightly-2", nil).Confirmation; asked == nil || asked.Name != "nightly-2-confirm-2" || asked.FirstPair != 3 || asked.Pairs != 1 {
		t.Errorf("%+v", asked)
	}
}

// TestCellsThatAreGone checks that only series of the judged execution are judged.
func TestCellsThatAreGone(t *testing.T) {
	n := fallen(t).add("nightly-1", "gone", 10, 10, 100_000)
	if got := n.judge(gateOfThroughput, "nightly-2", nil); len(got.Verdicts) != 1 || got.Verdicts[0].Cell != "base" {
		t.Errorf("%+v", got)
	}
}

func TestGate(t *testing.T) {
	v := v1alpha1.SeriesVerdict{Cell: "base", Figure: throughput}
	for name, test := range map[string]struct {
		gate v1alpha1.RegressionGate
		want bool
	}{
		"the metric":      {v1alpha1.RegressionGate{Metric: v1alpha1.MetricThroughputFramesPerSecond}, true},
		"another metric":  {v1alpha1.RegressionGate{Metric: v1alpha1.MetricLatencyP99}, false},
		"another goal":    {v1alpha1.RegressionGate{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "PDR"}, false},
		"the cell":        {v1alpha1.RegressionGate{Metric: v1alpha1.MetricThroughputFramesPerSecond, Cells: []string{"other", "base"}}, true},
		"another cell":    {v1alpha1.RegressionGate{Metric: v1alpha1.MetricThroughputFramesPerSecond, Cells: []string{"other"}}, false},
		"the goal":        {v1alpha1.RegressionGate{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, true},
		"the size":        {v1alpha1.RegressionGate{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "64"}, false},
		"a part of words": {v1alpha1.RegressionGate{Metric: "Throughput"}, false},
	} {
		if got := selects(test.gate, v); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for loss, want := range map[int64]bool{55_000: true, 49_000: false} {
		v := v
		j := judging{spec: &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond, LeastLossPercent: 5}}}}
		j.applyGate(&v, &regression.Judgment{Verdict: regression.VerdictRegression, LossPartsPerMillion: loss}, series.Series{Runs: []series.Point{{Value: 1}}})
		if v.Gated != want {
			t.Errorf("a loss of %d parts per million: %t", loss, v.Gated)
		}
	}
}

// TestLargestRegressionStatus checks that the largest status fits into an object.
func TestLargestRegressionStatus(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	status := v1alpha1.RegressionStatus{Message: long(1024)}
	for range v1alpha1.MaxSeriesVerdicts {
		status.Verdicts = append(status.Verdicts, v1alpha1.SeriesVerdict{Experiment: long(512), Cell: long(63), Testbed: long(512), Figure: long(512), Message: long(v1alpha1.MaxVerdictMessageBytes), Change: &v1alpha1.SeriesChange{Run: long(512), Revision: long(512)}})
	}
	for range v1alpha1.MaxRegressionGroups {
		status.Groups = append(status.Groups, long(1024))
	}
	for range v1alpha1.MaxRegressionQuestions {
		status.Questions = append(status.Questions, v1alpha1.RegressionQuestion{Run: long(512), Message: long(1024)})
	}
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes", len(text)); len(text) > 600_000 {
		t.Errorf("the status has %d bytes", len(text))
	}
}

// judged gives the scope a suite with verdicts of its latest execution.
func judged(change func(*v1alpha1.RegressionStatus)) with {
	return func(s *scope) {
		s.suite.Spec.Regression, s.judged = gateOfThroughput.DeepCopy(), "j"
		s.known.Regression = &v1alpha1.RegressionStatus{Execution: "nightly-1", Digest: "j"}
		change(s.known.Regression)
	}
}

// confirming gives the scope a confirmation that exists.
func confirming(outcome metav1.ConditionStatus) with {
	return func(s *scope) {
		s.known.Regression.Confirmation = &v1alpha1.AskedConfirmation{Name: "nightly-1-confirm-1", UID: "uid", Run: "new", OldRun: "old", FirstPair: 1, Pairs: 2}
		s.confirmation = &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Name: "nightly-1-confirm-1", UID: "uid"}}
		s.confirmation.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: outcome, Reason: "Because"}}
	}
}

// TestDecideRegression checks which action follows, and what the condition Succeeded is then.
func TestDecideRegression(t *testing.T) {
	done := executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	quiet := judged(func(*v1alpha1.RegressionStatus) {})
	asked := judged(func(r *v1alpha1.RegressionStatus) {
		r.Confirmation = &v1alpha1.AskedConfirmation{Name: "nightly-1-confirm-1"}
	})
	gated := judged(func(r *v1alpha1.RegressionStatus) {
		r.Verdicts = []v1alpha1.SeriesVerdict{{Cell: "base", Figure: throughput, Verdict: "Regression", Message: "it fell by 10 %", Gated: true}}
	})
	change := func(f func(*scope)) with { return f }
	for name, test := range map[string]struct {
		scope  *scope
		action action
		want   string
	}{
		"without spec.regression":          {newScope(done), actWait, "True/Succeeded"},
		"an execution is active":           {newScope(executed("nightly-1", "Unknown", "Progressing"), judged(func(r *v1alpha1.RegressionStatus) { r.Digest = "" })), actWait, "Unknown/Progressing"},
		"never judged":                     {newScope(done, quiet, change(func(s *scope) { s.known.Regression = nil })), actJudge, "True/Succeeded"},
		"other settings":                   {newScope(done, quiet, change(func(s *scope) { s.judged = "other" })), actJudge, "True/Succeeded"},
		"judged":                           {newScope(done, quiet), actWait, "True/Succeeded"},
		"asked":                            {newScope(done, asked), actConfirm, "Unknown/Confirming"},
		"asked, and one is due":            {newScope(done, asked, change(func(s *scope) { s.digest = "other" })), actConfirm, "Unknown/Confirming"},
		"asked, and to replace":            {newScope(done, asked, change(func(s *scope) { s.digest, s.suite.Spec.ConcurrencyPolicy = "other", v1alpha1.ConcurrencyReplace })), actExecute, "Unknown/Progressing"},
		"asked, and suspended":             {newScope(done, asked, change(func(s *scope) { s.suite.Spec.Suspend = true })), actWait, "Unknown/Suspended"},
		"confirming":                       {newScope(done, quiet, confirming("Unknown")), actWait, "Unknown/Confirming"},
		"confirming, and one is due":       {newScope(done, quiet, confirming("Unknown"), change(func(s *scope) { s.digest = "other" })), actWait, "Unknown/Progressing"},
		"confirming, and replaced":         {newScope(done, quiet, confirming("Unknown"), change(func(s *scope) { s.digest, s.suite.Spec.ConcurrencyPolicy = "other", v1alpha1.ConcurrencyReplace })), actReplace, "Unknown/Progressing"},
		"confirming, to suspend":           {newScope(done, quiet, confirming("Unknown"), change(func(s *scope) { s.suite.Spec.Suspend = true })), actSuspend, "Unknown/Suspended"},
		"no longer wanted":                 {newScope(done, quiet, confirming("Unknown"), change(func(s *scope) { s.suite.Spec.Regression = nil })), actAbandon, "True/Succeeded"},
		"confirmed":                        {newScope(done, quiet, confirming("True")), actJudge, "True/Succeeded"},
		"a confirmation failed":            {newScope(done, quiet, confirming("False")), actJudge, "True/Succeeded"},
		"a confirmation is gone":           {newScope(done, quiet, confirming("True"), change(func(s *scope) { s.confirmation = nil })), actJudge, "True/Succeeded"},
		"a gated regression":               {newScope(done, gated), actWait, "False/RegressionFound"},
		"a gated regression and a failure": {newScope(executed("nightly-1", "False", "MeasurementsFailed"), gated), actWait, "False/MeasurementsFailed"},
		"a gated open question": {newScope(done, judged(func(r *v1alpha1.RegressionStatus) {
			r.Verdicts = []v1alpha1.SeriesVerdict{{Cell: "base", Figure: throughput, Verdict: "Inconclusive", Message: "nothing confirms it", Gated: true}}
		})), actWait, "False/NotConfirmed"},
		"a gated loss that may be larger": {newScope(done, judged(func(r *v1alpha1.RegressionStatus) {
			r.Verdicts = []v1alpha1.SeriesVerdict{{Cell: "base", Figure: throughput, Verdict: "Regression", Reason: "NotConfirmed", Gated: true}}
		})), actWait, "False/NotConfirmed"},
		"an open question without a gate": {newScope(done, judged(func(r *v1alpha1.RegressionStatus) {
			r.Verdicts = []v1alpha1.SeriesVerdict{{Cell: "base", Figure: throughput, Verdict: "Inconclusive"}}
		})), actWait, "True/Succeeded"},
		"a gate without series": {newScope(done, judged(func(r *v1alpha1.RegressionStatus) { r.GateProblem = "none" })), actWait, "False/GateWithoutSeries"},
		"not judged":            {newScope(done, judged(func(r *v1alpha1.RegressionStatus) { r.Problem = "too many" })), actWait, "False/NotJudged"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(test.scope)
			if d.action == actJudge {
				d.verdicts = &v1alpha1.RegressionStatus{Execution: "nightly-1", Digest: test.scope.judged}
			}
			status := summarize(test.scope, d)
			c := succeeded(&status)
			if got := string(c.Status) + "/" + c.Reason; d.action != test.action || got != test.want {
				t.Errorf("%s and %s (%s), want %s and %s", d.action, got, c.Message, test.action, test.want)
			}
		})
	}
}

// TestRegressionEvents checks that each confirmed change has one event.
func TestRegressionEvents(t *testing.T) {
	after := &v1alpha1.RegressionStatus{Verdicts: []v1alpha1.SeriesVerdict{
		{Figure: "a", Verdict: "Regression", Change: &v1alpha1.SeriesChange{Run: "r"}}, {Figure: "b", Verdict: "Improvement", Change: &v1alpha1.SeriesChange{Run: "r"}}, {Figure: "c", Verdict: "Inconclusive"},
	}}
	var reasons []string
	for _, e := range regressionEvents(nil, after, decision{}) {
		reasons = append(reasons, e.Kind+"/"+e.Reason)
	}
	if diff := cmp.Diff([]string{"Warning/RegressionConfirmed", "Normal/ImprovementConfirmed"}, reasons); diff != "" {
		t.Error(diff)
	}
	if again := regressionEvents(after, after, decision{}); len(again) != 0 {
		t.Errorf("%+v", again)
	}
}

// TestWhatCanBeDeployedAgain checks which old versions an experiment brings back.
func TestWhatCanBeDeployedAgain(t *testing.T) {
	rules := func(rules byte) version { return version{cell: "base", experiment: [32]byte{rules}} }
	disk := version{cell: "base", namesItsDisk: true}
	for name, test := range map[string]struct {
		older, newer  version
		before, after series.Subject
		want          string
	}{
		"other rules":                      {rules(1), rules(2), series.Subject{Revision: "a"}, series.Subject{Revision: "b"}, ""},
		"the same version":                 {rules(1), rules(1), series.Subject{Revision: "a"}, series.Subject{Revision: "a"}, ""},
		"another revision, the same image": {rules(1), rules(1), series.Subject{Revision: "a", Image: "i"}, series.Subject{Revision: "b", Image: "i"}, "have the same experiment"},
		"another revision":                 {rules(1), rules(1), series.Subject{Revision: "a"}, series.Subject{Revision: "b"}, "have the same experiment"},
		"another image and other rules":    {rules(1), rules(2), series.Subject{Image: "i"}, series.Subject{Image: "j"}, "no experiment names it"},
		"a disk under the same tag":        {disk, disk, series.Subject{Image: "i"}, series.Subject{Image: "j"}, "have the same experiment"},
		"another disk":                     {disk, version{cell: "base", experiment: [32]byte{1}, namesItsDisk: true}, series.Subject{Image: "i"}, series.Subject{Image: "j"}, ""},
		"a measurement that was deleted":   {version{}, rules(1), series.Subject{}, series.Subject{}, "is not kept"},
	} {
		h := newHistory("nightly-2")
		h.versions["old"], h.versions["new"] = test.older, test.newer
		got := h.whyNotDeployed(&regression.Request{OldRun: "old", NewRun: "new", OldSubject: test.before, NewSubject: test.after})
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestCellVerdicts checks that a cell has the worst verdict of its figures, and that the list is bounded.
func TestCellVerdicts(t *testing.T) {
	of := func(cell, verdict string, gated bool) v1alpha1.SeriesVerdict {
		return v1alpha1.SeriesVerdict{Cell: cell, Verdict: verdict, Gated: gated}
	}
	got := cellVerdicts([]v1alpha1.SeriesVerdict{
		of("b", "Pass", false), of("b", "Improvement", false), of("a", "Regression", true), of("a", "Regression", false), of("a", "Inconclusive", false),
		of("c", "Improvement", false), of("c", "NotEnoughData", false), of("d", "NotEnoughData", false), of("d", "Inconclusive", false), of("d", "Pass", false),
	})
	want := []v1alpha1.CellVerdict{{Name: "a", Verdict: "Regression", Gated: true}, {Name: "b", Verdict: "Improvement"}, {Name: "c", Verdict: "NotEnoughData"}, {Name: "d", Verdict: "Inconclusive"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var many []v1alpha1.SeriesVerdict
	for i := range v1alpha1.MaxSuiteCells + 10 {
		many = append(many, of(fmt.Sprint(i), "Pass", false))
	}
	if got := cellVerdicts(many); len(got) != v1alpha1.MaxSuiteCells+1 {
		t.Errorf("%d cells", len(got))
	}
}

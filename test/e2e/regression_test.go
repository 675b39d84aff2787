package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/test/e2e/matrix"
	"vnfbench.io/test/e2e/regression"
)

const (
	// watchedExecutions is how many there are; the change is made after unchangedExecutions.
	watchedExecutions   = 30
	unchangedExecutions = 20
	// injectedFall is by what share the rate falls, and foundWithin the number of executions within which that has to be found.
	injectedFall = 0.05
	foundWithin  = 3
	// fewRules are those before the change, moreRules those to which the calibration compares them, calibrationRepeats times each.
	fewRules, moreRules = 300, 450
	calibrationRepeats  = 4
	// leastPairs is what confirms a change.
	leastPairs = 3
	// watchedLimit is the time limit of all of it.
	watchedLimit = 75 * time.Minute
)

// watchedFigure is a figure whose series is judged, and how it is measured.
type watchedFigure struct {
	metric       v1alpha1.Metric
	measurements string
}

// watchedFigures are those that MEASURE names. A receive rate is a mean over all of its time, so that short interruptions by other work of
// the machine change it little: what the API server and the operator do after each trial is a small share of a long one. A throughput is found by a search, which they end.
var watchedFigures = map[string]watchedFigure{
	"receiveRate": {v1alpha1.MetricReceiveRate, "receiveRate: {trials: 4, trialMilliseconds: 4000}"},
	"throughput": {v1alpha1.MetricThroughputFramesPerSecond,
		"throughput: {maximumSearchSeconds: 20, goals: [{name: PDR, lossPartsPerMillion: 1000, exceedPercent: 50, trialMilliseconds: 300, durationSumMilliseconds: 900, widthPartsPerMillion: 5000}]}"},
}

// watched is a suite that is judged.
type watched struct {
	t        *testing.T
	ns       string
	figure   watchedFigure
	deadline time.Time
}

// TestRegressionInTheLab measures a firewall with 30 revisions, and gives it rules from the 21st on that cost about 5 %. The operator finds that
// within three executions, confirms it by interleaved runs, names the revision and fails the suite, and raises no alarm before. When the change is accepted,
// the rest of the executions pass. MEASURE is receiveRate (the default) or throughput.
func TestRegressionInTheLab(t *testing.T) {
	ns := demonstration(t, "regression")
	name := os.Getenv("MEASURE")
	if name == "" {
		name = "receiveRate"
	}
	figure, known := watchedFigures[name]
	if !known {
		t.Fatalf("MEASURE is %q: give receiveRate or throughput", name)
	}
	w := &watched{t: t, ns: ns, figure: figure, deadline: time.Now().Add(watchedLimit)}
	choice := w.calibrate()
	var done []regression.Execution
	defer func() { t.Logf("summary of %s: %s", w.figure.metric, regression.Summarize(done, unchangedExecutions)) }()

	// Each revision is another experiment, as another image would be, so that the operator can deploy any two of them again.
	rules, isAccepted := fewRules, false
	for n := 1; n <= watchedExecutions; n++ {
		if n == unchangedExecutions+1 {
			t.Logf("from %s on the firewall has %d rules instead of %d", revisionOf(n), choice.Rules, fewRules)
			rules = choice.Rules
		}
		start := time.Now()
		if n == 1 {
			apply(t, ns, w.suite("watched", rules, "", watchedRegression(figure.metric, choice.MarginPercent()), 1))
		} else {
			w.patch(fmt.Sprintf(`{"template":{"subject":{"revision":%q},"experiment":{"startupSeconds":%d,"chain":[{"name":"fw","function":"Firewall","firewall":{"backend":"iptables","mode":"Stateless","rules":%d}}]}}}`, revisionOf(n), startupOf(n), rules))
		}
		last := w.executed(n, rules, isAccepted, start)
		done = append(done, last)
		t.Logf("%2d/%d %s", n, watchedExecutions, last)
		isWorse := last.Verdict.Verdict == "Regression"
		switch {
		case n > unchangedExecutions && !isAccepted && isWorse:
			w.checkFound(n, last)
			w.accept(last.Revision)
			isAccepted = true
		case isWorse:
			t.Errorf("%s: a false alarm: %s", last.Revision, last.Verdict.Message)
		case last.Succeeded != v1alpha1.ReasonSucceeded:
			t.Errorf("%s: the suite is %s, want %s", last.Revision, last.Succeeded, v1alpha1.ReasonSucceeded)
		case n == unchangedExecutions+foundWithin && !isAccepted:
			t.Errorf("%s: the change is not found within %d executions", last.Revision, foundWithin)
		}
	}
	if !isAccepted {
		t.Error("the change was never found")
	}
}

func revisionOf(n int) string { return fmt.Sprintf("r%02d", n) }

// startupOf returns how long a revision may take to start. It changes no figure and is no part of the series, as an image is not.
func startupOf(n int) int { return 100 + n }

// watchedRegression returns how the series is judged.
func watchedRegression(metric v1alpha1.Metric, marginPercent int) string {
	return fmt.Sprintf("  regression: {marginPercent: %d, maximumExtraRuns: 24, gate: [{metric: %s}]}\n", marginPercent, metric)
}

// suite returns a suite of a firewall that measures the figure. Frames go in one direction: the lab has two cores, and the API server
// and the operator need the one that does not send.
func (w *watched) suite(name string, rules int, axes, judged string, repeats int) string {
	return fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkSuite
metadata: {name: %s}
spec:
  runOn: Revision
%s  template:
    subject: {name: firewall, revision: %s}
    experiment:
      testbedRef: {name: %s}
      startupSeconds: %d
      deadlineSeconds: 600
      chain: [{name: fw, function: Firewall, firewall: {backend: iptables, mode: Stateless, rules: %d}}]
      traffic: {frameBytes: [64], directions: Forward}
      measurements:
        warmUpMilliseconds: 200
        %s
%s    repeats: %d
`, name, judged, revisionOf(1), testbedName(w.ns, "lab"), startupOf(1), rules, w.figure.measurements, axes, repeats)
}

// calibrate measures the firewall with few and with more rules by turns, and returns with how many it is slower by the share.
func (w *watched) calibrate() regression.Choice {
	w.t.Helper()
	axes := fmt.Sprintf("    matrix: {axes: [{name: rules, kind: Numeric, path: \"chain[fw].firewall.rules\", values: [%d, %d]}]}\n", fewRules, moreRules)
	apply(w.t, w.ns, w.suite("calibration", fewRules, axes, "", calibrationRepeats))
	e := untilExecution(w.t, w.ns, "calibration-1", time.Until(w.deadline), "ended", func(e *v1alpha1.BenchmarkSuiteRun) bool { return succeeded(e) != metav1.ConditionUnknown })
	if succeeded(e) != metav1.ConditionTrue {
		w.t.Fatalf("the calibration has not succeeded: %v", e.Status.Conditions)
	}
	levels := map[string]*regression.Level{}
	for _, cell := range e.Status.Cells {
		rules, err := strconv.Atoi(string(cell.Values["rules"]))
		must(w.t, err)
		levels[cell.Name] = &regression.Level{Rules: rules}
	}
	var few, more regression.Level
	for _, kept := range keptOf(w.t, w.ns, v1alpha1.LabelSuiteRun, e.Name) {
		value, why, err := regression.ValueOf(&kept, w.figure.metric)
		must(w.t, err)
		level := levels[kept.Spec.Cell]
		w.t.Logf("calibration, %d rules, repeat %d: %d frames/s %s", level.Rules, kept.Spec.Repeat, value, why)
		if value > 0 {
			level.FramesPerSecond = append(level.FramesPerSecond, value)
		}
	}
	for _, level := range levels {
		if level.Rules == fewRules {
			few = *level
		} else {
			more = *level
		}
	}
	choice, err := regression.Choose(few, more, injectedFall)
	if err != nil {
		w.t.Fatalf("choosing the rules that cost %g %%: %v", 100*injectedFall, err)
	}
	w.t.Logf("calibration of %s: %s", w.figure.metric, choice)
	deleteSuite(w.t, w.ns, "calibration")
	return choice
}

// patch changes the spec of the suite.
func (w *watched) patch(spec string) {
	w.t.Helper()
	suite := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "watched"}}
	must(w.t, retry(w.t, func() error {
		return cluster.Patch(w.t.Context(), suite, client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+spec+`}`)))
	}))
}

// judged waits until the suite has a verdict about a revision that the condition is true of, and returns it. It logs each confirmation that begins.
func (w *watched) judged(revision string, holds func(*v1alpha1.RegressionStatus) bool) (*v1alpha1.BenchmarkSuite, metav1.Condition) {
	w.t.Helper()
	shown := ""
	s := untilStored(w.t, w.ns, "watched", time.Until(w.deadline), "judged about "+revision, func(s *v1alpha1.BenchmarkSuite) bool {
		last, judged, c := s.Status.LastExecution, s.Status.Regression, meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded)
		if judged != nil && judged.Confirmation != nil && judged.Confirmation.Name != shown {
			shown = judged.Confirmation.Name
			w.t.Logf("      %s: %d pairs, %s", shown, judged.Confirmation.Pairs, judged.Confirmation.Cause)
		}
		return s.Status.ObservedGeneration == s.Generation && last != nil && last.Revision == revision && judged != nil && judged.Execution == last.Name &&
			judged.Confirmation == nil && c != nil && c.Status != metav1.ConditionUnknown && holds(judged)
	}, func(s *v1alpha1.BenchmarkSuite) string { return fmt.Sprintf("%v", s.Status.Conditions) })
	if s.Status.Regression.Problem != "" {
		w.t.Fatalf("%s cannot be judged: %s", revision, s.Status.Regression.Problem)
	}
	return s, *meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded)
}

func anyVerdict(*v1alpha1.RegressionStatus) bool { return true }

// executed waits for the execution of a revision and its verdict, and returns what it found.
func (w *watched) executed(n, rules int, isAccepted bool, start time.Time) regression.Execution {
	w.t.Helper()
	s, c := w.judged(revisionOf(n), anyVerdict)
	e := regression.Execution{
		Number: n, Revision: revisionOf(n), Rules: rules, Accepted: isAccepted, Succeeded: c.Reason, NoValue: c.Message,
		ExtraRuns: int(s.Status.Regression.ExtraRuns), Took: time.Since(start),
	}
	for _, kept := range keptOf(w.t, w.ns, v1alpha1.LabelSuiteRun, s.Status.LastExecution.Name) {
		var err error
		e.Value, e.NoValue, err = regression.ValueOf(&kept, w.figure.metric)
		must(w.t, err)
	}
	for _, v := range s.Status.Regression.Verdicts {
		if strings.HasPrefix(v.Figure, string(w.figure.metric)+" ") {
			e.Verdict = v
			return e
		}
	}
	w.t.Errorf("%s: there is no verdict about %s: %s", e.Revision, w.figure.metric, s.Status.Regression.Message)
	return e
}

// checkFound checks that a regression is the one that was made: in time, of the revision and the size, confirmed by interleaved runs, and failing the suite.
func (w *watched) checkFound(n int, e regression.Execution) {
	w.t.Helper()
	if n > unchangedExecutions+foundWithin {
		w.t.Errorf("found with %s, want it within %d executions", e.Revision, foundWithin)
	}
	s, c := w.judged(e.Revision, anyVerdict)
	changed, change := revisionOf(unchangedExecutions+1), e.Verdict.Change
	if c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonRegressionFound || !e.Verdict.Gated || !strings.Contains(c.Message, changed) {
		w.t.Errorf("the suite is %s with %s, gated %t, want False with %s and the revision %s: %s", c.Status, c.Reason, e.Verdict.Gated, v1alpha1.ReasonRegressionFound, changed, c.Message)
	}
	if change == nil {
		w.t.Fatalf("the verdict has no change: %+v", e.Verdict)
	}
	fall := -float64(change.PartsPerMillion) / 1e6
	if !slices.Contains(append(change.OtherRevisions, change.Revision), changed) || change.Pairs < leastPairs || fall < injectedFall/2 || fall > 2*injectedFall {
		w.t.Errorf("the change is %+v, want one of %s by about %g %% that %d pairs confirm", *change, changed, 100*injectedFall, leastPairs)
	}
	w.t.Logf("      %s", c.Message)
	pairs := w.pairsOf(s.Status.LastExecution.Name)
	if pairs < int(change.Pairs) || e.ExtraRuns < 2*pairs {
		w.t.Errorf("%d pairs were measured in %d extra runs, and the verdict names %d", pairs, e.ExtraRuns, change.Pairs)
	}
	table, code := command(w.t, "kubectl-vnfbench", "suite", "watched", "-n", w.ns)
	if code != 0 || !strings.Contains(table, "Regression") {
		w.t.Errorf("exit code %d:\n%s", code, table)
	}
	w.t.Log(table)
}

// pairsOf returns how many pairs the confirmations of an execution have measured, and checks that old and new were measured by turns.
func (w *watched) pairsOf(execution string) (pairs int) {
	w.t.Helper()
	list := &v1alpha1.BenchmarkSuiteRunList{}
	must(w.t, retry(w.t, func() error {
		return cluster.List(w.t.Context(), list, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelSuite: "watched"})
	}))
	for _, e := range list.Items {
		if owner := metav1.GetControllerOf(&e); e.Spec.Confirmation == nil || owner == nil || owner.Name != execution {
			continue
		}
		order, err := matrix.Sequence(runsOf(w.t, w.ns, e.Name))
		must(w.t, err)
		for _, problem := range matrix.CheckBlocks(order, 2) {
			w.t.Errorf("%s: %s", e.Name, problem)
		}
		pairs += len(order) / 2
	}
	return pairs
}

// accept acknowledges the change after the execution of a revision has found it, after which the suite passes.
func (w *watched) accept(revision string) {
	w.t.Helper()
	s, _ := w.judged(revision, anyVerdict)
	before := s.Status.Regression.Digest
	w.patch(fmt.Sprintf(`{"regression":{"acknowledgements":[{"kind":"Accepted","revision":%q,"note":"the rules are wanted"}]}}`, revisionOf(unchangedExecutions+1)))
	s, c := w.judged(revision, func(judged *v1alpha1.RegressionStatus) bool { return judged.Digest != before })
	w.t.Logf("      accepted: suite %s: %s", c.Reason, s.Status.Regression.Message)
	if c.Status != metav1.ConditionTrue || s.Status.Regression.Counts.Regression != 0 || strings.Contains(s.Status.Regression.Message, "match no change") {
		w.t.Errorf("the suite is %s with %s, %+v, after the change was accepted: %s", c.Status, c.Reason, s.Status.Regression.Counts, s.Status.Regression.Message)
	}
}

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/test/e2e/matrix"
)

const (
	interruptedCells    = 12
	interruptedRepeats  = 3
	interruptedAttempts = 3
	// interruptedLimit is the time limit of each of the two executions.
	interruptedLimit = 40 * time.Minute
)

// interruptedSuite has 12 cells: two backends, three numbers of rules and two sizes. A run measures for four seconds. There is no seed: that
// of the execution follows from its UID.
const interruptedSuite = `apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkSuite
metadata: {name: interrupted}
spec:
  template:
    subject: {name: firewall, revision: r1}
    experiment:
      testbedRef: {name: %s}
      startupSeconds: 120
      deadlineSeconds: 600
      chain: [{name: fw, function: Firewall, firewall: {mode: Stateless}}]
      measurements:
        warmUpMilliseconds: 200
        latency:
          trialMilliseconds: 1000
          loads:
          - {name: l1, framesPerSecond: 1000}
          - {name: l2, framesPerSecond: 2000}
          - {name: l3, framesPerSecond: 3000}
          - {name: l4, framesPerSecond: 4000}
    matrix:
      axes:
      - {name: backend, path: "chain[fw].firewall.backend", values: [nftables, iptables]}
      - {name: rules, kind: Numeric, path: "chain[fw].firewall.rules", values: [10, 100, 1000]}
      - {name: size, path: traffic.frameBytes, values: [[128], [512]]}
    repeats: %d
    maximumAttempts: %d
`

// interruption is a fault in the middle of an execution.
type interruption struct {
	// after is how many measurements have ended before it.
	after int32
	name  string
	// moment reports whether the active run is where the fault has to meet it.
	moment func(*v1alpha1.BenchmarkRun) bool
	strike func(*campaign)
	// cutsOff is true for a fault that the active run does not survive as it is.
	cutsOff bool
}

// isMeasuring reports whether the chain of a run is used, and will be for seconds.
func isMeasuring(run *v1alpha1.BenchmarkRun) bool { return !finished(run) && trialsOfChain(4)(run) }

// isStarting reports whether a run has begun and its chain is not ready.
func isStarting(run *v1alpha1.BenchmarkRun) bool {
	return !finished(run) && condition(run, v1alpha1.ConditionChainReady).Status != metav1.ConditionTrue
}

var interruptions = []interruption{
	{2, "kill the operator", isMeasuring, func(c *campaign) { killOperator(c.t) }, false},
	{8, "kill the operator", isStarting, func(c *campaign) { killOperator(c.t) }, false},
	{15, "kill the node", isMeasuring, (*campaign).killNode, true},
	{20, "kill the operator", isMeasuring, func(c *campaign) { killOperator(c.t) }, false},
	{25, "kill kubelet and containerd", isMeasuring, func(c *campaign) { c.killDaemon("kubelet"); c.killDaemon("containerd") }, false},
	{31, "kill the operator", isStarting, func(c *campaign) { killOperator(c.t) }, false},
}

// struck is a fault that has happened.
type struck struct {
	interruption
	at, took time.Duration
	run      string
	measures matrix.Measurement
	stage    string
}

// interrupted is an execution with faults.
type interrupted struct {
	t         *testing.T
	ns, name  string
	start     time.Time
	node      *campaign
	rows      []struck
	lastShown string
}

// killNode ends the node with all that runs there at once, as a power failure does, and starts it again.
func (c *campaign) killNode() {
	c.t.Helper()
	for _, verb := range []string{"kill", "up"} {
		if out, code := command(c.t, os.Getenv("LAB"), verb); code != 0 {
			c.t.Fatalf("lab %s ended with code %d:\n%s", verb, code, out)
		}
	}
}

// TestSuiteIsInterrupted measures 12 cells 3 times each, and kills the operator, the node's daemons and the node in the middle. The
// execution continues: each measurement is there once, one that was cut off is repeated and shown, all figures are kept, and the order is that of an
// execution with the same seed that nothing interrupts.
func TestSuiteIsInterrupted(t *testing.T) {
	ns := demonstration(t, "suite-interrupted")
	c := &interrupted{t: t, ns: ns, name: "interrupted-1", start: time.Now(), node: &campaign{t: t}}
	c.node.settles("network namespaces of the node", c.node.sandboxes(), c.node.spacesNow)
	links := c.node.linksNow()
	apply(t, ns, fmt.Sprintf(interruptedSuite, testbedName(ns, "lab"), interruptedRepeats, interruptedAttempts))
	first, _ := c.follow("begun", func(e *v1alpha1.BenchmarkSuiteRun, run *v1alpha1.BenchmarkRun) bool { return run != nil })
	if len(first.Status.Cells) != interruptedCells || first.Status.Counts.Total != interruptedCells*interruptedRepeats {
		t.Fatalf("%d cells, %+v, want %d cells with %d repeats", len(first.Status.Cells), first.Status.Counts, interruptedCells, interruptedRepeats)
	}
	for _, f := range interruptions {
		c.strike(f)
	}
	last, _ := c.follow("ended", hasEnded)
	runs := runsOf(t, ns, c.name)
	c.report(runs)
	if succeeded(last) != metav1.ConditionTrue {
		t.Errorf("the execution has not succeeded: %v", last.Status.Conditions)
	}
	if last.UID != first.UID || last.Status.Seed == 0 || last.Status.Seed != first.Status.Seed || !last.Status.StartTime.Equal(first.Status.StartTime) {
		t.Errorf("the execution began as %s with seed %d at %v, and is %s with seed %d of %v now", first.UID, first.Status.Seed, first.Status.StartTime, last.UID, last.Status.Seed, last.Status.StartTime)
	}
	for _, problem := range matrix.Check(last, runs, keptOf(t, ns, v1alpha1.LabelSuiteRun, c.name), interruptedAttempts) {
		t.Error(problem)
	}
	c.checkRepeated(runs)
	table, code := command(t, "kubectl-vnfbench", "suite", "interrupted", "-n", ns)
	if code != 0 || strings.Count(table, "Succeeded") < interruptedCells {
		t.Errorf("exit code %d:\n%s", code, table)
	}
	t.Log(table)
	c.checkLeft(links)

	order := c.sequence(runs)
	for _, problem := range matrix.CheckBlocks(order, interruptedCells) {
		t.Error(problem)
	}
	if uninterrupted := c.uninterrupted(last); !slices.Equal(order, uninterrupted) {
		t.Errorf("the order was %v, want that of the same seed without interruptions, %v", order, uninterrupted)
	}
	deleteSuite(t, ns, "interrupted")
	if kept := keptOf(t, ns, v1alpha1.LabelSuite, "interrupted"); len(kept) != interruptedCells*interruptedRepeats {
		t.Errorf("%d measurements of the deleted suite are kept, want %d", len(kept), interruptedCells*interruptedRepeats)
	}
	c.checkLeft(links)
}

func hasEnded(e *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkRun) bool {
	return succeeded(e) != metav1.ConditionUnknown
}

// follow waits until a condition is true of the execution and its active run, which is nil if there is none, and returns both. It logs
// each run that begins.
func (c *interrupted) follow(what string, holds func(*v1alpha1.BenchmarkSuiteRun, *v1alpha1.BenchmarkRun) bool) (e *v1alpha1.BenchmarkSuiteRun, run *v1alpha1.BenchmarkRun) {
	c.t.Helper()
	e = untilExecution(c.t, c.ns, c.name, time.Until(c.start.Add(interruptedLimit)), what, func(e *v1alpha1.BenchmarkSuiteRun) bool {
		run = nil
		if e.Status.ActiveRun != "" {
			found := &v1alpha1.BenchmarkRun{}
			err := retry(c.t, func() error {
				return cluster.Get(c.t.Context(), client.ObjectKey{Namespace: c.ns, Name: e.Status.ActiveRun}, found)
			})
			if must(c.t, client.IgnoreNotFound(err)); err == nil {
				run = found
			}
			if e.Status.ActiveRun != c.lastShown {
				c.lastShown = e.Status.ActiveRun
				c.t.Logf("%4.0f s: %d of %d measured, %d failed; %s begins", time.Since(c.start).Seconds(), e.Status.Counts.Succeeded, e.Status.Counts.Total, e.Status.Counts.Failed, e.Status.ActiveRun)
			}
		}
		return holds(e, run) || hasEnded(e, run)
	})
	if !holds(e, run) {
		c.t.Fatalf("the execution has ended, and was not %s: %v", what, e.Status.Conditions)
	}
	return e, run
}

// strike makes a fault happen when it is its turn.
func (c *interrupted) strike(f interruption) {
	c.t.Helper()
	_, run := c.follow(fmt.Sprintf("where to %s after %d measurements", f.name, f.after), func(e *v1alpha1.BenchmarkSuiteRun, run *v1alpha1.BenchmarkRun) bool {
		return e.Status.Counts.Succeeded+e.Status.Counts.Failed >= f.after && run != nil && f.moment(run)
	})
	measures, err := matrix.MeasurementOf(run)
	must(c.t, err)
	row := struck{interruption: f, at: time.Since(c.start), run: run.Name, measures: measures, stage: "starting"}
	if isMeasuring(run) {
		row.stage = fmt.Sprintf("measuring, %d trials", run.Status.Progress.Trials)
	}
	c.t.Logf("%4.0f s: %s while %s is %s", row.at.Seconds(), f.name, run.Name, row.stage)
	f.strike(c.node)
	row.took = time.Since(c.start) - row.at
	c.rows = append(c.rows, row)
}

// attempts returns the runs of the measurement that a fault met, the first attempt first.
func (c *interrupted) attempts(runs []v1alpha1.BenchmarkRun, row struck) []v1alpha1.BenchmarkRun {
	c.t.Helper()
	all, err := matrix.Attempts(runs)
	must(c.t, err)
	return all[row.measures]
}

func restarts(run *v1alpha1.BenchmarkRun) int32 {
	if run.Status.Progress == nil {
		return 0
	}
	return run.Status.Progress.MeasurerRestarts
}

// report prints a row for each fault: when, what, where, and what followed.
func (c *interrupted) report(runs []v1alpha1.BenchmarkRun) {
	c.t.Helper()
	var rows strings.Builder
	for i, row := range c.rows {
		var followed []string
		for _, run := range c.attempts(runs, row) {
			reason, _ := matrix.ReasonOf(&run)
			followed = append(followed, fmt.Sprintf("%s (%d restarts of the measurer)", reason, restarts(&run)))
		}
		fmt.Fprintf(&rows, "| %d | %.0f s | %s, %.0f s | %s | %s | %s |\n", i+1, row.at.Seconds(), row.name, row.took.Seconds(), row.measures, row.stage, strings.Join(followed, ", then "))
	}
	c.t.Logf("%d runs for %d measurements in %.0f s\n| # | time | fault, until the cluster answers | measurement | it was | what followed |\n|---|---|---|---|---|---|\n%s",
		len(runs), interruptedCells*interruptedRepeats, time.Since(c.start).Seconds(), rows.String())
}

// checkRepeated checks that a run that was cut off was continued or repeated, with an event, and that no other was.
func (c *interrupted) checkRepeated(runs []v1alpha1.BenchmarkRun) {
	c.t.Helper()
	all, err := matrix.Attempts(runs)
	must(c.t, err)
	events := &corev1.EventList{}
	must(c.t, retry(c.t, func() error { return cluster.List(c.t.Context(), events, client.InNamespace(c.ns)) }))
	for _, row := range c.rows {
		of := c.attempts(runs, row)
		if row.cutsOff && (len(of) == 0 || len(of) == 1 && restarts(&of[0]) == 0) {
			c.t.Errorf("%s at %.0f s cut nothing off: %d runs of %s, without a restart of the measurer", row.name, row.at.Seconds(), len(of), row.measures)
		}
	}
	for measures, of := range all {
		isCutOff := slices.ContainsFunc(c.rows, func(row struck) bool { return row.cutsOff && row.measures == measures })
		if len(of) > 1 && !isCutOff {
			c.t.Errorf("%s was measured %d times, and no fault cut it off", measures, len(of))
		}
		for _, again := range of[1:] {
			if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
				return e.Reason == v1alpha1.ReasonMeasurementRetried && strings.Contains(e.Message, again.Name)
			}) {
				c.t.Errorf("no event %s names %s", v1alpha1.ReasonMeasurementRetried, again.Name)
			}
		}
	}
}

func (c *interrupted) sequence(runs []v1alpha1.BenchmarkRun) []matrix.Measurement {
	c.t.Helper()
	order, err := matrix.Sequence(runs)
	must(c.t, err)
	return order
}

// uninterrupted makes an execution by hand of the same template, with the seed of the one that was interrupted, and returns its order.
func (c *interrupted) uninterrupted(of *v1alpha1.BenchmarkSuiteRun) []matrix.Measurement {
	c.t.Helper()
	twin := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "uninterrupted"}, Spec: v1alpha1.BenchmarkSuiteRunSpec{Template: *of.Spec.Template.DeepCopy()}}
	twin.Spec.Template.Seed = &of.Status.Seed
	must(c.t, cluster.Create(c.t.Context(), twin))
	again := &interrupted{t: c.t, ns: c.ns, name: twin.Name, start: time.Now()}
	ended, _ := again.follow("ended", hasEnded)
	if !meta.IsStatusConditionTrue(ended.Status.Conditions, v1alpha1.ConditionSucceeded) {
		c.t.Errorf("the execution that nothing interrupted has not succeeded: %v", ended.Status.Conditions)
	}
	order := c.sequence(runsOf(c.t, c.ns, twin.Name))
	must(c.t, cluster.Delete(c.t.Context(), twin))
	untilGone(c.t, twin)
	return order
}

// checkLeft checks that nothing of any run is left: no object, no hold of the testbed or the node, and nothing on the node.
func (c *interrupted) checkLeft(links string) {
	c.t.Helper()
	nothingLeft(c.t, c.ns)
	freed(c.t, c.ns)
	c.node.settles("Leases of nodes", "0", func() string {
		leases := &coordinationv1.LeaseList{}
		must(c.t, retry(c.t, func() error { return cluster.List(c.t.Context(), leases, client.InNamespace(systemNamespace)) }))
		return strconv.Itoa(len(slices.DeleteFunc(leases.Items, func(l coordinationv1.Lease) bool { return !strings.HasPrefix(l.Name, "node-") })))
	})
	c.node.settles("network namespaces of the node", c.node.sandboxes(), c.node.spacesNow)
	c.node.settles("links of the node", links, c.node.linksNow)
}

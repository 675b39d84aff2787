package envtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/suiterun"
)

// template is a suite's: a router with 64 bytes, a quick search and the axes of the text.
func (l *lab) template(text string) v1alpha1.SuiteTemplate {
	l.t.Helper()
	var template v1alpha1.SuiteTemplate
	l.Expect(yaml.UnmarshalStrict(fmt.Appendf(nil, `
experiment:
  testbedRef: {name: %s}
  startupSeconds: %d
  chain: [{name: router, function: Router}]
  traffic: {frameBytes: [64]}
  measurements:
    throughput: {goals: [{name: NDR, widthPartsPerMillion: 50000}]}
    latency: {loads: [{name: idle, framesPerSecond: 1000}]}
order: Declared
%s`, l.namespace, startupSeconds, text), &template)).To(Succeed())
	return template
}

const twoSizes = `
matrix: {axes: [{name: size, path: traffic.frameBytes, values: [[64], [128]]}]}
`

// suite makes a suite of a template, with changes.
func (l *lab) suite(name, text string, changes ...func(*v1alpha1.BenchmarkSuite)) *v1alpha1.BenchmarkSuite {
	l.t.Helper()
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	s.Spec.Template = l.template(text)
	for _, change := range changes {
		change(s)
	}
	l.Expect(cluster.Create(l.ctx, s)).To(Succeed())
	return s
}

// executes makes an execution by hand.
func (l *lab) executes(name, text string) *v1alpha1.BenchmarkSuiteRun {
	l.t.Helper()
	e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	e.Spec.Template = l.template(text)
	l.Expect(cluster.Create(l.ctx, e)).To(Succeed())
	return e
}

func (l *lab) execution(name string) *v1alpha1.BenchmarkSuiteRun {
	return &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
}

// expectSuite waits for a condition of a suite or an execution.
func (l *lab) expectSuite(object client.Object, kind, want string) {
	l.t.Helper()
	l.Eventually(func() string {
		if err := l.get(object); err != nil {
			return err.Error()
		}
		return conditionText(conditionsOf(object), kind)
	}).Should(Equal(want), func() string { return fmt.Sprintf("%s %q has %+v", kind, object.GetName(), conditionsOf(object)) })
}

func conditionsOf(object client.Object) []metav1.Condition {
	switch object := object.(type) {
	case *v1alpha1.BenchmarkSuite:
		return object.Status.Conditions
	case *v1alpha1.BenchmarkSuiteRun:
		return object.Status.Conditions
	}
	return nil
}

func messageOf(object client.Object, kind string) string {
	for _, c := range conditionsOf(object) {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// later lets time pass, and makes the operator check an object again.
func (l *lab) later(d time.Duration, object client.Object) {
	l.t.Helper()
	l.clock.by.Add(int64(d))
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"vnfbench.io/run":"%d"}}}`, l.clock.by.Load())
	l.Expect(cluster.Patch(l.ctx, object, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

func (l *lab) patch(object client.Object, patch string) {
	l.t.Helper()
	l.Expect(cluster.Patch(l.ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// runNames returns the names of all BenchmarkRuns, in order.
func (l *lab) runNames() []string {
	l.t.Helper()
	var runs v1alpha1.BenchmarkRunList
	l.Expect(cluster.List(l.ctx, &runs, inNamespace(l))).To(Succeed())
	names := []string{}
	for _, run := range runs.Items {
		names = append(names, run.Name)
	}
	slices.Sort(names)
	return names
}

// executionNames returns the names of all executions, in order.
func (l *lab) executionNames() []string {
	var list v1alpha1.BenchmarkSuiteRunList
	l.Expect(cluster.List(l.ctx, &list, inNamespace(l))).To(Succeed())
	names := []string{}
	for _, e := range list.Items {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// collect acts as the garbage collector for executions of suites and their runs.
func (n *node) collect(ctx context.Context) error {
	var suites v1alpha1.BenchmarkSuiteList
	var executions v1alpha1.BenchmarkSuiteRunList
	var runs v1alpha1.BenchmarkRunList
	// Owners last: one that is made meanwhile has no child in the earlier lists.
	for _, list := range []client.ObjectList{&runs, &executions, &suites} {
		if err := cluster.List(ctx, list, client.InNamespace(n.namespace)); err != nil {
			return err
		}
	}
	owners := map[any]bool{}
	for i := range suites.Items {
		owners[suites.Items[i].UID] = true
	}
	var children []client.Object
	for i := range executions.Items {
		owners[executions.Items[i].UID] = true
		children = append(children, &executions.Items[i])
	}
	for i := range runs.Items {
		children = append(children, &runs.Items[i])
	}
	for _, child := range children {
		if owner := metav1.GetControllerOf(child); owner != nil && !owners[owner.UID] && child.GetDeletionTimestamp().IsZero() {
			if err := client.IgnoreNotFound(cluster.Delete(ctx, child)); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestSuite follows a suite: its first execution, another one for a change and for a request, and none for a change that
// measures nothing else.
func TestSuite(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	s := l.suite("nightly", twoSizes+"repeats: 2\ncontrolCell: size-64")
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(conditionText(s.Status.Conditions, v1alpha1.ConditionReady)).To(Equal("True/Ready"))
	l.Expect(conditionText(s.Status.Conditions, v1alpha1.ConditionReconciling)).To(BeEmpty())
	l.Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
	l.Expect(s.Status.Cells).To(Equal(int32(3)))
	e := l.execution("nightly-1")
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(l.runNames()).To(Equal([]string{"nightly-1-size-128-1", "nightly-1-size-128-2", "nightly-1-size-64-1", "nightly-1-size-64-2", "nightly-1-size-64-control-1", "nightly-1-size-64-control-2"}))
	l.Expect(e.Status.Counts).To(Equal(v1alpha1.MeasurementCounts{Total: 6, Succeeded: 6}))
	l.Expect(e.Status.ControlDifferencePartsPerMillion).NotTo(BeNil())
	l.Expect(e.Status.EstimatedSeconds).To(BeNumerically(">", 0))
	l.Expect(e.Status.RemainingSeconds).To(BeZero())
	l.Expect(e.Status.ActiveRun).To(BeEmpty())
	for _, cell := range e.Status.Cells {
		l.Expect(cell.State).To(Equal(v1alpha1.MeasurementSucceeded))
		l.Expect(cell.FramesPerSecond).NotTo(BeNil(), cell.Name)
		l.Expect(cell.P99Nanoseconds).NotTo(BeNil(), cell.Name)
		l.Expect(cell.Figure).To(HaveSuffix(" NDR"))
		for _, m := range cell.Measurements {
			l.Expect(m.Attempts).To(Equal(int32(1)))
			l.Expect(m.Reason).To(Equal("Succeeded"))
		}
	}
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "nightly-1-size-128-2"}}
	l.Expect(l.get(run)).To(Succeed())
	l.Expect(metav1.IsControlledBy(run, e)).To(BeTrue())
	l.Expect(run.Labels).To(Equal(map[string]string{v1alpha1.LabelSuite: "nightly", v1alpha1.LabelSuiteRun: "nightly-1", v1alpha1.LabelCell: "size-128", v1alpha1.LabelRepeat: "2", v1alpha1.LabelExperiment: "nightly.size-128"}))
	l.Expect(run.Spec.Experiment.Traffic.FrameBytes).To(Equal([]int32{128}))

	l.patch(s, `{"spec":{"failedHistoryLimit":7}}`)
	l.Eventually(func() int64 { l.Expect(l.get(s)).To(Succeed()); return s.Status.ObservedGeneration }).Should(Equal(s.Generation))
	l.Expect(l.executionNames()).To(Equal([]string{"nightly-1"}))
	l.patch(s, `{"spec":{"template":{"repeats":1,"controlCell":null}}}`)
	l.expectSuite(l.execution("nightly-2"), v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.patch(s, `{"metadata":{"annotations":{"vnfbench.io/run-now":"please"}}}`)
	third := l.execution("nightly-3")
	l.expectSuite(third, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(third.Labels).To(HaveKeyWithValue(v1alpha1.LabelTrigger, "Annotation"))
	l.Eventually(func() string { l.Expect(l.get(s)).To(Succeed()); return messageOf(s, v1alpha1.ConditionSucceeded) }).Should(ContainSubstring("execution nightly-3: 2 measurements of 2 cells succeeded"))
	l.Expect(s.Status.LastRunNow).To(Equal("please"))
	l.Expect(s.Status.LastExecution.Trigger).To(Equal(v1alpha1.TriggerAnnotation))
	l.Consistently(l.executionNames).Should(HaveLen(3))
}

// TestSuiteByRevision checks that only another revision makes an execution, where the suite says so.
func TestSuiteByRevision(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	s := l.suite("image", "subject: {name: router, revision: one}", func(s *v1alpha1.BenchmarkSuite) { s.Spec.RunOn = v1alpha1.RunOnRevision })
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.patch(s, `{"spec":{"template":{"failFast":true}}}`)
	l.Consistently(l.executionNames).Should(HaveLen(1))
	l.patch(s, `{"spec":{"template":{"subject":{"revision":"two"}}}}`)
	l.expectSuite(l.execution("image-2"), v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(func() string { l.Expect(l.get(s)).To(Succeed()); return s.Status.LastExecution.Revision }).Should(Equal("two"))
}

// TestCellsAreTriedBeforeTheFirstIsMeasured checks that a cell that the API server refuses, or that does not fit the
// testbed, ends the execution before anything is made.
func TestCellsAreTriedBeforeTheFirstIsMeasured(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	for name, test := range map[string]struct{ values, want, message string }{
		"refused": {"[[64], [5]]", "False/CellRefused", `cell "size-5": the API server refuses it as a BenchmarkRun`},
		"planned": {"[[64], [9000]]", "False/CellNotPlanned", `cell "size-9000": FrameTooLarge`},
	} {
		e := l.executes(name, "matrix: {axes: [{name: size, path: traffic.frameBytes, values: "+test.values+"}]}")
		l.expectSuite(e, v1alpha1.ConditionSucceeded, test.want)
		l.Expect(messageOf(e, v1alpha1.ConditionSucceeded)).To(ContainSubstring(test.message))
		l.Expect(conditionText(e.Status.Conditions, v1alpha1.ConditionStalled)).To(Equal("True/" + strings.TrimPrefix(test.want, "False/")))
	}
	l.Expect(l.runNames()).To(BeEmpty())
	l.Expect(l.objects()).To(BeEmpty())
}

// TestSuiteWaitsForItsTestbed checks that an execution waits for what a run would wait for.
func TestSuiteWaitsForItsTestbed(t *testing.T) {
	l := newLab(t, nil)
	e := l.executes("early", "")
	l.expectSuite(e, v1alpha1.ConditionPlanned, "Unknown/TestbedNotFound")
	l.Expect(l.runNames()).To(BeEmpty())
	l.testbed()
	l.later(time.Minute, e)
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestBadSuites checks that a suite that cannot be executed says why, and makes nothing.
func TestBadSuites(t *testing.T) {
	l := newLab(t, nil)
	for name, test := range map[string]struct {
		text, reason string
		change       func(*v1alpha1.BenchmarkSuite)
	}{
		"path":     {"matrix: {axes: [{name: a, path: traffic.frameBites, values: [1]}]}", v1alpha1.ReasonAxisPathNotFound, func(*v1alpha1.BenchmarkSuite) {}},
		"schedule": {"", v1alpha1.ReasonInvalidSchedule, func(s *v1alpha1.BenchmarkSuite) { s.Spec.Schedule = "0 0 30 2 *" }},
		"zone":     {"", v1alpha1.ReasonInvalidSchedule, func(s *v1alpha1.BenchmarkSuite) { s.Spec.Schedule, s.Spec.TimeZone = "@daily", "Mars" }},
	} {
		s := l.suite(name, test.text, test.change)
		l.expectSuite(s, v1alpha1.ConditionReady, "False/"+test.reason)
		l.Expect(conditionText(s.Status.Conditions, v1alpha1.ConditionStalled)).To(Equal("True/" + test.reason))
		l.Expect(conditionText(s.Status.Conditions, v1alpha1.ConditionSucceeded)).To(Equal("False/" + test.reason))
	}
	l.Consistently(l.executionNames).Should(BeEmpty())
	l.testbed()
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "schedule"}}
	l.patch(s, `{"spec":{"schedule":"@yearly"}}`)
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(conditionText(s.Status.Conditions, v1alpha1.ConditionStalled)).To(BeEmpty())
}

// TestSuiteContinuesAfterARestart checks that an operator that is replaced continues with the measurement that is being made, and
// makes none twice.
func TestSuiteContinuesAfterARestart(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	s := l.suite("long", twoSizes+"repeats: 2")
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "long-1-size-64-1"}}
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	uid := run.UID
	l.stop()
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.startOperator()
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(l.get(run)).To(Succeed())
	l.Expect(run.UID).To(Equal(uid))
	l.Expect(l.runNames()).To(HaveLen(4))
	l.Expect(l.executionNames()).To(HaveLen(1))
}

// TestMeasurementIsTriedAgain checks that a run that could not measure is followed by another attempt, that this is bounded, and that a
// verdict is not tried again.
func TestMeasurementIsTriedAgain(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	l.node.set(func(n *node) { n.starts[chain.ComponentMeasurer] = ends(137, "OOMKilled", "") })
	e := l.executes("again", "")
	second := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "again-base-1-attempt-2"}}
	l.Eventually(func() error { return l.get(second) }).Should(Succeed())
	l.node.set(func(n *node) { delete(n.starts, chain.ComponentMeasurer) })
	l.Eventually(func() bool { l.Expect(l.get(e)).To(Succeed()); return suiterun.Ended(e) }).Should(BeTrue())
	l.Expect(e.Status.Cells[0].Measurements[0].Attempts).To(Equal(int32(2)))

	l.node.set(func(n *node) { n.starts[chain.ComponentMeasurer] = ends(137, "OOMKilled", "") })
	bounded := l.executes("bounded", "maximumAttempts: 3")
	l.expectSuite(bounded, v1alpha1.ConditionSucceeded, "False/MeasurementsFailed")
	l.Expect(messageOf(bounded, v1alpha1.ConditionSucceeded)).To(ContainSubstring("base in repeat 1 (MeasurerFailed)"))
	l.Expect(bounded.Status.Cells[0].Measurements[0].Attempts).To(Equal(int32(3)))
	l.node.set(func(n *node) { delete(n.starts, chain.ComponentMeasurer) })

	verdict := l.execution("verdict")
	verdict.Spec.Template = l.template(twoSizes + "repeats: 2\nfailFast: true")
	verdict.Spec.Template.Experiment.Raw = []byte(l.accepting(100_000_000))
	l.Expect(cluster.Create(l.ctx, verdict)).To(Succeed())
	l.expectSuite(verdict, v1alpha1.ConditionSucceeded, "False/FailedFast")
	l.Expect(verdict.Status.Counts).To(Equal(v1alpha1.MeasurementCounts{Total: 4, Failed: 1, Skipped: 3}))
	l.Expect(verdict.Status.Cells[0].Measurements[0].Reason).To(Equal(v1alpha1.ReasonNotAccepted))
	l.Expect(verdict.Status.Cells[0].Measurements[0].Attempts).To(Equal(int32(1)))
	l.Expect(verdict.Status.Cells[0].Measurements[0].FramesPerSecond).NotTo(BeNil())
	l.Expect(verdict.Status.Cells[1].State).To(Equal(v1alpha1.MeasurementSkipped))
}

// accepting returns an experiment that needs a throughput.
func (l *lab) accepting(framesPerSecond int64) string {
	return fmt.Sprintf(`{"testbedRef":{"name":%q},"startupSeconds":%d,"chain":[{"name":"router","function":"Router"}],"traffic":{"frameBytes":[64]},`+
		`"measurements":{"throughput":{"goals":[{"name":"NDR","widthPartsPerMillion":50000}]}},"acceptance":[{"name":"fast","metric":"ThroughputFramesPerSecond","goal":"NDR","atLeast":%d}]}`,
		l.namespace, startupSeconds, framesPerSecond)
}

// TestMaximumDuration checks that an execution ends in its time, and deletes the run that is active.
func TestMaximumDuration(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	e := l.executes("slow", twoSizes+"maximumDurationMinutes: 30")
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "slow-size-64-1"}}
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.later(29*time.Minute, e)
	l.Consistently(func() bool { l.Expect(l.get(e)).To(Succeed()); return suiterun.Ended(e) }).Should(BeFalse())
	l.later(time.Minute, e)
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "False/MaximumDurationExceeded")
	l.Expect(e.Status.Counts).To(Equal(v1alpha1.MeasurementCounts{Total: 2, Skipped: 2}))
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(run)) }).Should(BeTrue())
	l.Eventually(l.objects).Should(BeEmpty())
}

// TestSuiteIsDeletedInTheMiddle checks that nothing is left.
func TestSuiteIsDeletedInTheMiddle(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	s := l.suite("gone", twoSizes)
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "gone-1-size-64-1"}}
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Expect(cluster.Delete(l.ctx, s)).To(Succeed())
	l.Eventually(l.runNames).Should(BeEmpty())
	l.Eventually(l.executionNames).Should(BeEmpty())
	l.Eventually(l.objects).Should(BeEmpty())
}

// TestSuiteSuspends checks that a suspended suite suspends what it measures, starts nothing, and continues.
func TestSuiteSuspends(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	s := l.suite("paused", twoSizes)
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "paused-1-size-64-1"}}
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.patch(s, `{"spec":{"suspend":true}}`)
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "Unknown/Suspended")
	l.expectSuite(l.execution("paused-1"), v1alpha1.ConditionSucceeded, "Unknown/Suspended")
	l.patch(s, `{"spec":{"template":{"failFast":true}}}`)
	l.Consistently(l.executionNames).Should(HaveLen(1))
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.patch(s, `{"spec":{"suspend":false}}`)
	l.expectSuite(l.execution("paused-1"), v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expectSuite(l.execution("paused-2"), v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(l.runNames()).To(HaveLen(4))
}

// TestSuiteSchedule checks executions of a schedule: one at its time, none while another is active, none that is too late, one that
// replaces the active one, and the limits of the history.
func TestSuiteSchedule(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	s := l.suite("clock", "", func(s *v1alpha1.BenchmarkSuite) {
		s.Spec.RunOn, s.Spec.Schedule, s.Spec.SucceededHistoryLimit = v1alpha1.RunOnNever, "*/10 * * * *", ptr.To[int32](1)
		// The API server's clock is the real one, so to the operator each pod is as old as the time that has passed.
		s.Spec.Template.Experiment.Raw = bytes.Replace(s.Spec.Template.Experiment.Raw, fmt.Appendf(nil, `"startupSeconds":%d`, startupSeconds), []byte(`"startupSeconds":3600`), 1)
	})
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "Unknown/NotExecuted")
	l.Expect(s.Status.NextScheduleTime).NotTo(BeNil())
	l.Expect(l.executionNames()).To(BeEmpty())
	first := s.Status.NextScheduleTime.Time
	l.later(first.Sub(l.clock.Now())+time.Minute, s)
	l.expectSuite(l.execution("clock-1"), v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(s.Status.LastScheduleTime.Time.Equal(first)).To(BeTrue())

	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.later(10*time.Minute, s)
	active := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "clock-2-base-1"}}
	l.expect(active, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.later(10*time.Minute, s)
	l.Eventually(func() bool {
		l.Expect(l.get(s)).To(Succeed())
		return s.Status.LastScheduleTime.Time.Equal(first.Add(20 * time.Minute))
	}).Should(BeTrue())
	l.Expect(l.executionNames()).To(Equal([]string{"clock-1", "clock-2"}))

	l.patch(s, `{"spec":{"concurrencyPolicy":"Replace"}}`)
	l.later(10*time.Minute, s)
	third := l.execution("clock-3")
	l.Eventually(func() error { return l.get(third) }).Should(Succeed())
	l.Eventually(l.executionNames).Should(Equal([]string{"clock-1", "clock-3"}))
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expectSuite(third, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(l.executionNames).Should(Equal([]string{"clock-3"}))

	l.stop()
	l.clock.by.Add(int64(2*time.Hour + 30*time.Minute))
	l.patch(s, `{"spec":{"startingDeadlineSeconds":60}}`)
	l.startOperator()
	l.Eventually(func() bool {
		l.Expect(l.get(s)).To(Succeed())
		return s.Status.LastScheduleTime.Time.After(first.Add(2 * time.Hour))
	}).Should(BeTrue())
	l.Expect(l.executionNames()).To(Equal([]string{"clock-3"}))
}

// TestNamesThatAreTaken checks that an object of someone else is neither used nor deleted.
func TestNamesThatAreTaken(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	theirs := l.run("hand-base-1")
	e := l.executes("hand", "")
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "Unknown/ObjectTaken")
	l.Expect(messageOf(e, v1alpha1.ConditionSucceeded)).To(ContainSubstring(`BenchmarkRun "hand-base-1" exists, and the operator did not make it for this execution: delete it`))
	l.Eventually(l.events(e)).Should(ContainElement(v1alpha1.ReasonObjectTaken))
	l.expect(theirs, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(cluster.Delete(l.ctx, theirs)).To(Succeed())
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expectSuite(l.executes("taken-1", ""), v1alpha1.ConditionSucceeded, "True/Succeeded")
	s := l.suite("taken", "")
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(s.Status.LastExecution.Name).To(Equal("taken-2"))
}

// TestExecutionOfALabel checks that a label alone does not make an execution one of a suite.
func TestExecutionOfALabel(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	s := l.suite("mine", "", func(s *v1alpha1.BenchmarkSuite) { s.Spec.RunOn = v1alpha1.RunOnNever })
	l.expectSuite(s, v1alpha1.ConditionReady, "True/Ready")
	e := l.execution("mine-9")
	e.Labels, e.Spec.Template = map[string]string{v1alpha1.LabelSuite: "mine"}, l.template("")
	l.Expect(cluster.Create(l.ctx, e)).To(Succeed())
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.later(time.Second, s)
	l.Consistently(func() int64 { l.Expect(l.get(s)).To(Succeed()); return s.Status.Executions }).Should(BeZero())
}

// TestTemplateIsImmutable checks that an execution keeps what it measures.
func TestTemplateIsImmutable(t *testing.T) {
	l := newLab(t, nil)
	e := l.executes("fixed", twoSizes)
	for _, patch := range []string{
		`{"spec":{"template":{"repeats":2}}}`, `{"spec":{"template":{"experiment":{"startupSeconds":7}}}}`,
		`{"spec":{"template":{"matrix":{"axes":[{"name":"size","path":"traffic.frameBytes","values":[[64],[256]]}]}}}}`,
	} {
		err := cluster.Patch(l.ctx, e.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)))
		if err == nil || !strings.Contains(err.Error(), "immutable, only suspend may change") {
			t.Errorf("%s: %v", patch, err)
		}
	}
	l.patch(e, `{"spec":{"suspend":true}}`)
}

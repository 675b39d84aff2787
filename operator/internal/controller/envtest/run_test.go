package envtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

func TestRunSucceeds(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.testbed()
	run := l.run("good", acceptance(capacityFramesPerSecond/2))
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")

	status := run.Status
	l.Expect(status.Plan).NotTo(BeNil())
	l.Expect(status.Plan.DeviceNode).To(Equal(nodeName))
	l.Expect(status.Results).To(HaveLen(1))
	l.Expect(status.Summary.FramesPerSecond).To(HaveValue(BeNumerically("~", capacityFramesPerSecond, capacityFramesPerSecond/10)))
	l.Expect(status.Acceptance).To(HaveLen(1))
	l.Expect(status.Generator.Calibration).To(HaveLen(1))
	l.Expect(status.StartTime).NotTo(BeNil())
	l.Expect(status.CompletionTime).NotTo(BeNil())
	l.Expect(conditionText(status.Conditions, v1alpha1.ConditionReconciling)).To(BeEmpty())

	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	names := plan.NamesOf(run)
	l.Expect(l.objects()).To(ConsistOf("v1.ConfigMap/"+names.Plan, "v1.ConfigMap/"+names.Results))
	l.Eventually(func() []v1alpha1.ActiveRun { l.Expect(l.get(testbed)).To(Succeed()); return testbed.Status.ActiveRuns }).Should(BeEmpty())
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionCalibrated)).Should(Equal("True/Calibrated"))
	l.Expect(*testbed.Status.Calibration.RunRef).To(Equal(v1alpha1.NamespacedRunReference{Namespace: l.namespace, Name: "good"}))
	l.Eventually(l.events(run)).Should(ContainElements(v1alpha1.ReasonAdmitted, v1alpha1.ReasonPlanned, v1alpha1.ReasonChainReady, v1alpha1.ReasonMeasured, v1alpha1.ReasonSucceeded))
}

// TestRunHasABaseline checks that a run is compared with an earlier one, which may be gone when the figures exist, and that
// it measures a delay at that one's rate too; a run that cannot be compared fails before anything is made.
func TestRunHasABaseline(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	half := func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Measurements.Latency.Loads = []v1alpha1.LatencyLoad{{Name: "half", Goal: "NDR", Percent: new(int32(50))}}
	}
	earlier := l.run("earlier", half, acceptance(capacityFramesPerSecond/2))
	l.expect(earlier, v1alpha1.ConditionAdmitted, "False/Released")
	against := func(name string, percent int32) func(*v1alpha1.BenchmarkRun) {
		return func(run *v1alpha1.BenchmarkRun) {
			run.Spec.Experiment.Baseline = &v1alpha1.Baseline{
				RunRef: v1alpha1.LocalReference{Name: name}, MaximumRegressionPercent: &percent,
				Metrics: []v1alpha1.Metric{v1alpha1.MetricThroughputFramesPerSecond, v1alpha1.MetricLatencyMean},
			}
		}
	}
	run := l.run("as-good", half, against("earlier", 50))
	l.Eventually(func() *v1alpha1.BaselineReport { l.Expect(l.get(run)).To(Succeed()); return run.Status.Baseline }).ShouldNot(BeNil())
	l.Expect(cluster.Delete(t.Context(), earlier)).To(Succeed())
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(run.Status.Baseline.UID).To(Equal(string(earlier.UID)))
	l.Expect(run.Status.Baseline.PlanDigest).To(Equal(run.Status.Plan.Digest))
	l.Expect(run.Status.Baseline.Figures[0].Measured).NotTo(BeNil())
	l.Expect(run.Status.Acceptance).NotTo(BeEmpty())
	l.Expect(run.Status.Acceptance[0].Criterion).To(Equal(v1alpha1.BaselineCriterion))
	l.Expect(run.Status.Acceptance).To(HaveLen(2))
	l.Expect(run.Status.Results[0].Latency).To(HaveLen(2))
	again := run.Status.Results[0].Latency[1]
	l.Expect(again.Load).To(Equal("half" + v1alpha1.BaselineLoadSuffix))
	l.Expect(again.IntendedFramesPerSecond).To(Equal(earlier.Status.Results[0].Latency[0].IntendedFramesPerSecond))

	refused := l.run("without", against("absent", 5))
	l.expect(refused, v1alpha1.ConditionSucceeded, "False/BaselineUnusable")
	l.expect(refused, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(refused.Status.Plan).To(BeNil())
}

func TestRunIsNotAccepted(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("slow", acceptance(capacityFramesPerSecond*2))
	l.expect(run, v1alpha1.ConditionSucceeded, "False/NotAccepted")
	l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionMeasured)).To(Equal("True/Measured"))
	l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionStalled)).To(Equal("True/NotAccepted"))
	l.Expect(run.Status.Results).To(HaveLen(1))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	restricted := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	failure := mustJSON(measure.FailureState{Reason: v1alpha1.ReasonCannotLoadBPF, Message: "the kernel refuses the programs"})
	tests := map[string]struct {
		namespace map[string]string
		node      func(*node)
		reason    string
		message   string
		// inTime is true if the run waits until the pods' time to start is over.
		inTime bool
	}{
		"Pod Security refuses the pods": {namespace: restricted, reason: v1alpha1.ReasonPodForbidden, message: "label the namespace pod-security.kubernetes.io/enforce=privileged"},
		"measurer cannot load programs": {node: starts(chain.ComponentMeasurer, ends(42, "Error", failure)), reason: v1alpha1.ReasonCannotLoadBPF, message: "the kernel refuses the programs"},
		"measurer is killed":            {node: starts(chain.ComponentMeasurer, ends(137, "OOMKilled", "")), reason: v1alpha1.ReasonMeasurerFailed, message: "OOMKilled"},
		"measurer's image is missing":   {node: starts(chain.ComponentMeasurer, waits("ErrImageNeverPull", "absent")), reason: v1alpha1.ReasonImageUnavailable, message: "registry.test/measurer:1"},
		"function's image is missing":   {node: starts(chain.ComponentFunction, waits("InvalidImageName", "bad")), reason: v1alpha1.ReasonImageUnavailable, message: "registry.test/vnf:1"},
		"measurer cannot be scheduled":  {node: starts(chain.ComponentMeasurer, unschedulable), reason: v1alpha1.ReasonUnschedulable, message: "Insufficient cpu", inTime: true},
		"function cannot be scheduled":  {node: starts(chain.ComponentFunction, unschedulable), reason: v1alpha1.ReasonUnschedulable, message: "Insufficient cpu", inTime: true},
		"function does not start":       {node: starts(chain.ComponentFunction, pending), reason: v1alpha1.ReasonPodStuck, message: "does not start", inTime: true},
		"function is never ready":       {node: starts(chain.ComponentFunction, unready), reason: v1alpha1.ReasonChainNotReady, message: "port west is down", inTime: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, test.namespace)
			if test.node != nil {
				l.node.set(test.node)
			}
			l.testbed()
			run := l.run("bad")
			if test.inTime {
				l.pendsThenFails(run, test.message, test.reason)
			}
			l.expect(run, v1alpha1.ConditionSucceeded, "False/"+test.reason)
			l.Expect(l.message(run, v1alpha1.ConditionStalled)).To(ContainSubstring(test.message))
			l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
			l.expectOnlyRecords()
			l.Eventually(l.events(run)).Should(ContainElement(test.reason))
		})
	}
}

func starts(component string, start func(*corev1.Pod)) func(*node) {
	return func(n *node) { n.starts[component] = start }
}

func TestChainFailsDuringTheMeasurement(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		happen  func(*lab, *corev1.Pod)
		message string
	}{
		"crash":    {func(l *lab, p *corev1.Pod) { l.kubelet(p, restarted) }, "OOMKilled"},
		"eviction": {func(l *lab, p *corev1.Pod) { l.kubelet(p, evicted) }, "Evicted"},
		"unready":  {func(l *lab, p *corev1.Pod) { l.kubelet(p, unready) }, "port west is down"},
		"deletion": {func(l *lab, p *corev1.Pod) { l.Expect(cluster.Delete(l.ctx, p)).To(Succeed()) }, `function "router"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.node.set(func(n *node) { n.silent[pathChain] = true })
			l.testbed()
			run := l.run("run")
			l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
			test.happen(l, l.functionPod())
			l.expect(run, v1alpha1.ConditionSucceeded, "False/ChainFailed")
			l.Expect(l.message(run, v1alpha1.ConditionChainReady)).To(ContainSubstring(test.message))
			l.Expect(run.Status.Generator.Calibration).To(HaveLen(1), "what was measured so far stays")
			l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
		})
	}
}

// TestKubeletsWarningIsShown checks that what the kubelet only reports in events is in the run's message.
func TestKubeletsWarningIsShown(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(starts(chain.ComponentFunction, pending))
	l.testbed()
	run := l.run("run")
	pod := l.functionPod()
	l.Expect(cluster.Create(l.ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: l.namespace, Name: "mount"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: l.namespace, Name: pod.Name, UID: pod.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedMount", Message: "no such volume", LastTimestamp: metav1.Now(),
	})).To(Succeed())
	l.pendsThenFails(run, "does not start", v1alpha1.ReasonPodStuck)
	l.Expect(l.message(run, v1alpha1.ConditionStalled)).To(ContainSubstring("FailedMount: no such volume"))
}

func TestResultsAreLost(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathCalibration] = true })
	l.testbed()
	run := l.run("run")
	l.Eventually(func() *v1alpha1.LocalReference { l.Expect(l.get(run)).To(Succeed()); return run.Status.ResultsRef }).ShouldNot(BeNil())
	results := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: run.Status.ResultsRef.Name}}
	l.Expect(cluster.Delete(l.ctx, results)).To(Succeed())
	l.expect(run, v1alpha1.ConditionSucceeded, "False/ResultsLost")
}

// TestChunks measures a run whose trials fill chunks, by a measurer that has only the rights of its pod. The chunks
// are the run's own, and go with it.
func TestChunks(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("run", func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Traffic.FrameBytes = []int32{64, 128, 256, 512, 1024, 1280, 1518}
	})
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	chunks := func() []corev1.ConfigMap {
		var found corev1.ConfigMapList
		l.Expect(cluster.List(l.ctx, &found, inNamespace(l), client.MatchingLabels{v1alpha1.LabelRun: string(run.UID)})).To(Succeed())
		return slices.DeleteFunc(found.Items, func(c corev1.ConfigMap) bool { return !strings.Contains(c.Name, "-results-") })
	}
	found := chunks()
	l.Expect(len(found)).To(BeNumerically(">=", 1))
	for i := range found {
		l.Expect(metav1.IsControlledBy(&found[i], run)).To(BeTrue())
		l.Expect(*found[i].Immutable).To(BeTrue())
	}
	measured := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionMeasured)
	l.Expect(measured.Message).To(HavePrefix(fmt.Sprintf("%d trials", len(l.recordsOf(run)))))
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	l.Eventually(chunks).Should(BeEmpty())
}

// TestChunkIsLost checks that a chunk that is deleted during the measurement ends the run.
func TestChunkIsLost(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("run", func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Traffic.FrameBytes = []int32{64, 128, 256, 512, 1024, 1280, 1518}
	})
	chunk := &corev1.ConfigMap{}
	l.Eventually(func() error {
		return cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: measure.ChunkName(plan.NamesOf(run).Results, 0)}, chunk)
	}).Should(Succeed())
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.Eventually(func() string {
		head := &corev1.ConfigMap{}
		l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: plan.NamesOf(run).Results}, head)).To(Succeed())
		return head.Data[measure.KeyChunks]
	}).ShouldNot(BeEmpty())
	l.Expect(cluster.Delete(l.ctx, chunk)).To(Succeed())
	l.expect(run, v1alpha1.ConditionSucceeded, "False/ResultsLost")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring(chunk.Name))
}

func TestMeasurerIsReplaced(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	var pods corev1.PodList
	l.Expect(cluster.List(l.ctx, &pods, inNamespace(l), component(chain.ComponentMeasurer))).To(Succeed())
	l.Expect(cluster.Delete(l.ctx, &pods.Items[0])).To(Succeed())
	l.Eventually(func() int32 {
		l.Expect(l.get(run)).To(Succeed())
		return run.Status.Progress.MeasurerRestarts
	}).Should(Equal(int32(1)))
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(l.events(run)).Should(ContainElement(v1alpha1.ReasonMeasurerRestarted))
}

func TestTimeToLive(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("brief", func(r *v1alpha1.BenchmarkRun) { r.Spec.TTLSecondsAfterFinished = ptr.To[int32](3600) })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	ended := run.Status.CompletionTime.Time
	l.passes(ended.Add(59*time.Minute).Sub(l.clock.Now()), run)
	l.Consistently(func() error { return l.get(run) }).Should(Succeed())
	l.passes(time.Minute, run)
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(run)) }).Should(BeTrue())
	l.Eventually(l.objects).Should(BeEmpty())
}

package envtest

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestQueue(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	testbed := l.testbed()
	first := l.run("c-first")
	l.expect(first, v1alpha1.ConditionAdmitted, "True/Admitted")
	second, third := l.run("a-second"), l.run("b-third")
	l.expect(second, v1alpha1.ConditionAdmitted, "False/Queued")
	position := func(run *v1alpha1.BenchmarkRun) func() int32 {
		return func() int32 {
			l.Expect(l.get(run)).To(Succeed())
			if run.Status.QueuePosition == nil {
				return 0
			}
			return *run.Status.QueuePosition
		}
	}
	l.Eventually(position(second)).Should(Equal(int32(1)))
	l.Eventually(position(third)).Should(Equal(int32(2)))
	l.Expect(l.message(third, v1alpha1.ConditionAdmitted)).To(Equal(fmt.Sprintf("2 runs before it on Testbed %q", l.namespace)))
	l.Eventually(func() int32 { l.Expect(l.get(testbed)).To(Succeed()); return testbed.Status.QueuedRuns }).Should(Equal(int32(2)))

	l.node.set(func(n *node) { n.silent[pathChain] = false })
	for _, run := range []*v1alpha1.BenchmarkRun{first, second, third} {
		l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
		l.Expect(run.Status.QueuePosition).To(BeNil())
	}
	l.Expect(second.Status.StartTime.Before(first.Status.CompletionTime)).To(BeFalse())
	l.Expect(third.Status.StartTime.Before(second.Status.CompletionTime)).To(BeFalse())
}

func TestNextWaitsForTheLastPod(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	testbed := l.testbed()
	first, second := l.run("a-first"), l.run("b-second")
	l.expect(first, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.expect(second, v1alpha1.ConditionAdmitted, "False/Queued")
	l.node.set(func(n *node) { n.holding = true })
	pod := l.functionPod()
	l.Expect(cluster.Delete(l.ctx, first)).To(Succeed())
	l.goes(pod)
	l.Consistently(l.state(second, v1alpha1.ConditionAdmitted)).Should(Equal("False/Queued"))
	l.Expect(l.get(testbed)).To(Succeed())
	l.Expect(testbed.Status.ActiveRuns).To(HaveLen(1))
	l.node.set(func(n *node) { n.holding = false })
	l.expect(second, v1alpha1.ConditionAdmitted, "True/Admitted")
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(first)) }).Should(BeTrue())
}

func TestTestbedComesLater(t *testing.T) {
	l := newLab(t, nil)
	run := l.run("early")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/TestbedNotFound")
	l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionSucceeded)).To(Equal("Unknown/TestbedNotFound"))
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring(fmt.Sprintf("the cluster has no Testbed %q", l.namespace)))
	l.testbed()
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

func TestNoNodeMatches(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.testbed(func(t *v1alpha1.Testbed) { t.Spec.Generator.NodeSelector = map[string]string{"role": l.namespace} })
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/NoMatchingNode"))
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionSucceeded, "False/NoMatchingNode")
	l.Expect(conditionText(run.Status.Conditions, v1alpha1.ConditionPlanned)).To(Equal("False/NoMatchingNode"))
}

func TestCordonedNodeIsWaitedFor(t *testing.T) {
	l := newLab(t, nil)
	own := map[string]string{"role": l.namespace}
	// The taint keeps the other tests' runs away.
	node, err := makeNode(l.namespace, own, corev1.Taint{Key: "own", Effect: corev1.TaintEffectNoSchedule})
	l.Expect(err).NotTo(HaveOccurred())
	cordon := func(cordoned bool) {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned)
		l.Expect(cluster.Patch(l.ctx, node, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
	}
	cordon(true)
	testbed := l.testbed(func(t *v1alpha1.Testbed) {
		tolerations := []corev1.Toleration{{Key: "own", Operator: corev1.TolerationOpExists}}
		t.Spec.Generator.NodeSelector, t.Spec.SystemUnderTest.NodeSelector = own, own
		t.Spec.Generator.Tolerations, t.Spec.SystemUnderTest.Tolerations = tolerations, tolerations
	})
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/NodesNotReady"))
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/TestbedNotReady")
	cordon(false)
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(run.Status.Plan.DeviceNode).To(Equal(node.Name))
}

func TestTestbedDeletion(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	testbed := l.testbed()
	run := l.run("holder")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Expect(cluster.Delete(l.ctx, testbed)).To(Succeed())
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("False/Deleting"))
	l.Expect(testbed.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring(`/holder"`))))
	late := l.run("late")
	l.expect(late, v1alpha1.ConditionAdmitted, "False/TestbedNotFound")

	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(testbed)) }).Should(BeTrue())
	l.Expect(conditionText(late.Status.Conditions, v1alpha1.ConditionSucceeded)).To(Equal("Unknown/TestbedNotFound"))
}

func TestUnusedTestbedIsDeletedAtOnce(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.testbed()
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("True/Ready"))
	l.Expect(cluster.Delete(l.ctx, testbed)).To(Succeed())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(testbed)) }).Should(BeTrue())
	l.Expect(l.objects()).To(BeEmpty())
}

// TestNamespaceIsNotAllowed checks that a run of a namespace that the testbed does not choose waits, blocks no other run, and
// continues when the namespace gets the label.
func TestNamespaceIsNotAllowed(t *testing.T) {
	l := newLab(t, nil)
	label := "team.test/" + l.namespace
	testbed := l.testbed(func(t *v1alpha1.Testbed) {
		t.Spec.Namespaces = v1alpha1.TestbedNamespaces{From: v1alpha1.NamespacesFromSelector, Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}},
		}}
	})
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/NamespaceNotAllowed")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("spec.namespaces"))
	l.Expect(run.Status.QueuePosition).To(BeNil())
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("True/Ready"))
	l.Expect(testbed.Status.QueuedRuns).To(BeZero())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, label)
	l.Expect(cluster.Patch(l.ctx, namespace, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestDefaultTestbed checks that a run that names no testbed waits for a default, and keeps the one that it found.
func TestDefaultTestbed(t *testing.T) {
	l := newLab(t, nil)
	run := l.run("run", func(run *v1alpha1.BenchmarkRun) { run.Spec.Experiment.TestbedRef = nil })
	l.expect(run, v1alpha1.ConditionAdmitted, "False/NoDefaultTestbed")
	l.Expect(run.Status.TestbedRef).To(BeNil())
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	testbed := l.testbed(func(t *v1alpha1.Testbed) {
		t.Annotations = map[string]string{v1alpha1.AnnotationDefaultTestbed: "true"}
	})
	l.expect(run, v1alpha1.ConditionAdmitted, "True/Admitted")
	l.Expect(run.Status.TestbedRef).To(Equal(&v1alpha1.TestbedReference{Name: testbed.Name}))
	l.Expect(l.get(testbed)).To(Succeed())
	l.Expect(testbed.Status.ActiveRuns).To(HaveLen(1))
	l.Expect(testbed.Status.ActiveRuns[0].Namespace).To(Equal(l.namespace))
	unmark := []byte(`{"metadata":{"annotations":{"vnfbench.io/is-default-testbed":"false"}}}`)
	l.Expect(cluster.Patch(l.ctx, testbed, client.RawPatch("application/merge-patch+json", unmark))).To(Succeed())
	l.testbed(func(t *v1alpha1.Testbed) {
		t.Name, t.Annotations = l.namespace+"-newer", map[string]string{v1alpha1.AnnotationDefaultTestbed: "true"}
	})
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(run.Status.TestbedRef.Name).To(Equal(testbed.Name))
	newer := l.run("newer", func(run *v1alpha1.BenchmarkRun) { run.Spec.Experiment.TestbedRef = nil })
	l.expect(newer, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(newer.Status.TestbedRef.Name).To(Equal(l.namespace + "-newer"))
}

package envtest

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// ownedBy returns a reference to an owner, of a kind that it may not have.
func ownedBy(owner client.Object, apiVersion, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true)}}
}

// TestForgedExecutionOfASuite: a tenant with the built-in role edit makes an object in the name of a suite's next execution. One with
// the suite as its owner is refused, when it is made and when it is changed. Another one is no execution of the suite, though its owner has the suite's
// UID: it is named, neither used nor deleted, and in no series.
func TestForgedExecutionOfASuite(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	s := l.suite("nightly", "", func(s *v1alpha1.BenchmarkSuite) {
		s.Spec.RunOn, s.Spec.SucceededHistoryLimit = v1alpha1.RunOnNever, ptr.To[int32](0)
	})
	l.expectSuite(s, v1alpha1.ConditionReady, "True/Ready")
	mallory := l.tenant()
	forged := l.execution("nightly-1")
	forged.Labels, forged.Spec.Template = map[string]string{v1alpha1.LabelSuite: "nightly"}, l.template("")
	forged.OwnerReferences = ownedBy(s, v1alpha1.GroupVersion.String(), "BenchmarkSuite")
	err := mallory.Create(l.ctx, forged.DeepCopy())
	l.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	l.Expect(err.Error()).To(ContainSubstring("may not update benchmarksuites/finalizers"))

	forged.OwnerReferences = ownedBy(s, "v1", "ConfigMap")
	l.Expect(mallory.Create(l.ctx, forged)).To(Succeed())
	changed := forged.DeepCopy()
	changed.OwnerReferences = ownedBy(s, v1alpha1.GroupVersion.String(), "BenchmarkSuite")
	err = mallory.Patch(l.ctx, changed, client.MergeFrom(forged))
	l.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	l.expectSuite(forged, v1alpha1.ConditionSucceeded, "True/Succeeded")

	l.patch(s, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationRunNow+`":"1"}}}`)
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(s.Status.LastExecution.Name).To(Equal("nightly-2"))
	l.Eventually(l.events(s)).Should(ContainElement(v1alpha1.ReasonObjectTaken))
	// The suite's own execution is deleted, because it keeps none that succeeded.
	l.Eventually(l.executionNames).Should(Equal([]string{"nightly-1"}))
	objects, _ := l.kept()
	l.Expect(namesOf(objects)).To(Equal([]string{"nightly-2-base-1"}))
}

// TestForgedRunOfAnExecution: a tenant with the built-in role edit makes a run in the name of an execution's next one. The execution
// names it, waits, and continues when it is gone. It does not take its figures, and does not delete it.
func TestForgedRunOfAnExecution(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	mallory := l.tenant()
	e := l.executes("hand", "repeats: 2")
	forged := runOf(l, "hand-base-2")
	forged.OwnerReferences = ownedBy(e, v1alpha1.GroupVersion.String(), "BenchmarkSuiteRun")
	err := mallory.Create(l.ctx, forged.DeepCopy())
	l.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	forged.OwnerReferences = ownedBy(e, "v1", "ConfigMap")
	l.Expect(mallory.Create(l.ctx, forged)).To(Succeed())

	l.expectSuite(e, v1alpha1.ConditionSucceeded, "Unknown/ObjectTaken")
	l.Expect(messageOf(e, v1alpha1.ConditionSucceeded)).To(ContainSubstring(`BenchmarkRun "hand-base-2" exists`))
	l.Eventually(l.events(e)).Should(ContainElement(v1alpha1.ReasonObjectTaken))
	l.expect(forged, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Consistently(func() int32 { l.Expect(l.get(e)).To(Succeed()); return e.Status.Counts.Succeeded }).Should(BeEquivalentTo(1))
	l.Expect(mallory.Delete(l.ctx, forged)).To(Succeed())
	l.expectSuite(e, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestSuiteWaitsForAQuota: a quota that has no room for another execution is named, old executions are deleted meanwhile, and the
// execution is made when there is room.
func TestSuiteWaitsForAQuota(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	s := l.suite("nightly", "", func(s *v1alpha1.BenchmarkSuite) { s.Spec.SucceededHistoryLimit = ptr.To[int32](100) })
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.patch(s, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationRunNow+`":"1"}}}`)
	l.Eventually(l.executionNames).Should(HaveLen(2))
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	quota := l.fullQuota("count/benchmarksuiteruns.vnfbench.io")
	probe := l.execution("probe")
	probe.Spec.Template = l.template("")
	l.Eventually(func() error { return cluster.Create(l.ctx, probe.DeepCopy(), client.DryRunAll) }).Should(MatchError(ContainSubstring("exceeded quota")))
	l.patch(s, `{"spec":{"succeededHistoryLimit":1},"metadata":{"annotations":{"`+v1alpha1.AnnotationRunNow+`":"2"}}}`)
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "Unknown/Waiting")
	l.Expect(messageOf(s, v1alpha1.ConditionSucceeded)).To(And(ContainSubstring(`"nightly-3" can be made`), ContainSubstring("exceeded quota")))
	l.Eventually(l.events(s)).Should(ContainElement(v1alpha1.ReasonWaiting))
	l.Eventually(l.executionNames).Should(Equal([]string{"nightly-2"}))

	quota.Status.Hard = corev1.ResourceList{"count/benchmarksuiteruns.vnfbench.io": resource.MustParse("9")}
	l.Expect(cluster.Status().Update(l.ctx, quota)).To(Succeed())
	l.Eventually(l.executionNames).Should(ContainElement("nightly-3"))
	l.expectSuite(s, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(s.Status.LastExecution.Name).To(Equal("nightly-3"))
}

package envtest

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// year is a time to end that no run has.
const year = 365 * 24 * 60 * 60

// foreign is a finalizer that no controller removes.
const foreign = "example.com/held"

// measuring returns a run that measures and does not end, and a tenant of its namespace.
func (l *lab) measuring() (*v1alpha1.BenchmarkRun, client.Client) {
	l.t.Helper()
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	return run, l.tenant()
}

// labeled returns a pod with the labels of a run.
func (l *lab) labeled(run *v1alpha1.BenchmarkRun, name string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.namespace, Name: name, OwnerReferences: owners, Labels: map[string]string{v1alpha1.LabelRun: string(run.UID)},
			Annotations: map[string]string{v1alpha1.AnnotationRun: run.Name},
		},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](year), Containers: []corev1.Container{{Name: "c", Image: "registry.test/sleep:1"}}},
	}
}

// runs reports whether the node has started a pod.
func (l *lab) runs(pod *corev1.Pod) func() bool {
	return func() bool { return l.get(pod) == nil && pod.Status.Phase == corev1.PodRunning }
}

func (l *lab) patchJob(as client.Client, run *v1alpha1.BenchmarkRun, patch string) {
	l.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Job}}
	l.Expect(as.Patch(l.ctx, job, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

func (l *lab) isGone(object client.Object) {
	l.t.Helper()
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(object)) }).Should(BeTrue())
}

// TestPodsThatTheRunDidNotMake: pods of a tenant have the UID of a run as their label, run, and have a finalizer. The
// deletion of the run does not wait for them, and leaves them alone.
func TestPodsThatTheRunDidNotMake(t *testing.T) {
	l := newLab(t, nil)
	run, mallory := l.measuring()
	replicaSet := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "many", UID: "0b4a1c1e", Controller: ptr.To(true)}
	pods := []*corev1.Pod{l.labeled(run, "alone"), l.labeled(run, "of-a-replica-set", replicaSet)}
	for _, pod := range pods {
		pod.Finalizers = []string{foreign}
		l.Expect(mallory.Create(l.ctx, pod)).To(Succeed())
		l.Eventually(l.runs(pod)).Should(BeTrue())
	}
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	l.isGone(run)
	for _, pod := range pods {
		l.Expect(l.get(pod)).To(Succeed())
		l.Expect(pod.DeletionTimestamp).To(BeNil())
	}
}

// TestTimeToEnd: a tenant deletes a pod of the run with a year to end, and gives another one a year that names the run as its
// controller. Both get the time that a pod of a run has.
func TestTimeToEnd(t *testing.T) {
	l := newLab(t, nil)
	run, mallory := l.measuring()
	theirs := l.labeled(run, "theirs", *metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("BenchmarkRun")))
	l.Expect(mallory.Create(l.ctx, theirs)).To(Succeed())
	l.Eventually(l.runs(theirs)).Should(BeTrue())
	l.node.set(func(n *node) { n.holding = true })
	function := l.functionPod()
	l.Expect(mallory.Delete(l.ctx, function, client.GracePeriodSeconds(year))).To(Succeed())
	l.setSuspend(run, true)
	for _, pod := range []*corev1.Pod{theirs, function} {
		l.Eventually(func() int64 {
			l.Expect(l.get(pod)).To(Succeed())
			return ptr.Deref(pod.DeletionGracePeriodSeconds, year)
		}).Should(BeNumerically("<=", 10), pod.Name)
	}
	l.node.set(func(n *node) { n.holding = false })
	// The run fails if the operator sees the deletion before it sees that the run is suspended.
	l.Eventually(func() string {
		l.Expect(l.get(run)).To(Succeed())
		return conditionText(run.Status.Conditions, v1alpha1.ConditionAdmitted)
	}).Should(Or(Equal("False/Suspended"), Equal("False/Released")))
}

// TestJobWithAFinalizer: a tenant gives the run's Job a finalizer, and the run is deleted. The Job stays, and the run and
// its testbed do not wait for it.
func TestJobWithAFinalizer(t *testing.T) {
	l := newLab(t, nil)
	run, mallory := l.measuring()
	l.patchJob(mallory, run, `{"metadata":{"finalizers":["`+foreign+`"]}}`)
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Job}}
	l.Eventually(func() bool { return l.get(job) == nil && job.DeletionTimestamp != nil }).Should(BeTrue())
	l.Consistently(func() error { return l.get(run) }).Should(Succeed())
	l.passes(6*time.Minute, run)
	l.isGone(run)
	l.Expect(l.get(job)).To(Succeed())
	l.node.set(func(n *node) { delete(n.silent, pathChain) })
	l.expect(l.run("next"), v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestJobThatDoesNotGo: a tenant deletes the Job during the run, with a finalizer. The run ends, and gives its testbed back.
func TestJobThatDoesNotGo(t *testing.T) {
	l := newLab(t, nil)
	run, mallory := l.measuring()
	l.patchJob(mallory, run, `{"metadata":{"finalizers":["`+foreign+`"]}}`)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Job}}
	l.Expect(mallory.Delete(l.ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	l.passes(time.Duration(run.Spec.Experiment.StartupSeconds+60)*time.Second, run)
	l.expect(run, v1alpha1.ConditionSucceeded, "False/PodStuck")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("see which finalizer keeps it"))
	l.passes(6*time.Minute, run)
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}

// TestDeadlineThatTheJobDoesNotKeep: a tenant suspends the Job, or raises its deadline. The run ends by its own deadline.
func TestDeadlineThatTheJobDoesNotKeep(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{"suspended": `{"spec":{"suspend":true}}`, "raised": `{"spec":{"activeDeadlineSeconds":31536000}}`} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			run, mallory := l.measuring()
			l.patchJob(mallory, run, patch)
			e := run.Spec.Experiment
			l.passes(time.Duration(e.DeadlineSeconds+2*e.StartupSeconds+1)*time.Second, run)
			l.expect(run, v1alpha1.ConditionSucceeded, "False/DeadlineExceeded")
			l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("see who changes Jobs here"))
			l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
		})
	}
}

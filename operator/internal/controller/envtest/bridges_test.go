package envtest

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
)

// usedTestbed makes a testbed whose bridges a run has left on the node, in a namespace that is deleted since.
func (l *lab) usedTestbed() *v1alpha1.Testbed {
	l.t.Helper()
	testbed, going := l.testbedUsedIn("going-")
	// No controller ends this namespace: it stays as it is while its last objects go.
	l.Expect(cluster.Delete(l.ctx, going)).To(Succeed())
	return testbed
}

// testbedUsedIn makes a testbed whose bridges a run has left on the node, and the namespace of that run.
func (l *lab) testbedUsedIn(name string) (*v1alpha1.Testbed, *corev1.Namespace) {
	l.t.Helper()
	used := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name}}
	l.Expect(cluster.Create(l.ctx, used)).To(Succeed())
	testbed := l.testbed()
	l.Eventually(l.testbedState(testbed, v1alpha1.ConditionReady)).Should(Equal("True/Ready"))
	l.Eventually(func() error {
		if err := l.get(testbed); err != nil {
			return err
		}
		testbed.Status.BridgeNodes = []v1alpha1.BridgeNode{{Name: nodeName, Namespace: used.Name}}
		return cluster.Status().Update(l.ctx, testbed)
	}).Should(Succeed())
	return testbed, used
}

// TestBridgesOfARunsNamespace: the Job in the namespace of the testbed's last run removes the bridges. It is believed as the API
// server stores it, with all defaults; one that a user made in its place is not.
func TestBridgesOfARunsNamespace(t *testing.T) {
	t.Parallel()
	for name, byUser := range map[string]bool{"the operator's": false, "a user's": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			testbed, used := l.testbedUsedIn("used-")
			var atHome bool
			l.node.set(func(n *node) {
				n.starts[chain.ComponentCleanup] = func(pod *corev1.Pod) {
					atHome = true
					succeeds(pod)
				}
			})
			l.Expect(cluster.Delete(l.ctx, testbed)).To(Succeed())
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: used.Name, Name: plan.CleanupName(testbed, nodeName)}}
			l.Eventually(func() error { return l.get(job) }).Should(Succeed())
			if byUser {
				fake := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name, OwnerReferences: job.OwnerReferences}}
				fake.Spec.Template.Spec = *job.Spec.Template.Spec.DeepCopy()
				fake.Spec.Template.Spec.Containers[0].Command = []string{"true"}
				l.Eventually(func() error {
					if err := cluster.Delete(l.ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
						return err
					}
					return cluster.Create(l.ctx, fake) // the operator may make its own in between
				}).Should(Succeed())
				job = fake
			}
			l.Expect(endJob(l.ctx, job, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, "CompletionsReached")).To(Succeed())
			l.Eventually(func() bool { return apierrors.IsNotFound(l.get(testbed)) }).Should(BeTrue())
			l.node.set(func(*node) {
				l.Expect(atHome).To(Equal(byUser), "a Job in the operator's namespace removed the bridges")
			})
		})
	}
}

// TestBridgesWithoutANamespace: the namespace of a testbed's runs is gone. The Job that removes the bridges is in the
// operator's.
func TestBridgesWithoutANamespace(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.usedTestbed()
	var cleaned bool
	l.node.set(func(n *node) {
		n.starts[chain.ComponentCleanup] = func(pod *corev1.Pod) {
			cleaned = true
			succeeds(pod)
		}
	})
	l.Expect(cluster.Delete(l.ctx, testbed)).To(Succeed())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(testbed)) }).Should(BeTrue())
	l.node.set(func(*node) { l.Expect(cleaned).To(BeTrue(), "no pod removed the bridges") })
	l.Consistently(l.events(testbed)).ShouldNot(ContainElement(v1alpha1.ReasonBridgeCleanupIncomplete))
	var jobs batchv1.JobList
	l.Expect(cluster.List(l.ctx, &jobs, client.InNamespace(l.namespace))).To(Succeed())
	l.Expect(slices.DeleteFunc(jobs.Items, func(job batchv1.Job) bool { return !job.DeletionTimestamp.IsZero() })).To(BeEmpty())
}

// TestBridgesThatNoNamespaceRemoves: the operator's namespace takes no Job either. The testbed goes, and an event names
// bridges and node.
func TestBridgesThatNoNamespaceRemoves(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.usedTestbed()
	hard := corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "jobs"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	l.Expect(cluster.Create(l.ctx, quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: hard}
	l.Expect(cluster.Status().Update(l.ctx, quota)).To(Succeed())
	l.Expect(cluster.Delete(l.ctx, testbed)).To(Succeed())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(testbed)) }).Should(BeTrue())
	l.Eventually(l.events(testbed)).Should(ContainElement(v1alpha1.ReasonBridgeCleanupIncomplete))
}

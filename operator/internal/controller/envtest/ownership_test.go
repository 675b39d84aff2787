package envtest

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// TestObjectOfAnotherWriterIsNotTaken: a tenant learns a run's UID while it is suspended, and makes the ConfigMap
// of its function with another configuration before the operator does. The operator neither changes nor deletes it.
func TestObjectOfAnotherWriterIsNotTaken(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	mallory := l.tenant()
	run := l.run("run", func(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true })
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
	theirs := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Function("router")},
		Data:       map[string]string{"config.json": "{}"},
	}
	l.Expect(mallory.Create(l.ctx, theirs)).To(Succeed())
	l.setSuspend(run, false)
	l.expect(run, v1alpha1.ConditionSucceeded, "False/ObjectTaken")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring(theirs.Name))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	now := theirs.DeepCopy()
	l.Expect(l.get(now)).To(Succeed())
	l.Expect(now.UID).To(Equal(theirs.UID))
	l.Expect(now.Data).To(Equal(theirs.Data))
	l.Expect(now.Labels).To(BeEmpty())
}

// TestObjectOfAnotherRunIsNotDeleted: an object has the name of one of a run's, and another owner.
func TestObjectOfAnotherRunIsNotDeleted(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	mallory := l.tenant()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	name := plan.NamesOf(run).Function("router")
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	l.Expect(mallory.Delete(l.ctx, old)).To(Succeed())
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}, Data: map[string]string{"kept": "yes"}}
	l.Expect(mallory.Create(l.ctx, theirs)).To(Succeed())
	l.setSuspend(run, true)
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	l.Eventually(func() error { return client.IgnoreNotFound(l.get(run)) }).Should(Succeed())
	l.goes(run)
	l.Expect(l.get(theirs)).To(Succeed())
	l.Expect(theirs.Data).To(Equal(map[string]string{"kept": "yes"}))
}

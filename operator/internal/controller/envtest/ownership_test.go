package envtest

import (
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
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

// TestOrphansOfADeletedRun: kubectl delete --cascade=orphan makes the garbage collector take the owner off all that the
// run has, also its Job. The run still ends, and nothing stays.
func TestOrphansOfADeletedRun(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	networks := &unstructured.UnstructuredList{}
	networks.SetGroupVersionKind(chain.NetworkAttachmentDefinition)
	for _, list := range []client.ObjectList{
		&batchv1.JobList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{},
		&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &networkingv1.NetworkPolicyList{}, networks,
	} {
		l.Expect(cluster.List(l.ctx, list, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelRun: string(run.UID)})).To(Succeed())
		items, err := meta.ExtractList(list)
		l.Expect(err).NotTo(HaveOccurred())
		l.Expect(items).NotTo(BeEmpty(), "%T", list)
		for _, item := range items {
			orphan := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
			if owner := metav1.GetControllerOf(item.(client.Object)); owner != nil && owner.UID == run.UID {
				l.Expect(cluster.Patch(l.ctx, item.(client.Object), orphan)).To(Succeed())
			}
		}
	}
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(run)) }).Should(BeTrue())
	l.Expect(l.objects()).To(BeEmpty())
	l.Expect(l.nodeHolder()).To(BeEmpty())
}

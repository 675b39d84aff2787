package envtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// tenantRoles are what the built-in role edit has in an installation: the controller that joins them is not part of a
// test's API server. The last one is for runs.
var tenantRoles = []string{"system:aggregate-to-edit", "system:aggregate-to-view", "vnfbench-editor"}

// tenant returns a client of a user who has the built-in role edit in the lab's namespace, and further roles.
func (l *lab) tenant(further ...string) client.Client {
	l.t.Helper()
	user := strings.Join(append(further, "mallory-of-"+l.namespace), "-")
	for _, role := range slices.Concat(further, tenantRoles) {
		l.Expect(cluster.Create(l.ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, GenerateName: "tenant-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})).To(Succeed())
	}
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	l.awaitRights(impersonating, l.namespace)
	c, err := client.New(impersonating, client.Options{Scheme: cluster.Scheme()})
	l.Expect(err).NotTo(HaveOccurred())
	return c
}

// forged returns the plan of a run that ended, as that of another run, with one change.
func (l *lab) forged(from, to *v1alpha1.BenchmarkRun, change func(*plan.Plan)) *corev1.ConfigMap {
	l.t.Helper()
	stored := &corev1.ConfigMap{}
	l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: plan.NamesOf(from).Plan}, stored)).To(Succeed())
	var p plan.Plan
	l.Expect(json.Unmarshal([]byte(stored.Data[plan.KeyPlan]), &p)).To(Succeed())
	p.Run = plan.Reference{Namespace: to.Namespace, Name: to.Name, UID: to.UID}
	change(&p)
	return chain.PlanConfigMap(&p)
}

func (l *lab) networks() []string {
	l.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(chain.NetworkAttachmentDefinition)
	l.Expect(cluster.List(l.ctx, list, inNamespace(l))).To(Succeed())
	var configurations []string
	for _, item := range list.Items {
		text, _, err := unstructured.NestedString(item.Object, "spec", "config")
		l.Expect(err).NotTo(HaveOccurred())
		configurations = append(configurations, text)
	}
	return configurations
}

// TestForgedPlanBeforeTheOperators: a tenant stores a plan with the node's own bridge, and one
// with a billion repeats, before the operator plans the run.
func TestForgedPlanBeforeTheOperators(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	mallory := l.tenant()
	earlier := l.run("earlier")
	l.expect(earlier, v1alpha1.ConditionSucceeded, "True/Succeeded")
	for name, change := range map[string]func(*plan.Plan){
		"bridge":  func(p *plan.Plan) { p.Segments[0].Bridge = "cni0" },
		"repeats": func(p *plan.Plan) { p.Instructions.Repeats = 1_000_000_000 },
	} {
		run := l.run(name, func(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true })
		l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
		l.Expect(l.get(run)).To(Succeed())
		l.Expect(mallory.Create(l.ctx, l.forged(earlier, run, change))).To(Succeed())
		l.setSuspend(run, false)
		l.expect(run, v1alpha1.ConditionSucceeded, "False/PlanChanged")
		l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring(plan.NamesOf(run).Plan))
		l.Expect(l.networks()).NotTo(ContainElement(ContainSubstring("cni0")))
		l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
		l.goes(run)
	}
	next := l.run("next")
	l.expect(next, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestForgedPlanDuringTheRun: a tenant replaces the plan, or only the measurer's instructions.
func TestForgedPlanDuringTheRun(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	mallory := l.tenant()
	for name, change := range map[string]func(*corev1.ConfigMap, *plan.Plan){
		"plan": func(c *corev1.ConfigMap, p *plan.Plan) {
			p.Segments[0].Bridge = "cni0"
			c.Data = chain.PlanConfigMap(p).Data
		},
		"instructions": func(c *corev1.ConfigMap, p *plan.Plan) { c.Data[plan.KeyInstructions] += " " },
	} {
		run := l.run(name)
		l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
		// While no plan is used, the operator does not make the deleted one again.
		l.setSuspend(run, true)
		l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
		stored := &corev1.ConfigMap{}
		l.Expect(mallory.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: plan.NamesOf(run).Plan}, stored)).To(Succeed())
		p, err := plan.Parse([]byte(stored.Data[plan.KeyPlan]))
		l.Expect(err).NotTo(HaveOccurred())
		changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: stored.Namespace, Name: stored.Name, Labels: stored.Labels}, Data: stored.Data}
		change(changed, p)
		l.Expect(mallory.Delete(l.ctx, stored)).To(Succeed())
		l.Expect(mallory.Create(l.ctx, changed)).To(Succeed())
		l.setSuspend(run, false)
		l.expect(run, v1alpha1.ConditionSucceeded, "False/PlanChanged")
		l.Expect(l.networks()).NotTo(ContainElement(ContainSubstring("cni0")))
		l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
		l.goes(run)
	}
}

// TestNetworksOfALostPlan: a tenant deletes the plan in the middle of the run. The networks are deleted with the
// pods, so that no other pod can join the testbed's bridges.
func TestNetworksOfALostPlan(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	mallory := l.tenant()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	l.Expect(l.networks()).NotTo(BeEmpty())
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Plan}}
	l.node.set(func(n *node) { n.holding = true })
	l.setSuspend(run, true)
	l.expect(run, v1alpha1.ConditionSucceeded, "Unknown/Suspended")
	l.Expect(mallory.Delete(l.ctx, stored)).To(Succeed())
	forged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: stored.Name}, Data: map[string]string{"plan.json": "{}"}}
	l.Expect(mallory.Create(l.ctx, forged)).To(Succeed())
	l.setSuspend(run, false)
	l.expect(run, v1alpha1.ConditionSucceeded, "False/PlanChanged")
	l.node.set(func(n *node) { n.holding = false })
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(l.networks()).To(BeEmpty())
}

// TestForgedFailure: a tenant stores a failure that says that the run succeeded, and one with a
// reason that no condition takes.
func TestForgedFailure(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	mallory := l.tenant()
	for i, reason := range []string{v1alpha1.ReasonSucceeded, "bad reason!", ""} {
		run := l.run(fmt.Sprintf("run-%d", i))
		l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
		results := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Results}}
		failure := mustJSON(measure.FailureState{Reason: reason, Message: "NDR of 64-byte frames is 14880952 frames/s"})
		patch := mustJSON(map[string]any{"data": map[string]string{measure.KeyFailure: failure}})
		l.Expect(mallory.Patch(l.ctx, results, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		l.expect(run, v1alpha1.ConditionSucceeded, "False/MeasurerFailed")
		l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring("which no measurer gives"))
		l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
		l.goes(run)
	}
}

// TestPodWithTheLabelsOfARun: a tenant labels a pod as one of a run on the testbed. It keeps neither the next run
// from the testbed nor the testbed from being deleted.
func TestPodWithTheLabelsOfARun(t *testing.T) {
	l := newLab(t, nil)
	testbed := l.testbed()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "sleeps", Labels: map[string]string{v1alpha1.LabelRun: "x", v1alpha1.LabelTestbed: string(testbed.UID)}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.test/sleep:1"}}},
	}
	l.Expect(l.tenant().Create(l.ctx, pod)).To(Succeed())
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(cluster.Delete(l.ctx, testbed)).To(Succeed())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(testbed)) }).Should(BeTrue())
	l.Expect(l.get(pod)).To(Succeed())
}

// TestCachesHoldNoDataOfConfigMaps: a tenant labels ConfigMaps as those of a run. However large they are, the
// operator's caches only have their metadata.
func TestCachesHoldNoDataOfConfigMaps(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	run := l.run("run")
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	var kinds []string
	l.cached.Range(func(kind, _ any) bool { kinds = append(kinds, kind.(string)); return true })
	l.Expect(kinds).To(ContainElements("*v1.PartialObjectMetadata", "*v1.Pod"))
	l.Expect(kinds).NotTo(ContainElement("*v1.ConfigMap"))
}

// TestRunAmongLargeObjects: a tenant gives a run a large annotation and a finalizer, and labels more ConfigMaps as those
// of the run than a page of a list has. The run is measured, keeps what is the tenant's, and deletes its own records.
func TestRunAmongLargeObjects(t *testing.T) {
	l := newLab(t, nil)
	l.testbed()
	const hold = "tenant.example/hold"
	run := l.run("run", func(run *v1alpha1.BenchmarkRun) {
		run.Annotations, run.Finalizers = map[string]string{"tenant.example/large": strings.Repeat("a", 200<<10)}, []string{hold}
	})
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(l.get(run)).To(Succeed())
	l.Expect(run.Annotations).To(HaveKey("tenant.example/large"))
	l.Expect(run.Finalizers).To(ConsistOf(hold, v1alpha1.Finalizer))

	tenant := l.tenant()
	for i := range 45 {
		l.Expect(tenant.Create(l.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: l.namespace, Name: fmt.Sprintf("a-%d", i), Labels: map[string]string{v1alpha1.LabelRun: string(run.UID)},
		}})).To(Succeed())
	}
	l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
	l.Eventually(func() []string { l.Expect(l.get(run)).To(Succeed()); return run.Finalizers }).Should(ConsistOf(hold))
	var left corev1.ConfigMapList
	l.Expect(cluster.List(l.ctx, &left, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelRun: string(run.UID)})).To(Succeed())
	l.Expect(left.Items).To(HaveLen(45), "the tenant's own, and none of the run")
	l.patch(run, `{"metadata":{"finalizers":null}}`)
}

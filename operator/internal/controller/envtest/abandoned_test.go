package envtest

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/benchmarkrun"
)

// asWithWatchNamespaces returns the configuration of a user who has the rights that the chart gives the operator with
// watchNamespaces, and a function that takes a namespace out of the list.
func (l *lab) asWithWatchNamespaces(namespaces ...string) (*rest.Config, func(string)) {
	l.t.Helper()
	user := "watching-from-" + l.namespace
	template, err := os.ReadFile("../../../../charts/vnfbench/templates/rbac.yaml")
	l.Expect(err).NotTo(HaveOccurred())
	ofCluster := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
	ofServer := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: user}}
	for document := range strings.SplitSeq(string(template), "\n---\n") {
		head, rules, _ := strings.Cut(document, "\nrules:\n")
		switch {
		case strings.Contains(head, "kind: ClusterRole\n") && strings.Contains(head, "name: {{ $name }}-cluster\n"):
			l.Expect(yaml.Unmarshal([]byte("rules:\n"+rules), ofCluster)).To(Succeed())
		case strings.Contains(head, "kind: Role\n") && strings.Contains(head, "name: {{ $name }}-api-server\n  namespace: default\n"):
			l.Expect(yaml.Unmarshal([]byte("rules:\n"+rules), ofServer)).To(Succeed())
		}
	}
	l.Expect(ofCluster.Rules).NotTo(BeEmpty())
	l.Expect(ofServer.Rules).NotTo(BeEmpty())
	l.Expect(cluster.Create(l.ctx, ofCluster)).To(Succeed())
	l.Expect(cluster.Create(l.ctx, ofServer)).To(Succeed())
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	binding := func(namespace, name string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: role(name), Subjects: subjects}
	}
	l.Expect(cluster.Create(l.ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: role(user), Subjects: subjects})).To(Succeed())
	l.Expect(cluster.Create(l.ctx, binding(l.namespace, "vnfbench-nodes"))).To(Succeed())
	forServer := binding(ofServer.Namespace, user)
	forServer.RoleRef.Kind = "Role"
	l.Expect(cluster.Create(l.ctx, forServer)).To(Succeed())
	for _, namespace := range namespaces {
		l.Expect(cluster.Create(l.ctx, binding(namespace, "vnfbench-manager"))).To(Succeed())
	}
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	l.awaitRights(impersonating, namespaces...)
	return impersonating, func(namespace string) {
		l.Expect(cluster.Delete(l.ctx, binding(namespace, "vnfbench-manager"))).To(Succeed())
	}
}

// TestNamespaceTakenOutOfTheList: a namespace with a run that measures and one that waits is taken out of watchNamespaces, and deleted.
// Nothing keeps it, and the run of another namespace gets the node when the pods have had their time to end. The operator lets go of
// all runs that it does not watch, so the test shares the cluster with no other.
func TestNamespaceTakenOutOfTheList(t *testing.T) {
	l := startLab(t, nil)
	l.stop()
	taken := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "taken-"}}
	l.Expect(cluster.Create(l.ctx, taken)).To(Succeed())
	startNode(t, taken.Name).set(func(n *node) { n.silent[pathChain] = true })
	rights, takeAway := l.asWithWatchNamespaces(l.namespace, taken.Name)
	l.rights, l.watched = rights, []string{l.namespace, taken.Name}
	l.startOperator(l.abandoned)
	l.testbed()
	in := func(namespace string) func(*v1alpha1.BenchmarkRun) {
		return func(r *v1alpha1.BenchmarkRun) { r.Namespace = namespace }
	}
	measures := l.run("measures", in(taken.Name))
	l.expect(measures, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	waits, stays := l.run("waits", in(taken.Name)), l.run("stays")
	l.expect(waits, v1alpha1.ConditionAdmitted, "False/Queued")
	l.expect(stays, v1alpha1.ConditionAdmitted, "False/Queued")

	l.stop()
	takeAway(taken.Name)
	l.watched = []string{l.namespace}
	l.startOperator(l.abandoned)
	l.expect(stays, v1alpha1.ConditionChainReady, "Unknown/NodeBusy")
	for _, run := range []*v1alpha1.BenchmarkRun{measures, waits} {
		l.Expect(l.get(run)).To(Succeed())
		l.Expect(run.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
	}

	l.deleteNamespace(taken)
	l.Expect(l.nodeHolder()).To(Equal(identityOf(measures)))
	l.Eventually(func() string { return l.message(stays, v1alpha1.ConditionChainReady) }).Should(And(
		ContainSubstring(taken.Name+"/measures"), ContainSubstring("was deleted in a namespace that the operator does not watch"), ContainSubstring("delete Lease")))
	l.passes(5*time.Minute, stays)
	l.expect(stays, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// abandoned returns what lets go of runs that the operator does not watch.
func (l *lab) abandoned(mgr ctrl.Manager) manager.Runnable {
	return &benchmarkrun.Abandoned{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: l.clock, Namespace: l.namespace, Namespaces: l.watched, Interval: interval}
}

// deleteNamespace deletes a namespace as its controller does: it waits until no run is left.
func (l *lab) deleteNamespace(namespace *corev1.Namespace) {
	l.t.Helper()
	l.Expect(cluster.Delete(l.ctx, namespace)).To(Succeed())
	l.Expect(cluster.DeleteAllOf(l.ctx, &v1alpha1.BenchmarkRun{}, client.InNamespace(namespace.Name))).To(Succeed())
	l.Eventually(func() ([]v1alpha1.BenchmarkRun, error) {
		var left v1alpha1.BenchmarkRunList
		err := cluster.List(l.ctx, &left, client.InNamespace(namespace.Name))
		return left.Items, err
	}).Should(BeEmpty())
	clients, err := kubernetes.NewForConfig(config)
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(l.get(namespace)).To(Succeed())
	namespace.Spec.Finalizers = nil
	_, err = clients.CoreV1().Namespaces().Finalize(l.ctx, namespace, metav1.UpdateOptions{})
	l.Expect(err).NotTo(HaveOccurred())
	l.Eventually(func() bool { return apierrors.IsNotFound(l.get(namespace)) }).Should(BeTrue())
}

package envtest

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller"
	"vnfbench.io/operator/internal/controller/watches"
)

// byNamespace returns the configuration of a user who may read runs in the given namespaces alone, and
// namespaces of the cluster; and a function that takes the rights in one of them away.
func (l *lab) byNamespace(namespaces ...string) (*rest.Config, func(string)) {
	l.t.Helper()
	user := "operator-of-" + l.namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
	}}
	runs := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user + "-runs"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"vnfbench.io"}, Resources: []string{"benchmarkruns"}, Verbs: []string{"get", "list", "watch"}},
	}}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	l.Expect(cluster.Create(l.ctx, role)).To(Succeed())
	l.Expect(cluster.Create(l.ctx, runs)).To(Succeed())
	l.Expect(cluster.Create(l.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: subjects,
	})).To(Succeed())
	binding := func(namespace string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: runs.Name}, Subjects: subjects,
		}
	}
	for _, namespace := range namespaces {
		l.Expect(cluster.Create(l.ctx, binding(namespace))).To(Succeed())
	}
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	l.awaitRights(impersonating, namespaces...)
	return impersonating, func(namespace string) { l.Expect(cluster.Delete(l.ctx, binding(namespace))).To(Succeed()) }
}

// awaitRights waits until the API server, which learns of roles by watching them, lets a user read runs in the namespaces.
func (l *lab) awaitRights(user *rest.Config, namespaces ...string) {
	l.t.Helper()
	clients, err := kubernetes.NewForConfig(user)
	l.Expect(err).NotTo(HaveOccurred())
	l.Eventually(func() ([]string, error) {
		_, unreadable, err := watches.Readable(l.ctx, clients.AuthorizationV1().SelfSubjectAccessReviews(), namespaces)
		return unreadable, err
	}).Should(BeEmpty())
}

// TestNamespaceGoes: an operator watches two namespaces, and has lost its rights in one, which is a fault. When that
// namespace is deleted, the operator is ready again. It reads the other one all the time.
func TestNamespaceGoes(t *testing.T) {
	l := newLab(t, nil)
	going := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "going-"}}
	l.Expect(cluster.Create(l.ctx, going)).To(Succeed())
	limited, takeAway := l.byNamespace(l.namespace, going.Name)
	takeAway(going.Name)

	watched := watches.New(clock.RealClock{}, l.namespace, going.Name)
	scheme, err := controller.Scheme()
	l.Expect(err).NotTo(HaveOccurred())
	cached, err := controller.CacheOptions([]string{l.namespace, going.Name}, watched.Handle)
	l.Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(limited, ctrl.Options{Scheme: scheme, Cache: cached, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	l.Expect(err).NotTo(HaveOccurred())
	watched.SetNamespaces(mgr.GetClient())
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() { cancel(); l.Expect(<-ended).To(Succeed()) }()
	l.Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	seen := func() int {
		var runs v1alpha1.BenchmarkRunList
		l.Expect(mgr.GetClient().List(l.ctx, &runs, client.InNamespace(l.namespace))).To(Succeed())
		return len(runs.Items)
	}
	request, err := http.NewRequestWithContext(l.ctx, http.MethodGet, "/readyz", nil)
	l.Expect(err).NotTo(HaveOccurred())
	isReady := func() error { return watched.Ready(request) }
	l.Expect(mgr.GetClient().List(l.ctx, &corev1.NamespaceList{})).To(Succeed())
	l.Eventually(seen).Should(Equal(0))
	l.Expect(isReady()).To(Succeed())

	// This cache waits for its first list until the test ends.
	go func() { _ = mgr.GetClient().List(ctx, &v1alpha1.BenchmarkRunList{}, client.InNamespace(going.Name)) }()
	l.Eventually(isReady).Should(MatchError(ContainSubstring(going.Name)))
	l.Expect(cluster.Delete(l.ctx, going)).To(Succeed())
	l.Eventually(isReady).Should(Succeed())
	l.run("other", func(r *v1alpha1.BenchmarkRun) { r.Spec.Suspend = true })
	l.Eventually(seen).Should(Equal(1))
	l.Expect(isReady()).To(Succeed())
}

// TestNamespaceThatCannotBeRead: an operator starts while it has no rights in one of its namespaces. It leaves that one
// out, and ends when it has them.
func TestNamespaceThatCannotBeRead(t *testing.T) {
	l := newLab(t, nil)
	limited, takeAway := l.byNamespace(l.namespace)
	clients, err := kubernetes.NewForConfig(limited)
	l.Expect(err).NotTo(HaveOccurred())
	reviews := clients.AuthorizationV1().SelfSubjectAccessReviews()
	readable, unreadable, err := watches.Readable(l.ctx, reviews, []string{l.namespace, "away"})
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(readable).To(Equal([]string{l.namespace}))
	l.Expect(unreadable).To(Equal([]string{"away"}))

	ctx, cancel := context.WithTimeout(l.ctx, time.Second)
	defer cancel()
	l.Expect((&watches.Rejoin{Reviews: reviews, Unreadable: unreadable, Interval: interval}).Start(ctx)).To(Succeed())
	err = (&watches.Rejoin{Reviews: reviews, Unreadable: []string{"away", l.namespace}, Interval: interval}).Start(l.ctx)
	l.Expect(err).To(MatchError(ContainSubstring(l.namespace)))

	takeAway(l.namespace)
	l.Eventually(func() ([]string, error) {
		readable, unreadable, err = watches.Readable(l.ctx, reviews, []string{l.namespace})
		return readable, err
	}).Should(BeEmpty())
	l.Expect((&watches.Rejoin{Unreadable: unreadable}).Ready(nil)).To(MatchError(And(ContainSubstring("RoleBinding"), ContainSubstring(l.namespace))))
}

package trialstore_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/trialstore"
)

// startAPIServer returns clients for an administrator and for a measurer, which may patch
// the one ConfigMap and nothing else.
func startAPIServer(t *testing.T) (admin, measurer kubernetes.Interface) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run this by `make test`, which builds etcd and kube-apiserver")
	}
	// The default of 20 s is short for an API server that starts on a busy machine.
	environment := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	user, err := environment.AddUser(envtest.User{Name: "measurer"}, config)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(user.Config())
}

func prepare(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	ctx := t.Context()
	meta := metav1.ObjectMeta{Name: name}
	_, first := admin.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
	_, second := admin.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{name}, Verbs: []string{"patch"},
	}}}, metav1.CreateOptions{})
	_, third := admin.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "measurer"}},
	}, metav1.CreateOptions{})
	if err := errors.Join(first, second, third); err != nil {
		t.Fatal(err)
	}
}

// TestAPIServer checks that a real API server does what the store relies on.
func TestAPIServer(t *testing.T) {
	admin, client := startAPIServer(t)
	prepare(t, admin)
	ctx, maps := t.Context(), client.CoreV1().ConfigMaps("default")
	if _, err := maps.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the measurer may read: %v", err)
	}

	first := open(t, maps, "a")
	appendAll(t, first, 0)
	markReady(t, admin)
	appendAll(t, first, 1)
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	before := version(t, admin)
	if err := first.AwaitChain(waiting, 0); err != nil {
		t.Error(err)
	}
	if after := version(t, admin); after != before {
		t.Errorf("a read made version %s of %s", after, before)
	}

	second := open(t, maps, "b")
	if got := second.Records(); len(got) != 2 || second.Holder().Restarts != 1 {
		t.Errorf("%d records, %+v", len(got), second.Holder())
	}
	if err := first.Append(ctx, record(2)); !errors.Is(err, trialstore.ErrSuperseded) {
		t.Errorf("got %v", err)
	}
	fill(t, second)
	if err := errors.Join(second.Fail(ctx, measure.FailureState{Reason: "X"}), second.Done(ctx)); err != nil {
		t.Errorf("full results take no end: %v", err)
	}
	if got := open(t, maps, "c"); !got.Finished() || got.Failure() == nil {
		t.Error("the end was not stored")
	}
	if err := admin.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := second.Flush(ctx); err != nil {
		t.Errorf("nothing was pending: %v", err)
	}
	if err := second.Append(ctx, record(len(second.Records()))); measure.ReasonOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

// fill appends until the store refuses; the API server must never do so first.
func fill(t *testing.T, s *trialstore.Store) {
	t.Helper()
	for {
		r := record(len(s.Records()))
		r.Outcome.Doubts[0].Detail = strings.Repeat("x", 20<<10)
		err := s.Append(t.Context(), r)
		if err == nil {
			continue
		}
		if measure.ReasonOf(err) != v1alpha1.ReasonResultsTooLarge || !strings.Contains(err.Error(), "fewer frame sizes") {
			t.Errorf("got %v", err)
		}
		return
	}
}

// markReady is the controller's server-side apply.
func markReady(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	apply := applycorev1.ConfigMap(name, "default").WithData(map[string]string{measure.KeyChain: measure.ChainReady})
	if _, err := admin.CoreV1().ConfigMaps("default").Apply(t.Context(), apply, metav1.ApplyOptions{FieldManager: "controller"}); err != nil {
		t.Fatal(err)
	}
}

func version(t *testing.T, admin kubernetes.Interface) string {
	t.Helper()
	found, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found.ResourceVersion
}

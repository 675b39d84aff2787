package trialstore_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/trialstore"
)

// startAPIServer returns clients for an administrator and for the measurer of a run, which has the rights that
// the operator gives it, and the name of the run's results.
func startAPIServer(t *testing.T) (admin, measurer kubernetes.Interface, results string) {
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
	made, err := plan.Make(plantest.Input(1))
	if err != nil {
		t.Fatal(err)
	}
	made.Run.Namespace = "default"
	admin = kubernetes.NewForConfigOrDie(config)
	account := rest.CopyConfig(config)
	account.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:default:" + made.Names().ServiceAccount,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"},
	}
	_, first := admin.CoreV1().ConfigMaps("default").Create(t.Context(), chain.ResultsConfigMap(made), metav1.CreateOptions{})
	_, second := admin.RbacV1().Roles("default").Create(t.Context(), chain.Role(made), metav1.CreateOptions{})
	_, third := admin.RbacV1().RoleBindings("default").Create(t.Context(), chain.RoleBinding(made), metav1.CreateOptions{})
	if err := errors.Join(first, second, third); err != nil {
		t.Fatal(err)
	}
	return admin, kubernetes.NewForConfigOrDie(account), made.Names().Results
}

func openNamed(t *testing.T, maps trialstore.Patcher, results, pod string) *trialstore.Store {
	t.Helper()
	c := config(maps, pod)
	c.Name = results
	s, err := trialstore.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAPIServer checks that a real API server does what the store relies on.
func TestAPIServer(t *testing.T) {
	admin, client, results := startAPIServer(t)
	ctx, maps := t.Context(), client.CoreV1().ConfigMaps("default")
	if _, err := maps.Get(ctx, results, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the measurer may read: %v", err)
	}

	first := openNamed(t, maps, results, "a")
	appendAll(t, first, 0)
	markReady(t, admin, results)
	appendAll(t, first, 1)
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	before := version(t, admin, results)
	if err := first.AwaitChain(waiting, 0); err != nil {
		t.Error(err)
	}
	if after := version(t, admin, results); after != before {
		t.Errorf("a read made version %s of %s", after, before)
	}

	second := openNamed(t, maps, results, "b")
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
	third := openNamed(t, maps, results, "c")
	if !third.Finished() || third.Failure() == nil || len(third.Records()) != len(second.Records()) {
		t.Error("the end was not stored")
	}
	checkChunks(t, admin, client, results)
	if err := admin.CoreV1().ConfigMaps("default").Delete(ctx, results, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := third.Flush(ctx); err != nil {
		t.Errorf("nothing was pending: %v", err)
	}
	if err := third.Append(ctx, record(len(third.Records()))); measure.ReasonOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

// checkChunks checks that the measurer has made all chunks with nothing but its rights, that these allow
// no other object, and that no one can change a chunk.
func checkChunks(t *testing.T, admin, client kubernetes.Interface, results string) {
	t.Helper()
	ctx, all := t.Context(), admin.CoreV1().ConfigMaps("default")
	head, err := all.Get(ctx, results, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(name string, _ types.UID) (*corev1.ConfigMap, error) {
		return all.Get(ctx, name, metav1.GetOptions{})
	}
	if records, err := trialstore.Read(head, get); err != nil || len(records) < 40 {
		t.Errorf("%d records: %v", len(records), err)
	}
	chunk, err := all.Get(ctx, measure.ChunkName(results, 0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if chunk.Immutable == nil || chunk.Labels[v1alpha1.LabelRun] != head.Labels[v1alpha1.LabelRun] || chunk.Labels[v1alpha1.LabelRun] == "" {
		t.Errorf("the chunk is %+v, immutable %v", chunk.ObjectMeta, chunk.Immutable)
	}
	if _, err := all.Patch(ctx, chunk.Name, types.MergePatchType, []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a chunk can be changed: %v", err)
	}

	mine := client.CoreV1().ConfigMaps("default")
	last := measure.ChunkName(results, measure.MaximumChunks-1)
	if err := all.Delete(ctx, last, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	apply := func(name string) error {
		_, err := mine.Apply(ctx, applycorev1.ConfigMap(name, "default").WithImmutable(true), metav1.ApplyOptions{FieldManager: "x"})
		return err
	}
	if err := apply(last); err != nil {
		t.Errorf("the last chunk cannot be made: %v", err)
	}
	posted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: measure.ChunkName(results, measure.MaximumChunks-1)}}
	_, post := mine.Create(ctx, posted, metav1.CreateOptions{})
	_, named := mine.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
	_, read := mine.Get(ctx, chunk.Name, metav1.GetOptions{})
	_, elsewhere := client.CoreV1().ConfigMaps("kube-system").Apply(ctx, applycorev1.ConfigMap(last, "kube-system"), metav1.ApplyOptions{FieldManager: "x"})
	for what, err := range map[string]error{
		"a posted chunk": post, "a posted object": named, "another name": apply("other"), "one more chunk": apply(measure.ChunkName(results, measure.MaximumChunks)),
		"another namespace": elsewhere, "a read": read, "a deletion": mine.Delete(ctx, chunk.Name, metav1.DeleteOptions{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s is not forbidden: %v", what, err)
		}
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
func markReady(t *testing.T, admin kubernetes.Interface, name string) {
	t.Helper()
	apply := applycorev1.ConfigMap(name, "default").WithData(map[string]string{measure.KeyChain: measure.ChainReady})
	if _, err := admin.CoreV1().ConfigMaps("default").Apply(t.Context(), apply, metav1.ApplyOptions{FieldManager: "controller"}); err != nil {
		t.Fatal(err)
	}
}

func version(t *testing.T, admin kubernetes.Interface, name string) string {
	t.Helper()
	found, err := admin.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found.ResourceVersion
}

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// demonstrationLabel names the demonstration that a namespace is of.
const demonstrationLabel = "e2e.vnfbench.io/demonstration"

// demonstration skips a test that takes many minutes unless its make target asks for it. It removes what an earlier one of
// the name has left that was ended in the middle, and returns a namespace with a testbed.
func demonstration(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("VNFBENCH_E2E_LONG") != "1" {
		t.Skipf("NOT RUN: it takes many minutes: make e2e-%s", name)
	}
	earlier := &corev1.NamespaceList{}
	must(t, retry(t, func() error {
		return cluster.List(t.Context(), earlier, client.MatchingLabels{demonstrationLabel: name})
	}))
	for i := range earlier.Items {
		old := &earlier.Items[i]
		t.Logf("removing namespace %s of an earlier %s", old.Name, name)
		// The testbed goes when the run that holds it is gone, and that goes with the namespace.
		tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: testbedName(old.Name, "lab")}}
		for _, o := range []client.Object{tb, old} {
			must(t, client.IgnoreNotFound(cluster.Delete(t.Context(), o)))
		}
		for _, o := range []client.Object{old, tb} {
			untilGone(t, o)
		}
	}
	ns := namespace(t)
	label := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, demonstrationLabel, name)
	must(t, cluster.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.RawPatch("application/merge-patch+json", label)))
	testbed(t, ns)
	return ns
}

// untilGone waits until an object does not exist any more.
func untilGone(t *testing.T, o client.Object) {
	t.Helper()
	for deadline := time.Now().Add(stepTimeout); ; time.Sleep(500 * time.Millisecond) {
		err := retry(t, func() error { return cluster.Get(t.Context(), client.ObjectKeyFromObject(o), o) })
		if apierrors.IsNotFound(err) {
			return
		}
		must(t, err)
		if time.Now().After(deadline) {
			t.Fatalf("%T %s is not gone after %s: %v", o, o.GetName(), stepTimeout, o.GetFinalizers())
		}
	}
}

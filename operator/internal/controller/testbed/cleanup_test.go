package testbed

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/plan"
)

// TestCleanupOfAnotherNamespaceIsNotBelieved: a user makes a Job with the name and the labels of the one that removes
// the testbed's bridges, in another namespace or without the testbed as its owner.
func TestCleanupOfAnotherNamespaceIsNotBelieved(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	now := metav1.Now()
	testbed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{
		Name: "lab", UID: "testbed-uid", Finalizers: []string{v1alpha1.Finalizer}, DeletionTimestamp: &now,
		Annotations: map[string]string{annotationBridgeNodes: "bench/a"},
	}}
	for name, test := range map[string]struct {
		namespace   string
		owned, want bool
	}{"own": {"bench", true, true}, "other namespace": {"mallory", true, false}, "no owner": {"bench", false, false}} {
		job := chain.BridgeCleanup(testbed, test.namespace, "a", plan.Defaults{})
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
		if test.owned {
			if err := controllerutil.SetControllerReference(testbed, job, scheme); err != nil {
				t.Fatal(err)
			}
		}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(testbed, job).WithIndex(&v1alpha1.BenchmarkRun{}, queue.IndexTestbed, queue.TestbedOf).Build()
		r := &Reconciler{Client: c, Clock: clocktesting.NewFakePassiveClock(time.Now())}
		s, err := r.observe(t.Context(), testbed)
		if err != nil {
			t.Fatal(err)
		}
		if found := s.cleanups["a"] != nil; found != test.want {
			t.Errorf("%s: found %t, want %t", name, found, test.want)
		}
	}
}

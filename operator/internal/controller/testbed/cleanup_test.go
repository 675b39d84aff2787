package testbed

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/plan"
)

// newCleaning returns a testbed that is being deleted and has bridges on node a, and what reads it with the given Job.
func newCleaning(t *testing.T, job func(*v1alpha1.Testbed, *runtime.Scheme) *batchv1.Job) (*Reconciler, *v1alpha1.Testbed) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	now := metav1.Now()
	testbed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{
		Name: "lab", UID: "testbed-uid", Finalizers: []string{v1alpha1.Finalizer}, DeletionTimestamp: &now,
	}, Status: v1alpha1.TestbedStatus{BridgeNodes: []v1alpha1.BridgeNode{{Name: "a", Namespace: "bench"}}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(testbed, job(testbed, scheme), ptr.To(namespace("bench"))).
		WithIndex(&v1alpha1.BenchmarkRun{}, queue.IndexTestbed, queue.TestbedOf).Build()
	return &Reconciler{Client: c, Reader: c, Namespace: home, Clock: clocktesting.NewFakePassiveClock(time.Now())}, testbed
}

// TestNoCleanupOfATestbedThatIsGone: the cache still has a testbed whose finalizer was removed, and its Job is gone with it.
func TestNoCleanupOfATestbedThatIsGone(t *testing.T) {
	for _, gone := range []bool{false, true} {
		r, testbed := newCleaning(t, func(testbed *v1alpha1.Testbed, _ *runtime.Scheme) *batchv1.Job {
			return chain.BridgeCleanup(testbed, "elsewhere", "a", plan.Defaults{})
		})
		if err := r.Client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
			t.Fatal(err)
		}
		if gone {
			r.Reader = fake.NewClientBuilder().WithScheme(r.Client.Scheme()).Build()
		}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(testbed)}); err != nil {
			t.Fatal(err)
		}
		var jobs batchv1.JobList
		if err := r.Client.List(t.Context(), &jobs); err != nil {
			t.Fatal(err)
		}
		if made := len(jobs.Items) > 1; made == gone {
			t.Errorf("the testbed is gone: %v, and a Job was made: %v", gone, made)
		}
	}
}

// TestCleanupOfAnotherNamespaceIsNotBelieved: a user makes a Job with the name and the labels of the one that removes
// the testbed's bridges, in another namespace or without the testbed as its owner.
func TestCleanupOfAnotherNamespaceIsNotBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		namespace   string
		owned, want bool
	}{"own": {"bench", true, true}, "the operator's": {home, true, true}, "other namespace": {"mallory", true, false}, "no owner": {"bench", false, false}} {
		r, testbed := newCleaning(t, func(testbed *v1alpha1.Testbed, scheme *runtime.Scheme) *batchv1.Job {
			job := chain.BridgeCleanup(testbed, test.namespace, "a", plan.Defaults{})
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
			if test.owned {
				if err := controllerutil.SetControllerReference(testbed, job, scheme); err != nil {
					t.Fatal(err)
				}
			}
			return job
		})
		s, err := r.observe(t.Context(), testbed)
		if err != nil {
			t.Fatal(err)
		}
		if found := s.cleanups["a"] != nil; found != test.want || s.clean["a"] != test.want {
			t.Errorf("%s: found %t, clean %t, want %t", name, found, s.clean["a"], test.want)
		}
	}
}

// TestCleanupOfAUserIsNotBelieved: a user of the run's namespace makes the Job that removes the bridges, owned by the
// testbed, which ends and removes none.
func TestCleanupOfAUserIsNotBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		namespace string
		change    func(*batchv1.JobSpec)
		want      bool
	}{
		"the operator's": {"bench", func(s *batchv1.JobSpec) {
			s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "1"}}
			s.Template.Labels[batchv1.ControllerUidLabel], s.Template.Labels[batchv1.JobNameLabel] = "1", "name"
		}, true},
		"other command":            {"bench", func(s *batchv1.JobSpec) { s.Template.Spec.Containers[0].Command = []string{"true"} }, false},
		"other node":               {"bench", func(s *batchv1.JobSpec) { s.Template.Spec.Affinity = nil; s.Template.Spec.NodeName = "b" }, false},
		"no pod":                   {"bench", func(s *batchv1.JobSpec) { s.Completions = ptr.To[int32](0) }, false},
		"of an earlier operator":   {home, func(s *batchv1.JobSpec) { s.Template.Spec.Containers[0].Image = "vnf:0" }, true},
		"a file over the program":  {"bench", func(s *batchv1.JobSpec) { s.Template.Spec.Volumes = []corev1.Volume{{Name: "vnf"}} }, false},
		"pods of another selector": {"bench", func(s *batchv1.JobSpec) { s.ManualSelector = ptr.To(true) }, false},
	} {
		r, testbed := newCleaning(t, func(testbed *v1alpha1.Testbed, scheme *runtime.Scheme) *batchv1.Job {
			job := chain.BridgeCleanup(testbed, test.namespace, "a", plan.Defaults{})
			test.change(&job.Spec)
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
			if err := controllerutil.SetControllerReference(testbed, job, scheme); err != nil {
				t.Fatal(err)
			}
			return job
		})
		s, err := r.observe(t.Context(), testbed)
		if err != nil {
			t.Fatal(err)
		}
		if s.clean["a"] != test.want {
			t.Errorf("%s: believed %t, want %t", name, s.clean["a"], test.want)
		}
		var jobs batchv1.JobList
		if err := r.Client.List(t.Context(), &jobs); err != nil || len(jobs.Items) != 1 {
			t.Errorf("%s: %d Jobs, %v", name, len(jobs.Items), err)
		}
	}
}

// TestCleanupIsKept checks that a Job whose result still counts is not deleted while those of other nodes take their
// time, first in the namespace of a run and then in the operator's.
func TestCleanupIsKept(t *testing.T) {
	job := chain.BridgeCleanup(&v1alpha1.Testbed{}, home, "a", plan.Defaults{})
	if kept := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second; kept < 3*cleanupTimeout {
		t.Errorf("the Job is kept for %v", kept)
	}
}

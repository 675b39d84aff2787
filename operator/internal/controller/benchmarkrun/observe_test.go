package benchmarkrun

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// TestTestbedIsNotReleasedByTheCache checks that a run that is suspended, deleted or over does not release its testbed while the API
// server has a Job or pods of it that the cache does not show yet.
func TestTestbedIsNotReleasedByTheCache(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	over := func(s *scope) { finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)(s) }
	lost := func(s *scope) { s.testbed.Status.ActiveRuns = nil }
	for name, test := range map[string]struct {
		change with
		real   func(*scope) client.Object
		want   action
	}{
		"suspended, with a Job": {suspended, realJob, actStopPods},
		"deleted, with a Job":   {deleted, realJob, actStopPods},
		"over, with a pod":      {over, realPod, actStopPods},
		"no longer admitted":    {lost, realJob, actStopPods},
		"suspended":             {suspended, nil, actRelease},
		"deleted":               {deleted, nil, actRelease},
		"over":                  {over, nil, actRelease},
	} {
		t.Run(name, func(t *testing.T) {
			given := newScope(admitted, test.change)
			cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(given.testbed, given.run).
				WithIndex(&v1alpha1.BenchmarkRun{}, queue.IndexTestbed, queue.TestbedOf).Build()
			real := fake.NewClientBuilder().WithScheme(scheme).WithObjects(given.testbed)
			if test.real != nil {
				real = real.WithObjects(test.real(given))
			}
			r := &Reconciler{Client: cached, Reader: real.Build(), Clock: clocktesting.NewFakePassiveClock(epoch)}
			s, err := r.observe(t.Context(), given.run)
			if err != nil {
				t.Fatal(err)
			}
			if got := decide(s).action; got != test.want {
				t.Errorf("the next action is %s, want %s", got, test.want)
			}
		})
	}
}

func realJob(s *scope) client.Object {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: s.names.Job}}
}

func realPod(s *scope) client.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: "pod", Labels: map[string]string{v1alpha1.LabelRun: string(s.run.UID)}}}
}

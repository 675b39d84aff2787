package envtest

import (
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// changes patches a run without end, by two clients at the same time, until the function that it
// returns is called. That one returns the number of changes.
func (l *lab) changes(as client.Client, run *v1alpha1.BenchmarkRun, patch string) (stop func() int) {
	done := make(chan struct{})
	var all sync.WaitGroup
	counts := make([]int, 2)
	key := metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name}
	for i := range counts {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				change := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, patch, 10_000+100*counts[i]+i))
				if as.Patch(l.ctx, &v1alpha1.BenchmarkRun{ObjectMeta: key}, change) != nil {
					return // the run is gone
				}
				counts[i]++
			}
		})
	}
	return sync.OnceValue(func() int {
		close(done)
		all.Wait()
		sum := 0
		for _, count := range counts {
			sum += count
		}
		return sum
	})
}

// TestRunThatATenantChangesInALoop: a tenant changes their run as fast as the API server takes it: an annotation that the operator
// reads, one that it does not, and a field of the spec. The run is measured, releases its testbed and can be deleted, and so is the next.
func TestRunThatATenantChangesInALoop(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"annotation":               `{"metadata":{"annotations":{"tenant.example/loop":"%d"}}}`,
		"the run's annotation":     `{"metadata":{"annotations":{"` + v1alpha1.AnnotationRun + `":"%d"}}}`,
		"time to live of the spec": `{"spec":{"ttlSecondsAfterFinished":%d}}`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.testbed()
			mallory := l.tenant()
			run := l.run("run", func(run *v1alpha1.BenchmarkRun) { run.Spec.Suspend = true })
			stop := l.changes(mallory, run, patch)
			t.Cleanup(func() { stop() })
			l.setSuspend(run, false)
			next := l.run("next")
			l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
			l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
			l.expect(next, v1alpha1.ConditionSucceeded, "True/Succeeded")
			l.Expect(cluster.Delete(l.ctx, run)).To(Succeed())
			l.isGone(run)
			t.Logf("%d changes", stop())
		})
	}
}

package liveness_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"vnfbench.io/operator/internal/controller/liveness"
)

// start starts a control loop with one object, until the test ends.
func start(t *testing.T, name string, reconciler reconcile.Func) {
	t.Helper()
	made, err := controller.NewUnmanaged(name, controller.Options{Reconciler: reconciler})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: "object"}})
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// answer returns the status code of a path of the health checks, and the text.
func answer(handler http.Handler, path string) (int, string) {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder.Code, recorder.Body.String()
}

// TestWorkers: one of two control loops does not come back from its object. The check fails and names it, and passes when it has come
// back. The other loop works on its object again and again.
func TestWorkers(t *testing.T) {
	workers, err := liveness.New(metrics.Registry, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	checks := &healthz.Handler{Checks: map[string]healthz.Checker{"workers": workers.Check}}
	again, hang := make(chan struct{}), make(chan struct{})
	start(t, "works", func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		select {
		case again <- struct{}{}:
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	})
	for range 100 {
		<-again
	}
	if code, text := answer(checks, "/"); code != http.StatusOK {
		t.Fatalf("without a loop that hangs: %d, %s", code, text)
	}
	start(t, "hangs", func(context.Context, reconcile.Request) (reconcile.Result, error) {
		select {
		case <-hang:
		case <-t.Context().Done():
		}
		return reconcile.Result{}, nil
	})
	waitFor(t, checks, http.StatusInternalServerError)
	if code, text := answer(checks, "/workers"); code != http.StatusInternalServerError || !strings.Contains(text, `controller "hangs" has been working on one object for`) || strings.Contains(text, `"works"`) {
		t.Errorf("%d, %s", code, text)
	}
	close(hang)
	waitFor(t, checks, http.StatusOK)
}

// waitFor waits for a status code of the health checks.
func waitFor(t *testing.T, checks http.Handler, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		code, text := answer(checks, "/")
		if code == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d, want %d: %s", code, want, text)
		}
	}
}

// TestOtherLibrary: a registry without the metric is refused, so that no check passes because it reads nothing.
func TestOtherLibrary(t *testing.T) {
	if _, err := liveness.New(prometheus.NewRegistry(), liveness.Timeout); err == nil || !strings.Contains(err.Error(), "workqueue_longest_running_processor_seconds") {
		t.Errorf("got %v", err)
	}
}

package watches_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/watches"
)

// TestAKindThatCannotBeRead: the API server returns a list that cannot be decoded, until
// a user deletes the object.
func TestAKindThatCannotBeRead(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	w := watches.New(clock)
	var poisoned atomic.Bool
	poisoned.Store(true)
	handled := make(chan struct{}, 1)
	list := &toolscache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			if poisoned.Load() {
				return nil, errors.New("quantities must match the regular expression")
			}
			return &v1alpha1.BenchmarkRunList{}, nil
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil {
				// The list comes by ListFunc.
				return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
			}
			return watch.NewFake(), nil
		},
	}
	shared := toolscache.NewSharedIndexInformer(list, &v1alpha1.BenchmarkRun{}, 0, nil)
	if err := shared.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
		w.Handle(ctx, r, err)
		select {
		case handled <- struct{}{}:
		default:
		}
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); shared.RunWithContext(ctx) }()
	defer func() { cancel(); <-done }()
	<-handled
	if err := w.Ready(httptest.NewRequest(http.MethodGet, "/readyz", nil)); err == nil || !strings.Contains(err.Error(), "kind BenchmarkRun: ") || !strings.Contains(err.Error(), "regular expression") {
		t.Errorf("readiness is %v", err)
	}
	if n := testutil.ToFloat64(w); n < 1 {
		t.Errorf("%v errors are counted", n)
	}
	poisoned.Store(false)
	if !toolscache.WaitForCacheSync(ctx.Done(), shared.HasSynced) {
		t.Fatal("the cache did not recover")
	}
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	if err := w.Ready(httptest.NewRequest(http.MethodGet, "/readyz", nil)); err != nil {
		t.Errorf("readiness is %v", err)
	}
}

// Package watches knows which kinds of objects the operator cannot read from the API server. Its
// caches then keep what they had: nothing else shows that they do not change.
package watches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// staleAfter is how long an error counts: client-go waits at most 60 s before a cache that cannot
// read tries again.
const staleAfter = 90 * time.Second

// Watches collects the errors of all caches. It is a Prometheus collector.
type Watches struct {
	clock  clock.PassiveClock
	errors *prometheus.CounterVec

	mutex sync.Mutex
	last  map[string]failure
}

type failure struct {
	at  time.Time
	err error
}

// New returns a Watches that has seen no error.
func New(clock clock.PassiveClock) *Watches {
	return &Watches{
		clock: clock, last: map[string]failure{},
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vnfbench_watch_errors_total",
			Help: "Times that the operator could not list or watch the objects of a kind.",
		}, []string{"kind"}),
	}
}

// Describe implements prometheus.Collector.
func (w *Watches) Describe(descriptions chan<- *prometheus.Desc) { w.errors.Describe(descriptions) }

// Collect implements prometheus.Collector.
func (w *Watches) Collect(metrics chan<- prometheus.Metric) { w.errors.Collect(metrics) }

// Handle is the caches' handler of watch errors. A watch that the server ends is none.
func (w *Watches) Handle(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	// "*v1alpha1.BenchmarkRun", or a kind with its group.
	kind := r.TypeDescription()
	kind = kind[strings.LastIndexAny(kind, ".*")+1:]
	w.errors.WithLabelValues(kind).Inc()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.last[kind] = failure{w.clock.Now(), err}
}

// Ready returns an error while a kind cannot be read. It is a readiness check.
func (w *Watches) Ready(*http.Request) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(w.last)) {
		if last := w.last[kind]; w.clock.Since(last.at) < staleAfter {
			return fmt.Errorf("reading objects of kind %s: %w", kind, last.err)
		}
	}
	return nil
}

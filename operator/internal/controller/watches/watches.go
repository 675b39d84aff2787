// Package watches knows which kinds of objects the operator cannot read from the API server. Its
// caches then keep what they had: nothing else shows that they do not change.
package watches

import (
	"cmp"
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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// staleAfter is how long an error counts: client-go waits at most 60 s before a cache that cannot
// read tries again.
const staleAfter = 90 * time.Second

// Watches collects the errors of all caches. It is a Prometheus collector.
type Watches struct {
	clock  clock.PassiveClock
	errors *prometheus.CounterVec
	// namespaces are those that the caches read; none: all, by one list of each kind.
	namespaces []string

	mutex sync.Mutex
	last  map[source]failure
	// cluster reads namespaces; nil before SetNamespaces.
	cluster client.Reader
}

// source is what a cache reads: a kind, in one of the namespaces where the error says so.
type source struct{ kind, namespace string }

type failure struct {
	at  time.Time
	err error
}

// New returns a Watches that has seen no error, for caches of the namespaces.
func New(clock clock.PassiveClock, namespaces ...string) *Watches {
	return &Watches{
		clock: clock, last: map[source]failure{}, namespaces: namespaces,
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

// Handle is the caches' handler of watch errors. A watch that the server ends is none, and a namespace that is
// gone has nothing to read.
func (w *Watches) Handle(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	namespace := w.namespaceOf(err)
	if w.isGone(ctx, namespace) {
		return
	}
	// "*v1alpha1.BenchmarkRun", or a kind with its group.
	kind := r.TypeDescription()
	kind = kind[strings.LastIndexAny(kind, ".*")+1:]
	w.errors.WithLabelValues(kind).Inc()
	w.last[source{kind, namespace}] = failure{w.clock.Now(), err}
}

// namespaceOf returns the namespace in which the API server permits no reading, or "". A reflector does
// not say which one it reads; the refusal ends with it.
func (w *Watches) namespaceOf(err error) string {
	if !apierrors.IsForbidden(err) {
		return ""
	}
	for _, namespace := range w.namespaces {
		if strings.Contains(err.Error(), fmt.Sprintf("in the namespace %q", namespace)) {
			return namespace
		}
	}
	return ""
}

// SetNamespaces gives the reader that knows which namespaces exist.
func (w *Watches) SetNamespaces(cluster client.Reader) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.cluster = cluster
}

// Ready returns an error while a kind cannot be read. It is a readiness check. A namespace that is gone
// took the right to read it along, and has nothing to read.
func (w *Watches) Ready(request *http.Request) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	sources := slices.SortedFunc(maps.Keys(w.last), func(a, b source) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace))
	})
	for _, source := range sources {
		last := w.last[source]
		if w.clock.Since(last.at) < staleAfter && !w.isGone(request.Context(), source.namespace) {
			return fmt.Errorf("reading objects of kind %s: %w", source.kind, last.err)
		}
	}
	return nil
}

// isGone reports whether a namespace does not exist, or is being deleted.
func (w *Watches) isGone(ctx context.Context, name string) bool {
	if w.cluster == nil || name == "" {
		return false
	}
	namespace := &corev1.Namespace{}
	err := w.cluster.Get(ctx, client.ObjectKey{Name: name}, namespace)
	return apierrors.IsNotFound(err) || err == nil && !namespace.DeletionTimestamp.IsZero()
}

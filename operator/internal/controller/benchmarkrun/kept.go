package benchmarkrun

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/trialstore"
)

// What is kept of a run between two reconciliations saves time, and says since when something is so: every read checks
// that it is still what the cluster has. A new operator, or a run that was dropped, begins again.

// A report is a new evaluation of the records and a status that only reports how a measurement goes: figures, progress
// and texts. The next one comes after reportInterval, or after one reportShare of the time since the first where that is
// longer. So a measurement of a week has fewer than a thousand, however many trials it has.
const (
	reportInterval = 5 * time.Second
	reportShare    = 100
)

const (
	// maxKeptBytes limits what the records of all runs take in memory together. Those of a measurer take about as much as
	// where they are stored, 900 KiB for a full run. Records that another writer made take up to eight times as much,
	// and trialstore refuses more.
	maxKeptBytes = 16 << 20
	// maxKeptRuns limits the runs of which anything is kept. It is more than a cluster has testbeds.
	maxKeptRuns = 256
)

// kept is what was read of one run's results, and what followed from it.
type kept struct {
	reading trialstore.Reading
	// of is what the figures follow from.
	of      evaluated
	figures procedure.Figures
	foreign error
	// first and reported are when the first and the last report were made.
	first, reported time.Time
	// unready says since when objects of the chain are not ready, by the operator's clock.
	unready map[types.UID]time.Time
	// looked is when the operator read last where the API server is.
	looked time.Time
	// used orders the runs by their last use.
	used int
}

// evaluated names the input of an evaluation. The records of one version of the head do not change, because
// the chunks that it lists do not.
type evaluated struct {
	head          types.UID
	version, plan string
}

// memory keeps the runs that are measured. The zero value is empty.
type memory struct {
	mu   sync.Mutex
	runs map[types.UID]*kept
	uses int
	// stored says when the statuses of runs that are not measured were stored, for reportInterval.
	stored map[types.UID]time.Time
}

// take returns what is kept of a run, and keeps it no more until put: its caller is alone with it.
func (m *memory) take(run types.UID) *kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.runs[run]
	delete(m.runs, run)
	return cmp.Or(k, &kept{})
}

// put keeps a run, and drops the records of those that were used least recently where all are too large together.
// Their figures, which are small, stay.
func (m *memory) put(run types.UID, k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs = map[types.UID]*kept{}
	}
	m.uses++
	k.used = m.uses
	m.runs[run] = k
	total := 0
	for i, uid := range slices.SortedFunc(maps.Keys(m.runs), func(a, b types.UID) int { return m.runs[b].used - m.runs[a].used }) {
		if total += m.runs[uid].reading.Bytes(); total > maxKeptBytes {
			m.runs[uid].reading = trialstore.Reading{}
		}
		if i >= maxKeptRuns {
			delete(m.runs, uid)
		}
	}
}

// later returns how long the next report has to wait; 0: it is due.
func (k *kept) later(now time.Time) time.Duration {
	if k.reported.IsZero() {
		return 0
	}
	return max(0, k.reported.Add(max(reportInterval, k.reported.Sub(k.first)/reportShare)).Sub(now))
}

// see notes which objects of the chain are not ready. Their own times are those of other clocks, which may be late. A new
// operator begins again, and so waits longer.
func (k *kept) see(s *scope) {
	before := k.unready
	k.unready = map[types.UID]time.Time{}
	note := func(uid types.UID, ready bool) {
		if ready {
			return
		}
		since, known := before[uid]
		if !known {
			since = s.now
		}
		k.unready[uid] = since
	}
	for i := range s.chainPods {
		note(s.chainPods[i].UID, podCondition(&s.chainPods[i], corev1.PodReady).Status == corev1.ConditionTrue)
	}
	for i := range s.vms {
		note(s.vms[i].UID, isReady(&s.vms[i]))
	}
	s.unready = k.unready
}

// report notes that a report is made.
func (k *kept) report(now time.Time) {
	if k.reported = now; k.first.IsZero() {
		k.first = now
	}
}

// reportsLater returns how long to wait before a status is stored that only reports more than the one that is
// stored, or before the figures in it are those of all records; 0: it is stored now. A decision is never delayed.
func (m *memory) reportsLater(s *scope, after v1alpha1.BenchmarkRunStatus) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, changed := m.runs[s.run.UID], !equality.Semantic.DeepEqual(s.run.Status, after)
	if !changed && (k == nil || !s.stale) {
		return 0
	}
	decided := !equality.Semantic.DeepEqual(unreported(s.run), unreported(&v1alpha1.BenchmarkRun{Status: after}))
	if k == nil {
		return m.storesLater(s, decided)
	}
	if s.later > 0 && !decided {
		return s.later
	}
	if !s.stale {
		// A decision with figures that are outdated does not put the next report off.
		k.report(s.now)
	}
	return 0
}

// storesLater is reportsLater of a run that is not measured. What it reports is its place in the queue, which any tenant moves
// who suspends and resumes a run, and texts. It notes a status that is stored now.
func (m *memory) storesLater(s *scope, decided bool) time.Duration {
	maps.DeleteFunc(m.stored, func(_ types.UID, at time.Time) bool { return s.now.Sub(at) >= reportInterval })
	if at, stored := m.stored[s.run.UID]; stored && !decided {
		return at.Add(reportInterval).Sub(s.now)
	}
	if m.stored == nil {
		m.stored = map[types.UID]time.Time{}
	}
	m.stored[s.run.UID] = s.now
	return 0
}

// chunks returns how the chunks of a run are read. One that was read before is looked up in the cache, which
// has the ConfigMaps without their data, and those alone that have a run's label. What the cache does not show
// is asked for without its data.
func (r *Reconciler) chunks(ctx context.Context, s *scope) trialstore.Get {
	return func(name string, known types.UID) (*corev1.ConfigMap, error) {
		if known != "" {
			for _, reader := range []client.Reader{r.Client, r.Reader} {
				metadata := &metav1.PartialObjectMetadata{}
				metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
				err := reader.Get(ctx, client.ObjectKey{Namespace: s.run.Namespace, Name: name}, metadata)
				if err == nil && metadata.UID == known {
					return nil, nil
				}
				if client.IgnoreNotFound(err) != nil {
					return nil, trialstore.Unanswered{Err: err}
				}
			}
		}
		found, err := r.configMap(ctx, s.run.Namespace, name)
		switch {
		case err != nil:
			return nil, trialstore.Unanswered{Err: err}
		case found == nil:
			return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
		case !belongsTo(s.run, found):
			return nil, errors.New("it does not belong to the run")
		}
		return found, nil
	}
}

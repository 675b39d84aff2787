package benchmarkrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/trialstore"
)

// keptLab is a run that is measured, with its results on a simulated API server.
type keptLab struct {
	t      testing.TB
	run    *v1alpha1.BenchmarkRun
	names  plan.Names
	server *configmaptest.Server
	store  *trialstore.Store
	// records are those of the whole measurement.
	records []measure.Record
	// cached are the UIDs of the chunks that the cache shows.
	cached map[string]types.UID
	// read counts the chunks that were read with their data; fails is what the API server answers instead.
	read  int
	fails error
	// failsAt is the number of the one read that fails; 0 for none.
	failsAt int
	// metadata counts the chunks whose metadata were read without the cache.
	metadata int
	base     client.Client
	clock    *clocktesting.FakePassiveClock
}

func newKeptLab(t testing.TB, changes ...func(*plan.Input)) *keptLab {
	t.Helper()
	given := newScope(admitted)
	spec, made := plannedRun(t, changes...)
	testbed := given.run.Spec.Experiment.TestbedRef
	given.run.Spec = spec.Spec
	given.run.Spec.Experiment.TestbedRef = testbed
	made.Run, made.Testbed = plan.Reference{Namespace: given.run.Namespace, Name: given.run.Name, UID: given.run.UID}, plan.Reference{Name: given.testbed.Name, UID: given.testbed.UID}
	stored := chain.PlanConfigMap(made)
	given.run.Status.Plan = &v1alpha1.PlanSummary{Digest: made.Digest, StoredDigest: plan.Sum(stored.Data), GeneratorNode: made.GeneratorNode, DeviceNode: made.DeviceNode}
	l := &keptLab{t: t, run: given.run, names: given.names, clock: clocktesting.NewFakePassiveClock(epoch), server: configmaptest.New(given.run.Namespace, given.names.Results), cached: map[string]types.UID{}}
	l.base = fakeCluster(t, given.testbed, given.run, stored)
	l.server.Edit(func(c *corev1.ConfigMap) { c.Labels = map[string]string{v1alpha1.LabelRun: string(given.run.UID)} })
	data := simulate(t, made.Instructions)
	var err error
	if l.records, err = trialstore.Read(&corev1.ConfigMap{Data: data}, trialstore.NoChunks); err != nil {
		t.Fatal(err)
	}
	l.open()
	return l
}

func (l *keptLab) open() {
	l.t.Helper()
	var err error
	l.store, err = trialstore.Open(l.t.Context(), trialstore.Config{ConfigMaps: l.server, Name: l.names.Results, Measurer: "m", UID: "u"})
	if err != nil {
		l.t.Fatal(err)
	}
}

// append stores the next records of the measurement, as far as there are any.
func (l *keptLab) append(count int) {
	l.t.Helper()
	for range min(count, len(l.records)-len(l.store.Records())) {
		if err := l.store.Append(l.t.Context(), l.records[len(l.store.Records())]); err != nil {
			l.t.Fatal(err)
		}
	}
}

// show lets the cache see all chunks.
func (l *keptLab) show() {
	for i := range measure.MaximumChunks {
		name := measure.ChunkName(l.names.Results, i)
		if found, err := l.server.Get(name, ""); err == nil {
			l.cached[name] = found.UID
		} else {
			delete(l.cached, name)
		}
	}
}

// passes lets time pass.
func (l *keptLab) passes(d time.Duration) { l.clock.SetTime(l.clock.Now().Add(d)) }

// reportIsDue lets the time pass until the next report.
func (l *keptLab) reportIsDue() { l.passes(reportInterval + l.clock.Since(epoch)/reportShare) }

func (l *keptLab) operator() *Reconciler {
	get := func(cached bool) func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return func(ctx context.Context, base client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if !strings.HasPrefix(key.Name, l.names.Results) {
				return base.Get(ctx, key, object, options...)
			}
			return l.get(cached, key.Name, object)
		}
	}
	reader := func(cached bool) client.Client {
		return interceptor.NewClient(l.base.(client.WithWatch), interceptor.Funcs{Get: get(cached)})
	}
	return &Reconciler{Client: reader(true), Reader: reader(false), Clock: l.clock, Metrics: NewMetrics(), Recorder: events.NewFakeRecorder(100)}
}

// get answers for the results and their chunks, with the cache or without it.
func (l *keptLab) get(cached bool, name string, object client.Object) error {
	switch into := object.(type) {
	case *metav1.PartialObjectMetadata:
		uid, found := l.cached[name]
		if !cached {
			l.metadata++
			object, err := l.server.Get(name, "")
			if found = err == nil; found {
				uid = object.UID
			}
		}
		if !found {
			return apierrors.NewNotFound(corev1.Resource("configmaps"), name)
		}
		into.Name, into.UID = name, uid
		return nil
	case *corev1.ConfigMap:
		if name != l.names.Results {
			l.read++
			if l.fails != nil {
				return l.fails
			}
			if l.read == l.failsAt {
				return errors.New("connection refused")
			}
		}
		found, err := l.server.Get(name, "")
		if err == nil {
			found.DeepCopyInto(into)
		}
		return err
	}
	return fmt.Errorf("%T was not expected", object)
}

func (l *keptLab) observe(r *Reconciler) (*scope, error) {
	return r.observe(l.t.Context(), l.run.DeepCopy())
}

// status returns what a reconciliation finds, as it would store it.
func (l *keptLab) status(r *Reconciler) string {
	l.t.Helper()
	s, err := l.observe(r)
	if err != nil {
		l.t.Fatal(err)
	}
	if s.plan == nil {
		l.t.Fatalf("there is no plan: %v", s.planErr)
	}
	text, err := json.Marshal(struct{ Error, Status, Trials any }{fmt.Sprint(s.recordsErr, s.foreign), summarize(s, decide(s)), trialsOf(s)})
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

func trialsOf(s *scope) []measure.Record {
	if s.records == nil {
		return nil
	}
	return s.records.trials
}

// TestKeptIsAsFromScratch checks that an operator that keeps what it has read finds the same as a new one, after any
// sequence of trials, restarts of either program and exchanged objects.
func TestKeptIsAsFromScratch(t *testing.T) {
	chunks := 0
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 1))
		l := newKeptLab(t, judged)
		r := l.operator()
		for step := 0; len(l.store.Records()) < len(l.records) && step < 200; step++ {
			switch random.IntN(12) {
			case 0:
				r = l.operator()
			case 1:
				l.open()
			case 2:
				l.show()
			case 3:
				l.server.Edit(func(c *corev1.ConfigMap) { c.UID = types.UID(fmt.Sprint("head-", step)) })
				l.open()
			case 4:
				name := measure.ChunkName(l.names.Results, random.IntN(2))
				if found, err := l.server.Get(name, ""); err == nil {
					found.UID = types.UID(fmt.Sprint("chunk-", step))
					l.server.SetChunk(name, found)
				}
			default:
				l.append(random.IntN(8))
			}
			l.reportIsDue()
			if got, want := l.status(r), l.status(l.operator()); got != want {
				t.Fatalf("seed %d, step %d with %d trials:\n%s\n%s", seed, step, len(l.store.Records()), got, want)
			}
		}
		chunks += l.server.Chunks()
	}
	if chunks < 6 {
		t.Errorf("%d chunks were made in all", chunks)
	}
}

// TestChunksAreReadOnce checks that a chunk that the cache shows is not read again.
func TestChunksAreReadOnce(t *testing.T) {
	l := newKeptLab(t, judged)
	r := l.operator()
	for len(l.store.Records()) < len(l.records) {
		l.append(5)
		l.show()
		l.status(r)
		l.status(r)
	}
	if l.read != l.server.Chunks() || l.read < 2 {
		t.Errorf("%d chunks were read %d times", l.server.Chunks(), l.read)
	}
}

// TestDeletedChunk checks that a chunk that is deleted or replaced ends the run as the loss of its results does,
// whatever was kept, that an API server that does not answer ends nothing, and that a late cache does no harm.
func TestDeletedChunk(t *testing.T) {
	l := newKeptLab(t, judged)
	l.append(60)
	name := measure.ChunkName(l.names.Results, 0)
	original, err := l.server.Get(name, "")
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		object *corev1.ConfigMap
		ends   bool
	}{
		"there":         {original, false},
		"deleted":       {nil, true},
		"recreated":     {changed(original, func(c *corev1.ConfigMap) { c.UID = "another" }), false},
		"of another":    {changed(original, func(c *corev1.ConfigMap) { c.UID, c.Labels = "another", nil }), true},
		"other trials":  {changed(original, func(c *corev1.ConfigMap) { c.UID, c.Data["trial-000000.json"] = "another", "{}" }), true},
		"not immutable": {changed(original, func(c *corev1.ConfigMap) { c.UID, c.Immutable = "another", nil }), true},
	} {
		t.Run(what, func(t *testing.T) {
			for _, fresh := range []bool{false, true} {
				l.server.SetChunk(name, original)
				l.show()
				r := l.operator()
				l.status(r)
				l.server.SetChunk(name, test.object)
				l.show()
				if fresh {
					r = l.operator()
				}
				s, err := l.observe(r)
				if err != nil {
					t.Fatal(err)
				}
				d := decide(s)
				if ends := d.action == actFinish; ends != test.ends || ends && d.outcome.reason != v1alpha1.ReasonResultsLost {
					t.Errorf("fresh %t: %s, %+v", fresh, d.action, d.outcome)
				}
			}
		})
	}
	l.server.SetChunk(name, original)
	l.cached = map[string]types.UID{}
	r := l.operator()
	if first, again := l.status(r), l.status(r); first != again || strings.Contains(first, "changed by another writer") {
		t.Error("the run depends on whether the cache shows its chunk yet")
	}
	l.fails = errors.New("connection refused")
	if _, err := l.observe(l.operator()); !errors.Is(err, l.fails) {
		t.Errorf("got %v", err)
	}
}

func changed(object *corev1.ConfigMap, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	c := object.DeepCopy()
	change(c)
	return c
}

// TestFiguresAreNotComputedAgain checks that a reconciliation without a new record evaluates nothing, that one with
// another version does when a report is due, and that storing the status changes nothing of what is kept.
func TestFiguresAreNotComputedAgain(t *testing.T) {
	l := newKeptLab(t, judged)
	l.append(len(l.records))
	l.show()
	r := l.operator()
	l.status(r)
	before := r.memory.runs[l.run.UID]
	frames := before.figures.Frames
	s, err := l.observe(r)
	if err != nil || len(frames) == 0 || &s.figures.Frames[0] != &frames[0] {
		t.Fatalf("the figures were computed again: %v", err)
	}
	text, err := json.Marshal(frames)
	if err != nil {
		t.Fatal(err)
	}
	// A client decodes the answer into what it has sent.
	r.Client = interceptor.NewClient(l.base.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			object.(*v1alpha1.BenchmarkRun).Status.Results[0].Throughput[0].FramesPerSecond = 7
			return nil
		},
	})
	if err := r.patchStatus(t.Context(), s, decision{action: actWait}, summarize(s, decide(s))); err != nil {
		t.Fatal(err)
	}
	if now, err := json.Marshal(frames); err != nil || string(now) != string(text) {
		t.Errorf("what is kept was changed with the status: %v", err)
	}
	r.Client = l.operator().Client
	l.server.Edit(func(c *corev1.ConfigMap) { c.Data["note"] = "x" })
	if s, err = l.observe(r); err != nil || &s.figures.Frames[0] != &frames[0] || !s.stale || s.later != reportInterval {
		t.Errorf("the figures were computed before a report is due: %v", err)
	}
	l.reportIsDue()
	if s, err = l.observe(r); err != nil || &s.figures.Frames[0] == &frames[0] || s.stale || !reflect.DeepEqual(s.figures.Frames, frames) {
		t.Errorf("%v", err)
	}
}

// TestReportsWait checks that figures and progress alone are stored every few seconds, and what is decided at once.
func TestReportsWait(t *testing.T) {
	var m memory
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	// waits returns how long a status is kept back at a time after the start, and the time to look again.
	waits := func(at time.Duration, outdated bool, status v1alpha1.BenchmarkRunStatus) time.Duration {
		s := &scope{run: run, now: epoch.Add(at), stale: outdated}
		if k := m.runs["u"]; k != nil {
			s.later = k.later(s.now)
		}
		return m.reportsLater(s, status)
	}
	progress := func(percent int32) v1alpha1.BenchmarkRunStatus {
		status := *run.Status.DeepCopy()
		status.Progress = &v1alpha1.Progress{Percent: percent}
		return status
	}
	if wait := waits(0, false, progress(1)); wait != 0 {
		t.Errorf("a run that is not measured waits %s", wait)
	}
	m.put("u", m.take("u"))
	if wait := waits(0, false, progress(1)); wait != 0 {
		t.Errorf("the first report waits %s", wait)
	}
	run.Status = progress(1)
	run.Status.Deployments = []v1alpha1.Deployment{{Number: 1, Trials: 1}}
	deployed := progress(4)
	deployed.Deployments[0].Trials = 2
	decided := progress(2)
	decided.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionMeasured, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonMeasured}}
	for _, step := range []struct {
		what     string
		at       time.Duration
		outdated bool
		status   v1alpha1.BenchmarkRunStatus
		want     time.Duration
	}{
		{"the second report", 2 * time.Second, false, progress(2), reportInterval - 2*time.Second},
		{"no change", 2 * time.Second, false, progress(1), 0},
		{"no change but of figures that are outdated", 2 * time.Second, true, progress(1), reportInterval - 2*time.Second},
		{"a decision", 2 * time.Second, false, decided, 0},
		{"a report after a decision", 3 * time.Second, false, progress(3), reportInterval - time.Second},
		{"a report after the time", 2*time.Second + reportInterval, false, progress(3), 0},
		{"a report after an hour", time.Hour, false, progress(3), 0},
		{"the next one", time.Hour + time.Second, false, progress(4), 35 * time.Second},
		{"one when it is due", time.Hour + 37*time.Second, false, progress(4), 0},
		{"another trial of a deployment", time.Hour + 38*time.Second, false, deployed, 35_370 * time.Millisecond},
		{"a decision with figures that are outdated", time.Hour + 47*time.Second, true, decided, 0},
		{"the report after it", time.Hour + 48*time.Second, true, progress(5), 25_370 * time.Millisecond},
	} {
		if wait := waits(step.at, step.outdated, step.status); wait != step.want {
			t.Errorf("%s waits %s, want %s", step.what, wait, step.want)
		}
	}
}

// TestReportsOfAWeek counts the reports of a measurement that always has something to report, for as long as a run may take.
func TestReportsOfAWeek(t *testing.T) {
	var k kept
	reports := 0
	for now := epoch; now.Before(epoch.Add(7 * 24 * time.Hour)); now = now.Add(k.later(now)) {
		k.report(now)
		reports++
	}
	if reports < 500 || reports > 1000 {
		t.Errorf("%d reports", reports)
	}
}

// TestReportsAreBounded measures with trials of different lengths. Records are evaluated at most once for each trial, and
// when a report is due; the last status has the figures of all. All writes of the run are one for each trial, its chunks,
// and a number of reports that hardly grows with the time.
func TestReportsAreBounded(t *testing.T) {
	const day = 24 * time.Hour
	for trial, reports := range map[time.Duration]int{
		10 * time.Millisecond: 3, time.Second: 30, 10 * time.Second: 250, 5 * time.Minute: 500, day / 24: 700,
	} {
		t.Run(trial.String(), func(t *testing.T) {
			l := newKeptLab(t, judged)
			r := l.operator()
			stored, evaluated := 0, 0
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
					stored++
					text, err := json.Marshal(object.(*v1alpha1.BenchmarkRun).Status)
					if err != nil {
						return err
					}
					l.run.Status = v1alpha1.BenchmarkRunStatus{}
					return json.Unmarshal(text, &l.run.Status)
				},
			})
			// look reconciles, with a decision that is not about the workloads, and returns when to look again.
			look := func(d decision) time.Duration {
				var before kept
				if k := r.memory.runs[l.run.UID]; k != nil {
					before = *k
				}
				s, err := l.observe(r)
				if err != nil {
					t.Fatal(err)
				}
				if k := r.memory.runs[l.run.UID]; k.of != before.of {
					evaluated++
				}
				if d.measured {
					d.outcome = s.verdict()
				}
				if d, err = r.storeStatus(t.Context(), s, d); err != nil {
					t.Fatal(err)
				}
				return d.after
			}
			trials := len(l.records)
			for made := 1; made <= trials; made++ {
				if err := l.store.SetProgress(measure.Progress{Trials: made}); err != nil {
					t.Fatal(err)
				}
				l.append(1)
				l.show()
				ends := l.clock.Now().Add(trial)
				for after := look(decision{action: actWait}); after > 0 && l.clock.Now().Add(after).Before(ends); {
					l.passes(after)
					after = look(decision{action: actWait})
				}
				l.clock.SetTime(ends)
			}
			if evaluated > trials || evaluated > reports || stored > reports {
				t.Errorf("with %d trials the records were evaluated %d times and the status was stored %d times, want at most %d", trials, evaluated, stored, reports)
			}
			if err := l.store.Done(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := l.observe(l.operator())
			if err != nil {
				t.Fatal(err)
			}
			look(decision{action: actFinish, measured: true})
			if diff := cmp.Diff(s.figures.Frames, l.run.Status.Results); diff != "" || len(s.figures.Frames) == 0 {
				t.Errorf("the last status has not the figures of all records:\n%s", diff)
			}
			// The measurer also claims the results, closes chunks and ends them.
			if all, most := stored+l.server.Writes()+l.server.Chunks(), trials+l.server.Chunks()+reports+3; all > most {
				t.Errorf("%d writes for %d trials, want at most %d", all, trials, most)
			}
			t.Logf("%d trials of %s: %d evaluations, %d statuses, %d patches of the results, %d chunks", trials, trial, evaluated, stored, l.server.Writes(), l.server.Chunks())
		})
	}
}

// TestEndHasAllFigures checks that a run that fails between two reports ends with the figures of all its trials.
func TestEndHasAllFigures(t *testing.T) {
	l := newKeptLab(t, judged)
	r := l.operator()
	l.append(1)
	l.show()
	l.status(r)
	l.append(len(l.records))
	l.show()
	s, err := l.observe(r)
	if err != nil || !s.stale || len(s.figures.Frames) > 0 {
		t.Fatalf("the figures are not those of the first trial: %v", err)
	}
	fresh, err := l.observe(l.operator())
	if err != nil || len(fresh.figures.Frames) == 0 {
		t.Fatalf("%d sizes have figures: %v", len(fresh.figures.Frames), err)
	}
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			l.run.Status = *object.(*v1alpha1.BenchmarkRun).Status.DeepCopy()
			return nil
		},
	})
	if _, err := r.storeStatus(t.Context(), s, fail(newCause(v1alpha1.ReasonChainFailed, "a function ended"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh.figures.Frames, l.run.Status.Results); diff != "" {
		t.Errorf("the run does not end with the figures of all trials:\n%s", diff)
	}
}

// BenchmarkRecords shows what one more trial costs the operator with as many before.
func BenchmarkRecords(b *testing.B) {
	l := newKeptLab(b, judged, func(in *plan.Input) {
		in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64, 128, 256, 512, 1024, 1280, 1518}
	})
	l.append(len(l.records))
	l.show()
	for name, keep := range map[string]bool{"from scratch": false, "kept": true} {
		b.Run(fmt.Sprintf("%s, %d trials", name, len(l.records)), func(b *testing.B) {
			r := l.operator()
			s, err := l.observe(r)
			if err != nil {
				b.Fatal(err)
			}
			head, err := l.server.Get(l.names.Results, "")
			if err != nil {
				b.Fatal(err)
			}
			var k kept
			for b.Loop() {
				if !keep {
					k = kept{}
				}
				k.of = evaluated{}
				s.decode(head, &k, r.chunks(b.Context(), s))
			}
		})
	}
}

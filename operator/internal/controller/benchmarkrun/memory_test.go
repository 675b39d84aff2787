package benchmarkrun

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/trialstore"
)

// TestHostileKeys reads values of the results' ConfigMap besides the trials that are one long list. None costs
// much memory.
func TestHostileKeys(t *testing.T) {
	const most = 32 << 20
	largest, lists := uint64(0), 0
	for _, bytes := range []int{1 << 20, measure.MaximumValueBytes - 200, 20_000, 30_000, 40_000} {
		for key, value := range map[string]reflect.Type{
			measure.KeyHolder: reflect.TypeFor[measure.Holder](), measure.KeyProgress: reflect.TypeFor[measure.Progress](),
			measure.KeyGenerator: reflect.TypeFor[measure.GeneratorState](), measure.KeyDevice: reflect.TypeFor[measure.DeviceState](),
			measure.KeyNeighbors: reflect.TypeFor[[]measure.NeighborState](), measure.KeyFailure: reflect.TypeFor[measure.FailureState](),
			measure.KeyDeployments: reflect.TypeFor[[]measure.Deployment](),
		} {
			mutate.Lists(value, bytes, func(path, document string) {
				lists++
				configMap := &corev1.ConfigMap{Data: map[string]string{key: document}}
				var err error
				cost := mutate.Cost(func() { _, err = decodeRecords(configMap, &trialstore.Reading{}, trialstore.NoChunks) })
				if largest = max(largest, cost); cost > most || bytes == 1<<20 && err == nil {
					t.Errorf("%s %s with %d bytes costs %d MiB: %v", key, path, len(document), cost>>20, err)
				}
			})
		}
	}
	if lists < 200 {
		t.Errorf("%d lists were tried", lists)
	}
	t.Logf("%d lists, the largest cost %d KiB", lists, largest>>10)
}

// TestMemoryIsBounded checks that the records of all runs together do not exceed a size in memory, that those of runs that
// were used last are kept, and that the figures of all are, up to a number of runs.
func TestMemoryIsBounded(t *testing.T) {
	var m memory
	head := &corev1.ConfigMap{Data: map[string]string{}}
	for i := range 1000 {
		head.Data[fmt.Sprintf("trial-%06d.json", i)] = fmt.Sprintf(`{"index":%d,"load":%q,"outcome":{"doubts":[{},{},{}]}}`, i, strings.Repeat("x", 400))
	}
	for i := range maxKeptRuns + 10 {
		for _, run := range []types.UID{"always", types.UID(fmt.Sprint(i))} {
			k := m.take(run)
			if run == "always" && i > 0 && k.reading.Bytes() == 0 {
				t.Fatal("the run that is used most was dropped")
			}
			if _, err := k.reading.Read(head, trialstore.NoChunks); err != nil {
				t.Fatal(err)
			}
			k.figures.Frames = make([]v1alpha1.FrameResult, 1)
			m.put(run, k)
		}
	}
	bytes, withRecords := 0, 0
	for uid, k := range m.runs {
		if bytes += k.reading.Bytes(); k.reading.Bytes() > 0 {
			withRecords++
		}
		if k.figures.Frames == nil {
			t.Errorf("the figures of run %s were dropped", uid)
		}
	}
	if bytes > maxKeptBytes || withRecords < 3 || len(m.runs) != maxKeptRuns {
		t.Errorf("%d bytes of %d runs are kept, and something of %d", bytes, withRecords, len(m.runs))
	}
	m.take("always")
	if m.runs["always"] != nil {
		t.Error("a run can be taken twice")
	}
}

// TestDroppedRecordsLeaveFigures checks that a run whose records were dropped reads them again, and computes and reports
// nothing again.
func TestDroppedRecordsLeaveFigures(t *testing.T) {
	l := newKeptLab(t, judged)
	l.append(len(l.records))
	l.show()
	r := l.operator()
	l.status(r)
	k := r.memory.runs[l.run.UID]
	bytes := k.reading.Bytes()
	stored := measure.Bytes(l.server.All())
	t.Logf("%d records take %d bytes, and %d where they are stored", len(l.records), bytes, stored)
	if bytes > 3*stored {
		t.Errorf("%d records take %d bytes, and %d where they are stored", len(l.records), bytes, stored)
	}
	for i := range maxKeptBytes/bytes + 1 {
		large := r.memory.take(types.UID(fmt.Sprint(i)))
		large.reading = k.reading
		r.memory.put(types.UID(fmt.Sprint(i)), large)
	}
	if k.reading.Bytes() != 0 {
		t.Fatal("the records are still kept")
	}
	frames := k.figures.Frames
	if s, err := l.observe(r); err != nil || len(frames) == 0 || &s.figures.Frames[0] != &frames[0] || len(s.records.trials) != len(l.records) {
		t.Errorf("the figures were computed again: %v", err)
	}
}

// TestChunksThatTheCacheDoesNotShow checks that chunks whose label was removed, so that the cache does not have them, are not
// read again with their data.
func TestChunksThatTheCacheDoesNotShow(t *testing.T) {
	l := newKeptLab(t, judged)
	l.append(len(l.records))
	r := l.operator()
	for range 5 {
		l.status(r)
	}
	if l.read != l.server.Chunks() || l.read < 2 || l.metadata != 4*l.read {
		t.Errorf("%d chunks were read %d times, and their metadata %d times", l.server.Chunks(), l.read, l.metadata)
	}
}

// TestUnansweredChunkKeepsWhatWasRead checks that a chunk that the API server does not answer for costs no other chunk a second
// request.
func TestUnansweredChunkKeepsWhatWasRead(t *testing.T) {
	l := newKeptLab(t, judged)
	l.append(len(l.records))
	l.show()
	r := l.operator()
	if l.failsAt = 2; l.server.Chunks() < l.failsAt {
		t.Fatalf("%d chunks", l.server.Chunks())
	}
	if _, err := l.observe(r); err == nil {
		t.Fatal("no error")
	}
	l.failsAt = 0
	l.status(r)
	if l.read != l.server.Chunks()+1 {
		t.Errorf("%d chunks were read %d times", l.server.Chunks(), l.read)
	}
}

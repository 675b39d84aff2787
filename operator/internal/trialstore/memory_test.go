package trialstore_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/configmaptest"
	"vnfbench.io/operator/internal/testing/mutate"
	"vnfbench.io/operator/internal/trialstore"
)

// TestHostileRecords reads records that are one long list, for each list of a record and of the list of chunks: as long as
// a ConfigMap can be, and as long as is decoded. None costs much memory.
func TestHostileRecords(t *testing.T) {
	const most = 32 << 20
	lists, largest := 0, uint64(0)
	check := func(key, path, value string) {
		lists++
		head := &corev1.ConfigMap{Data: map[string]string{key: value}}
		var reading trialstore.Reading
		cost := mutate.Cost(func() { _, _ = reading.Read(head, trialstore.NoChunks) })
		if largest = max(largest, cost); cost > most {
			t.Errorf("%s %s with %d bytes costs %d MiB", key, path, len(value), cost>>20)
		}
		if kept := reading.Bytes(); kept > 1<<20 {
			t.Errorf("%s %s: %d KiB are kept", key, path, kept>>10)
		}
	}
	for _, bytes := range []int{1 << 20, measure.MaximumValueBytes - 200, 20_000, 30_000, 40_000} {
		mutate.Lists(reflect.TypeFor[measure.Record](), bytes, func(path, document string) {
			check("trial-000000.json", path, document)
		})
		mutate.Lists(reflect.TypeFor[[]measure.Chunk](), bytes, func(path, document string) { check(measure.KeyChunks, path, document) })
	}
	if lists < 200 {
		t.Errorf("%d lists were tried", lists)
	}
	t.Logf("%d lists, the largest cost %d KiB", lists, largest>>10)
}

// TestRecordsTakeBoundedMemory checks that records that are small where they are stored and large in memory are refused
// together, before they take more than is kept of a run.
func TestRecordsTakeBoundedMemory(t *testing.T) {
	for what, inner := range map[string]string{
		"doubts":    `"outcome":{"doubts":[` + strings.Repeat("{},", 500) + `{}]}`,
		"functions": `"evidence":{"functions":[` + strings.Repeat("{},", 500) + `{}]}`,
		"intervals": `"outcome":{"tcp":{"directions":[{"direction":"Forward","intervals":[` + strings.Repeat("{},", 500) + `{}]}]}}`,
		"ports":     `"evidence":{"functions":[{"ports":[` + strings.Repeat("{},", 500) + `{}]}]}`,
	} {
		head := &corev1.ConfigMap{Data: map[string]string{}}
		for i := range 600 {
			head.Data[fmt.Sprintf("trial-%06d.json", i)] = fmt.Sprintf(`{"index":%d,%s}`, i, inner)
		}
		var reading trialstore.Reading
		cost := mutate.Cost(func() {
			if _, err := reading.Read(head, trialstore.NoChunks); err == nil || !strings.Contains(err.Error(), "of memory") {
				t.Errorf("%s: got %v", what, err)
			}
		})
		if reading.Bytes() != 0 || cost > 64<<20 {
			t.Errorf("%s: %d bytes are kept, and %d MiB were allocated", what, reading.Bytes(), cost>>20)
		}
	}
}

// TestRefusedRecords checks what a record that was decoded must not have.
func TestRefusedRecords(t *testing.T) {
	for what, inner := range map[string]string{
		"an unknown direction":     `"outcome":{"directions":[{"direction":"Up"}]}`,
		"a TCP direction twice":    `"outcome":{"tcp":{"directions":[{"direction":"Forward"},{"direction":"Forward"}]}}`,
		"three ends":               `"outcome":{"tcp":{"ends":[{},{},{}]}}`,
		"more doubts than any has": `"outcome":{"doubts":[` + strings.Repeat("{},", 512) + `{}]}`,
		"more commas than any has": `"outcome":{"directions":[{"direction":"Forward","series":{"received":[` + strings.Repeat("0,", 10_001) + `0]}}]}`,
		"a long text":              `"load":"` + strings.Repeat("x", measure.MaximumValueBytes) + `"`,
	} {
		head := &corev1.ConfigMap{Data: map[string]string{"trial-000000.json": `{"index":0,` + inner + `}`}}
		if _, err := trialstore.Read(head, trialstore.NoChunks); err == nil || !strings.Contains(err.Error(), "trial-000000.json") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// TestBytesAreThoseInMemory compares Bytes with the heap.
func TestBytesAreThoseInMemory(t *testing.T) {
	head := &corev1.ConfigMap{Data: map[string]string{}}
	for i := range 400 {
		head.Data[fmt.Sprintf("trial-%06d.json", i)] = fmt.Sprintf(`{"index":%d,"outcome":{"directions":[{"direction":"Forward","distributions":{"delay":"%s"},`+
			`"series":{"received":[1,2,3,4],"max":[5,6,7,8]}}],"doubts":[{"code":"GeneratorBehind"}]},"evidence":{"functions":[{"name":"f","ports":[{"name":"west"},{"name":"east"}],"counters":{"a":1,"b":2}}]}}`,
			i, strings.Repeat("x", 300))
	}
	var before, after runtime.MemStats
	var reading trialstore.Reading
	// A pool is empty after two collections.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := reading.Read(head, trialstore.NoChunks); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	inHeap := int(after.HeapAlloc-before.HeapAlloc) + measure.Bytes(head.Data)
	if got := reading.Bytes(); got < inHeap*2/3 || got > inHeap*3/2 {
		t.Errorf("it says %d bytes, and there are %d", got, inHeap)
	}
	t.Logf("%d bytes stored, %d by its own count, %d in the heap", measure.Bytes(head.Data), reading.Bytes(), inHeap)
	runtime.KeepAlive(head)
	runtime.KeepAlive(&reading)
}

// TestLargestValueIsRead checks that the largest record that a driver can make is stored and read.
func TestLargestValueIsRead(t *testing.T) {
	series := &measure.Series{SlotNanoseconds: 1e9}
	for 2*series.Bytes() < measure.MaximumSeriesBytes && 2*series.Numbers() < measure.MaximumSeriesNumbers {
		series.Add(measure.Slot{DueFrames: 2e9, SentFrames: 15e8, ReceivedFrames: 1e9, DelaySum: 1e18, MaxNanoseconds: 1e9, Delays: []measure.DelayCount{{Nanoseconds: 1e9, Frames: 1e9}}})
	}
	delays := measure.Delays{
		Samples: 1e9, MinNanoseconds: 123456789, MeanNanoseconds: 123456789, P50Nanoseconds: 123456789, P90Nanoseconds: 123456789,
		P99Nanoseconds: 123456789, P999Nanoseconds: 123456789, P9999Nanoseconds: 123456789, MaxNanoseconds: 123456789,
	}
	r := record(0)
	r.Outcome.Directions = nil
	for _, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
		r.Outcome.Directions = append(r.Outcome.Directions, measure.DirectionOutcome{
			Direction: direction, IntendedFrames: 1e12, SentFrames: 1e12, ReceivedFrames: 1e12, Latency: delays, DelayVariation: delays, Series: series,
			Distributions: &measure.Distributions{Delay: strings.Repeat("x", 4<<10), Lateness: strings.Repeat("x", 4<<10)},
		})
	}
	r.Evidence = &measure.Evidence{Notes: []string{strings.Repeat("a, ", 1<<10)}}
	server := configmaptest.New(namespace, name)
	if err := open(t, server, "a").Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	text := server.Data()["trial-000000.json"]
	t.Logf("%d bytes, %d commas", len(text), strings.Count(text, ","))
	if got := open(t, server, "b").Records(); len(got) != 1 || len(got[0].Outcome.Directions[1].Series.MaxNanoseconds) != len(series.MaxNanoseconds) {
		t.Errorf("%d records", len(got))
	}
}

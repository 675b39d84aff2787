package suite

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/series"
)

// TestMemoryOfJudging measures what judging takes for each point: 12 cells with 20 figures each, 3 repeats and 60 executions.
func TestMemoryOfJudging(t *testing.T) {
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	h := newHistory("nightly-60")
	count := 0
	for night := 1; night <= 60; night++ {
		for cell := range 12 {
			for repeat := range 3 {
				for figure := range 20 {
					count++
					h.points.Add(h.small(series.Point{
						Key:  series.Key{Experiment: fmt.Sprintf("nightly.cell-%d@0123456789ab", cell), Testbed: "lab", Figure: fmt.Sprintf("LatencyP99Nanoseconds %d NDR", figure)},
						Time: epoch.Add(time.Duration(night*100+repeat) * time.Minute), Run: fmt.Sprintf("nightly-%d-cell-%d-%d", night, cell, repeat), Execution: fmt.Sprint("nightly-", night),
						Value: 1_000_000 + int64((night*7919+repeat*31)%997), Unit: "ns", LowerIsBetter: true, Platform: strings.Repeat("0", 64),
						PlatformParts: map[string]string{"kernel": "6.12"}, Repeats: []int64{1, 2, 3}, CalibrationLevel: 2_000_000,
						Subject: series.Subject{Name: "fw", Revision: fmt.Sprint("revision-", night), Image: strings.Repeat("1", 71)},
					}))
				}
			}
		}
	}
	h.group()
	held := used()
	if _, err := judge(gateOfThroughput, h, nil, ending{}); err != nil {
		t.Fatal(err)
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(h)
	held = (held - before) / uint64(count)
	if t.Logf("%d points: %d bytes each, and %d more until judged", count, held, (after.HeapAlloc-before)/uint64(count)-held); held > bytesOfPoint {
		t.Errorf("a point takes %d bytes, and bytesOfPoint is %d", held, bytesOfPoint)
	}
}

// TestRoomForPoints checks that the number of points follows from the memory of the process, and that more are a problem that says what to do.
func TestRoomForPoints(t *testing.T) {
	for bytes, want := range map[int64]int{math.MaxInt64: series.MaxPoints, 230 << 20: 167480, 1 << 40: series.MaxPoints} {
		if got := roomIn(bytes); got != want {
			t.Errorf("%d bytes: %d points, want %d", bytes, got, want)
		}
	}
	n := fallen(t)
	h := newHistory("nightly-2")
	h.room = 12
	var err error
	for _, m := range n.measured {
		points, unreadable := series.OfMeasurement(m)
		if err = h.add(m, points, unreadable); err != nil {
			break
		}
	}
	var failure *measure.Failure
	if !errors.As(err, &failure) || failure.Reason != v1alpha1.ReasonNotJudged || !strings.Contains(err.Error(), "the 12 points that the operator has memory for") {
		t.Errorf("%v", err)
	}
}

package measurer

import (
	"testing"
	"time"
	"unsafe"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// clockStep returns a time as it is read after the wall clock was set by a step: its monotonic
// reading is the old one, which is the second word of a time.Time.
func clockStep(at time.Time, by time.Duration) time.Time {
	out := at.Add(by)
	*(*int64)(unsafe.Add(unsafe.Pointer(&out), unsafe.Sizeof(uint64(0)))) -= int64(by)
	return out
}

// TestClockStep sets the clock back between two trials after an overload. The measurer decides by
// the same times as a reader of the records, and both make the overload again.
func TestClockStep(t *testing.T) {
	now := time.Now()
	if stepped := clockStep(now, -time.Hour); !stepped.Equal(now) || stepped.Round(0).Equal(now.Round(0)) {
		t.Fatalf("%v is not %v on a clock that was set", stepped, now)
	}
	l := newLab()
	l.device = &simulated.Sluggish{CapacityFramesPerSecond: 500_000, Overload: 10 * time.Second, Recovery: time.Second, LossRatio: 0.1}
	l.chainReady()
	recovery, recoveries := v1alpha1.Recovery{OverloadSeconds: 10, TrialMilliseconds: 100, SettleMilliseconds: 20, CleanTrials: 3, MaximumTrials: 20}, 0
	step := time.Duration(0)
	l.before = func(_ int, o *measure.Outcome) error {
		if o.SendingNanoseconds == milliseconds(recovery.TrialMilliseconds) {
			if recoveries++; recoveries == 3 {
				step = -time.Hour
			}
		}
		o.StartedAt = clockStep(now, step)
		now = now.Add(time.Duration(o.TotalNanoseconds))
		return nil
	}
	m := l.measurer("a")
	m.Instructions.Sizes, m.Instructions.Latency, m.Instructions.Recovery = m.Instructions.Sizes[:1], nil, &recovery
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, overloads := l.records(t), 0
	for i, r := range records {
		if next, err := procedure.Next(m.Instructions, records[:i]); err != nil || next.Stage != r.Stage {
			t.Fatalf("record %d is of stage %s, and the records before it ask for %s (%v)", i, r.Stage, next.Stage, err)
		}
		if r.Stage == "Overload" {
			overloads++
		}
	}
	if next, err := procedure.Next(m.Instructions, records); err != nil || !next.Done || overloads != 2 {
		t.Errorf("%d overloads, done %t (%v), want two and done", overloads, next.Done, err)
	}
}

func milliseconds(n int32) int64 { return int64(n) * int64(time.Millisecond) }

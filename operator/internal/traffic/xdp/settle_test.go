package xdp

import (
	"sync/atomic"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// TestSettlingWaitsForFramesUnderWay has a device with a queue that lasts longer than the settling
// time: its frames are only late. A busy machine may stop the device for longer than a step.
func TestSettlingWaitsForFramesUnderWay(t *testing.T) {
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		time.Sleep(time.Millisecond)
		send(frame)
	})
	trial := trialOf(64, 2000, 100*time.Millisecond)
	trial.SettleNanoseconds = int64(settleStep)
	var o measure.Outcome
	for range 20 {
		if o = run(t, d, trial); o.LossRatio() == 0 && d.extended > 0 {
			if total := time.Duration(o.TotalNanoseconds); total < trial.Duration()+trial.Settle()+d.extended {
				t.Errorf("a trial of %v settled %v longer", total, d.extended)
			}
			return
		}
		time.Sleep(200 * time.Millisecond) // empty the queue
	}
	t.Errorf("%d of %d frames arrived, with %v more of settling", o.Directions[0].ReceivedFrames, o.Directions[0].SentFrames, d.extended)
}

// TestSettlingWaitsForADeviceThatPauses has a device stop for 40 ms before each frame, as a virtual
// machine does whose core other work holds: its frames are only late.
func TestSettlingWaitsForADeviceThatPauses(t *testing.T) {
	var pauses atomic.Bool
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if pauses.Load() {
			time.Sleep(2 * settleStep)
		}
		send(frame)
	})
	pauses.Store(true)
	trial := trialOf(64, 200, 100*time.Millisecond)
	trial.SettleNanoseconds = int64(100 * time.Millisecond)
	var o measure.Outcome
	for range 5 {
		if o = run(t, d, trial); o.LossRatio() == 0 {
			return
		}
		time.Sleep(time.Second) // empty the queue
	}
	t.Errorf("%d of %d frames arrived, with %v more of settling", o.Directions[0].ReceivedFrames, o.Directions[0].SentFrames, d.extended)
}

// TestSettlingEndsWithoutArrivals checks that frames that are lost cost no time.
func TestSettlingEndsWithoutArrivals(t *testing.T) {
	d, _ := forward(t, ipv4Forward, func(number uint64, _ time.Time, frame []byte, send func([]byte)) {
		if number%2 == 0 {
			send(frame)
		}
	})
	o := run(t, d, throughProgram(trialOf(64, 1000, 50*time.Millisecond)))
	if o.LossRatio() == 0 || d.extended != 0 {
		t.Errorf("a loss of %v, settled %v longer", o.LossRatio(), d.extended)
	}
}

package xdp

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

func TestStrayFramesOfAnEarlierTrial(t *testing.T) {
	const maxKept = 50
	var keep [][]byte
	var kept atomic.Int64
	var release atomic.Bool
	d, f := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if len(keep) < maxKept {
			keep = append(keep, bytes.Clone(frame))
			kept.Store(int64(len(keep)))
		}
		if release.CompareAndSwap(true, false) {
			for _, old := range keep {
				send(old)
			}
			send(make([]byte, 100)) // and one from another sender
		}
		send(frame)
	})
	trial := throughProgram(trialOf(64, 2000, 100*time.Millisecond))
	// A busy machine may send few frames in one trial.
	for attempt := 0; attempt < 30 && kept.Load() < maxKept; attempt++ {
		run(t, d, trial)
	}
	release.Store(true)
	o := run(t, d, trial)
	checkWhole(t, o)
	late := uint64(0)
	for _, old := range keep {
		if uint32(binary.NativeEndian.Uint16(old[ethernetBytes+ipv4Bytes+udpBytes+2:])) == d.state.Receivers[0].EarlierKey {
			late++
		}
	}
	if got := o.Directions[0].LateArrivals; got != late || late == 0 {
		t.Errorf("%d late arrivals, want %d and more than none", got, late)
	}
	if got := d.state.Receivers[0].Stray; got != maxKept-late {
		t.Errorf("%d stray frames, want %d", got, maxKept-late)
	}
	if got := d.state.Receivers[0].Foreign; got != 1 {
		t.Errorf("%d foreign frames, want 1", got)
	}
	if f.Seen.Load() == 0 {
		t.Error("the device saw nothing")
	}
}

// TestVeryLateDuplicate: a frame that comes again after more later ones than the window has does not
// hide the loss of another.
func TestVeryLateDuplicate(t *testing.T) {
	const early, dropped = 5, 7
	var kept []byte
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		switch sequenceOf(frame) {
		case early:
			kept = bytes.Clone(frame)
		case dropped:
			return
		case early + uint32(duplicateWindow) + 10:
			send(kept)
		}
		send(frame)
	})
	o := run(t, d, throughProgram(trialOf(64, 10_000, 2*time.Second)))
	got := o.Directions[0]
	if late := d.state.Receivers[0].BeyondWindow; late != 1 || got.LostFrames() != 1 || got.DuplicateFrames != 0 {
		t.Errorf("%d frames too late to be known, %d lost of %d, %d duplicates", late, got.LostFrames(), got.SentFrames, got.DuplicateFrames)
	}
	if !slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtUnaccounted && !d.Invalid }) {
		t.Errorf("doubts: %+v", o.Doubts)
	}
}

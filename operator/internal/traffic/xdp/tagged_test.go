package xdp

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// taggedTrial tags the frame with number 100.
func taggedTrial() measure.Trial {
	trial := throughProgram(trialOf(128, 1000, 200*time.Millisecond))
	trial.TaggedFrameNanoseconds = int64(100*time.Millisecond) - 1
	return trial
}

// runTagged measures again if a very busy machine kept the trial from sending all its
// frames: the tagged one then is another, or none. runTagged calls begin before each
// trial.
func runTagged(t *testing.T, d *Driver, begin func()) measure.DirectionOutcome {
	t.Helper()
	for range 30 {
		begin()
		o, err := d.Measure(t.Context(), taggedTrial())
		if err != nil {
			t.Fatal(err)
		}
		if forward := o.Directions[0]; forward.TaggedFrame != nil && forward.UnsentFrames() == 0 {
			return forward
		}
	}
	t.Fatal("no trial sent all its frames, the tagged one among them")
	return measure.DirectionOutcome{}
}

// TestTaggedFrameByItself has the device hold back the tagged frame, and with it those
// after it: its delay must be the longest, and exactly one frame may have the tag. It
// measures again where a busy machine held back one after it a little longer.
func TestTaggedFrameByItself(t *testing.T) {
	const held = uint64(50 * time.Millisecond)
	var mutex sync.Mutex
	var tagged []uint64
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		signature := frame[ethernetBytes+ipv4Bytes+udpBytes:]
		if binary.NativeEndian.Uint16(signature) == 0x7663 {
			mutex.Lock()
			tagged = append(tagged, sequenceIn(frame))
			mutex.Unlock()
			time.Sleep(time.Duration(held))
		}
		send(frame)
	})
	var o measure.DirectionOutcome
	for range 5 {
		o = runTagged(t, d, func() {
			mutex.Lock()
			defer mutex.Unlock()
			tagged = nil
		})
		if o.TaggedFrame.DelayNanoseconds == o.Latency.MaxNanoseconds {
			break
		}
	}
	mutex.Lock()
	defer mutex.Unlock()
	if len(tagged) != 1 || tagged[0] != 100 {
		t.Fatalf("frames %v have the tag, want 100", tagged)
	}
	if o.TaggedFrame.DueNanoseconds != int64(100*time.Millisecond) {
		t.Fatalf("tagged frame %+v, want one that was due after 100 ms", o.TaggedFrame)
	}
	if got := o.TaggedFrame.DelayNanoseconds; got != o.Latency.MaxNanoseconds || got < held {
		t.Errorf("its delay is %d ns, the largest of all %d; want the largest, above %d", got, o.Latency.MaxNanoseconds, held)
	}
	if o.ReceivedFrames != o.SentFrames {
		t.Errorf("received %d of %d frames: a tagged frame is a frame", o.ReceivedFrames, o.SentFrames)
	}
}

// A tagged frame that is lost has no delay, but is sent.
func TestTaggedFrameLost(t *testing.T) {
	d, _ := forward(t, ipv6Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if binary.NativeEndian.Uint16(frame[ethernetBytes+ipv6Bytes+udpBytes:]) != 0x7663 {
			send(frame)
		}
	})
	o := runTagged(t, d, func() {})
	if o.TaggedFrame.DelayNanoseconds != 0 {
		t.Errorf("tagged frame %+v, want one that was lost", o.TaggedFrame)
	}
	if o.LostFrames() != 1 {
		t.Errorf("lost %d frames, want the tagged one", o.LostFrames())
	}
}

// At the maximum rate nothing is due: the frame that leaves next is tagged.
func TestTaggedFrameFlatOut(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4()})
	trial := taggedTrial()
	trial.IntendedFramesPerSecond = 0
	var outcome measure.Outcome
	for range 30 { // a very busy machine may send nothing after the tag's time
		outcome = run(t, d, trial)
		if !slices.ContainsFunc(outcome.Directions, func(o measure.DirectionOutcome) bool { return o.TaggedFrame == nil }) {
			break
		}
	}
	for _, o := range outcome.Directions {
		if o.TaggedFrame == nil || o.TaggedFrame.DueNanoseconds < trial.TaggedFrameNanoseconds {
			t.Errorf("%s: tagged frame %+v", o.Direction, o.TaggedFrame)
		}
	}
}

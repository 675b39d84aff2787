package xdp

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// mixed returns a trial of a mix of 8 sizes whose buffers shrink and grow.
func mixed(rate uint64, duration time.Duration) measure.Trial {
	trial := trialOf(0, rate, duration)
	trial.Mix = &measure.Mix{Frames: []measure.MixFrame{
		{FrameBytes: 90, Weight: 7}, {FrameBytes: 594, Weight: 4}, {FrameBytes: 1518, Weight: 1}, {FrameBytes: 91, Weight: 1},
		{FrameBytes: 1200, Weight: 2}, {FrameBytes: 301, Weight: 3}, {FrameBytes: 3400, Weight: 1}, {FrameBytes: 128, Weight: 100},
	}}
	trial.FrameBytes = trial.Mix.MeanFrameBytes()
	return trial
}

// TestMixFrameByFrame compares every byte of every frame, of one flow and of many, with
// the template of the size at that place in the mix's sequence.
func TestMixFrameByFrame(t *testing.T) {
	for name, path := range map[string]func(*testpath.Path) measure.Path{"IPv4": ipv4Forward, "IPv6": ipv6Forward} {
		for _, flows := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, flows %d", name, flows), func(t *testing.T) {
				checkMixFrames(t, path, flows)
			})
		}
	}
}

func checkMixFrames(t *testing.T, path func(*testpath.Path) measure.Path, flows int) {
	var mutex sync.Mutex
	wrong, seen, measuring := "", 0, false
	trial := throughProgram(mixed(5000, 200*time.Millisecond))
	sequence := trial.Mix.Sequence()
	var stream measure.Stream
	var want []template
	d, _ := forward(t, func(p *testpath.Path) measure.Path {
		path := path(p)
		if flows > 1 {
			path.Streams[0].Flows = &measure.Flows{Count: flows, Fields: []measure.FlowField{measure.FlowSourceAddress}}
		}
		stream = path.Streams[0]
		return path
	}, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		send(frame)
		mutex.Lock()
		defer mutex.Unlock()
		if !measuring || wrong != "" {
			return
		}
		seen++
		n := sequenceIn(frame)
		due := want[sequence[n%uint64(len(sequence))]]
		wrong = checkChecksums(frame)
		if len(frame) != len(due.frame) {
			wrong = fmt.Sprintf("%d bytes, want %d", len(frame), len(due.frame))
		} else if got, want := withoutChanges(due, frame), withoutChanges(due, due.frame); !bytes.Equal(got, want) {
			wrong = fmt.Sprintf("got  %x\nwant %x", got, want)
		}
		if wrong != "" {
			wrong = fmt.Sprintf("frame %d: %s", n, wrong)
		}
		for i := range frame { // buffers are reused: spoil this one
			frame[i] = 0xa5
		}
	})
	sizes, _ := framesOf(trial)
	for _, size := range sizes {
		made, err := newTemplate(stream, size)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, made)
	}
	mutex.Lock()
	measuring = true
	mutex.Unlock()
	o := run(t, d, trial)
	checkWhole(t, o)
	mutex.Lock()
	defer mutex.Unlock()
	if wrong != "" {
		t.Error(wrong)
	}
	if seen < int(o.Directions[0].SentFrames) {
		t.Errorf("looked at %d of %d frames", seen, o.Directions[0].SentFrames)
	}
	bytesSent := uint64(0)
	for n := range o.Directions[0].SentFrames {
		bytesSent += uint64(sizes[sequence[n%uint64(len(sequence))]] - measure.FrameCheckSequenceBytes)
	}
	if got := d.state.Receivers[0].Bytes; got != bytesSent {
		t.Errorf("received %d bytes, want %d", got, bytesSent)
	}
}

// withoutChanges returns a frame without what differs from its template: signature, flow
// and checksums.
func withoutChanges(t template, frame []byte) []byte {
	frame = bytes.Clone(frame)
	clear(frame[t.payloadOffset:][:signatureBytes])
	if t.checksumOffset > 0 {
		clear(frame[t.checksumOffset:][:2])
		clear(frame[36:38])
	} else if t.flowFields[0].Values > 1 {
		clear(frame[24:26])
		clear(frame[28:30])
	}
	return frame
}

func TestMixThroughARouter(t *testing.T) {
	for name, build := range map[string]builder{"router": routedWithNAPI, "bridge ports": testpath.Bridged} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, build)
			d := open(t, p, Config{Path: p.IPv4()})
			checkWhole(t, run(t, d, mixed(5000, 200*time.Millisecond)))
			// In batches, at the maximum rate; then one size again.
			flatOut := mixed(0, 100*time.Millisecond)
			for _, o := range run(t, d, flatOut).Directions {
				if o.ReceivedFrames == 0 {
					t.Errorf("%s: nothing came through", o.Direction)
				}
			}
			checkWhole(t, run(t, d, trialOf(64, 3000, 100*time.Millisecond)))
			if got, want := d.state.Receivers[0].Bytes, d.state.Receivers[0].Received*60; got != want {
				t.Errorf("received %d bytes after a mix, want %d", got, want)
			}
		})
	}
}

func TestMixOutOfRange(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4()})
	for name, c := range map[string]struct {
		frames []measure.MixFrame
		want   string
	}{
		"a small frame":  {[]measure.MixFrame{{FrameBytes: 1000, Weight: 9}, {FrameBytes: 60, Weight: 1}}, v1alpha1.ReasonFrameTooSmall},
		"a large frame":  {[]measure.MixFrame{{FrameBytes: 64, Weight: 9}, {FrameBytes: 9018, Weight: 1}}, v1alpha1.ReasonFrameTooLarge},
		"a long round":   {[]measure.MixFrame{{FrameBytes: 64, Weight: 900}, {FrameBytes: 65, Weight: 1}}, v1alpha1.ReasonInvalidTrial},
		"nothing in it":  {nil, v1alpha1.ReasonInvalidTrial},
		"without weight": {[]measure.MixFrame{{FrameBytes: 64}}, v1alpha1.ReasonInvalidTrial},
	} {
		trial := trialOf(500, 1000, 10*time.Millisecond)
		trial.Mix = &measure.Mix{Frames: c.frames}
		if _, err := d.Measure(t.Context(), trial); measure.ReasonOf(err) != c.want {
			t.Errorf("%s: %v, want reason %q", name, err, c.want)
		}
	}
}

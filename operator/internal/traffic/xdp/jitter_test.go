package xdp

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestDelayVariationAndJitter has the device write send times that make the delays seconds
// apart: a busy machine's own delays are negligible in comparison. The receiver takes delays
// from the departure, as it does at the maximum rate.
func TestDelayVariationAndJitter(t *testing.T) {
	var receiver atomic.Pointer[trafficReceiver]
	var delayOf atomic.Pointer[func(uint64) uint64]
	delayOf.Store(new(func(uint64) uint64 { return 1e9 }))
	d, _ := forward(t, ipv4Forward, func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if r := receiver.Load(); r != nil {
			r.Schedule = trafficSchedule{}
		}
		binary.NativeEndian.PutUint64(frame[ethernetBytes+ipv4Bytes+udpBytes+8:], monotonicNow()-(*delayOf.Load())(uint64(sequenceOf(frame))))
		send(frame)
	})
	receiver.Store(&d.state.Receivers[0])
	defer receiver.Store(nil)
	for name, delay := range map[string]func(uint64) uint64{
		"in turns":             func(n uint64) uint64 { return 1e9 + 2e9*(n%2) },
		"random":               func(n uint64) uint64 { return 1e9 + rand.New(rand.NewPCG(n, 1)).Uint64N(2e9) },
		"steady after a jump":  func(n uint64) uint64 { return 1e9 + 2e9*min(1, n/100) },
		"one of 16 is delayed": func(n uint64) uint64 { return 1e9 + 2e9*(1-min(1, n%16)) },
	} {
		t.Run(name, func(t *testing.T) {
			delayOf.Store(&delay)
			o := run(t, d, throughProgram(trialOf(128, 1000, 200*time.Millisecond))).Directions[0]
			if o.DelayVariation.Samples+1 != o.ReceivedFrames || o.LostFrames() > 0 {
				t.Fatalf("%d samples of delay variation of %d frames, %d lost", o.DelayVariation.Samples, o.ReceivedFrames, o.LostFrames())
			}
			var delays, changes, sampled []uint64
			var jitter, jitters, largest uint64
			for n := range o.ReceivedFrames {
				delays = append(delays, delay(n))
				if n == 0 {
					continue
				}
				change := max(delay(n), delay(n-1)) - min(delay(n), delay(n-1))
				changes = append(changes, change)
				jitter += change - (jitter+8)>>4 // RFC 3550 appendix A.8
				jitters, largest = jitters+jitter>>4, max(largest, jitter>>4)
				if (n-1)%17 == 0 {
					sampled = append(sampled, jitter>>4)
				}
			}
			mean := func(all []uint64) (sum uint64) {
				for _, v := range all {
					sum += v
				}
				return sum / uint64(len(all))
			}
			for name, c := range map[string]struct{ got, want uint64 }{
				"first delay":          {o.FirstFrameNanoseconds, delays[0]},
				"mean latency":         {o.Latency.MeanNanoseconds, mean(delays)},
				"mean delay variation": {o.DelayVariation.MeanNanoseconds, mean(changes)},
				"mean jitter":          {o.Jitter.MeanNanoseconds, jitters / uint64(len(changes))},
				"p99 of the jitter":    {o.Jitter.P99Nanoseconds, slices.Max(sampled)},
				"largest jitter":       {o.Jitter.MaxNanoseconds, largest},
			} {
				if off := math.Abs(float64(c.got) - float64(c.want)); off > 0.02*float64(c.want) {
					t.Errorf("%s %v, want %v", name, time.Duration(c.got), time.Duration(c.want))
				}
			}
		})
	}
}

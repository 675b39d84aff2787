package procedure

import (
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// TestLessInReverse checks that the figures are those of the forward direction, and that the
// reverse direction's lower rate limits nothing.
func TestLessInReverse(t *testing.T) {
	instr := instructions()
	driver := func(device simulated.Device) measure.Driver {
		return simulated.New(simulated.Config{
			Device: device, Directions: bothWays, GeneratorFramesPerSecond: 2_000_000, ReversePercent: 10,
		})
	}
	b := &bench{
		calibration: driver(simulated.HardCap{CapacityFramesPerSecond: 100e6}),
		chain:       driver(simulated.HardCap{CapacityFramesPerSecond: 500_000}),
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	figures := Results(instr, records)
	for _, frame := range figures.Frames {
		ndr := frame.Throughput[0]
		if ndr.FramesPerSecond < 490_000 || ndr.FramesPerSecond > 500_000 {
			t.Errorf("%d bytes: NDR %d frames/s, the device forwards 500000 of the forward direction", frame.FrameBytes, ndr.FramesPerSecond)
		}
		idle := frame.Latency[0]
		if forward, reverse := idle.Directions[0].SentFrames, idle.Directions[1].SentFrames; forward != 5000 || reverse != 500 {
			t.Errorf("%d bytes, idle: sent %d and %d frames, want 5000 and 500", frame.FrameBytes, forward, reverse)
		}
	}
	for _, r := range records {
		if disturbed(r, r.Outcome.OfferedFramesPerSecond()) {
			t.Errorf("trial %d counts as disturbed", r.Index)
		}
	}
}

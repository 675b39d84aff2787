package procedure

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// TestLoadsBySize has loads in bits: their frames differ from size to size, and no trial except
// the calibration leaves the search's bounds.
func TestLoadsBySize(t *testing.T) {
	instr := instructions()
	instr.Throughput.MinimumFramesPerSecond = 0
	instr.Throughput.MinimumLoad = &v1alpha1.Load{Layer2BitsPerSecond: new(int64(4_096_000))}
	instr.Throughput.MaximumLoad = &v1alpha1.Load{LineRatePercent: new(int32(1))}
	instr.Latency.Loads = []v1alpha1.LatencyLoad{{Name: "branch", Rate: &v1alpha1.Load{Layer2BitsPerSecond: new(int64(40_960_000))}}}
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 100e6}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		least, most := instr.Minimum(measure.FrameSize(r.Trial.FrameBytes)), instr.Maximum(measure.FrameSize(r.Trial.FrameBytes))
		if load := r.Trial.IntendedFramesPerSecond; r.Stage == measure.StageThroughput && (load < least || load > most) {
			t.Errorf("%d bytes: a load of %d frames/s is not between %d and %d", r.Trial.FrameBytes, load, least, most)
		}
	}
	for i, want := range []struct{ throughput, latency int64 }{{148_809, 80_000}, {23_496, 10_000}} {
		frame := Results(instr, records).Frames[i]
		if got := frame.Throughput[0].FramesPerSecond; got != want.throughput {
			t.Errorf("%d bytes: throughput %d, want the maximum load %d", frame.FrameBytes, got, want.throughput)
		}
		if got := frame.Latency[0].IntendedFramesPerSecond; got != want.latency {
			t.Errorf("%d bytes: a latency load of %d, want %d", frame.FrameBytes, got, want.latency)
		}
	}
}

package procedure

import (
	"math"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// AddServiceTimes adds to each throughput what the device takes of a core for a frame, where that
// is known: the device works on the core that sends and lost the frames, and the generator is
// calibrated as it works with the device. state says on how many cores it sends, and in which way.
func AddServiceTimes(instr measure.Instructions, figures *Figures, state *measure.GeneratorState) {
	if instr.Chain.Hop != measure.HopInline || instr.Calibration == nil || state == nil || state.Chain == nil || state.Calibration == nil || openedDifferently(state) != "" {
		return
	}
	allowed := map[string]float64{}
	if instr.Throughput != nil {
		for _, goal := range instr.Throughput.Goals {
			allowed[goal.Name] = float64(goal.LossPartsPerMillion) / 1e6
		}
	}
	sent := framesOnACore(instr.Chain, state.Chain.Threads)
	calibrated := framesOnACore(*instr.Calibration, state.Calibration.Threads)
	for _, c := range figures.Calibration {
		slowest, fastest := ptr.Deref(c.LowestFramesPerSecond, c.MaximumFramesPerSecond), c.MaximumFramesPerSecond
		final := ptr.Deref(c.FinalFramesPerSecond, fastest)
		generator := interval{low: coreTime(fastest, calibrated), high: coreTime(slowest, calibrated)}
		widest := interval{low: coreTime(max(fastest, final), calibrated), high: coreTime(min(slowest, final), calibrated)}
		for i := range figures.Frames {
			if figures.Frames[i].Size != c.Size {
				continue
			}
			for j := range figures.Frames[i].Throughput {
				t := &figures.Frames[i].Throughput[j]
				t.ServiceTime = serviceTime(*t, sent*(1-allowed[t.Goal]), sent, generator, widest)
			}
		}
	}
}

// interval holds the bounds of a time in nanoseconds.
type interval struct{ low, high float64 }

// framesOnACore returns how many frames the busiest core sends for each frame of a load.
func framesOnACore(path measure.Path, threads int) float64 {
	total, largest := 0.0, 0.0
	for _, s := range path.Streams {
		frames := 1.0
		if s.LoadPercent > 0 {
			frames = float64(s.LoadPercent) / 100
		}
		total, largest = total+frames, max(largest, frames)
	}
	if threads > 1 {
		return largest
	}
	return total
}

// coreTime returns a core's time for each frame at a load, in nanoseconds.
func coreTime(framesPerSecond int64, framesOnACore float64) float64 {
	return 1e9 / (float64(framesPerSecond) * framesOnACore)
}

// serviceTime returns nil where the device does not bound the throughput on both sides. At the
// lower bound the device forwarded at least the share of the load that the goal asks for. generator has the first
// calibration's times, widest those with the rate at the end, which moves the bounds alone.
func serviceTime(t v1alpha1.ThroughputResult, forwarded, sent float64, generator, widest interval) *v1alpha1.ServiceTime {
	if t.UpperBoundCause != v1alpha1.CauseDeviceLoss || t.UpperBoundFramesPerSecond == nil || t.LowerBoundFramesPerSecond == 0 || math.IsInf(generator.high, 1) {
		return nil
	}
	least := func(of interval) float64 { return max(0, coreTime(*t.UpperBoundFramesPerSecond, sent)-of.high) }
	most := func(of interval) float64 { return max(0, coreTime(t.LowerBoundFramesPerSecond, forwarded)-of.low) }
	return &v1alpha1.ServiceTime{
		Nanoseconds:    int64(math.Round((least(generator) + most(generator)) / 2)),
		LowNanoseconds: int64(math.Floor(least(widest))), HighNanoseconds: int64(math.Ceil(most(widest))),
		GeneratorNanoseconds: int64(math.Round(generator.low)),
	}
}

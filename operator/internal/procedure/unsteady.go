package procedure

import (
	"cmp"
	"fmt"
	"math"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// unsteadyTail is how many medians the p99.9 delay of a steady load is at most.
	unsteadyTail = 10
	// unsteadyVariation is the coefficient of variation of p99 over the repeats, in parts per
	// million, that a steady load stays below.
	unsteadyVariation = 200_000
	// overloadedLoss is the minimum loss, in parts per million, of a trial that shows what the
	// device forwards when it cannot forward everything.
	overloadedLoss = 10_000
)

// warnUnsteadyLatency names the loads that one percentile does not describe.
func (w *replay) warnUnsteadyLatency(d *warningList, size measure.Size) {
	for _, l := range w.latencyResults(size) {
		var tail v1alpha1.Delays
		var scatter v1alpha1.Statistics
		for _, direction := range l.Directions {
			delays := direction.Latency
			if p999 := delays.P999Nanoseconds; p999 != nil && *p999 > unsteadyTail*delays.P50Nanoseconds && *p999 > ptr.Deref(tail.P999Nanoseconds, 0) {
				tail = delays
			}
			for _, s := range direction.Statistics {
				if s.Metric == v1alpha1.MetricLatencyP99 && s.CoefficientOfVariationPartsPerMillion > max(unsteadyVariation, scatter.CoefficientOfVariationPartsPerMillion) {
					scatter = s
				}
			}
		}
		if tail.Samples > 0 {
			d.add(v1alpha1.WarningUnsteadyLatency, size,
				"At load %s one frame in a thousand took %d ns or more, over %d times the median of %d ns: something held up the device or the generator.",
				l.Load, *tail.P999Nanoseconds, unsteadyTail, tail.P50Nanoseconds)
		}
		if scatter.N > 0 {
			d.add(v1alpha1.WarningUnsteadyLatency, size,
				"At load %s the p99 delay scatters by %d %% of its mean over %d repeats, from %d to %d ns.",
				l.Load, scatter.CoefficientOfVariationPartsPerMillion/10_000, scatter.N, scatter.Minimum, scatter.Maximum)
		}
	}
}

// warnBelowBias explains a delay of parts with the device that is below the median of those that were measured without
// it, at the same load or where that is not known, at a low one. It says whether the delay is below the lowest of them,
// or within their spread.
func (w *replay) warnBelowBias(d *warningList, size measure.Size, load string, bias *v1alpha1.LatencyBias, with v1alpha1.DirectionResult, parts ...*part) {
	without := cmp.Or(bias, w.lowBias(size, sessionsIn(parts)))
	if without == nil || with.Latency.Samples == 0 || with.Latency.P50Nanoseconds >= without.P50Nanoseconds {
		return
	}
	if lowest, _ := spreadOf(*without); with.Latency.P50Nanoseconds >= lowest {
		at := "at the same load"
		if bias == nil {
			at = fmt.Sprintf("at %d frames/s, where caches are cold and cores sleep between frames", w.lowCalibrationRate(size))
		}
		d.add(v1alpha1.WarningDelayWithinBias, size,
			"At load %s the median delay of direction %s is %d ns. Without a device, %s, the median is %d ns, and trials differ from %s: "+
				"the delay is below that median and within this spread, so what the device adds does not show; do not subtract the bias.",
			load, with.Direction, with.Latency.P50Nanoseconds, at, without.P50Nanoseconds, biasInWords(*without))
		return
	}
	if bias != nil {
		d.add(v1alpha1.WarningDelayBelowBias, size,
			"At load %s the median delay of direction %s is %d ns, below the %s without a device at the same load: "+
				"what the device adds is less than what the generator's own delay varies by; do not subtract it.",
			load, with.Direction, with.Latency.P50Nanoseconds, biasInWords(*bias))
		return
	}
	d.add(v1alpha1.WarningDelayBelowBias, size,
		"At load %s the median delay of direction %s is %d ns, below the %s without a device. That was measured at %d frames/s, "+
			"where caches are cold and cores sleep between frames, so it does not hold for this load; do not subtract it.",
		load, with.Direction, with.Latency.P50Nanoseconds, biasInWords(*without), w.lowCalibrationRate(size))
}

// warnLowest does what warnBelowBias does for the lowest median of each direction, of all trials of a part.
func (w *replay) warnLowest(d *warningList, p *part) {
	lowest := map[string]v1alpha1.DirectionResult{}
	var order []string
	for _, r := range p.counted {
		for _, o := range r.Outcome.Directions {
			now := directionResult(o)
			before, known := lowest[now.Direction]
			if !known {
				order = append(order, now.Direction)
			}
			if !known || before.Latency.Samples == 0 || now.Latency.Samples > 0 && now.Latency.P50Nanoseconds < before.Latency.P50Nanoseconds {
				lowest[now.Direction] = now
			}
		}
	}
	bias := w.biasAt(p.size, signed(p.counted[0].Trial.IntendedFramesPerSecond), p)
	for _, direction := range order {
		w.warnBelowBias(d, p.size, p.load.Name, bias, lowest[direction], p)
	}
}

// warnTwoBands names figures that are the mean of two states of the device.
func (w *replay) warnTwoBands(d *warningList, size measure.Size) {
	for _, t := range w.throughputResults(size) {
		for _, s := range t.Statistics {
			if b, two := statistics.TwoBands(s.Values); two {
				d.add(v1alpha1.WarningTwoBands, size,
					"The throughput of %s fell into two bands over the repeats, %d to %d and %d to %d frames/s: the device has two states, and its mean is neither.",
					t.Goal, b.LowMinimum, b.LowMaximum, b.HighMinimum, b.HighMaximum)
			}
		}
	}
	if b, two := w.forwardingBands(size); two {
		d.add(v1alpha1.WarningTwoBands, size,
			"Under overload the device forwarded %d to %d frames/s in some trials and %d to %d in others, at like loads: it has two states.",
			b.LowMinimum, b.LowMaximum, b.HighMinimum, b.HighMaximum)
	}
}

// forwardingBands returns two bands of the rates that overloaded trials forwarded. Where all
// loads of one band are above those of the other, the load is the cause: a device that forwards
// less the more it gets has one state.
func (w *replay) forwardingBands(size measure.Size) (statistics.Bands, bool) {
	var rates []int64
	loads := map[int64][]uint64{}
	for _, p := range w.all(measure.StageThroughput, size) {
		for _, r := range p.counted {
			if fellShort(r) || r.Outcome.LossOverTime()*1e6 < overloadedLoss {
				continue
			}
			rate := int64(r.Outcome.ForwardingFramesPerSecond())
			rates = append(rates, rate)
			loads[rate] = append(loads[rate], r.Trial.IntendedFramesPerSecond)
		}
	}
	b, two := statistics.TwoBands(rates)
	if !two {
		return b, false
	}
	lowest, highest := [2]uint64{math.MaxUint64, math.MaxUint64}, [2]uint64{}
	for rate, list := range loads {
		band := 0
		if rate >= b.HighMinimum {
			band = 1
		}
		for _, load := range list {
			lowest[band], highest[band] = min(lowest[band], load), max(highest[band], load)
		}
	}
	return b, lowest[0] <= highest[1] && lowest[1] <= highest[0]
}

package procedure

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/statistics"
)

// combineThroughput combines the repeats into one result for each goal.
func (w *replay) combineThroughput(list []v1alpha1.ThroughputResult, size measure.Size) []v1alpha1.ThroughputResult {
	var out []v1alpha1.ThroughputResult
	for _, group := range grouped(list, func(t v1alpha1.ThroughputResult) string { return t.Goal }) {
		first := group[0]
		if len(group) == 1 {
			out = append(out, first)
			continue
		}
		rates := values(group, func(t v1alpha1.ThroughputResult) int64 { return t.FramesPerSecond })
		rate := int64(math.Floor(statistics.Mean(rates)))
		if first.Censored = censored(group, rates); first.Censored != nil {
			rate = slices.Min(rates)
		} else {
			first.Statistics = w.limitStatistics(group, rates, rate)
		}
		for _, t := range group[1:] {
			widen(&first, t)
		}
		for _, s := range first.Statistics {
			if s.LimitedBy == v1alpha1.LimitedByDrift {
				first.Doubts = distinct(append(first.Doubts, v1alpha1.DoubtDrift))
			}
		}
		first.FramesPerSecond = rate
		first.FragmentsPerSecond = fragmentsPerSecond(rate, size)
		first.Layer1BitsPerSecond = int64(w.instr.Layer1BitsPerSecond(float64(rate), size))
		first.LineRatePartsPerMillion = signed(share(uint64(rate), lineRate(w.instr, size)))
		out = append(out, first)
	}
	return out
}

// censored returns how many repeats are only a floor, and nil where none is.
func censored(group []v1alpha1.ThroughputResult, rates []int64) *v1alpha1.CensoredRepeats {
	out := v1alpha1.CensoredRepeats{N: int32(len(group)), Values: rates}
	for _, t := range group {
		if t.UpperBoundFramesPerSecond == nil || t.UpperBoundCause != v1alpha1.CauseDeviceLoss {
			out.Repeats++
		}
	}
	if out.Repeats == 0 {
		return nil
	}
	return &out
}

// limitStatistics returns the statistics of a searched rate. Its interval is that of the limit
// between the bounds of every repeat. There the device forwards all but what the goal allows it
// to lose.
func (w *replay) limitStatistics(group []v1alpha1.ThroughputResult, rates []int64, rate int64) []v1alpha1.Statistics {
	forwarded := 1 - w.lossRatio(group[0].Goal)
	brackets := make([]statistics.Bracket, len(group))
	for i, t := range group {
		brackets[i] = statistics.Bracket{
			Low: float64(t.LowerBoundFramesPerSecond) * forwarded, High: float64(*t.UpperBoundFramesPerSecond) * forwarded,
		}
	}
	out := summarized(v1alpha1.MetricThroughputFramesPerSecond, rates, rate)
	limit, ok := statistics.IntervalOfLimit(brackets)
	if !ok {
		return out
	}
	oneLimit := slices.ContainsFunc(group, func(t v1alpha1.ThroughputResult) bool { return t.LossInversionFramesPerSecond == nil })
	for i := range out {
		s := &out[i]
		s.ConfidenceLow, s.ConfidenceHigh = new(max(0, int64(math.Floor(limit.Low)))), new(int64(math.Ceil(limit.High)))
		s.Resolution = new(int64(math.Ceil(limit.Resolution)))
		switch {
		case !oneLimit:
			s.LimitedBy = v1alpha1.LimitedByLossInversion
		case len(group) < w.fewestRepeats():
			s.LimitedBy = v1alpha1.LimitedByTooFewRepeats
		case statistics.Drift(brackets):
			s.LimitedBy = v1alpha1.LimitedByDrift
		case limit.ResolutionLimited:
			s.LimitedBy = v1alpha1.LimitedByResolution
			continue
		default:
			continue
		}
		s.ConfidenceLow, s.ConfidenceHigh = nil, nil
	}
	return out
}

// fewestRepeats returns how many repeats an interval takes. With two, a method that halves ends too low in both too
// often, where a device has noise: intervals of simulated devices then hold the limit in 88 %, of three in 94 %.
func (w *replay) fewestRepeats() int {
	if t := w.instr.Throughput; t != nil && t.Method != v1alpha1.MethodMLRsearch {
		return 3
	}
	return 2
}

// lossRatio returns the loss that a goal allows.
func (w *replay) lossRatio(goal string) float64 {
	if t := w.instr.Throughput; t != nil {
		for _, g := range t.Goals {
			if g.Name == goal {
				return float64(g.LossPartsPerMillion) / 1e6
			}
		}
	}
	return 0
}

// widen adds another repeat to a result: its bounds then enclose what every repeat found, and its
// doubts are those of the most doubtful repeat.
func widen(into *v1alpha1.ThroughputResult, t v1alpha1.ThroughputResult) {
	if t.Regularity == v1alpha1.Irregular {
		into.Regularity = v1alpha1.Irregular
	}
	into.LowerBoundFramesPerSecond = min(into.LowerBoundFramesPerSecond, t.LowerBoundFramesPerSecond)
	switch {
	case into.UpperBoundFramesPerSecond == nil || t.UpperBoundFramesPerSecond == nil:
		into.UpperBoundFramesPerSecond = nil
	default:
		upper := max(*into.UpperBoundFramesPerSecond, *t.UpperBoundFramesPerSecond)
		into.UpperBoundFramesPerSecond = &upper
	}
	if causeSeverity(t.UpperBoundCause) > causeSeverity(into.UpperBoundCause) {
		into.UpperBoundCause = t.UpperBoundCause
	}
	if more := t.LossInversionFramesPerSecond; more != nil {
		into.LossInversionFramesPerSecond = new(max(*more, ptr.Deref(into.LossInversionFramesPerSecond, 0)))
	}
	into.LossPartsPerMillion = max(into.LossPartsPerMillion, t.LossPartsPerMillion)
	into.Trials += t.Trials
	into.PeakFramesPerSecond = max(into.PeakFramesPerSecond, t.PeakFramesPerSecond)
	into.LowerBoundLateness = laterOf(into.LowerBoundLateness, t.LowerBoundLateness)
	into.UpperBoundLateness = laterOf(into.UpperBoundLateness, t.UpperBoundLateness)
	into.Doubts = distinct(append(into.Doubts, t.Doubts...))
}

// causeSeverity orders causes by how little they say about the device.
func causeSeverity(cause v1alpha1.UpperBoundCause) int {
	switch cause {
	case v1alpha1.CauseDeviceLoss:
		return 0
	case v1alpha1.CauseMaximumLoad:
		return 2
	case v1alpha1.CauseGeneratorCeiling:
		return 3
	}
	return 1
}

// combineLatency combines the repeats into one result for each load. There is no interval where
// their loads differ: the values are then those of several loads.
func (w *replay) combineLatency(list []v1alpha1.LatencyResult) []v1alpha1.LatencyResult {
	var out []v1alpha1.LatencyResult
	for _, group := range grouped(list, func(l v1alpha1.LatencyResult) string { return l.Load }) {
		result := v1alpha1.LatencyResult{Load: group[0].Load, Share: combineShares(group)}
		result.TrialMilliseconds, result.ShortestTrialMilliseconds = trialTimes(group)
		var loads []int64
		var directions []v1alpha1.LatencyDirectionResult
		for _, l := range group {
			loads = append(loads, l.IntendedFramesPerSecond)
			directions = append(directions, l.Directions...)
			result.Doubts = distinct(append(result.Doubts, l.Doubts...))
			result.AwayPartsPerMillion = max(result.AwayPartsPerMillion, l.AwayPartsPerMillion)
		}
		result.IntendedFramesPerSecond = int64(math.Floor(statistics.Mean(loads)))
		for _, same := range grouped(directions, func(d v1alpha1.LatencyDirectionResult) string { return d.Direction }) {
			combined := v1alpha1.LatencyDirectionResult{TaggedFrames: same[0].TaggedFrames}
			combined.DirectionResult, combined.Statistics = combineDirection(values(same, func(d v1alpha1.LatencyDirectionResult) v1alpha1.DirectionResult { return d.DirectionResult }))
			for i := range combined.Statistics {
				if s := &combined.Statistics[i]; w.loadsDiffer(group[0].Share, loads...) {
					s.LimitedBy, s.ConfidenceLow, s.ConfidenceHigh = v1alpha1.LimitedByLoads, nil, nil
				}
			}
			result.Directions = append(result.Directions, combined)
		}
		out = append(out, result)
	}
	return out
}

// trialTimes returns the time of the longest trial, and that of the shortest if it is another one.
func trialTimes(group []v1alpha1.LatencyResult) (longest int64, shortest *int64) {
	of := values(group, func(l v1alpha1.LatencyResult) int64 { return l.TrialMilliseconds })
	longest = slices.Max(of)
	if least := slices.Min(of); least < longest {
		shortest = &least
	}
	return longest, shortest
}

// combineDirection combines trials of one direction, with the statistics over them.
func combineDirection(group []v1alpha1.DirectionResult) (out v1alpha1.DirectionResult, over []v1alpha1.Statistics) {
	if len(group) == 1 {
		return group[0], nil
	}
	out = v1alpha1.DirectionResult{Direction: group[0].Direction}
	var lost int64
	for _, d := range group {
		out.SentFrames += d.SentFrames
		out.ReceivedFrames += d.ReceivedFrames
		lost += max(0, d.SentFrames-d.ReceivedFrames)
		out.ReorderedFrames += d.ReorderedFrames
		out.DuplicateFrames += d.DuplicateFrames
		out.OverflowFrames += d.OverflowFrames
		out.PeakFramesPerSecond = max(out.PeakFramesPerSecond, d.PeakFramesPerSecond)
		out.RefusedFrames += d.RefusedFrames
		out.SequencedFrames = sumOf(out.SequencedFrames, d.SequencedFrames)
		out.SentFragments = sumOf(out.SentFragments, d.SentFragments)
		out.ReceivedFragments = sumOf(out.ReceivedFragments, d.ReceivedFragments)
	}
	out.LossPartsPerMillion = lossPartsPerMillion(uint64(lost), uint64(out.SentFrames))
	out.Latency = combineDelays(group, func(d v1alpha1.DirectionResult) v1alpha1.Delays { return d.Latency })
	out.LatencyOfSent = combineOfSent(group)
	out.Lateness = combineQuantiles(group, func(d v1alpha1.DirectionResult) *v1alpha1.DelayQuantiles { return d.Lateness })
	out.DelaySinceDeparture = combineQuantiles(group, func(d v1alpha1.DirectionResult) *v1alpha1.DelayQuantiles { return d.DelaySinceDeparture })
	out.DelayVariation = combineDelays(group, func(d v1alpha1.DirectionResult) v1alpha1.Delays { return d.DelayVariation })
	if out.Latency.Samples > 0 {
		out.PacketDelayVariationP99Nanoseconds = meanOf(group, func(d v1alpha1.DirectionResult) int64 { return d.PacketDelayVariationP99Nanoseconds })
		out.PacketDelayVariationP999Nanoseconds = knownMean(group, func(d v1alpha1.DirectionResult) *int64 { return d.PacketDelayVariationP999Nanoseconds })
		over = append(
			summarized(v1alpha1.MetricLatencyP50, values(group, latencyP50), out.Latency.P50Nanoseconds),
			summarized(v1alpha1.MetricLatencyP99, values(group, latencyP99), out.Latency.P99Nanoseconds)...)
	}
	out.Jitter = combineJitter(group)
	return out, over
}

// combineOfSent returns no percentile that lost frames take in one repeat, and nothing where none
// was lost, or nothing arrived in one repeat.
func combineOfSent(group []v1alpha1.DirectionResult) *v1alpha1.SentDelays {
	var all []v1alpha1.SentDelays
	out, lost := &v1alpha1.SentDelays{}, false
	for _, d := range group {
		if d.Latency.Samples == 0 {
			return nil
		}
		of := d.LatencyOfSent
		if lost = lost || of != nil; of == nil {
			of = &v1alpha1.SentDelays{P99Nanoseconds: &d.Latency.P99Nanoseconds, P999Nanoseconds: d.Latency.P999Nanoseconds}
		}
		all = append(all, *of)
	}
	if !lost {
		return nil
	}
	out.P99Nanoseconds = knownMean(all, func(d v1alpha1.SentDelays) *int64 { return d.P99Nanoseconds })
	out.P999Nanoseconds = knownMean(all, func(d v1alpha1.SentDelays) *int64 { return d.P999Nanoseconds })
	return out
}

// combineJitter returns nothing where one repeat has none, as combineDelays does.
func combineJitter(group []v1alpha1.DirectionResult) *v1alpha1.Jitter {
	out := &v1alpha1.Jitter{}
	for _, d := range group {
		if d.Jitter == nil {
			return nil
		}
		out.MaxNanoseconds = max(out.MaxNanoseconds, d.Jitter.MaxNanoseconds)
	}
	out.MeanNanoseconds = meanOf(group, func(d v1alpha1.DirectionResult) int64 { return d.Jitter.MeanNanoseconds })
	out.P99Nanoseconds = meanOf(group, func(d v1alpha1.DirectionResult) int64 { return d.Jitter.P99Nanoseconds })
	return out
}

// sumOf returns nil where neither is there.
func sumOf(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
}

func latencyP50(d v1alpha1.DirectionResult) int64 { return d.Latency.P50Nanoseconds }
func latencyP99(d v1alpha1.DirectionResult) int64 { return d.Latency.P99Nanoseconds }

// combineDelays returns no figure where one repeat has none: the other repeats must not hide a
// direction that was starved once.
func combineDelays(group []v1alpha1.DirectionResult, of func(v1alpha1.DirectionResult) v1alpha1.Delays) v1alpha1.Delays {
	out := v1alpha1.Delays{MinNanoseconds: math.MaxInt64}
	for _, d := range group {
		delays := of(d)
		if delays.Samples == 0 {
			return v1alpha1.Delays{}
		}
		out.Samples += delays.Samples
		out.MinNanoseconds = min(out.MinNanoseconds, delays.MinNanoseconds)
		out.MaxNanoseconds = max(out.MaxNanoseconds, delays.MaxNanoseconds)
	}
	average := func(figure func(v1alpha1.Delays) int64) int64 {
		return meanOf(group, func(d v1alpha1.DirectionResult) int64 { return figure(of(d)) })
	}
	out.MeanNanoseconds = average(func(d v1alpha1.Delays) int64 { return d.MeanNanoseconds })
	out.P50Nanoseconds = average(func(d v1alpha1.Delays) int64 { return d.P50Nanoseconds })
	out.P90Nanoseconds = average(func(d v1alpha1.Delays) int64 { return d.P90Nanoseconds })
	out.P99Nanoseconds = average(func(d v1alpha1.Delays) int64 { return d.P99Nanoseconds })
	out.P999Nanoseconds = knownMean(group, func(d v1alpha1.DirectionResult) *int64 { return of(d).P999Nanoseconds })
	out.P9999Nanoseconds = knownMean(group, func(d v1alpha1.DirectionResult) *int64 { return of(d).P9999Nanoseconds })
	return out
}

// combineQuantiles returns nothing where one repeat has none, as combineDelays does.
func combineQuantiles(group []v1alpha1.DirectionResult, of func(v1alpha1.DirectionResult) *v1alpha1.DelayQuantiles) *v1alpha1.DelayQuantiles {
	var list []v1alpha1.DelayQuantiles
	longest := int64(0)
	for _, d := range group {
		q := of(d)
		if q == nil {
			return nil
		}
		list, longest = append(list, *q), max(longest, q.MaxNanoseconds)
	}
	return &v1alpha1.DelayQuantiles{
		P50Nanoseconds: meanOf(list, func(q v1alpha1.DelayQuantiles) int64 { return q.P50Nanoseconds }),
		P99Nanoseconds: meanOf(list, func(q v1alpha1.DelayQuantiles) int64 { return q.P99Nanoseconds }),
		MaxNanoseconds: longest,
	}
}

// grouped keeps the order of first appearance.
func grouped[T any](list []T, name func(T) string) [][]T {
	var out [][]T
	at := map[string]int{}
	for _, v := range list {
		i, known := at[name(v)]
		if !known {
			i = len(out)
			at[name(v)], out = i, append(out, nil)
		}
		out[i] = append(out[i], v)
	}
	return out
}

func values[T, V any](list []T, figure func(T) V) []V {
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = figure(v)
	}
	return out
}

// meanOf returns a delay's mean, rounded up: delays are never flattered.
func meanOf[T any](list []T, figure func(T) int64) int64 {
	return int64(math.Ceil(statistics.Mean(values(list, figure))))
}

// knownMean returns nil where one repeat has no value: each of them took too few samples, however
// many all of them have.
func knownMean[T any](list []T, figure func(T) *int64) *int64 {
	known := make([]int64, 0, len(list))
	for _, v := range list {
		n := figure(v)
		if n == nil {
			return nil
		}
		known = append(known, *n)
	}
	return new(int64(math.Ceil(statistics.Mean(known))))
}

// summarized uses the figure as the mean, so that both are rounded alike; the ends of the
// interval are rounded outwards.
func summarized(metric v1alpha1.Metric, list []int64, figure int64) []v1alpha1.Statistics {
	s, ok := statistics.Summarize(list)
	if !ok {
		return nil
	}
	return []v1alpha1.Statistics{{
		Metric: metric, N: int32(len(list)), Mean: figure,
		StandardDeviation:                     int64(math.Round(s.StandardDeviation)),
		CoefficientOfVariationPartsPerMillion: int64(math.Round(s.VariationPartsPerMillion)),
		ConfidenceLow:                         new(max(0, int64(math.Floor(s.Low)))),
		ConfidenceHigh:                        new(int64(math.Ceil(s.High))),
		Minimum:                               s.Minimum,
		Maximum:                               s.Maximum,
		Values:                                s.Values,
	}}
}

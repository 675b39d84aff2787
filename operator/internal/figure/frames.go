package figure

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// frame adds the figures of one size.
func (w *walk) frame(frame v1alpha1.FrameResult) {
	size := Key{FigureKey: v1alpha1.FigureKey{Size: frame.Size}}
	for _, t := range frame.Throughput {
		key := size
		key.Goal = t.Goal
		w.throughput(key, t)
	}
	for _, load := range frame.Latency {
		key := size
		key.Load = load.Load
		p := w.atLoad(key, load.IntendedFramesPerSecond, load.Share, load.Doubts).away(load.AwayPartsPerMillion)
		w.at(key).add(TrialTime, load.TrialMilliseconds)
		w.at(key).addKnown(ShortestTrialTime, load.ShortestTrialMilliseconds)
		w.bias(key, load.Bias)
		for _, d := range load.Directions {
			at := p
			at.key.Direction, at.statistics = d.Direction, d.Statistics
			at.direction(d.DirectionResult)
			sent := int64(0)
			if d.TaggedFrames != nil {
				sent = d.TaggedFrames.SentFrames
			}
			at.unlessArrived(d.DirectionResult, sent).tagged(d.TaggedFrames)
		}
	}
	for _, first := range frame.FirstFrame {
		key := size
		key.Direction = first.Direction
		w.at(key).add("WarmUpFirstFrameNanoseconds", first.DelayNanoseconds)
	}
	for _, f := range frame.FixedLoad {
		key := size
		key.Load = f.Profile
		p := w.atLoad(key, f.IntendedFramesPerSecond, nil, f.Doubts).away(f.AwayPartsPerMillion)
		w.bias(key, f.Bias)
		p.worst(f.Worst)
		for _, repeat := range f.Repeats {
			p.key.Repeat = repeat.Repeat
			w.at(p.key).add(TrialTime, repeat.TrialMilliseconds)
			for _, d := range repeat.Directions {
				p.direction(d)
			}
		}
	}
	for _, m := range sizeMeasurements {
		m.add(w, size, frame)
	}
	w.soak(size, frame.Soak)
}

// bias adds the delay without a device at a load, where it is known.
func (w *walk) bias(key Key, bias *v1alpha1.LatencyBias) {
	if bias != nil {
		w.at(key).add("LatencyBiasP50Nanoseconds", bias.P50Nanoseconds)
		w.at(key).addKnown("LatencyBiasLowestP50Nanoseconds", bias.LowestP50Nanoseconds)
		w.at(key).addKnown("LatencyBiasHighestP50Nanoseconds", bias.HighestP50Nanoseconds)
		w.at(key).add("LatencyBiasP99Nanoseconds", bias.P99Nanoseconds)
	}
}

// atLoad adds what a load was, and returns the place for its figures.
func (w *walk) atLoad(key Key, framesPerSecond int64, share *v1alpha1.LoadShare, doubts []v1alpha1.DoubtCode) place {
	w.at(key).add("IntendedFramesPerSecond", framesPerSecond)
	p := w.at(key).doubtful(doubts...)
	p.load = framesPerSecond
	if share == nil {
		return p
	}
	of := w.at(key)
	of.key.Goal = share.Goal
	of.add("LoadSharePartsPerMillion", int64(share.Percent)*10_000)
	of.bounded(boundOf(share.UpperBoundCause), string(share.UpperBoundCause)).add("LoadShareOfFramesPerSecond", share.ThroughputFramesPerSecond)
	if IsFloorCause(share.UpperBoundCause) || share.Regularity == v1alpha1.Irregular {
		return p.doubtful(v1alpha1.DoubtLoadOfFloor)
	}
	return p
}

func (w *walk) throughput(key Key, t v1alpha1.ThroughputResult) {
	p := w.at(key).from(max(1, int64(t.Trials)))
	p.statistics = t.Statistics
	rate := p.bounded(ThroughputBound(t), string(t.UpperBoundCause)).doubtful(t.Doubts...)
	switch {
	case rate.bound == AtLeast:
		rate = rate.doubtful(v1alpha1.DoubtCode(t.UpperBoundCause))
	case t.Regularity == v1alpha1.Irregular:
		rate = rate.doubtful(v1alpha1.DoubtIrregularResult)
		rate.atMost = t.UpperBoundFramesPerSecond
	}
	rate.add(v1alpha1.MetricThroughputFramesPerSecond, t.FramesPerSecond)
	rate.add(v1alpha1.MetricThroughputLayer1BitsPerSecond, t.Layer1BitsPerSecond)
	rate.add("ThroughputLineRatePartsPerMillion", t.LineRatePartsPerMillion)
	rate.addKnown("ThroughputFragmentsPerSecond", t.FragmentsPerSecond)
	p.add("ThroughputLowerBoundFramesPerSecond", t.LowerBoundFramesPerSecond)
	p.addKnown("ThroughputUpperBoundFramesPerSecond", t.UpperBoundFramesPerSecond)
	p.addKnown("ThroughputLossInversionFramesPerSecond", t.LossInversionFramesPerSecond)
	if t.PeakFramesPerSecond > 0 {
		p.add("ThroughputPeakFramesPerSecond", t.PeakFramesPerSecond)
	}
	p.quantiles("ThroughputLowerBoundLateness", t.LowerBoundLateness)
	p.quantiles("ThroughputUpperBoundLateness", t.UpperBoundLateness)
	if s := t.ServiceTime; s != nil {
		p.add("ServiceTimeNanoseconds", s.Nanoseconds)
		p.add("ServiceTimeLowNanoseconds", s.LowNanoseconds)
		p.add("ServiceTimeHighNanoseconds", s.HighNanoseconds)
		p.add("GeneratorTimeNanoseconds", s.GeneratorNanoseconds)
	}
	p.add("ThroughputLossPartsPerMillion", t.LossPartsPerMillion)
	w.censored(p, t)
	p.add(Regular, map[v1alpha1.Regularity]int64{v1alpha1.Regular: 1}[t.Regularity])
}

// censored adds each repeat of a throughput where some are only a floor. The result does not say
// which, so each of them may be.
func (w *walk) censored(p place, t v1alpha1.ThroughputResult) {
	if t.Censored == nil {
		return
	}
	p.add("ThroughputCensoredRepeats", int64(t.Censored.Repeats))
	for i, rate := range t.Censored.Values {
		key := p.key
		key.Repeat = int32(i + 1)
		w.at(key).bounded(AtLeast, string(t.UpperBoundCause)).add("ThroughputOfRepeatFramesPerSecond", rate)
	}
}

// ThroughputBound reports whether the device may do better than the throughput.
func ThroughputBound(t v1alpha1.ThroughputResult) Bound { return boundOf(t.UpperBoundCause) }

// IsFloorCause reports whether a throughput with this cause is a floor.
func IsFloorCause(cause v1alpha1.UpperBoundCause) bool {
	return cause == v1alpha1.CauseGeneratorCeiling || cause == v1alpha1.CauseMaximumLoad
}

func boundOf(cause v1alpha1.UpperBoundCause) Bound {
	if IsFloorCause(cause) {
		return AtLeast
	}
	return Exact
}

// direction adds the figures of one direction of a load. A direction in which
// nothing arrived has delays without samples.
func (p place) direction(d v1alpha1.DirectionResult) {
	p.key.Direction = d.Direction
	p.add("SentFrames", d.SentFrames)
	p.add("ReceivedFrames", d.ReceivedFrames)
	p.addKnown("SentFragments", d.SentFragments)
	p.addKnown("ReceivedFragments", d.ReceivedFragments)
	if d.OverflowFrames+d.RefusedFrames > 0 {
		p.add("OverflowFrames", d.OverflowFrames)
		p.add("RefusedFrames", d.RefusedFrames)
	}
	if d.PeakFramesPerSecond > 0 {
		p.add("PeakFramesPerSecond", d.PeakFramesPerSecond)
	}
	p.from(d.SentFrames).add(v1alpha1.MetricLoss, d.LossPartsPerMillion)
	arrived := p.from(d.Latency.Samples)
	sequenced := arrived
	if d.SequencedFrames != nil {
		sequenced = p.from(*d.SequencedFrames)
		if *d.SequencedFrames < d.ReceivedFrames {
			sequenced = sequenced.doubtful(v1alpha1.DoubtPartlyCounted)
		}
		p.add("SequencedFrames", *d.SequencedFrames)
	}
	sequenced.add(v1alpha1.MetricReordered, d.ReorderedFrames)
	sequenced.add(v1alpha1.MetricDuplicate, d.DuplicateFrames)
	p.addKnown("FirstFrameNanoseconds", d.FirstFrameNanoseconds)
	p.delays("Latency", d.Latency)
	p.ofSent(d)
	arrived.quantiles("Lateness", d.Lateness)
	arrived.quantiles("DelaySinceDeparture", d.DelaySinceDeparture)
	p.unlessArrived(d, d.DelayVariation.Samples).delays("DelayVariation", d.DelayVariation)
	arrived.add(v1alpha1.MetricPacketDelayVariationP99, d.PacketDelayVariationP99Nanoseconds)
	arrived.addPercentile(v1alpha1.MetricPacketDelayVariationP999, d.PacketDelayVariationP999Nanoseconds, measure.MinP999Samples)
	p.jitter(d)
}

// unlessArrived returns the place for figures of which nothing was counted although frames
// arrived: then the generator is the reason, and not the device.
func (p place) unlessArrived(d v1alpha1.DirectionResult, counted int64) place {
	if counted == 0 && d.Latency.Samples > 0 {
		return p.doubtful(v1alpha1.DoubtNotCounted)
	}
	return p
}

// ofSent adds percentiles of the delay over frames that were sent.
func (p place) ofSent(d v1alpha1.DirectionResult) {
	p = p.from(d.Latency.Samples)
	s := d.LatencyOfSent
	if s == nil {
		p.add(v1alpha1.MetricLatencyOfSentP99, d.Latency.P99Nanoseconds)
		p.addPercentile(v1alpha1.MetricLatencyOfSentP999, d.Latency.P999Nanoseconds, measure.MinP999Samples)
		return
	}
	lost := p.bounded(Exact, lostInstead).from(0)
	add := func(metric v1alpha1.Metric, value *int64) {
		if value == nil {
			lost.add(metric, 0)
			return
		}
		p.add(metric, *value)
	}
	add(v1alpha1.MetricLatencyOfSentP99, s.P99Nanoseconds)
	if d.Latency.P999Nanoseconds == nil && d.LossPartsPerMillion <= everyFrame/1000 {
		p.addPercentile(v1alpha1.MetricLatencyOfSentP999, s.P999Nanoseconds, measure.MinP999Samples)
		return
	}
	add(v1alpha1.MetricLatencyOfSentP999, s.P999Nanoseconds)
}

// jitter adds no figure of frames that arrived where the generator keeps no jitter.
func (p place) jitter(d v1alpha1.DirectionResult) {
	j, values := d.Jitter, max(0, d.ReceivedFrames-1)
	if j == nil {
		j, values = &v1alpha1.Jitter{}, 0
	}
	p = p.unlessArrived(d, values).from(values)
	p.add(v1alpha1.MetricJitterMean, j.MeanNanoseconds)
	p.add(v1alpha1.MetricJitterP99, j.P99Nanoseconds)
	p.add(v1alpha1.MetricJitterMax, j.MaxNanoseconds)
}

func (p place) delays(of v1alpha1.Metric, d v1alpha1.Delays) {
	p = p.from(d.Samples)
	p.add(of+"MinNanoseconds", d.MinNanoseconds)
	p.add(of+"MeanNanoseconds", d.MeanNanoseconds)
	p.add(of+"P50Nanoseconds", d.P50Nanoseconds)
	p.add(of+"P90Nanoseconds", d.P90Nanoseconds)
	p.add(of+"P99Nanoseconds", d.P99Nanoseconds)
	p.addPercentile(of+"P999Nanoseconds", d.P999Nanoseconds, measure.MinP999Samples)
	p.addPercentile(of+"P9999Nanoseconds", d.P9999Nanoseconds, measure.MinP9999Samples)
	p.add(of+"MaxNanoseconds", d.MaxNanoseconds)
}

// quantiles adds nothing where the driver does not know them.
func (p place) quantiles(of v1alpha1.Metric, q *v1alpha1.DelayQuantiles) {
	if q == nil {
		return
	}
	p.add(of+"P50Nanoseconds", q.P50Nanoseconds)
	p.add(of+"P99Nanoseconds", q.P99Nanoseconds)
	p.add(of+"MaxNanoseconds", q.MaxNanoseconds)
}

// tagged adds delays without samples where a direction has no tagged frames, so
// that no figure describes the other direction alone.
func (p place) tagged(t *v1alpha1.TaggedFramesResult) {
	if t == nil {
		p.from(0).add(v1alpha1.MetricTaggedFrameMean, 0)
		return
	}
	p.add("TaggedFramesSent", t.SentFrames)
	p.add("TaggedFramesReceived", t.ReceivedFrames)
	p = p.from(t.ReceivedFrames)
	p.add("TaggedFrameMinNanoseconds", t.MinNanoseconds)
	p.add(v1alpha1.MetricTaggedFrameMean, t.MeanNanoseconds)
	p.add("TaggedFrameMaxNanoseconds", t.MaxNanoseconds)
	p.add("TaggedFrameStandardDeviationNanoseconds", t.StandardDeviationNanoseconds)
}

// unlessStarved returns the place for delays. There are none where a direction lost everything:
// those of the other direction or of other intervals must not hide it. The loss is rounded up.
func (p place) unlessStarved(lossPartsPerMillion int64) place {
	if lossPartsPerMillion >= everyFrame {
		return p.bounded(Exact, "less than one of a million frames arrived in a direction").from(0)
	}
	return p
}

// everyFrame is the loss of all frames in parts per million.
const everyFrame = 1_000_000

// worst adds the worst of all repeats or intervals, separately for each figure.
func (p place) worst(c v1alpha1.WorstCase) {
	p.add(v1alpha1.MetricLoss, c.LossPartsPerMillion)
	p = p.unlessStarved(c.LossPartsPerMillion)
	p.add(v1alpha1.MetricLatencyMean, c.LatencyMeanNanoseconds)
	p.add(v1alpha1.MetricLatencyP99, c.LatencyP99Nanoseconds)
	p.add(v1alpha1.MetricLatencyMax, c.LatencyMaxNanoseconds)
	p.addKnown("DelayVariationMaxNanoseconds", c.DelayVariationMaxNanoseconds)
	p.addKnown(v1alpha1.MetricJitterP99, c.JitterP99Nanoseconds)
	p.add("OneWayBudgetPartsPerMillion", c.OneWayBudgetPartsPerMillion)
}

func (w *walk) soak(key Key, r *v1alpha1.SoakResult) {
	if r == nil {
		return
	}
	key.Load = measure.SoakLoad
	p := w.atLoad(key, r.IntendedFramesPerSecond, r.Share, r.Doubts).away(r.AwayPartsPerMillion)
	w.bias(key, r.Bias)
	p.add("SoakSendingSeconds", r.SendingSeconds)
	p.add("SoakLossPartsPerMillion", r.LossPartsPerMillion)
	w.at(key).quantiles("Lateness", r.Lateness)
	p.worst(r.Worst)
	for n, i := range r.Intervals {
		key.Interval = int32(n + 1)
		p := w.at(key)
		p.add("IntervalStartMilliseconds", i.StartSeconds*1000)
		p.add(v1alpha1.MetricLoss, i.LossPartsPerMillion)
		p = p.unlessStarved(i.LossPartsPerMillion)
		p.add(v1alpha1.MetricLatencyP50, i.P50Nanoseconds)
		p.add(v1alpha1.MetricLatencyP99, i.P99Nanoseconds)
		p.add(v1alpha1.MetricLatencyMax, i.MaxNanoseconds)
		p.addKnown(v1alpha1.MetricJitterP99, i.JitterP99Nanoseconds)
	}
}

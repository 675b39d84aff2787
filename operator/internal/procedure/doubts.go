package procedure

import (
	"slices"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// doubtsOf returns what the generator doubted about the trials that a figure is formed from.
func doubtsOf(records []measure.Record) []v1alpha1.DoubtCode {
	var out []v1alpha1.DoubtCode
	for _, r := range records {
		for code := range warningsFor(r) {
			out = append(out, v1alpha1.DoubtCode(code))
		}
		// The search knows which interruptions matter to its goals.
		if lossExcuse(r) != "" && r.Stage != measure.StageThroughput {
			out = append(out, v1alpha1.DoubtInterruptedTrials)
		}
		if partExcuse(r) != "" && r.Stage != measure.StageThroughput {
			out = append(out, v1alpha1.DoubtPartlyInterrupted)
		}
	}
	// Of a search no loss is judged.
	judged := slices.DeleteFunc(slices.Clone(records), func(r measure.Record) bool { return r.Stage == measure.StageThroughput })
	if accountOfAll(judged).isOpen() {
		out = append(out, v1alpha1.DoubtFramesUncounted)
	}
	return distinct(out)
}

// loadDoubtsOf returns the same for figures of a load, which has to be sent in full without a queue that grows.
func loadDoubtsOf(records []measure.Record) []v1alpha1.DoubtCode {
	return loadDoubts(records, grownTooMuch)
}

// rateDoubtsOf returns the same for forwarding rates. How long the frames in the driver's ring took to leave is known, and part
// of the rate.
func rateDoubtsOf(records []measure.Record) []v1alpha1.DoubtCode {
	return loadDoubts(records, grownPastRing)
}

func loadDoubts(records []measure.Record, grown func(measure.Record) bool) []v1alpha1.DoubtCode {
	out := doubtsOf(records)
	if slices.ContainsFunc(records, fellShort) {
		out = append(out, v1alpha1.DoubtLoadNotReached)
	}
	if slices.ContainsFunc(records, grown) {
		out = append(out, v1alpha1.DoubtQueueGrowing)
	}
	return distinct(out)
}

// awayOf returns the time for which sending threads were kept off their cores, as a share of its
// trial in parts per million, the largest of the trials in which wasAway says that it matters; 0 for none. A
// frame that is due in it leaves late, which is part of its delay, whether frames are lost or not. Where
// the driver's ring is not the device's, these are the first such frames, and the rest is not sent.
func awayOf(records []measure.Record) int64 {
	most := int64(0)
	for _, r := range records {
		o := r.Outcome
		if wasAway(o) && o.SendingNanoseconds > 0 {
			away := min(max(o.AwayNanoseconds, o.LongestAwayNanoseconds), o.SendingNanoseconds)
			most = max(most, lossPartsPerMillion(uint64(away), uint64(o.SendingNanoseconds)))
		}
	}
	return most
}

// distinct sorts codes and returns each once, and nil for none.
func distinct(codes []v1alpha1.DoubtCode) []v1alpha1.DoubtCode {
	slices.Sort(codes)
	return slices.Compact(codes)
}

// throughputDoubts returns the doubts about the trials at both bounds of a goal, and that the loss
// may be the generator's doing, or that of a core that changed. Floors and irregular searches have separate fields.
func (w *replay) throughputDoubts(p *part, r search.Result) []v1alpha1.DoubtCode {
	bounds := slices.Concat(p.atLoad(r.LowerBoundFramesPerSecond), p.atLoad(r.UpperBoundFramesPerSecond))
	out := append(doubtsOf(bounds), w.driftDoubts(p.size)...)
	matters := func(b measure.Record) bool { return w.undecidedExcuse(b, w.goal(r.Goal)) != "" }
	if slices.ContainsFunc(bounds, matters) {
		out = append(out, v1alpha1.DoubtInterruptedTrials)
	}
	if r.UpperBoundCause == search.DeviceLoss && w.nearCeiling(p.size, r.LowerBoundFramesPerSecond) {
		out = append(out, v1alpha1.DoubtGeneratorCeiling)
	}
	return distinct(out)
}

// shareOf returns of which throughput a part's load is a share, or nil for a load given as a rate.
func (w *replay) shareOf(p *part) *v1alpha1.LoadShare {
	throughput := w.findRepeat(measure.StageThroughput, p.size, p.repeat)
	if p.load.Goal == "" || throughput == nil {
		return nil
	}
	for _, t := range w.searchResults(throughput) {
		if t.Goal == p.load.Goal {
			return &v1alpha1.LoadShare{
				Goal: t.Goal, Percent: ptr.Deref(p.load.Percent, 0), ThroughputFramesPerSecond: t.FramesPerSecond,
				UpperBoundCause: t.UpperBoundCause, Regularity: t.Regularity,
			}
		}
	}
	return nil
}

// combineShares combines those of the repeats: the mean of the throughputs, and the doubts of the
// most doubtful one.
func combineShares(group []v1alpha1.LatencyResult) *v1alpha1.LoadShare {
	if group[0].Share == nil {
		return nil
	}
	out := *group[0].Share
	out.ThroughputFramesPerSecond = downMean(group, func(l v1alpha1.LatencyResult) int64 { return l.Share.ThroughputFramesPerSecond })
	for _, l := range group[1:] {
		if causeSeverity(l.Share.UpperBoundCause) > causeSeverity(out.UpperBoundCause) {
			out.UpperBoundCause = l.Share.UpperBoundCause
		}
		if l.Share.Regularity == v1alpha1.Irregular {
			out.Regularity = v1alpha1.Irregular
		}
	}
	return &out
}

// burstDoubts returns the doubts about back-to-back frames, in addition to that of a floor.
func (w *replay) burstDoubts(p *part) []v1alpha1.DoubtCode {
	out := doubtsOf(p.counted)
	slowest, unsent := p.burstPace()
	if unsent > 0 {
		out = append(out, v1alpha1.DoubtGeneratorCeiling)
	}
	if isSlow(slowest, w.maximum(p.size, 0).framesPerSecond) {
		out = append(out, v1alpha1.DoubtLoadNotReached)
	}
	return distinct(out)
}

// hasDoubt reports whether the generator has a doubt about a trial.
func hasDoubt(r measure.Record, code string) bool {
	return slices.ContainsFunc(r.Outcome.Doubts, func(d measure.Doubt) bool { return d.Code == code })
}

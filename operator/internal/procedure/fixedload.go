package procedure

import (
	"math/bits"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// oneWayBudget is the one-way delay up to which ITU-T G.114 expects most
// applications, speech among them, not to suffer.
const oneWayBudget = 150 * time.Millisecond

// fixedLoadKind holds a profile's load for a stated time. Each repeat follows a
// trial at the same load that does not count.
var fixedLoadKind = kind{
	stage: measure.StageFixedLoad,
	noun:  "fixed load",
	loads: func(instr measure.Instructions, size measure.Size) []measure.LoadInstruction {
		var out []measure.LoadInstruction
		if instr.FixedLoad == nil {
			return nil
		}
		for _, profile := range instr.FixedLoad.Profiles {
			if profile.Size == size.Name {
				out = append(out, measure.LoadInstruction{Name: profile.Name, FramesPerSecond: profile.FramesPerSecond})
			}
		}
		return out
	},
	highest: func(_ *walk, ph phase) (uint64, error) { return ph.load.FramesPerSecond, nil },
	trials: func(w *walk, _ phase) int {
		if w.instr.FixedLoad.DiscardNanoseconds > 0 {
			return 2 * w.instr.FixedLoad.Repeats
		}
		return w.instr.FixedLoad.Repeats
	},
	expected: func(w *walk, _ phase) time.Duration {
		return w.fixedLoadTime(w.instr.FixedLoad.Repeats)
	},
	fill:   (*walk).fillFixedLoad,
	report: (*walk).reportFixedLoad,
	warn:   func(_ *walk, d *doubtful, p *part) { warnUnsent(d, p, named("fixed load", p.phase)) },
}

// fixedLoadTime is that of a number of repeats.
func (w *walk) fixedLoadTime(repeats int) time.Duration {
	f := w.instr.FixedLoad
	each := w.cost(1, f.DurationNanoseconds)
	if f.DiscardNanoseconds > 0 {
		each += w.cost(1, f.DiscardNanoseconds)
	}
	return time.Duration(repeats) * each
}

// fillFixedLoad asks for the discarded time before each repeat. An invalid
// repeat is made again at once: the load has just been there.
func (w *walk) fillFixedLoad(p *part, records []measure.Record) error {
	f := w.instr.FixedLoad
	var repeats []measure.Record
	warm := false
	for _, r := range records {
		if r.Stage == measure.StageDiscard {
			warm = true
			continue
		}
		repeats = append(repeats, r)
		warm = warm && objection(r) != ""
	}
	if err := p.take(repeats); err != nil {
		return err
	}
	if last := p.last(); last != nil && nothingReceived(last.Outcome) {
		return w.chainFailed(p.size, p.load.FramesPerSecond)
	}
	p.over = len(p.counted) >= f.Repeats
	p.left = w.fixedLoadTime(f.Repeats - len(p.counted))
	p.next = w.trial(p.size, p.load.FramesPerSecond, f.DurationNanoseconds)
	if f.DiscardNanoseconds > 0 && !warm {
		p.nextStage = measure.StageDiscard
		p.next.DurationNanoseconds = f.DiscardNanoseconds
	}
	return nil
}

func (w *walk) reportFixedLoad(p *part, frame *v1alpha1.FrameResult) {
	result := v1alpha1.FixedLoadResult{
		Profile: p.load.Name, IntendedFramesPerSecond: signed(p.load.FramesPerSecond),
	}
	for i, r := range p.counted {
		repeat := v1alpha1.RepeatResult{Repeat: int32(i + 1)}
		for _, d := range r.Outcome.Directions {
			figures := directionResult(d)
			repeat.Directions = append(repeat.Directions, figures)
			worsen(&result.Worst, figures)
		}
		result.Repeats = append(result.Repeats, repeat)
	}
	frame.FixedLoad = append(frame.FixedLoad, result)
}

// worsen keeps the larger of each figure.
func worsen(worst *v1alpha1.WorstCase, d v1alpha1.DirectionResult) {
	worst.LossPartsPerMillion = max(worst.LossPartsPerMillion, d.LossPartsPerMillion)
	worst.LatencyMeanNanoseconds = max(worst.LatencyMeanNanoseconds, d.Latency.MeanNanoseconds)
	worst.LatencyP99Nanoseconds = max(worst.LatencyP99Nanoseconds, d.Latency.P99Nanoseconds)
	worst.LatencyMaxNanoseconds = max(worst.LatencyMaxNanoseconds, d.Latency.MaxNanoseconds)
	if largest := worst.DelayVariationMaxNanoseconds; d.DelayVariation.Samples > 0 && (largest == nil || *largest < d.DelayVariation.MaxNanoseconds) {
		worst.DelayVariationMaxNanoseconds = new(d.DelayVariation.MaxNanoseconds)
	}
	worst.JitterNanoseconds = max(worst.JitterNanoseconds, d.JitterNanoseconds)
	worst.OneWayBudgetPartsPerMillion = oneWayShare(worst.LatencyMaxNanoseconds)
}

// oneWayShare is a delay's share of the one-way budget in parts per million, rounded up.
func oneWayShare(nanoseconds int64) int64 {
	hi, lo := bits.Mul64(uint64(max(0, nanoseconds)), 1_000_000)
	quotient, remainder := bits.Div64(hi, lo, uint64(oneWayBudget))
	if remainder > 0 {
		quotient++
	}
	return signed(quotient)
}

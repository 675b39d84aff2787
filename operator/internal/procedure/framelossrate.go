package procedure

import (
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// frameLossRateKind is RFC 2544 section 26.3: from the maximum down in steps
// until two trials in a row lose nothing.
var frameLossRateKind = kind{
	stage: measure.StageFrameLossRate,
	noun:  "frame loss rate",
	loads: func(instr measure.Instructions, _ measure.Size) []measure.LoadInstruction {
		return single(instr.FrameLossRate != nil)
	},
	highest: func(w *walk, ph phase) (uint64, error) {
		return w.maximum(ph.size, w.instr.FrameLossRate.MaximumFramesPerSecond).framesPerSecond, nil
	},
	trials: func(w *walk, _ phase) int { return curveTrials(w.instr.FrameLossRate) },
	expected: func(w *walk, _ phase) time.Duration {
		return w.cost(curveTrials(w.instr.FrameLossRate), w.instr.FrameLossRate.TrialNanoseconds)
	},
	fill:   (*walk).fillFrameLossRate,
	report: (*walk).reportFrameLossRate,
	warn: func(w *walk, d *doubtful, p *part) {
		w.warnMaximum(d, p, w.instr.FrameLossRate.MaximumFramesPerSecond, "Frame loss rate")
		warnUnsent(d, p, "the frame loss rate")
	},
}

// curveTrials is the most points that a curve can have.
func curveTrials(f *measure.FrameLossRateInstructions) int {
	return (100 + f.StepPercent - 1) / f.StepPercent
}

// curvePercent is the load of the curve's trial i.
func curvePercent(f *measure.FrameLossRateInstructions, i int) int { return 100 - i*f.StepPercent }

func (w *walk) fillFrameLossRate(p *part, records []measure.Record) error {
	f := w.instr.FrameLossRate
	reached := 0.0
	if warmUp := w.find(measure.StageWarmUp, p.size); warmUp != nil && warmUp.last() != nil {
		reached = warmUp.last().Outcome.OfferedFramesPerSecond()
	}
	if err := p.takeSteady(records, reached); err != nil {
		return err
	}
	done := len(p.counted)
	most := w.maximum(p.size, f.MaximumFramesPerSecond).framesPerSecond
	p.left = w.cost(curveTrials(f)-done, f.TrialNanoseconds)
	if !lossless(p.counted, 2) && curvePercent(f, done) > 0 {
		p.next = w.trial(p.size, max(1, most*uint64(curvePercent(f, done))/100), f.TrialNanoseconds)
		return nil
	}
	// A device that forwards nothing when it is overloaded is a result; one
	// that forwards nothing at the lowest load is not there.
	if last := p.last(); nothingReceived(last.Outcome) {
		return w.chainFailed(p.size, last.Trial.IntendedFramesPerSecond)
	}
	p.over = true
	return nil
}

// takeSteady takes records as the search does: a trial in which the generator
// fell behind where it was faster before is made again, a few times.
func (p *part) takeSteady(records []measure.Record, reached float64) error {
	inARow, disturbances := 0, 0
	for _, r := range records {
		if objection(r) != "" {
			p.invalid = append(p.invalid, r)
			inARow++
			continue
		}
		inARow = 0
		if disturbed(r, reached) && disturbances < mostDisturbed {
			p.invalid = append(p.invalid, r)
			disturbances++
			continue
		}
		p.counted = append(p.counted, r)
		reached, disturbances = max(reached, r.Outcome.OfferedFramesPerSecond()), 0
	}
	return p.unreliable(inARow)
}

// lossless says that the last n records lost nothing of a load that was sent in
// full: a load that the generator did not reach proves nothing about it.
func lossless(records []measure.Record, n int) bool {
	if len(records) < n {
		return false
	}
	for _, r := range records[len(records)-n:] {
		if r.Outcome.LossRatio() > 0 || behind(r) {
			return false
		}
	}
	return true
}

func (w *walk) reportFrameLossRate(p *part, frame *v1alpha1.FrameResult) {
	f := w.instr.FrameLossRate
	most := w.maximum(p.size, f.MaximumFramesPerSecond)
	out := &v1alpha1.FrameLossRateResult{
		MaximumFramesPerSecond: signed(most.framesPerSecond), MaximumOrigin: most.origin, End: v1alpha1.EndLowestLoad,
	}
	if lossless(p.counted, 2) {
		out.End = v1alpha1.EndTwoTrialsWithoutLoss
	}
	for i, r := range p.counted {
		out.Points = append(out.Points, v1alpha1.LossPoint{
			Percent:                   int32(curvePercent(f, i)),
			IntendedFramesPerSecond:   signed(r.Trial.IntendedFramesPerSecond),
			OfferedFramesPerSecond:    signed(wholeFrames(r.Outcome.OfferedFramesPerSecond())),
			ForwardingFramesPerSecond: signed(wholeFrames(r.Outcome.ForwardingFramesPerSecond())),
			LossPartsPerMillion:       worstLoss(r.Outcome),
		})
	}
	frame.FrameLossRate = out
}

// worstLoss is that of the worse direction.
func worstLoss(o measure.Outcome) int64 {
	worst := int64(0)
	for _, d := range o.Directions {
		worst = max(worst, lossPartsPerMillion(d.LostFrames(), d.SentFrames))
	}
	return worst
}

package procedure

import (
	"fmt"
	"math"
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// stageFrameLossRate is a trial of the loss curve.
const stageFrameLossRate measure.Stage = "FrameLossRate"

// frameLossRateOf measures RFC 2544 section 26.3: from the maximum down in steps until two trials
// in a row lose nothing.
type frameLossRateOf struct{ timed }

var frameLossRateMeasurement = frameLossRateOf{timed{base{name: stageFrameLossRate, noun: "frame loss rate"}}}

func (frameLossRateOf) countsOverTime(measure.Stage) bool { return true }

func (frameLossRateOf) check(instr measure.Instructions) error {
	if f := instr.FrameLossRate; f != nil && (f.StepPercent < 1 || f.StepPercent > 100) {
		return fmt.Errorf("%w: a step of %d %% for the frame loss rate", ErrInstructions, f.StepPercent)
	}
	return nil
}

func (frameLossRateOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(instr.FrameLossRate != nil)
}

func (frameLossRateOf) highest(w *replay, ph phase) (uint64, error) {
	return w.maximum(ph.size, curveMaximum(w.instr.FrameLossRate)).framesPerSecond, nil
}

func (frameLossRateOf) trials(w *replay, _ phase) int { return curveTrials(w.instr.FrameLossRate) }

func (frameLossRateOf) expected(w *replay, _ phase) time.Duration {
	return w.cost(curveTrials(w.instr.FrameLossRate), milliseconds(w.instr.FrameLossRate.TrialMilliseconds))
}

func (frameLossRateOf) warn(w *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range completed(parts) {
		w.warnMaximum(d, p, curveMaximum(w.instr.FrameLossRate), "Frame loss rate")
		warnUnsent(d, p, "the frame loss rate")
	}
}

// curveMaximum returns the load called 100 %; 0 is line rate, or what the calibration reached.
func curveMaximum(f *v1alpha1.FrameLossRate) uint64 {
	return uint64(ptr.Deref(f.MaximumFramesPerSecond, 0))
}

// curveTrials returns the maximum number of points of a curve.
func curveTrials(f *v1alpha1.FrameLossRate) int {
	return int((100 + f.StepPercent - 1) / f.StepPercent)
}

// curvePercent returns the load of the curve's trial i.
func curvePercent(f *v1alpha1.FrameLossRate, i int) int { return 100 - i*int(f.StepPercent) }

func (frameLossRateOf) fill(w *replay, p *part, records []measure.Record) error {
	f := w.instr.FrameLossRate
	reached := 0.0
	if warmUp := w.find(measure.StageWarmUp, p.size); warmUp != nil && warmUp.last() != nil {
		reached = warmUp.last().Outcome.OfferedFramesPerSecond()
	}
	if err := p.takeSteady(records, sorter{reached: reached}); err != nil {
		return err
	}
	done := len(p.counted)
	most := w.maximum(p.size, curveMaximum(f)).framesPerSecond
	p.left = w.cost(curveTrials(f)-done, milliseconds(f.TrialMilliseconds))
	if !lossless(p.counted, 2) && curvePercent(f, done) > 0 {
		p.next = w.trial(p.size, max(1, most*uint64(curvePercent(f, done))/100), milliseconds(f.TrialMilliseconds))
		return nil
	}
	// A device that forwards nothing when it is overloaded is a result; one that forwards nothing
	// at the lowest load is missing.
	if last := p.last(); nothingReceived(last.Outcome) {
		return w.chainFailed(p.size, last.Trial.IntendedFramesPerSecond)
	}
	p.over = true
	return nil
}

// takeSteady takes records as the search does: a trial in which the generator sent less than it
// did before is made again, a few times.
func (p *part) takeSteady(records []measure.Record, s sorter) error {
	for _, r := range records {
		if s.counts(p, r) {
			s.reached = max(s.reached, r.Outcome.OfferedFramesPerSecond())
		}
	}
	return p.unreliable(s.invalid)
}

// lossless reports whether the last n records lost nothing of a load that was sent in full, and
// carried in its time: a load that the generator did not reach proves nothing about it.
func lossless(records []measure.Record, n int) bool {
	if len(records) < n {
		return false
	}
	for _, r := range records[len(records)-n:] {
		if r.Outcome.LossOverTime() > 0 || fellShort(r) {
			return false
		}
	}
	return true
}

func (frameLossRateOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	for _, p := range parts {
		frame.FrameLossRate = w.lossCurve(p)
	}
	return len(parts) > 0
}

// lossCurve returns the figures of a part.
func (w *replay) lossCurve(p *part) *v1alpha1.FrameLossRateResult {
	f := w.instr.FrameLossRate
	most := w.maximum(p.size, curveMaximum(f))
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
			LossPartsPerMillion:       lossOverTime(r.Outcome),
			Lateness:                  latenessOf(r),
			Doubts:                    loadDoubtsOf([]measure.Record{r}),
			AwayPartsPerMillion:       awayOf([]measure.Record{r}),
		})
	}
	return out
}

// worstLoss returns the loss of the worse direction.
func worstLoss(o measure.Outcome) int64 {
	worst := int64(0)
	for _, d := range o.Directions {
		worst = max(worst, lossPartsPerMillion(d.LostFrames(), d.SentFrames))
	}
	return worst
}

// lossOverTime returns the same with the frames that did not leave the generator's ring, or a queue of
// the device, in the trial's time, for figures that say what the device carries. It rounds up too.
func lossOverTime(o measure.Outcome) int64 {
	if over := o.LossOverTime(); over > o.LossRatio() {
		return int64(math.Ceil(over * 1e6))
	}
	return worstLoss(o)
}

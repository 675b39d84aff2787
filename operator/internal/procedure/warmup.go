package procedure

import (
	"time"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// warmUpOf sends a trial of each size, of which only the first frame's delay counts.
type warmUpOf struct{ base }

var warmUpMeasurement = warmUpOf{base{name: measure.StageWarmUp, noun: "warm-up"}}

func (warmUpOf) repetition() repetition { return inRepeats }
func (warmUpOf) evidence() bool         { return false }
func (warmUpOf) isMadeAgain() bool      { return false }

func (warmUpOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	return single(warmUpNanoseconds(instr) > 0)
}

func (warmUpOf) expected(w *replay, _ phase) time.Duration {
	return w.cost(1, warmUpNanoseconds(w.instr))
}

// warmUpNanoseconds returns the length of the uncounted trial; 0 leaves it out.
func warmUpNanoseconds(instr measure.Instructions) int64 {
	return milliseconds(ptr.Deref(instr.WarmUpMilliseconds, 0))
}

func (warmUpOf) fill(w *replay, p *part, records []measure.Record) error {
	rate, err := w.warmUpRate(p.size)
	if err != nil {
		return err
	}
	p.next = w.trial(p.size, rate, warmUpNanoseconds(w.instr))
	// Nothing of it counts, so doubts do not matter either.
	p.counted, p.over = records, len(records) > 0
	return nil
}

// report adds the first frame's delay, which is no result without other figures.
func (warmUpOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	if len(parts) > 0 {
		frame.FirstFrame = w.firstFrame(parts[0].size)
	}
	return false
}

// warmUpRate returns the highest load that follows: after a warm-up at less, a device may
// still use its slow path when it counts.
func (w *replay) warmUpRate(size measure.Size) (uint64, error) {
	limit, err := w.limit(size)
	if err != nil || w.instr.Throughput != nil {
		return limit.framesPerSecond, err
	}
	highest := uint64(1)
	for _, ph := range phasesAt(perSize, w.instr, size) {
		rate, err := ph.measurement.highest(w, ph)
		if err != nil {
			return 0, err
		}
		highest = max(highest, rate)
	}
	return min(highest, limit.framesPerSecond), nil
}

// firstFrame returns the warm-up's. Nothing else of a warm-up is a figure.
func (w *replay) firstFrame(size measure.Size) []v1alpha1.FirstFrameResult {
	p := w.find(measure.StageWarmUp, size)
	if p == nil || p.last() == nil {
		return nil
	}
	var out []v1alpha1.FirstFrameResult
	for _, d := range p.counted[0].Outcome.Directions {
		if d.FirstFrameNanoseconds > 0 {
			out = append(out, v1alpha1.FirstFrameResult{
				Direction: string(d.Direction), DelayNanoseconds: signed(d.FirstFrameNanoseconds),
			})
		}
	}
	return out
}

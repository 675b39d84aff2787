package procedure

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// stageSoak is an interval of a soak.
const stageSoak measure.Stage = "Soak"

// soakOfLoad holds one load for hours, in intervals of one trial each. What it keeps is bounded
// by the number of intervals, whatever the duration.
type soakOfLoad struct{ timed }

var soakMeasurement = soakOfLoad{timed{base{name: stageSoak, noun: "load"}}}

func (soakOfLoad) distributions() bool { return true }

func (soakOfLoad) series(instr measure.Instructions) (int, time.Duration) {
	if s := instr.Soak; s != nil {
		return intervals(s), time.Duration(seconds(s.IntervalSeconds))
	}
	return 0, 0
}

func (soakOfLoad) check(instr measure.Instructions) error {
	if s := instr.Soak; s != nil && (s.DurationSeconds < 1 || s.IntervalSeconds < 1) {
		return fmt.Errorf("%w: a soak needs a duration and an interval", ErrInstructions)
	}
	return nil
}

func (soakOfLoad) phases(instr measure.Instructions, size measure.Size) []phase {
	if instr.Soak == nil || instr.Soak.Size != size.Name {
		return nil
	}
	return []phase{{load: v1alpha1.LatencyLoad{
		Name: measure.SoakLoad, FramesPerSecond: instr.Soak.FramesPerSecond, Goal: instr.Soak.Goal, Percent: instr.Soak.Percent,
	}}}
}

func (soakOfLoad) highest(w *replay, ph phase) (uint64, error) {
	return w.instr.Rate(ph.load, ph.size), nil
}
func (soakOfLoad) trials(w *replay, _ phase) int             { return intervals(w.instr.Soak) }
func (soakOfLoad) expected(w *replay, _ phase) time.Duration { return w.soakTime(0) }

func (soakOfLoad) cpuGroups(p *part) []cpuGroup {
	return []cpuGroup{{atLoad(measure.SoakLoad), p.counted}}
}

func (soakOfLoad) warn(w *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range completed(parts) {
		if p.skipped {
			warnLoad(d, p)
			continue
		}
		warnUnsent(d, p, "the soak's load")
		warnGrowing(d, p, "the soak's load")
		w.warnLowest(d, p)
	}
}

// intervals returns how many the duration has; the last may be shorter.
func intervals(s *v1alpha1.Soak) int {
	return int((s.DurationSeconds + s.IntervalSeconds - 1) / s.IntervalSeconds)
}

// soakTime returns what is left after a number of intervals.
func (w *replay) soakTime(done int) time.Duration {
	s := w.instr.Soak
	sending := max(0, seconds(s.DurationSeconds)-int64(done)*seconds(s.IntervalSeconds))
	return time.Duration(sending) + w.cost(max(0, intervals(s)-done), 0)
}

func (soakOfLoad) fill(w *replay, p *part, records []measure.Record) error {
	s := w.instr.Soak
	rate := w.latencyRate(p)
	if rate == 0 {
		p.over, p.skipped = true, true
		if len(records) > 0 {
			return fmt.Errorf("%w: record %d is an interval of a soak whose load cannot be derived", ErrRecords, records[0].Index)
		}
		return nil
	}
	if err := p.sort(records, sorter{once: true}); err != nil {
		return err
	}
	done := len(p.counted)
	p.left = w.soakTime(done)
	p.next = w.trial(p.size, rate, min(seconds(s.IntervalSeconds), seconds(s.DurationSeconds)-int64(done)*seconds(s.IntervalSeconds)))
	if done == 0 {
		return nil
	}
	last := p.last().Outcome
	if nothingReceived(last) {
		return w.chainFailed(p.size, rate)
	}
	p.over = done >= intervals(s) || w.tooLossy(last)
	return nil
}

// tooLossy reports whether an interval ends the soak.
func (w *replay) tooLossy(o measure.Outcome) bool {
	most := w.instr.Soak.StopAboveLossPartsPerMillion
	return most != nil && worstLoss(o) > int64(*most)
}

func (soakOfLoad) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	for _, p := range parts {
		frame.Soak = w.soakResult(p)
	}
	return len(parts) > 0
}

// lostOf returns the frames of a direction that never arrived: in hours at a load, those that are late
// are few.
func lostOf(_ measure.Outcome, d measure.DirectionOutcome) uint64 { return d.LostFrames() }

// soakResult returns the figures of a part.
func (w *replay) soakResult(p *part) *v1alpha1.SoakResult {
	out := &v1alpha1.SoakResult{
		IntendedFramesPerSecond: signed(p.next.IntendedFramesPerSecond), End: v1alpha1.SoakCompleted,
		Bias:                w.biasAt(p.size, signed(p.next.IntendedFramesPerSecond), p),
		LossPartsPerMillion: p.lossAt(p.next.IntendedFramesPerSecond, lostOf), Share: w.shareOf(p), Doubts: loadDoubtsOf(p.counted),
		AwayPartsPerMillion: awayOf(p.counted), Lateness: latenessOf(p.counted...),
	}
	if len(p.counted) < intervals(w.instr.Soak) {
		out.End = v1alpha1.SoakLoss
	}
	sending := int64(0)
	for _, r := range p.counted {
		sending += r.Trial.DurationNanoseconds
		interval := v1alpha1.SoakInterval{
			StartSeconds: int64(r.Outcome.StartedAt.Sub(p.counted[0].Outcome.StartedAt) / time.Second),
		}
		// Where the clock was set back, the intervals keep their order.
		if n := len(out.Intervals); n > 0 {
			interval.StartSeconds = max(interval.StartSeconds, out.Intervals[n-1].StartSeconds+1)
		}
		for _, d := range r.Outcome.Directions {
			figures := directionResult(d)
			worsen(&out.Worst, figures)
			interval.LossPartsPerMillion = max(interval.LossPartsPerMillion, figures.LossPartsPerMillion)
			interval.P50Nanoseconds = max(interval.P50Nanoseconds, figures.Latency.P50Nanoseconds)
			interval.P99Nanoseconds = max(interval.P99Nanoseconds, figures.Latency.P99Nanoseconds)
			interval.MaxNanoseconds = max(interval.MaxNanoseconds, figures.Latency.MaxNanoseconds)
			interval.JitterP99Nanoseconds = worseJitter(interval.JitterP99Nanoseconds, figures.Jitter)
		}
		out.Intervals = append(out.Intervals, interval)
	}
	out.SendingSeconds = sending / int64(time.Second)
	return out
}

package procedure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// stageOverload is the trial that overloads the device.
	stageOverload measure.Stage = "Overload"
	// stageRecovery is a trial at half of the overload's load.
	stageRecovery measure.Stage = "Recovery"

	// overloadPercent of the throughput overload the device, and reducedPercent of that load
	// follow (RFC 2544 section 26.5).
	overloadPercent, reducedPercent = 110, 50
	// minOverload is what RFC 2544 section 26.5 asks of the overload.
	minOverload = time.Minute
	// maxRecoveryGap is the longest time without frames from one trial to the next: in a longer
	// one, as when a measurer is replaced, the device recovers unseen.
	maxRecoveryGap = 5 * time.Second
	// maxRecoveries is how often the overload is made again after such a gap.
	maxRecoveries = 3
)

// recoveryOf bounds the time in which a device still loses frames after an overload, by short
// trials at half the load (RFC 2544 section 26.5).
type recoveryOf struct{ timed }

var recoveryMeasurement = recoveryOf{timed{base{name: stageRecovery, noun: "recovery"}}}

func (recoveryOf) owns(stage measure.Stage) bool {
	return stage == stageRecovery || stage == stageOverload
}
func (recoveryOf) recordBytes(measure.Instructions) int      { return countsBytes }
func (recoveryOf) compact(o measure.Outcome) measure.Outcome { return countsOnly(o) }

// evidence returns false: the trials are short, and reading it would lengthen the gaps.
func (recoveryOf) evidence() bool { return false }

func (recoveryOf) check(instr measure.Instructions) error {
	r := instr.Recovery
	switch {
	case r == nil:
		return nil
	case r.OverloadSeconds < 1 || r.TrialMilliseconds < 1 || r.CleanTrials < 1 || r.MaximumTrials < r.CleanTrials:
		return fmt.Errorf("%w: a recovery needs an overload, a duration of trials, and at least as many trials as have to lose nothing", ErrInstructions)
	case instr.Throughput == nil || r.Goal != "" && !slices.ContainsFunc(instr.Throughput.Goals, func(g v1alpha1.Goal) bool { return g.Name == r.Goal }):
		return fmt.Errorf("%w: a recovery needs the throughput of goal %q", ErrInstructions, r.Goal)
	}
	return nil
}

// phases returns a load of overloadPercent of the goal's throughput.
func (recoveryOf) phases(instr measure.Instructions, _ measure.Size) []phase {
	if instr.Recovery == nil || instr.Throughput == nil || len(instr.Throughput.Goals) == 0 {
		return nil
	}
	goal := cmp.Or(instr.Recovery.Goal, instr.Throughput.Goals[0].Name)
	return []phase{{load: v1alpha1.LatencyLoad{Goal: goal, Percent: new(int32(overloadPercent))}}}
}

// trials returns the most, so that there is room for a device that does not recover.
func (recoveryOf) trials(w *replay, _ phase) int { return 1 + int(w.instr.Recovery.MaximumTrials) }

func (recoveryOf) expected(w *replay, _ phase) time.Duration {
	r := w.instr.Recovery
	return time.Duration(seconds(r.OverloadSeconds)+milliseconds(r.SettleMilliseconds)) + cleanTime(r, r.CleanTrials)
}

// cleanTime returns the time of a number of trials at half the load.
func cleanTime(r *v1alpha1.Recovery, trials int32) time.Duration {
	return time.Duration(int64(trials) * (milliseconds(r.TrialMilliseconds) + milliseconds(r.SettleMilliseconds)))
}

// attempt is an overload with the trials after it.
type attempt struct {
	overload measure.Record
	trials   []measure.Record
}

// attemptsOf returns the attempts in the records, the last of which counts.
func attemptsOf(records []measure.Record) []attempt {
	var out []attempt
	for _, r := range records {
		if r.Stage == stageOverload || len(out) == 0 {
			out = append(out, attempt{overload: r})
			continue
		}
		last := &out[len(out)-1]
		last.trials = append(last.trials, r)
	}
	return out
}

// ended returns when the last frame of a trial was sent.
func ended(r measure.Record) time.Time {
	return r.Outcome.StartedAt.Add(time.Duration(r.Outcome.SendingNanoseconds))
}

// interrupted reports whether the device had too long a rest between two trials, or the clock
// was set back.
func (a attempt) interrupted() bool {
	before := a.overload
	for _, r := range a.trials {
		if gap := r.Outcome.StartedAt.Sub(ended(before)); gap < 0 || gap > maxRecoveryGap {
			return true
		}
		before = r
	}
	return false
}

// row returns how many trials at the end lost nothing. One that the generator doubts, or did not
// send in full, shows nothing, and ends a row.
func (a attempt) row() int {
	n := 0
	for _, r := range slices.Backward(a.trials) {
		if doubted(r) || !lossless([]measure.Record{r}, 1) {
			break
		}
		n++
	}
	return n
}

// lossy reports whether the device lost frames of a trial.
func lossy(r measure.Record) bool { return !doubted(r) && r.Outcome.LossRatio() > 0 }

// doubted reports whether a trial shows nothing of the device.
func doubted(r measure.Record) bool { return invalidReason(r) != "" || interrupted(r) }

// end returns how the measurement of an attempt has ended, and "" before it has.
func (a attempt) end(r *v1alpha1.Recovery) v1alpha1.RecoveryEnd {
	switch {
	case fellShort(a.overload):
		return v1alpha1.RecoveryGeneratorCeiling
	case a.overload.Outcome.LossRatio() == 0:
		return v1alpha1.RecoveryNotOverloaded
	case a.interrupted():
		return v1alpha1.RecoveryInterrupted
	case a.row() >= int(r.CleanTrials):
		return v1alpha1.RecoveryRecovered
	case len(a.trials) < int(r.MaximumTrials):
		return ""
	case slices.ContainsFunc(a.trials[len(a.trials)-int(r.CleanTrials):], lossy):
		return v1alpha1.RecoveryNotRecovered
	}
	// The device has lost nothing for as many trials, but the generator has not sent all of them.
	return v1alpha1.RecoveryGeneratorCeiling
}

// fill makes an overload, and then trials without a longer wait until the end is known.
func (recoveryOf) fill(w *replay, p *part, records []measure.Record) error {
	throughput := w.latencyRate(p)
	if throughput == 0 {
		p.over, p.skipped = true, true
		if len(records) > 0 {
			return fmt.Errorf("%w: record %d is a trial of a recovery whose load cannot be derived", ErrRecords, records[0].Index)
		}
		return nil
	}
	r, load := w.instr.Recovery, min(throughput, w.maximum(p.size, 0).framesPerSecond)
	trial := func(framesPerSecond uint64, nanoseconds int64) measure.Trial {
		t := w.trial(p.size, max(1, framesPerSecond), nanoseconds)
		t.SettleNanoseconds = milliseconds(r.SettleMilliseconds)
		return t
	}
	if len(records) > 0 && records[0].Stage != stageOverload {
		return fmt.Errorf("%w: record %d is a trial of a recovery without an overload before it", ErrRecords, records[0].Index)
	}
	p.next, p.nextStage = trial(load, seconds(r.OverloadSeconds)), stageOverload
	p.left = recoveryMeasurement.expected(w, p.phase)
	attempts, inARow := attemptsOf(records), 0
	for _, a := range attempts {
		if inARow++; invalidReason(a.overload) == "" {
			inARow = 0
			continue
		}
		p.invalid = append(p.invalid, a.overload)
	}
	if len(attempts) == 0 || inARow > 0 {
		return p.unreliable(inARow)
	}
	last := attempts[len(attempts)-1]
	p.counted = append([]measure.Record{last.overload}, last.trials...)
	end := last.end(r)
	p.over = end != "" && (end != v1alpha1.RecoveryInterrupted || len(attempts)-len(p.invalid) >= maxRecoveries)
	if end == "" {
		p.left = cleanTime(r, r.CleanTrials-int32(last.row()))
		p.next, p.nextStage = trial(load*reducedPercent/100, milliseconds(r.TrialMilliseconds)), ""
	}
	return nil
}

func (recoveryOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	for _, p := range parts {
		frame.Recovery = w.recoveryResult(p)
	}
	return len(parts) > 0
}

// recoveryResult returns the figures of a part.
func (w *replay) recoveryResult(p *part) *v1alpha1.RecoveryResult {
	a := attemptsOf(p.counted)[0]
	load := a.overload.Trial.IntendedFramesPerSecond
	out := &v1alpha1.RecoveryResult{
		End: a.end(w.instr.Recovery), Goal: p.load.Goal, OverloadFramesPerSecond: signed(load),
		OverloadLossPartsPerMillion: worstLoss(a.overload.Outcome), ReducedFramesPerSecond: signed(max(1, load*reducedPercent/100)),
		Trials: int32(len(a.trials)), Doubts: doubtsOf(append(slices.Clone(a.trials), a.overload)),
	}
	after := func(r measure.Record) time.Duration { return r.Outcome.StartedAt.Sub(ended(a.overload)) }
	lower := time.Duration(0)
	for _, r := range a.trials {
		if lossy(r) {
			out.LossyTrials++
			lower = after(r)
		}
	}
	if out.End != v1alpha1.RecoveryRecovered && out.End != v1alpha1.RecoveryNotRecovered {
		return out
	}
	out.LowerBoundMilliseconds = new(lower.Milliseconds())
	if out.End == v1alpha1.RecoveryRecovered {
		upper := (after(a.trials[len(a.trials)-a.row()]) + time.Millisecond - 1).Milliseconds()
		out.UpperBoundMilliseconds, out.ResolutionMilliseconds = &upper, new(upper-*out.LowerBoundMilliseconds)
	}
	return out
}

// warn says why there is no recovery time, and what limits its meaning.
func (recoveryOf) warn(w *replay, d *warningList, _ measure.Size, parts []*part) {
	for _, p := range completed(parts) {
		if p.skipped {
			d.add(v1alpha1.WarningLoadNotDerived, p.size, "The recovery was not measured: it needs the throughput of %s, which was not found.", p.load.Goal)
			continue
		}
		w.warnRecovery(d, p, w.recoveryResult(p))
	}
}

func (w *replay) warnRecovery(d *warningList, p *part, result *v1alpha1.RecoveryResult) {
	if got := time.Duration(seconds(w.instr.Recovery.OverloadSeconds)); got < minOverload {
		d.add(v1alpha1.WarningShortTrials, p.size, "The overload before the recovery lasted %s, less than the %s that RFC 2544 section 26.5 asks for.", got, minOverload)
	}
	switch result.End {
	case v1alpha1.RecoveryGeneratorCeiling:
		what := fmt.Sprintf("the overload of %d frames/s", result.OverloadFramesPerSecond)
		if result.Trials > 0 {
			what = fmt.Sprintf("%d trials in a row after the overload", w.instr.Recovery.CleanTrials)
		}
		d.add(v1alpha1.WarningGeneratorCeiling, p.size, "There is no recovery time: the generator could not send %s in full and without doubts.", what)
	case v1alpha1.RecoveryNotOverloaded:
		d.add(v1alpha1.WarningMaximumLoad, p.size,
			"There is no recovery time: the device lost nothing of %d frames/s (%s), so it was not overloaded.",
			result.OverloadFramesPerSecond, w.overloadOrigin(p, result))
	case v1alpha1.RecoveryInterrupted:
		d.add(v1alpha1.WarningIrregularResult, p.size,
			"There is no recovery time: in each of %d attempts, more than %s passed between two trials, or the clock was set.", maxRecoveries, maxRecoveryGap)
	case v1alpha1.RecoveryNotRecovered:
		d.add(v1alpha1.WarningIrregularResult, p.size,
			"The device did not recover in %d trials after the overload, of which %d lost frames: the recovery time has no upper bound.", result.Trials, result.LossyTrials)
	}
}

// overloadOrigin says what the load of the overload is.
func (w *replay) overloadOrigin(p *part, result *v1alpha1.RecoveryResult) string {
	most := w.maximum(p.size, 0)
	switch {
	case signed(most.framesPerSecond) > result.OverloadFramesPerSecond:
		return fmt.Sprintf("%d %% of the throughput of %s", overloadPercent, p.load.Goal)
	case most.origin == v1alpha1.MaximumCalibration:
		return "what the generator reached in its calibration"
	}
	return "line rate"
}

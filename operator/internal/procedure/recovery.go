package procedure

import (
	"cmp"
	"fmt"
	"maps"
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
	// maxRecoveries is how often the overload is made again after such a gap.
	maxRecoveries = 3
	// minCleanFrames is how many frames of each direction the row without loss has at least: after
	// 1,000 frames of which none was lost, the loss is at most 0.3 % with 95 % confidence.
	minCleanFrames = 1000
	// maxTrialMilliseconds is the API's bound of trialMilliseconds.
	maxTrialMilliseconds = 10_000
	// recoveryBytes is what a record takes with the codes of three doubts, which short trials often have.
	recoveryBytes = countsBytes - 40
)

// recoveryOf bounds the time in which a device still loses frames after an overload, by short
// trials at half the load (RFC 2544 section 26.5).
type recoveryOf struct{ timed }

var recoveryMeasurement = recoveryOf{timed{base{name: stageRecovery, noun: "recovery"}}}

func (recoveryOf) owns(stage measure.Stage) bool {
	return stage == stageRecovery || stage == stageOverload
}
func (recoveryOf) recordBytes(measure.Instructions) int      { return recoveryBytes }
func (recoveryOf) compact(o measure.Outcome) measure.Outcome { return countsOnly(o) }

// evidence returns false: the trials are short, and reading it would lengthen the gaps.
func (recoveryOf) evidence() bool { return false }

// countsOverTime returns true for the overload.
func (recoveryOf) countsOverTime(stage measure.Stage) bool { return stage == stageOverload }

// isMadeAgain returns false: a trial after an overload that was interrupted shows nothing.
func (recoveryOf) isMadeAgain() bool { return false }

// expects returns true for drops at the generator's receiving port in an overload, of which only the
// load matters.
func (recoveryOf) expects(stage measure.Stage, doubt string) bool {
	return stage == stageOverload && doubt == measure.DoubtReceiveDrops
}

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

// overloadOf returns the load of the overload; 0 where the throughput was not found.
func (w *replay) overloadOf(p *part) uint64 {
	throughput := w.latencyRate(p)
	if throughput == 0 {
		return 0
	}
	return max(1, min(throughput, w.maximum(p.size, 0).framesPerSecond))
}

// reducedTrial returns a trial at half the load.
func (w *replay) reducedTrial(p *part) measure.Trial {
	r := w.instr.Recovery
	t := w.trial(p.size, max(1, w.overloadOf(p)*reducedPercent/100), milliseconds(r.TrialMilliseconds))
	t.SettleNanoseconds = milliseconds(r.SettleMilliseconds)
	return t
}

// fewestFrames returns the intended frames of the direction that has fewer.
func (w *replay) fewestFrames(trial measure.Trial) uint64 {
	least := measure.Stream{}.IntendedFrames(trial)
	for _, s := range w.instr.Chain.Streams {
		least = min(least, s.IntendedFrames(trial))
	}
	return least
}

// rowOf returns how many trials have to lose nothing: cleanTrials, and so many that each direction
// has minCleanFrames. It returns 0 where maximumTrials are not enough.
func (w *replay) rowOf(p *part) int {
	r, frames := w.instr.Recovery, w.fewestFrames(w.reducedTrial(p))
	if frames*uint64(r.MaximumTrials) < minCleanFrames {
		return 0
	}
	return max(int(r.CleanTrials), int((minCleanFrames+frames-1)/frames))
}

// fill makes an overload, and then trials without a longer wait until the end is known.
func (recoveryOf) fill(w *replay, p *part, records []measure.Record) error {
	load := w.overloadOf(p)
	if load == 0 || w.rowOf(p) == 0 {
		p.over, p.skipped = true, load == 0
		if len(records) > 0 {
			return fmt.Errorf("%w: record %d is a trial of a recovery whose load cannot be derived or is too low", ErrRecords, records[0].Index)
		}
		return nil
	}
	if len(records) > 0 && records[0].Stage != stageOverload {
		return fmt.Errorf("%w: record %d is a trial of a recovery without an overload before it", ErrRecords, records[0].Index)
	}
	r := w.recoveryRule(p)
	p.next, p.nextStage = w.trial(p.size, load, seconds(r.OverloadSeconds)), stageOverload
	p.next.SettleNanoseconds = milliseconds(r.SettleMilliseconds)
	p.left = recoveryMeasurement.expected(w, p.phase)
	attempts := attemptsOf(records)
	last, invalid := w.usable(p, attempts)
	if p.over = invalid >= MaximumInvalidTrials; p.over || last == nil {
		return nil
	}
	end := last.end(r)
	p.over = end != "" && (end != v1alpha1.RecoveryInterrupted || len(attempts)-len(p.invalid) >= maxRecoveries)
	p.attempt, p.counted = *last, append([]measure.Record{last.overload}, last.counted()...)
	for _, r := range last.neutral() {
		p.replace(interruptedBy(r), r)
	}
	if end == "" {
		p.left = cleanTime(r.Recovery, int32(r.row-len(last.row())))
		p.next, p.nextStage = w.reducedTrial(p), ""
	}
	return nil
}

// usable returns the last attempt, or nil where its overload has to be made again, and how many
// overloads at the end were invalid. Those that do not count become the part's invalid records.
func (w *replay) usable(p *part, attempts []attempt) (last *attempt, invalid int) {
	throughput, reached := w.recoveryRule(p).throughput, 0.0
	for _, r := range w.findRepeat(measure.StageThroughput, p.size, p.repeat).counted {
		reached = max(reached, r.Outcome.OfferedFramesPerSecond())
	}
	disturbances := 0
	for i, a := range attempts {
		why := invalidReason(a.overload)
		switch {
		case why != "":
			invalid++
		case (disturbed(a.overload, reached) || stalled(a.overload)) && !a.overloaded(throughput) && disturbances < maxDisturbed:
			invalid, disturbances, why = 0, disturbances+1, cmp.Or(interruptedBy(a.overload), disturbance(a.overload))
		default:
			last, invalid, disturbances = &attempts[i], 0, 0
			continue
		}
		last = nil
		p.replace(why, a.overload)
	}
	return last, invalid
}

func (recoveryOf) report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool {
	for _, p := range parts {
		frame.Recovery = w.recoveryResult(p)
	}
	return len(parts) > 0
}

// recoveryResult returns the figures of a part.
func (w *replay) recoveryResult(p *part) *v1alpha1.RecoveryResult {
	out := &v1alpha1.RecoveryResult{
		End: v1alpha1.RecoveryTooFewFrames, Goal: p.load.Goal,
		OverloadFramesPerSecond: signed(w.overloadOf(p)), ReducedFramesPerSecond: signed(w.reducedTrial(p).IntendedFramesPerSecond),
	}
	if len(p.counted) == 0 {
		if len(p.invalid) > 0 {
			out.End = v1alpha1.RecoveryInvalidOverload
		}
		return out
	}
	a, counted := p.attempt, p.attempt.counted()
	out.End, out.OverloadLossPartsPerMillion, out.Trials = a.end(w.recoveryRule(p)), lossOverTime(a.overload.Outcome), int32(len(counted))
	out.Lateness, out.Doubts = latenessOf(counted...), doubtsOf(append(counted, a.overload))
	after := func(r measure.Record) time.Duration { return r.Outcome.StartedAt.Sub(ended(a.overload)) }
	unsure := func(r measure.Record) time.Duration { return time.Duration(r.Outcome.StartUncertaintyNanoseconds) }
	lower := time.Duration(0)
	for _, r := range counted {
		if lossy(r) {
			out.LossyTrials++
			lower = max(0, after(r)-unsure(a.overload))
		}
	}
	if out.End != v1alpha1.RecoveryRecovered && out.End != v1alpha1.RecoveryNotRecovered {
		return out
	}
	out.LowerBoundMilliseconds = new(lower.Milliseconds())
	if out.End == v1alpha1.RecoveryRecovered {
		row := a.row()
		upper := (after(row[0]) + unsure(row[0]) + time.Millisecond - 1).Milliseconds()
		out.UpperBoundMilliseconds, out.ResolutionMilliseconds = &upper, new(upper-*out.LowerBoundMilliseconds)
		out.CleanFrames = new(fewestSent(row))
	}
	return out
}

// fewestSent returns how many frames of the direction that sent fewer are in the trials.
func fewestSent(trials []measure.Record) int64 {
	sent := map[measure.Direction]uint64{}
	for _, r := range trials {
		for _, d := range r.Outcome.Directions {
			sent[d.Direction] += d.SentFrames
		}
	}
	if len(sent) == 0 {
		return 0
	}
	return signed(slices.Min(slices.Collect(maps.Values(sent))))
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
	if got := time.Duration(seconds(w.instr.Recovery.OverloadSeconds)); got < minOverload && len(p.counted) > 0 {
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
			"There is no recovery time: in each of %d attempts, more than %s passed between two trials, or the clock was set.", maxRecoveries, maxGap)
	case v1alpha1.RecoveryInvalidOverload:
		d.add(v1alpha1.WarningInvalidTrials, p.size,
			"There is no recovery time: %d overloads in a row were invalid, the last because %s.", MaximumInvalidTrials, p.invalid[len(p.invalid)-1].why)
	case v1alpha1.RecoveryTooFewFrames:
		d.add(v1alpha1.WarningIrregularResult, p.size,
			"There is no recovery time: a row of trials without loss needs %d frames of each direction, and one of %d ms at %d frames/s has %d; raise recovery.trialMilliseconds to %d, or recovery.maximumTrials.",
			minCleanFrames, w.instr.Recovery.TrialMilliseconds, result.ReducedFramesPerSecond, w.fewestFrames(w.reducedTrial(p)), w.neededMilliseconds(p))
	case v1alpha1.RecoveryNotRecovered:
		d.add(v1alpha1.WarningIrregularResult, p.size,
			"The device did not recover in %d trials after the overload, of which %d lost frames: the recovery time has no upper bound.", result.Trials, result.LossyTrials)
	}
}

// neededMilliseconds returns the duration with which cleanTrials trials have minCleanFrames, or the
// longest that is allowed.
func (w *replay) neededMilliseconds(p *part) int64 {
	second := w.reducedTrial(p)
	second.DurationNanoseconds = int64(time.Second)
	frames := signed(max(1, w.fewestFrames(second))) * int64(w.instr.Recovery.CleanTrials)
	return min(maxTrialMilliseconds, (minCleanFrames*1000+frames-1)/frames)
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

// overloaded reports whether frames of an overload were lost, or not carried in its time, that was
// sent in full, or at least faster than the throughput.
func (a attempt) overloaded(throughput float64) bool {
	o := a.overload.Outcome
	return o.LossOverTime() > 0 && (!fellShort(a.overload) || o.OfferedFramesPerSecond() > throughput)
}

// recoveryRule is what decides how an attempt ends.
type recoveryRule struct {
	*v1alpha1.Recovery
	// row is how many trials have to lose nothing.
	row int
	// throughput is that of the goal, in frames per second.
	throughput float64
}

func (w *replay) recoveryRule(p *part) recoveryRule {
	return recoveryRule{w.instr.Recovery, w.rowOf(p), float64(w.latencyRate(p)) * 100 / overloadPercent}
}

// end returns how the measurement of an attempt has ended, and "" before it has.
func (a attempt) end(r recoveryRule) v1alpha1.RecoveryEnd {
	row, counted := len(a.row()), a.counted()
	switch {
	case fellShort(a.overload) && !a.overloaded(r.throughput):
		return v1alpha1.RecoveryGeneratorCeiling
	case a.overload.Outcome.LossOverTime() == 0:
		return v1alpha1.RecoveryNotOverloaded
	case a.interrupted():
		return v1alpha1.RecoveryInterrupted
	case row >= r.row:
		return v1alpha1.RecoveryRecovered
	case len(counted) < int(r.MaximumTrials):
		return ""
	case row >= int(r.CleanTrials):
		return v1alpha1.RecoveryTooFewFrames
	case slices.ContainsFunc(counted[len(counted)-int(r.CleanTrials):], lossy):
		return v1alpha1.RecoveryNotRecovered
	}
	// The device has lost nothing for as many trials, but the generator has not sent all of them.
	return v1alpha1.RecoveryGeneratorCeiling
}

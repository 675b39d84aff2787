package procedure

import (
	"fmt"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// measurement is one thing that a run measures. Each has a file that holds all of its behavior;
// what they share is in the replay.
type measurement interface {
	// stage names the measurement in records.
	stage() measure.Stage
	// owns reports whether records of a stage are the measurement's.
	owns(stage measure.Stage) bool
	// place says where in a run the phases are.
	place() place
	// repetition says what measurements.repeats does with the phases.
	repetition() repetition
	// check returns why the instructions cannot be followed.
	check(instr measure.Instructions) error
	// phases returns the phases of a size, or of the whole run for a measurement whose place is
	// afterSizes. There are none where it is not asked for.
	phases(instr measure.Instructions, size measure.Size) []phase
	// path returns where the trials of a phase run.
	path(ph phase) Path
	// highest returns the highest load of a phase, for the warm-up.
	highest(w *replay, ph phase) (uint64, error)
	// trials returns how many a phase takes where none has to be repeated.
	trials(w *replay, ph phase) int
	// expected returns a phase's time before any of it is known.
	expected(w *replay, ph phase) time.Duration
	// within returns how much of its time the open part has used, as a share, and what it still needs.
	within(w *replay, p *part, expected time.Duration) (float64, time.Duration)
	// title describes a phase in the progress.
	title(w *replay, ph phase) string
	// fill gives a part its records and decides what it needs next.
	fill(w *replay, p *part, records []measure.Record) error
	// report adds the figures of parts of one size that are over, and reports
	// whether there were any.
	report(w *replay, parts []*part, frame *v1alpha1.FrameResult) bool
	// reportRun adds the figures that belong to no single size.
	reportRun(w *replay, figures *Figures)
	// warn adds the doubts about the parts of a size that have begun, or of the whole run for a
	// measurement whose place is afterSizes.
	warn(w *replay, d *warningList, size measure.Size, parts []*part)
	// expects reports whether a doubt of the generator is a part of a stage's answer, and does not
	// make a trial invalid.
	expects(stage measure.Stage, doubt string) bool
	// countsOverTime reports whether figures of a stage's trials say what the device carries: what it did
	// not forward in the trial's time counts as lost in them.
	countsOverTime(stage measure.Stage) bool
	// isMadeAgain reports whether a trial that was interrupted is made again before it counts.
	isMadeAgain() bool
	// cpuGroups returns the trials of each figure of a part, for what the chain used.
	cpuGroups(p *part) []cpuGroup
	// evidence reports whether evidence of the trials is kept.
	evidence() bool
	// distributions reports whether records keep whole distributions of delays.
	distributions() bool
	// series returns how many trials of a phase keep a series of delays over the trial's time, and how long
	// each of them is; none where no record does.
	series(instr measure.Instructions) (trials int, each time.Duration)
	// recordBytes returns what a record takes in the results.
	recordBytes(instr measure.Instructions) int
	// compact returns what of an outcome goes into its record.
	compact(outcome measure.Outcome) measure.Outcome
}

// place is where in a run the phases of a measurement are.
type place int

const (
	// perSize is among everything else that is measured for each size.
	perSize place = iota
	// beforeChain is before the chain is needed, of each size.
	beforeChain
	// afterSizes is after everything that is measured for the sizes.
	afterSizes
	// atTheEnd is after everything else, of each size.
	atTheEnd
)

// repetition is what measurements.repeats does with a measurement's phases.
type repetition int

const (
	// once leaves them where they are: the measurement repeats its trials itself.
	once repetition = iota
	// inRepeats makes them again in each repeat of something else.
	inRepeats
	// repeatedly makes them again in each repeat.
	repeatedly
)

// registry holds every measurement, in the order in which they are made.
var registry = []measurement{
	rateCalibration, latencyCalibration, warmUpMeasurement, throughputMeasurement, latencyMeasurement,
	fixedLoadMeasurement, frameLossRateMeasurement, backToBackMeasurement, receiveRateMeasurement, recoveryMeasurement, soakMeasurement,
	tcpMeasurement, connectionsMeasurement, loadCalibration, rateAgain,
}

// measurementOf returns the measurement that owns records of a stage, nil for none.
func measurementOf(stage measure.Stage) measurement {
	for _, m := range registry {
		if m.owns(stage) {
			return m
		}
	}
	return nil
}

// measurementNamed returns the measurement whose trials that count have a stage, or nil.
func measurementNamed(stage measure.Stage) measurement {
	if m := measurementOf(stage); m != nil && m.stage() == stage {
		return m
	}
	return nil
}

// phasesAt returns the phases of every measurement of a place and a size.
func phasesAt(at place, instr measure.Instructions, size measure.Size) []phase {
	var out []phase
	for _, m := range measurementsAt(at) {
		out = append(out, phasesOf(m, instr, size)...)
	}
	return out
}

// measurementsAt returns the measurements of a place, in their order.
func measurementsAt(at place) []measurement {
	return slices.DeleteFunc(slices.Clone(registry), func(m measurement) bool { return m.place() != at })
}

// phasesOf returns the phases of a measurement and a size.
func phasesOf(m measurement, instr measure.Instructions, size measure.Size) []phase {
	out := m.phases(instr, size)
	for i := range out {
		out[i].measurement, out[i].size = m, size
	}
	return out
}

// WantsEvidence reports whether evidence of a stage's trials is kept: of those that become
// figures, and take long enough for the kernel's counters, which count hundredths of a second.
func WantsEvidence(stage measure.Stage) bool {
	m := measurementNamed(stage)
	return m != nil && m.evidence()
}

// MayCount reports whether trials of a stage can be in a figure: those that only put a load on the device are not.
func MayCount(stage measure.Stage) bool {
	return stage != measure.StageWarmUp && measurementNamed(stage) != nil
}

// CountsOverTime reports whether figures of a stage's trials say what the device carries.
func CountsOverTime(stage measure.Stage) bool {
	m := measurementOf(stage)
	return m != nil && m.countsOverTime(stage)
}

// Compact returns what of a record's outcome is stored. No figure reads the delays of a trial that
// never counts, or of one of the search that was interrupted. That may count, and then its peak does.
func Compact(r measure.Record) measure.Outcome {
	m := measurementOf(r.Stage)
	if r.Stage != stageReceiveRate {
		r.Outcome.HeldNanoseconds = nil
	}
	switch {
	case m == nil:
		return r.Outcome
	case isWarmUpAgain(r), r.Stage == stageDiscard, r.Stage != measure.StageWarmUp && invalidReason(r) != "":
		return countsOnly(r.Outcome)
	case r.Stage == measure.StageThroughput && interrupted(r):
		kept := countsOnly(r.Outcome)
		for i, d := range r.Outcome.Directions {
			kept.Directions[i].MostInMillisecond = d.MostInMillisecond
		}
		return kept
	}
	return m.compact(r.Outcome)
}

// base is what most measurements have in common. Its stage names it.
type base struct {
	name measure.Stage
	// noun names it in the progress.
	noun string
}

func (b base) stage() measure.Stage                                              { return b.name }
func (b base) owns(stage measure.Stage) bool                                     { return stage == b.name }
func (base) place() place                                                        { return perSize }
func (base) repetition() repetition                                              { return once }
func (base) check(measure.Instructions) error                                    { return nil }
func (base) path(phase) Path                                                     { return PathChain }
func (base) highest(*replay, phase) (uint64, error)                              { return 0, nil }
func (base) trials(*replay, phase) int                                           { return 1 }
func (base) report(*replay, []*part, *v1alpha1.FrameResult) bool                 { return false }
func (base) reportRun(*replay, *Figures)                                         {}
func (base) warn(*replay, *warningList, measure.Size, []*part)                   {}
func (base) expects(measure.Stage, string) bool                                  { return false }
func (base) countsOverTime(measure.Stage) bool                                   { return false }
func (base) isMadeAgain() bool                                                   { return true }
func (base) cpuGroups(*part) []cpuGroup                                          { return nil }
func (base) evidence() bool                                                      { return true }
func (base) distributions() bool                                                 { return false }
func (base) series(measure.Instructions) (int, time.Duration)                    { return 0, 0 }
func (base) recordBytes(measure.Instructions) int                                { return recordBytes }
func (base) compact(outcome measure.Outcome) measure.Outcome                     { return outcome }
func (base) within(_ *replay, _ *part, d time.Duration) (float64, time.Duration) { return 0, d }

// title names the phase, its size and its repeat.
func (b base) title(w *replay, ph phase) string {
	return excerpt.Text(fmt.Sprintf("%s, %s%s", named(b.noun, ph), ph.size, w.ofRepeat(ph)), maxStageBytes)
}

// timed is a measurement whose open part stores the time that it needs in part.left.
type timed struct{ base }

func (timed) within(_ *replay, p *part, expected time.Duration) (float64, time.Duration) {
	if expected <= 0 {
		return 0, expected
	}
	return 1 - min(1, p.left.Seconds()/expected.Seconds()), p.left
}

// seconds and milliseconds convert values of the API to nanoseconds.
func seconds(n int32) int64      { return int64(n) * int64(time.Second) }
func milliseconds(n int32) int64 { return int64(n) * int64(time.Millisecond) }

// settle returns the wait after each trial, in nanoseconds.
func (w *replay) settle() int64 { return milliseconds(w.instr.SettleMilliseconds) }

// cost returns the expected time of n trials.
func (w *replay) cost(n int, nanoseconds int64) time.Duration {
	return time.Duration(n) * time.Duration(nanoseconds+w.settle())
}

// take sorts records into those that count and those that do not, and fails
// where too many in a row do not.
func (p *part) take(records []measure.Record) error {
	return p.sort(records, sorter{})
}

// sort takes records as a sorter decides.
func (p *part) sort(records []measure.Record, s sorter) error {
	for _, r := range records {
		s.counts(p, r)
	}
	return p.unreliable(s.invalid)
}

// warnUnsent names the worst trial of a part in which frames were left unsent.
func warnUnsent(d *warningList, p *part, what string) {
	worst, rate := int64(0), uint64(0)
	for _, r := range p.counted {
		for _, o := range r.Outcome.Directions {
			if unsent := lossPartsPerMillion(o.UnsentFrames(), o.IntendedFrames); unsent > worst {
				worst, rate = unsent, r.Trial.IntendedFramesPerSecond
			}
		}
	}
	if worst > maxUnsent {
		d.add(v1alpha1.WarningLoadNotReached, p.size,
			"The generator left %d of each million frames of %s unsent (%d frames/s were intended).", worst, what, rate)
	}
}

// named returns a part's noun with its load, for sentences.
func named(noun string, ph phase) string {
	if ph.load.Name == "" {
		return noun
	}
	return fmt.Sprintf("%s %s", noun, ph.load.Name)
}

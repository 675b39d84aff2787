package procedure

import (
	"fmt"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

const (
	// longestAway is how long a sending thread may be kept off its core in one piece before what
	// is missing is looked at: no interrupt takes as long, another program's turn does.
	longestAway = time.Millisecond
	// maxInterrupted is how often in a row an interrupted trial is made again.
	maxInterrupted = 5
	// minAgain is how many trials of a part may be made again in all because something took the
	// generator's core; a part in which more trials count may have as many.
	minAgain = 10
)

// isInterruption reports whether a doubt is that something else held a core that sends.
func isInterruption(code string) bool {
	return code == measure.DoubtPreempted || code == measure.DoubtSteal
}

// interruptedBy returns what a program or a hypervisor changed in a trial by keeping a sending thread
// off its core, in one clause; "" for nothing.
func interruptedBy(r measure.Record) string {
	if why := lossExcuse(r); why != "" {
		return why
	}
	if stalled(r) {
		return fmt.Sprintf("threads that send were kept off their cores for %v and left frames unsent", briefly(time.Duration(r.Outcome.AwayNanoseconds)))
	}
	return ""
}

// stalled reports whether the generator left more unsent than the search tolerates, of which the time
// away explains all, in every direction. With HopInline such frames wait in the device's ring.
func stalled(r measure.Record) bool {
	o := r.Outcome
	if o.Hop == measure.HopInline || o.AwayNanoseconds <= 0 || o.SendingNanoseconds <= 0 {
		return false
	}
	explained := measure.ExplainedTimes * float64(o.AwayNanoseconds) / float64(o.SendingNanoseconds)
	return fellShort(r) && o.UnsentRatio() <= explained
}

// lossExcuse returns why the frames that are missing in a trial may not be the device's loss, in one
// clause; "" where they are. The driver says so itself, or the longest time away explains at least half
// of the loss in every direction that lost frames.
func lossExcuse(r measure.Record) string {
	for _, d := range r.Outcome.Doubts {
		if d.Invalid && isInterruption(d.Code) && !isExpectedIn(r.Stage, d.Code) {
			return because(d)
		}
	}
	away := time.Duration(r.Outcome.LongestAwayNanoseconds)
	if away <= longestAway || r.Outcome.SendingNanoseconds <= 0 || r.Outcome.LossRatio() == 0 {
		return ""
	}
	share := away.Seconds() / time.Duration(r.Outcome.SendingNanoseconds).Seconds()
	for _, d := range r.Outcome.Directions {
		explained := min(measure.ExplainedTimes*share*float64(max(d.IntendedFrames, d.SentFrames)), measure.ExplainedTimes*float64(r.Outcome.Explainable(d)))
		if float64(d.LostFrames()) > explained {
			return ""
		}
	}
	return fmt.Sprintf("a thread that sends was kept off its core for %v while frames were lost", away.Round(time.Microsecond))
}

func interrupted(r measure.Record) bool { return interruptedBy(r) != "" }

// decided reports whether an interrupted trial gives each goal of the search the same verdict with
// all of its loss as without the part that the interruption explains. Frames that were not sent decide
// nothing, so what was lost has to miss each goal.
func decided(r measure.Record, goals []v1alpha1.Goal) bool {
	if r.Stage != measure.StageThroughput || r.Outcome.AwayNanoseconds <= 0 || r.Outcome.SendingNanoseconds <= 0 {
		return false
	}
	all, proven := r.Outcome.LossOverTime(), r.Outcome.ProvenLossOverTime()
	for _, g := range goals {
		allowed := float64(g.LossPartsPerMillion) / 1e6
		if proven <= allowed && (all > allowed || stalled(r)) {
			return false
		}
	}
	return true
}

// sorter decides which records of a part count, in their order.
type sorter struct {
	// reached is the highest rate that the generator has sent on this path before; 0 where
	// frames that were not sent matter to no figure.
	reached float64
	// goals are the search's; nil for other measurements.
	goals []v1alpha1.Goal
	// once says that an interrupted trial is made again once only, and not maxInterrupted times.
	once bool
	// prolongs reports whether there is time to make a trial whose queue still grows again with twice
	// its time; nil where none is prolonged.
	prolongs func(measure.Record) bool
	// invalid, disturbances and interruptions are how many there are in a row.
	invalid, disturbances, interruptions int
	// prolonged is how often the time of the trials was doubled; those that follow keep it.
	prolonged int
	// again is how many disturbed, interrupted and prolonged trials there are in all.
	again int
	// spent is the time since the last trial that counts.
	spent time.Duration
}

// counts reports whether a record counts, and stores it in the part.
func (s *sorter) counts(p *part, r measure.Record) bool {
	more := s.again < max(minAgain, len(p.counted))
	switch {
	case invalidReason(r) != "":
		s.invalid++
	case more && interrupted(r) && !decided(r, s.goals) && s.interruptions < s.maxInterrupted():
		s.invalid, s.interruptions, s.again = 0, s.interruptions+1, s.again+1
	case more && disturbed(r, s.reached) && s.disturbances < maxDisturbed:
		s.invalid, s.disturbances, s.again = 0, s.disturbances+1, s.again+1
	case more && s.prolongs != nil && grownTooMuch(r) && s.prolonged < maxProlonged && 2*r.Trial.Duration() <= longestProlonged && s.prolongs(r):
		s.invalid, s.prolonged, s.again = 0, s.prolonged+1, s.again+1
	default:
		p.before = append(p.before, s.spent)
		s.invalid, s.interruptions, s.disturbances, s.spent = 0, 0, 0, 0
		p.counted = append(p.counted, r)
		return true
	}
	p.invalid, s.spent = append(p.invalid, r), s.spent+time.Duration(r.Outcome.TotalNanoseconds)
	return false
}

// maxInterrupted returns how often in a row an interrupted trial is made again.
func (s *sorter) maxInterrupted() int {
	if s.once {
		return 1
	}
	return maxInterrupted
}

// unproven reports whether the loss of a record may not be the device's.
func (w *replay) unproven(r measure.Record) bool {
	return w.undecided(r) || hasDoubt(r, measure.DoubtTransmitUnproven)
}

// provenLoss returns the loss of an unproven record that is the device's in any case; 0 where that is not
// known.
func provenLoss(r measure.Record) float64 {
	if r.Outcome.AwayNanoseconds <= 0 || hasDoubt(r, measure.DoubtTransmitUnproven) {
		return 0
	}
	return r.Outcome.ProvenLossOverTime()
}

// undecided reports whether an interruption may explain the loss of a record. Frames that a stall left
// unsent explain none.
func (w *replay) undecided(r measure.Record) bool {
	return lossExcuse(r) != "" && !decided(r, w.goals())
}

// goals returns those of the search; nil without one.
func (w *replay) goals() []v1alpha1.Goal {
	if w.instr.Throughput == nil {
		return nil
	}
	return w.instr.Throughput.Goals
}

// goal returns the goal of a name alone.
func (w *replay) goal(name string) []v1alpha1.Goal {
	return slices.DeleteFunc(slices.Clone(w.goals()), func(g v1alpha1.Goal) bool { return g.Name != name })
}

// searchTrial returns what the search takes from a record that counts. Frames that were not carried
// in the trial's time count as lost.
func (w *replay) searchTrial(r measure.Record) (search.Trial, error) {
	outcome := r.Outcome
	outcome.Doubts = slices.DeleteFunc(slices.Clone(outcome.Doubts), func(d measure.Doubt) bool { return isInterruption(d.Code) })
	trial, err := search.FromOutcome(r.Trial, outcome)
	if trial.LossUnproven = w.unproven(r); trial.LossUnproven {
		trial.ProvenLossRatio = provenLoss(r)
	}
	if loss := outcome.LossOverTime(); loss > trial.LossRatio {
		trial.LostFrames += uint64((loss - trial.LossRatio) * float64(trial.LoadFramesPerSecond) * trial.Duration.Seconds())
		trial.LossRatio = loss
	}
	return trial, err
}

// warnInterrupted names the trials that count although they were interrupted: making them again
// did not help.
func (w *replay) warnInterrupted(d *warningList, size measure.Size) {
	count, trials, last := 0, 0, ""
	for _, p := range w.parts {
		if p.size.Name != size.Name || !p.measurement.isMadeAgain() {
			continue
		}
		for _, r := range p.counted {
			trials++
			if w.undecided(r) {
				count, last = count+1, lossExcuse(r)
			}
		}
	}
	if count > 0 {
		d.add(v1alpha1.WarningInterruptedTrials, size,
			"What is missing in %d of the %d trials that count may not be the device's: making such trials again did not help, the last because %s.",
			count, trials, excerpt.Text(last, maxDetailBytes))
	}
}

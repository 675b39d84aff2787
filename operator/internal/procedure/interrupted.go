package procedure

import (
	"cmp"
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
	return code == measure.DoubtPreempted || code == measure.DoubtSteal || code == measure.DoubtSoftirq
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
// clause; "" where they are. The driver says so itself, or the longest time away may have cost a device that carries the load
// all of them, in every direction that lost frames.
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
	for _, d := range r.Outcome.Directions {
		if float64(d.LostFrames()) > min(r.Outcome.Overrun(d, away), measure.ExplainedTimes*float64(r.Outcome.Explainable(d))) {
			return ""
		}
	}
	return fmt.Sprintf("a thread that sends was kept off its core for %v while frames were lost", away.Round(time.Microsecond))
}

// wasAway reports whether sending threads were kept off their cores for so long that frames may be missing or late: for more than
// longestAway in one piece, or for all pieces together so that more frames became due than the device's ring holds.
func wasAway(o measure.Outcome) bool {
	return time.Duration(o.LongestAwayNanoseconds) > longestAway ||
		slices.ContainsFunc(o.Directions, func(d measure.DirectionOutcome) bool { return o.Overruns(d, time.Duration(o.AwayNanoseconds)) })
}

// partExcuse returns why a part of the frames that are missing in a trial may not be the device's loss, in one clause; ""
// where all of them are, or where all of them may not be. In the search any time away can matter, because decided says whether
// it does: a ring that the device has left full takes none of the frames that become due.
func partExcuse(r measure.Record) string {
	explains := func(d measure.DirectionOutcome) bool { return r.Outcome.Explainable(d) > 0 }
	searched := r.Stage == measure.StageThroughput && r.Outcome.RingFrames > 0 && r.Outcome.AwayNanoseconds > 0
	if !searched && !wasAway(r.Outcome) || lossExcuse(r) != "" || !slices.ContainsFunc(r.Outcome.Directions, explains) {
		return ""
	}
	return fmt.Sprintf("threads that send were kept off their cores for %v, which explains a part of the loss", briefly(time.Duration(max(r.Outcome.AwayNanoseconds, r.Outcome.LongestAwayNanoseconds))))
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
	// prolongs reports whether there is time and room to make a trial whose queue still grows again with twice
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
	more, why := s.again < max(minAgain, len(p.counted)), ""
	switch {
	case invalidReason(r) != "":
		s.invalid, why = s.invalid+1, invalidReason(r)
	case more && s.isInterrupted(r) && s.interruptions < s.maxInterrupted():
		s.invalid, s.interruptions, s.again, why = 0, s.interruptions+1, s.again+1, cmp.Or(interruptedBy(r), partExcuse(r))
	case more && disturbed(r, s.reached) && s.disturbances < maxDisturbed:
		s.invalid, s.disturbances, s.again, why = 0, s.disturbances+1, s.again+1, disturbance(r)
	case more && s.prolongs != nil && grownTooMuch(r) && s.prolonged < maxProlonged && 2*r.Trial.Duration() <= longestProlonged && s.prolongs(r):
		s.invalid, s.prolonged, s.again, why = 0, s.prolonged+1, s.again+1, growth(r)
		// The repeats of a part have one time, so those that were shorter are made again too.
		p.replace(fmt.Sprintf("a queue grew in a later repeat, so all of them are longer than %v", r.Trial.Duration()), p.counted...)
		p.counted, p.before = nil, nil
	default:
		p.before = append(p.before, s.spent)
		s.invalid, s.interruptions, s.disturbances, s.spent = 0, 0, 0, 0
		p.counted = append(p.counted, r)
		return true
	}
	p.replace(why, r)
	s.spent += time.Duration(r.Outcome.TotalNanoseconds)
	return false
}

// isInterrupted reports whether an interruption decides what a trial shows: it explains all that is missing, or, in the search,
// a part without which a goal is met. Records without the size of the ring are of older drivers. They counted where a
// part is explained, and the search chose its next loads by them.
func (s *sorter) isInterrupted(r measure.Record) bool {
	inPart := len(s.goals) > 0 && r.Outcome.RingFrames > 0 && partExcuse(r) != ""
	return (interrupted(r) || inPart) && !decided(r, s.goals)
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
	return w.undecided(r) || isUnproven(r)
}

// isUnproven reports whether the sending port or a starved core, and not the device, may have lost any frame
// that is missing in a record.
func isUnproven(r measure.Record) bool {
	return hasDoubt(r, measure.DoubtTransmitUnproven) || hasDoubt(r, measure.DoubtStarved)
}

// provenLoss returns the loss of an unproven record that is the device's in any case; 0 where that is not
// known.
func provenLoss(r measure.Record) float64 {
	if r.Outcome.AwayNanoseconds <= 0 || isUnproven(r) {
		return 0
	}
	return r.Outcome.ProvenLossOverTime()
}

// undecided reports whether an interruption may explain the loss of a record, or so much of it that the rest meets a goal that
// all of it misses. Frames that a stall left unsent explain none. Without a time away, no part is known.
func (w *replay) undecided(r measure.Record) bool {
	return w.undecidedExcuse(r, w.goals()) != ""
}

// undecidedExcuse returns why an interruption may change what a record shows about some goals, in one clause; "" where it does not.
func (w *replay) undecidedExcuse(r measure.Record, goals []v1alpha1.Goal) string {
	if decided(r, goals) {
		return ""
	}
	if why := lossExcuse(r); why != "" || r.Stage != measure.StageThroughput || r.Outcome.AwayNanoseconds <= 0 {
		return why
	}
	return partExcuse(r)
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
			if why := w.undecidedExcuse(r, w.goals()); why != "" {
				count, last = count+1, why
			}
		}
	}
	if count > 0 {
		d.add(v1alpha1.WarningInterruptedTrials, size,
			"What is missing in %d of the %d trials that count may not be the device's: making such trials again did not help, the last because %s.",
			count, trials, excerpt.Text(last, maxDetailBytes))
	}
}

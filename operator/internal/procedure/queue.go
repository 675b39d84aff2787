package procedure

import (
	"fmt"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// maxGrowth is how much longer every frame at the end of a trial at a load may take than the
	// fastest one at its beginning: a queue that does not grow is empty now and then.
	maxGrowth = time.Millisecond
	// maxProlonged is how often in a part a trial whose queue still grows is made again with twice its
	// time, longestProlonged how long it may become.
	maxProlonged     = 2
	longestProlonged = 2 * time.Minute
	// keptShare is one over the share of the deadline that prolonged trials leave: for trials that are
	// made again and launches of the chain, which cannot be foreseen.
	keptShare = 10
)

// grownTooMuch reports whether a queue still grew at a trial's end, beyond what an interruption
// explains: the load is more than the device forwards, and a longer trial has longer delays.
func grownTooMuch(r measure.Record) bool {
	return r.Outcome.QueueGrowth()-r.Outcome.Excusable() > maxGrowth
}

// grownPastRing reports the same of a queue after the driver's ring.
func grownPastRing(r measure.Record) bool {
	return slices.ContainsFunc(r.Outcome.Directions, func(d measure.DirectionOutcome) bool {
		ring := int64(0)
		if r.Outcome.Hop == measure.HopInline {
			ring = d.DrainNanoseconds
		}
		return time.Duration(d.QueueGrowthNanoseconds-ring)-r.Outcome.Excusable() > maxGrowth
	})
}

func growth(r measure.Record) string {
	return fmt.Sprintf("a queue still grew at the end, by %v of delay in %v", briefly(r.Outcome.QueueGrowth()), r.Trial.Duration())
}

func briefly(d time.Duration) time.Duration { return d.Round(max(1, d/1000)) }

// takeProlonged sorts records as take does. The next trial has twice the time where the queue still
// grew in the last one, as long as the deadline and the results allow it, and all trials of the part have that time, so
// that its repeats are alike. A part has a number of trials, and before each of them may pass a time.
func (w *replay) takeProlonged(p *part, records []measure.Record, trials int, before time.Duration) error {
	refused := false
	s := sorter{prolongs: func(r measure.Record) bool {
		refused = refused || !w.fits(p, r, w.cost(trials, 2*r.Trial.DurationNanoseconds)+time.Duration(trials)*before) || !w.hasRoom(p.phase, r)
		return !refused
	}}
	for _, r := range records {
		s.counts(p, r)
	}
	p.next.DurationNanoseconds <<= s.prolonged
	return p.unreliable(s.invalid)
}

// fits reports whether the deadline allows that a part still takes a time after a record. What has passed
// counts from the first trial, what follows is what the instructions expect.
func (w *replay) fits(p *part, r measure.Record, needed time.Duration) bool {
	deadline := time.Duration(seconds(w.instr.DeadlineSeconds))
	if deadline == 0 {
		return true
	}
	passed := r.Outcome.StartedAt.Sub(w.log[0].Outcome.StartedAt) + time.Duration(r.Outcome.TotalNanoseconds)
	left := following(w, p.phase, func(ph phase) time.Duration { return ph.measurement.expected(w, ph) })
	return passed+needed+left <= deadline-deadline/keptShare
}

// hasRoom reports whether the results have room for all trials of a phase after a record, and for all that follow: of
// what the expected records leave free, those that are made again by then take one share.
func (w *replay) hasRoom(ph phase, r measure.Record) bool {
	bytes := func(ph phase) int { return ph.measurement.trials(w, ph) * ph.measurement.recordBytes(w.instr) }
	taken := bytes(ph) + following(w, ph, bytes)
	for _, stored := range w.log {
		if m := measurementOf(stored.Stage); m != nil && stored.Index <= r.Index {
			taken += m.recordBytes(w.instr)
		}
	}
	return taken <= ExpectedBytes(w.instr)+freeBytes(w.instr)/furtherShare
}

// following adds up what the phases after one take. Of a run that compares, the other side has all of them too, and may
// have this one.
func following[T int | time.Duration](w *replay, ph phase, of func(phase) T) (left T) {
	begun := false
	for _, other := range phases(w.instr) {
		is := other.key() == ph.key()
		if begun = begun || is; !begun {
			continue
		}
		if !is {
			left += of(other)
		}
		if w.instr.Compares() && other.path() != PathCalibration {
			left += of(other)
		}
	}
	return left
}

// warnGrowing names the trials of a part that count although a queue still grew.
func warnGrowing(d *warningList, p *part, what string) {
	count, last := 0, measure.Record{}
	for _, r := range p.counted {
		if grownTooMuch(r) {
			count, last = count+1, r
		}
	}
	if count > 0 {
		why := "The load is more than the device forwards, and longer trials have longer delays."
		if hasDoubt(last, measure.DoubtStarved) {
			why = "The load is more than the device forwards, or the kernel left network work of a core that sends undone (SoftirqStarved)."
		}
		d.add(v1alpha1.WarningQueueGrowing, p.size,
			"In %d of the %d trials of %s that count a queue still grew at the end: in the last, every frame took %v longer than the fastest ones %v before. %s",
			count, len(p.counted), what, briefly(last.Outcome.QueueGrowth()), last.Trial.Duration(), why)
	}
}

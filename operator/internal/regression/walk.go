package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"vnfbench.io/operator/internal/statistics"
)

// walk goes through the runs of a series in their order.
type walk struct {
	settings Settings
	runs     []Run
	legs     Legs
	// start is the first run of the segment, the stable stretch since the last change.
	start int
	// anchor is a run whose version is known to be at the segment's level, level that whose level was last accepted.
	anchor, level int
	// minor is the sum of the minor changes since then.
	minor float64
	// cleared is the last run that is known to be unchanged; no slow check is made before slowFrom.
	cleared, slowFrom int
	// slowStart is the first run that slow changes are measured from. The device had changed by slowSize there, without the minor changes.
	slowStart int
	slowSize  float64
	// movedTimes is how often in a row the environment was found off, movedAt the last run of these, and movedTo the direction.
	movedTimes, movedAt int
	movedTo             Direction
	// outlier marks runs that are left out.
	outlier []bool
	// opening are the legs that opened the segment: values of its level.
	opening []float64
	// open is the suspicion that waits for interleaved runs, opened the run at which it arose.
	open   *suspicion
	opened int
	events []Event
	// limit is what the family of the series asks of changes.
	limit chanceLimit
	// beforeBreaks are the levels before the breaks that no interleaved runs connect.
	beforeBreaks map[Question]base
	// bases and beginnings are those that are known, by their last run, until runs of the segment count differently.
	bases, beginnings map[int]base
	// scratch is where the values of a base are put together, sorted where they are sorted.
	scratch, sorted []float64
}

// Walk returns the events of a series, in the order of its runs.
func Walk(settings Settings, runs []Run, legs Legs) []Event {
	return walkThrough(settings, runs, legs, chanceLimit{}).events
}

// chanceLimit is the largest chance of a change that is confirmed at a run or after it. The zero value limits nothing.
type chanceLimit struct {
	from   int
	chance float64
}

// excludes reports whether an answer at a run is a change that chance explains too well.
func (l chanceLimit) excludes(at int, a answer) bool {
	isChange := a.kind == Regression || a.kind == Improvement || a.kind == Minor
	return isChange && l.chance > 0 && at >= l.from && a.chance > l.chance
}

func walkThrough(settings Settings, runs []Run, legs Legs, limit chanceLimit) *walk {
	w := newWalk(settings, runs, legs)
	w.limit = limit
	for at := range runs {
		w.step(at)
	}
	w.sizeBreaks()
	return w
}

// sizeBreaks notes how far the runs since each break are from the level before it: the median of as many as a verdict takes, up to the next change.
func (w *walk) sizeBreaks() {
	for i := range w.events {
		e := &w.events[i]
		if e.Kind != Break {
			continue
		}
		end := min(e.First+w.settings.MinRuns+window, len(w.runs))
		for _, next := range w.events[i+1:] {
			switch next.Kind {
			case Regression, Improvement, Minor, Closed, Break:
				if next.First > e.First {
					end = min(end, next.First)
				}
			}
		}
		values := make([]float64, 0, end-e.First)
		for _, r := range w.runs[e.First:end] {
			values = append(values, r.Value)
		}
		e.Size = statistics.Median(values) - w.beforeBreaks[e.Question].mean
	}
}

func newWalk(settings Settings, runs []Run, legs Legs) *walk {
	return &walk{settings: settings, runs: runs, legs: legs, cleared: -1, outlier: make([]bool, len(runs)), bases: map[int]base{}, beginnings: map[int]base{}, beforeBreaks: map[Question]base{}}
}

// step judges one run.
func (w *walk) step(at int) {
	if at > 0 && isOther(w.runs[at-1].Platform, w.runs[at].Platform) {
		w.platformChanged(at)
		return
	}
	if w.open != nil {
		w.askAgain(at)
		return
	}
	if found := w.suspect(at); found != nil {
		w.opened = at
		w.resolve(*found)
	}
}

// isOther reports whether both are known and differ.
func isOther(before, after string) bool { return before != "" && after != "" && before != after }

// platformChanged asks for the old version on the new platform. Without an answer the segment begins again. The old version is the one
// from before an open question: an answer is one of both.
func (w *walk) platformChanged(at int) {
	x := suspicion{Question: Question{PlatformChanged, Both, at, at, w.reference(at), at}, base: w.baseline(at - 1)}
	if w.open != nil {
		x.Old, x.base = w.open.Old, w.open.base
		if kind := w.ask(x.Question, x.base, w.sure(x.Cause)).kind; kind == Unconfirmed || kind == Inconclusive {
			w.giveUp()
		}
	}
	w.open = nil
	w.resolve(x)
}

// askAgain asks an open question of the newest run, unless the runs have come back by themselves.
func (w *walk) askAgain(at int) {
	x := *w.open
	first := max(x.First, at-window+1)
	size := w.mean(first, at) - x.base.mean
	if w.isBack(size, x.base, at-first+1) {
		w.open = nil
		return
	}
	further := w.suspectFurther(at)
	x.At, x.New, x.size = at, at, size
	if further != nil && w.ask(x.Question, x.base, w.sure(x.Cause)).kind == Unconfirmed {
		w.giveUp()
		w.opened = at
		w.resolve(*further)
		return
	}
	w.open = nil
	w.resolve(x)
	if w.open != nil && at-w.opened >= unansweredRuns {
		w.giveUp()
	}
}

// isBack reports whether some runs that were suspicious are at the level of the base again.
func (w *walk) isBack(size float64, b base, runs int) bool {
	return math.Abs(size) < lowShare*w.settings.Effect || math.Abs(size) <= backLimit*b.error(runs)
}

// giveUp closes the open question without an answer. The suspicious runs are another level, with which later ones are compared.
func (w *walk) giveUp() {
	event := w.events[len(w.events)-1]
	event.Kind = Closed
	w.open = nil
	w.events = append(w.events, event)
	w.begin(event.First, event.At, nil)
	w.level, w.minor = event.At, 0
}

// sure returns how sure an answer of no change to a question is.
func (w *walk) sure(c Cause) float64 {
	if c == Step {
		return sameLevel
	}
	return sureLevel
}

// resolve asks the question and does what follows from the answer.
func (w *walk) resolve(x suspicion) {
	a := w.ask(x.Question, x.base, w.sure(x.Cause))
	if a.kind == Unconfirmed {
		w.unanswered(x, a)
		return
	}
	event := w.event(x, a)
	moved, isMoved := w.moved(x, a)
	if x.Cause == Slow {
		w.slowFrom = x.At + slowRest
	}
	switch {
	case a.kind == Regression || a.kind == Improvement || a.kind == Minor:
		event.First, event.Earliest, event.Latest = w.place(x, a, isMoved)
		w.events = append(w.events, event)
		if isMoved {
			w.shift(x, moved)
		}
		w.changed(x, a, event.First)
	case a.kind == Inconclusive:
		w.events = append(w.events, event)
		w.leaveOut(x.At)
		if x.isBreak() {
			w.begin(x.First, x.At, nil)
		}
	case x.isBreak():
		w.events = append(w.events, event)
		w.shift(x, moved)
		w.begin(x.First, x.Old, append(a.old, a.new...))
		w.cleared = x.At
	case isMoved && x.Cause == Step && w.level < x.Old && !w.isSudden(x, a):
		// Either the environment moved, or the device did in steps too small to see between two close versions: the
		// accepted version knows.
		w.events = append(w.events, event)
		x.Cause, x.Old = Slow, w.level
		w.resolve(x)
	case isMoved && w.isLevel(x, a, moved):
		w.events = append(w.events, event)
		w.shift(x, moved)
		w.begin(x.First, x.Old, append(a.old, a.new...))
		w.minor = 0
		w.clear(x.First, x.At, stat.Mean(w.opening, nil), x.base.deviation)
	default:
		w.events = append(w.events, event)
		first := x.First
		if x.Cause == Slow {
			// The environment explains what the answer does not: a further change is measured from here.
			first, w.slowStart, w.slowSize = x.At, max(w.start, x.At+1-slowRuns), a.size-w.minor
			w.forget()
		}
		w.clear(first, x.At, x.base.mean, x.base.deviation)
	}
}

// unanswered keeps a question that has no answer yet. A known break begins a new segment.
func (w *walk) unanswered(x suspicion, a answer) {
	event := w.event(x, a)
	if x.isBreak() {
		event.Kind = Break
		w.beforeBreaks[x.Question] = x.base
		w.begin(x.First, x.At, nil)
	} else {
		w.open = &x
	}
	w.events = append(w.events, event)
}

func (w *walk) event(x suspicion, a answer) Event {
	e := Event{Question: x.Question, Kind: a.kind, Size: a.size, Low: a.low, High: a.high, Chance: a.chance, Pairs: a.asked, Wanted: a.wanted}
	if a.kind == Unconfirmed {
		e.Size = x.size
	}
	e.GeneratorDiffers = a.kind == Inconclusive && a.calibrationMoved
	e.HeldExplains = a.kind == Inconclusive && a.heldExplains
	return e
}

// shift notes that the environment moved by a size.
func (w *walk) shift(x suspicion, size float64) {
	w.events = append(w.events, Event{Question: x.Question, Kind: Shift, Size: size, Low: math.Inf(-1), High: math.Inf(1), Chance: 1})
}

// changed begins a segment at the new level with the legs of the new version, so that no run is blind.
func (w *walk) changed(x suspicion, a answer, first int) {
	w.begin(first, x.At, a.new)
	if a.kind != Minor {
		w.level, w.minor = x.At, 0
		return
	}
	if x.Old == w.level {
		w.minor = 0
	}
	w.minor += a.size
}

// begin starts a segment.
func (w *walk) begin(start, anchor int, opening []float64) {
	w.start, w.anchor, w.opening, w.movedTimes = start, anchor, opening, 0
	w.slowStart, w.slowSize = start, 0
	w.cleared = max(w.cleared, anchor)
	w.forget()
}

// clear takes the runs from first to last into the baseline, except outliers.
func (w *walk) clear(first, last int, middle, deviation float64) {
	w.cleared = last
	limit := max(runOutlier*deviation, w.settings.Effect)
	for i := first; i <= last; i++ {
		if math.Abs(w.runs[i].Value-middle) > limit {
			w.leaveOut(i)
		}
	}
}

// leaveOut marks a run as an outlier.
func (w *walk) leaveOut(run int) {
	w.outlier[run] = true
	w.forget()
}

// forget drops the bases that are known.
func (w *walk) forget() {
	clear(w.bases)
	clear(w.beginnings)
}

// moved returns how far the old version is from its own history, and whether that is more than chance. Where both versions are the same, the
// legs of both say it, unless the new one may be part of a slow change.
func (w *walk) moved(x suspicion, a answer) (size float64, moved bool) {
	if len(a.old) == 0 || x.base.count == 0 {
		return 0, false
	}
	values := a.old
	if a.kind == Same && (x.Cause != Slow || math.Abs(a.size) < movedShare*w.settings.Effect) {
		values = slices.Concat(a.old, a.new)
	}
	size = stat.Mean(values, nil) - x.base.mean
	return size, x.base.count >= w.needed() && w.isMoved(size, x.base.error(len(values)))
}

// isSudden reports whether the old version measures another level than the runs around it did: then no slow change of the
// device explains that it is off.
func (w *walk) isSudden(x suspicion, a answer) bool {
	near := w.values(w.accepted(max(w.start, x.Old+1-nearRuns), x.Old))
	if len(near) < nearRuns {
		return false
	}
	legs := slices.Concat(a.old, a.new)
	err := x.base.deviation * math.Sqrt(1/float64(len(near))+1/float64(len(legs)))
	return w.isMoved(stat.Mean(legs, nil)-stat.Mean(near, nil), err)
}

// isLevel reports whether the environment has another level: it is off by more than its runs ever are, or by less again and again. Legs
// are made at one moment. Where they vary less than runs do, the environment of the runs comes and goes, and more is no new level.
func (w *walk) isLevel(x suspicion, a answer, size float64) bool {
	to := directionOf(size)
	if to != w.movedTo || x.At-w.movedAt > excursionRuns {
		w.movedTimes = 0
	}
	w.movedTo, w.movedAt, w.movedTimes = to, x.At, w.movedTimes+1
	limit := excursion
	squares := stat.Variance(a.old, nil) + stat.Variance(a.new, nil)
	if squares/2 < calmLegs*calmLegs*x.base.deviation*x.base.deviation {
		limit = wideExcursion
	}
	return w.movedTimes == excursionTimes || math.Abs(size) > limit*x.base.deviation
}

// accepted returns the runs from first to last that count. Outliers count where there are too many of them.
func (w *walk) accepted(first, last int) []int {
	all := make([]int, 0, max(0, last-first+1))
	for i := first; i <= last; i++ {
		all = append(all, i)
	}
	if !w.areLeftOut(first, last) {
		return all
	}
	return slices.DeleteFunc(all, func(i int) bool { return w.outlier[i] })
}

// areLeftOut reports whether the outliers of some runs are few enough to be left out.
func (w *walk) areLeftOut(first, last int) bool {
	count := 0
	for i := first; i <= last; i++ {
		if w.outlier[i] {
			count++
		}
	}
	return count <= outliersIn(last-first+1)
}

// appendAccepted appends the values of the runs from first to last that count.
func (w *walk) appendAccepted(values []float64, first, last int) []float64 {
	leaveOut := w.areLeftOut(first, last)
	for i := first; i <= last; i++ {
		if !leaveOut || !w.outlier[i] {
			values = append(values, w.runs[i].Value)
		}
	}
	return values
}

func (w *walk) values(runs []int) []float64 {
	out := make([]float64, len(runs))
	for i, run := range runs {
		out[i] = w.runs[run].Value
	}
	return out
}

// mean returns the mean of the runs from first to last.
func (w *walk) mean(first, last int) float64 {
	sum := 0.0
	for i := first; i <= last; i++ {
		sum += w.runs[i].Value
	}
	return sum / float64(last-first+1)
}

// baseline returns the last values of the segment up to a run.
func (w *walk) baseline(end int) base {
	known, ok := w.bases[end]
	if !ok {
		values := w.segment(max(w.start, end+1-longest), end)
		known = w.summary(values[max(0, len(values)-longest):])
		w.bases[end] = known
	}
	return known
}

// beginning returns the first values that slow changes are measured from, of runs up to end.
func (w *walk) beginning(end int) base {
	end = min(end, w.slowStart+longest)
	known, ok := w.beginnings[end]
	if !ok {
		values := w.segment(w.slowStart, end)
		if w.slowStart > w.start {
			values = values[len(w.opening):]
		}
		known = w.summary(values[:min(len(values), longest)])
		w.beginnings[end] = known
	}
	return known
}

// segment returns the opening and the values of the runs from first to last that count. It is overwritten by the next call.
func (w *walk) segment(first, last int) []float64 {
	w.scratch = w.appendAccepted(append(w.scratch[:0], w.opening...), first, last)
	return w.scratch
}

// summary sums up values without outliers. It may change them.
func (w *walk) summary(values []float64) base {
	values, w.sorted = withoutOutliers(values, w.settings.Effect, w.sorted)
	return newBase(values)
}

func (w *walk) anyOutlier(first, last int) bool {
	for i := first; i <= last; i++ {
		if w.outlier[i] {
			return true
		}
	}
	return false
}

// calibrations returns the generator's levels that are known.
func (w *walk) calibrations(first, last int) []float64 {
	var out []float64
	for i := max(0, first); i <= last; i++ {
		if c := w.runs[i].Calibration; !math.IsNaN(c) {
			out = append(out, c)
		}
	}
	return out
}

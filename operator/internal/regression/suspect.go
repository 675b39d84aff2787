package regression

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// suspicion is a question and what its runs were compared with.
type suspicion struct {
	Question
	base base
	// size is how far the suspicious runs are from the base.
	size float64
}

// suspect returns what is wrong with the last runs; nil when all is well.
func (w *walk) suspect(at int) *suspicion {
	if found := w.suspectStep(at); found != nil {
		return found
	}
	return w.suspectSlow(at)
}

// suspectStep compares the last 1, 2 and 3 runs, and the last 6 and 10, with the runs before them.
func (w *walk) suspectStep(at int) *suspicion {
	var found *suspicion
	worst := 0.0
	for i := range window + len(lateWindows) {
		runs := i + 1
		if i >= window {
			runs = lateWindows[i-window]
		}
		first := at - runs + 1
		if first <= max(w.cleared, w.start-1) {
			break
		}
		b := w.baseline(max(at-max(runs, window), w.cleared))
		if b.count < w.needed() || w.anyOutlier(first, at) {
			continue
		}
		size := w.mean(first, at) - w.expected(first, runs, b)
		level, least := w.limits(runs, size, b)
		ratio := math.Abs(size) / b.errorInRow(runs)
		if math.Abs(size) < least || ratio <= student(level, b.degrees) || ratio <= worst {
			continue
		}
		worst = ratio
		found = &suspicion{Question{Step, directionOf(size), first, at, w.reference(first), at}, b, size}
	}
	if found != nil && w.calibrationMoved(found.First, at) {
		found.Cause, found.Direction = GeneratorMoved, Both
	}
	return found
}

// expected returns what some runs from first on would be on average without a change. Where runs resemble each other, they begin near the runs
// before them and return to the base.
func (w *walk) expected(first, runs int, b base) float64 {
	recent := first - recentRuns
	if recent < w.start || w.anyOutlier(recent, first-1) {
		return b.mean
	}
	share := b.resemblance * window / float64(max(runs, window))
	return b.mean + share*(w.mean(recent, first-1)-b.mean)
}

// suspectFurther compares the newest runs with those of the open question before them; nil where they have not fallen further by the
// effect. The deviation is that of the level before the question, because its runs may be few.
func (w *walk) suspectFurther(at int) *suspicion {
	x := w.open
	for first := at; first > x.First && first > at-window; first-- {
		b := base{count: first - x.First, mean: w.mean(x.First, first-1), deviation: x.base.deviation, degrees: x.base.degrees}
		if off := b.mean - x.base.mean; off > 0 || w.isBack(off, x.base, b.count) {
			continue
		}
		size := w.mean(first, at) - b.mean
		if size <= -w.settings.Effect && -size > student(lateLimit, b.degrees)*b.error(at-first+1) {
			return &suspicion{Question{Step, Fall, first, at, first - 1, at}, b, size}
		}
	}
	return nil
}

// limits returns the level and the size beyond which some runs are suspicious.
func (w *walk) limits(runs int, size float64, b base) (level, least float64) {
	half := halfShare * w.settings.Effect
	switch {
	case runs > window:
		return lateLimit, half
	case size > 0:
		return riseLimit, half
	}
	err := b.errorInRow(window)
	found := max(w.settings.Effect-missLevel*err, 0)
	level = found / err
	switch runs {
	case 1:
		level = min(max(level, shortLimit), singleLimit)
	case window:
		level = min(level, highLimit)
	default:
		level = min(max(level, shortLimit), highLimit)
	}
	return level, min(max(found, lowShare*w.settings.Effect), half)
}

// suspectSlow compares the last runs, and the minor changes before them, with the beginning of the segment or those of the last answer.
func (w *walk) suspectSlow(at int) *suspicion {
	if at < w.slowFrom || at-w.start < 2*slowRuns {
		return nil
	}
	last := w.accepted(max(w.start, at+1-2*slowRuns), at)
	if len(last) < slowRuns {
		return nil
	}
	last = last[len(last)-slowRuns:]
	b := w.beginning(last[0] - 1)
	if b.count < w.needed() {
		return nil
	}
	size := stat.Mean(w.values(last), nil) - b.mean + w.slowSize
	half := halfShare * w.settings.Effect
	if math.Abs(size) <= student(lateLimit, b.degrees)*b.errorInRow(slowRuns) && w.minor == 0 && math.Abs(w.slowSize) < half {
		return nil
	}
	if math.Abs(size+w.minor) < half {
		return nil
	}
	return &suspicion{Question{Slow, directionOf(size + w.minor), last[0], at, w.level, at}, b, size}
}

// needed returns how many values the segment must have. Legs of one moment that opened it are fewer and vary less.
func (w *walk) needed() int {
	if len(w.opening) > 0 {
		return min(openingRuns, w.settings.MinRuns)
	}
	return w.settings.MinRuns
}

// isBlind reports whether the last run could not be suspected, because the segment had too few values before it. A run that
// interleaved runs have cleared was not blind.
func (w *walk) isBlind() bool {
	at := len(w.runs) - 1
	return w.comparable(at) < w.needed()
}

// comparable returns how many values there are to compare the newest run with, if it is the run at. Runs that are still to come count as
// values.
func (w *walk) comparable(at int) int {
	end, last := max(at-window, w.cleared), len(w.runs)-1
	if end <= last {
		return w.baseline(end).count
	}
	return w.baseline(last).count + end - last
}

// missingRuns returns how many further runs it takes until the last one can be suspected.
func (w *walk) missingRuns() int {
	missing := 0
	for w.comparable(len(w.runs)-1+missing) < w.needed() {
		missing++
	}
	return missing
}

func directionOf(size float64) Direction {
	if size < 0 {
		return Fall
	}
	return Rise
}

// reference returns the run whose version is the old side: some runs before the suspicious ones, so that a run that
// was wrongly found the same is not taken for it.
func (w *walk) reference(first int) int {
	for i := first - 1 - window; i >= max(w.start, w.anchor); i-- {
		if !w.outlier[i] {
			return i
		}
	}
	return w.anchor
}

// calibrationMoved reports whether the generator's level in the runs from first to at is another one than before.
func (w *walk) calibrationMoved(first, at int) bool {
	before, after := w.calibrations(max(w.start, first-longest), first-1), w.calibrations(first, at)
	if len(before) == 0 || len(after) == 0 {
		return false
	}
	b := newBase(before)
	return w.isMoved(stat.Mean(after, nil)-b.mean, b.error(len(after)))
}

// calibrationMovedBetween reports whether the generator's level differs between the two sides of pairs.
func (w *walk) calibrationMovedBetween(pairs []Pair) bool {
	var differences []float64
	for _, p := range pairs {
		if d := p.New.Calibration - p.Old.Calibration; !math.IsNaN(d) {
			differences = append(differences, d)
		}
	}
	if len(differences) < minDifferences {
		return false
	}
	b := newBase(differences)
	return w.isMoved(b.mean, b.deviation/math.Sqrt(float64(b.count)))
}

// isMoved reports whether a distance is more than chance, and as large as matters.
func (w *walk) isMoved(size, err float64) bool {
	return math.Abs(size) > movedLevel*err && math.Abs(size) >= movedShare*w.settings.Effect
}

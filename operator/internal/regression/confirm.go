package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"vnfbench.io/operator/internal/statistics"
)

// Leg is one of the interleaved runs: a new deployment of one version. Value is in the unit of Run.
type Leg struct {
	Value float64
	// Calibration is the logarithm of the generator's level; NaN where it is not known.
	Calibration float64
	// Held is by how much at most other work on the core that sends has lowered Value; 0 where that is not known.
	Held float64
}

// Pair is one leg of the old version and one of the new one, right after each other. Which of them is first takes turns.
type Pair struct{ Old, New Leg }

// Legs returns what the interleaved runs of a question measured.
type Legs interface {
	// Pairs returns the first pairs of a question in their order, count at most, and fewer where they are not measured yet.
	Pairs(q Question, count int) []Pair
}

// answer is what the legs of a question say.
type answer struct {
	kind Kind
	// size is new over old. The interval from low to high holds it with changeLevel.
	size, low, high float64
	// chance is how likely equal versions differ at least that much, over all looks.
	chance float64
	// asked is how many pairs were made, wanted how many it takes for the next look; 0 where no more help.
	asked, wanted int
	// old and new are the legs that count.
	old, new []float64
	// calibrationMoved says that the generator was not the same for both sides.
	calibrationMoved bool
	// heldExplains says that other work on the core that sends may explain what the sides differ by, because one was held for longer: more
	// pairs do not help.
	heldExplains bool
}

// ask reads the legs of a question, look by look, until they answer it. The level same is how sure an answer of no
// change is.
func (w *walk) ask(q Question, b base, same float64) answer {
	a := answer{kind: Unconfirmed, low: math.Inf(-1), high: math.Inf(1), chance: 1, wanted: looks[0]}
	for i, look := range looks {
		if look > w.settings.MaxPairs {
			break
		}
		pairs := w.legs.Pairs(q, look)
		if len(pairs) < look {
			a.kind, a.wanted = Unconfirmed, look
			return a
		}
		a = w.look(pairs, q, b, same)
		a.chance = min(1, a.chance*float64(i+1))
		if len(a.old) < minDifferences && a.kind != Same {
			// Two pairs answer only that nothing has changed.
			a.kind, a.heldExplains = Inconclusive, false
		}
		if w.limit.excludes(q.At, a) {
			a.kind = Inconclusive
		}
		if a.kind != Inconclusive || a.heldExplains {
			return a
		}
	}
	return a
}

// look judges some pairs: as they were measured, and as they would be at most without other work on the core that sends. Whatever part of that
// the work explains, the answer holds for it if it holds for both.
func (w *walk) look(pairs []Pair, q Question, b base, same float64) answer {
	a := answer{kind: Inconclusive, low: math.Inf(-1), high: math.Inf(1), chance: 1, asked: len(pairs), calibrationMoved: w.calibrationMovedBetween(pairs)}
	var differences, without []float64
	a.old, a.new, differences, without = w.counted(pairs, b.deviation)
	if len(differences) < 2 {
		return a
	}
	fewOutliers := len(pairs)-len(differences) <= len(pairs)/outlierPairs
	a = w.read(a, differences, fewOutliers, q, b, same)
	if !slices.Equal(differences, without) {
		a = weaker(a, w.read(a, without, fewOutliers, q, b, same))
	}
	if a.calibrationMoved && a.kind != Same {
		a.kind = Inconclusive
	}
	return a
}

// read returns an answer with what some differences say.
func (w *walk) read(a answer, differences []float64, fewOutliers bool, q Question, b base, same float64) answer {
	mean, err, degrees := difference(differences, b)
	wide, narrow := student(changeLevel, degrees)*err, student(same, degrees)*err
	a.kind, a.size, a.low, a.high = Inconclusive, mean, mean-wide, mean+wide
	a.chance = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.CDF(-math.Abs(mean)/err)
	if fewOutliers {
		a.kind = w.settings.read(mean, wide, narrow, q.Direction)
	}
	return a
}

// weaker returns the answer that holds where either of two may be true: of two changes for the same side the smaller one, with an interval that
// holds both.
func weaker(a, other answer) answer {
	isChange := func(a answer) bool { return a.kind == Regression || a.kind == Improvement || a.kind == Minor }
	low, high, chance := min(a.low, other.low), max(a.high, other.high), max(a.chance, other.chance)
	sameSide := a.size*other.size > 0
	switch {
	case isChange(a) && isChange(other) && sameSide:
		if math.Abs(other.size) < math.Abs(a.size) {
			a.kind, a.size = other.kind, other.size
		}
	case a.kind == Same && (other.kind == Same || other.kind == Minor):
	case a.kind == Minor && other.kind == Same:
		a.kind, a.size = Same, other.size
	default:
		a.heldExplains = a.kind != Inconclusive && other.kind != Inconclusive
		a.kind = Inconclusive
	}
	a.low, a.high, a.chance = low, high, chance
	return a
}

// counted returns the legs of the pairs that count, their differences, and what these are at most without other work on the core that sends.
func (w *walk) counted(pairs []Pair, deviation float64) (before, after, differences, without []float64) {
	for _, p := range pairs {
		before, after = append(before, p.Old.Value), append(after, p.New.Value)
	}
	limit := max(legOutlier*deviation, w.settings.Effect)
	middleBefore, middleAfter := statistics.Median(before), statistics.Median(after)
	before, after = before[:0], after[:0]
	for _, p := range pairs {
		if math.Abs(p.Old.Value-middleBefore) <= limit && math.Abs(p.New.Value-middleAfter) <= limit {
			before, after = append(before, p.Old.Value), append(after, p.New.Value)
			differences = append(differences, p.New.Value-p.Old.Value)
			without = append(without, p.New.Value+p.New.Held-p.Old.Value-p.Old.Held)
		}
	}
	return before, after, differences, without
}

// difference returns the mean of differences, its standard error and the degrees of freedom of that. The deviation is
// pooled with the base's, unless the differences are clearly noisier.
func difference(differences []float64, b base) (mean, err float64, degrees int) {
	n := len(differences)
	mean, own := stat.MeanVariance(differences, nil)
	known, history := 2*b.deviation*b.deviation, min(b.degrees, historyDegrees)
	variance := own
	degrees = n - 1
	if (distuv.F{D1: float64(n - 1), D2: float64(history)}).CDF(own/known) <= 1-noisier {
		variance = (float64(history)*known + float64(n-1)*own) / float64(history+n-1)
		degrees += history
	}
	return mean, math.Sqrt(max(variance, resolution*resolution) / float64(n)), degrees
}

// read returns the answer of one look. The mean has a wide interval, which excludes no change, and a narrow one, which
// excludes the effect. Only the suspected direction can be an alarm: a rise does not answer the question whether there was a fall.
func (s Settings) read(mean, wide, narrow float64, d Direction) Kind {
	worst := math.Abs(mean)
	if d != Both {
		worst = mean * float64(d)
	}
	switch {
	case worst > wide && worst >= s.alarmSize():
		if mean < 0 {
			return Regression
		}
		return Improvement
	case worst > wide && worst+narrow < s.Effect:
		return Minor
	case worst <= wide && worst+narrow < s.Effect:
		return Same
	}
	return Inconclusive
}

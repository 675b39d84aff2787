package regression

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Leg is one of the interleaved runs: a new deployment of one version. Value is in the unit of Run.
type Leg struct {
	Value float64
	// Calibration is the logarithm of the generator's level; NaN where it is not known.
	Calibration float64
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
			a.kind = Inconclusive
		}
		if w.limit.excludes(q.At, a) {
			a.kind = Inconclusive
		}
		if a.kind != Inconclusive {
			return a
		}
	}
	return a
}

// look judges some pairs.
func (w *walk) look(pairs []Pair, q Question, b base, same float64) answer {
	a := answer{kind: Inconclusive, low: math.Inf(-1), high: math.Inf(1), chance: 1, asked: len(pairs), calibrationMoved: w.calibrationMovedBetween(pairs)}
	var differences []float64
	a.old, a.new, differences = w.counted(pairs, b.deviation)
	if len(differences) < 2 {
		return a
	}
	mean, err, degrees := difference(differences, b)
	wide, narrow := student(changeLevel, degrees)*err, student(same, degrees)*err
	a.size, a.low, a.high = mean, mean-wide, mean+wide
	a.chance = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.CDF(-math.Abs(mean)/err)
	if len(pairs)-len(differences) <= len(pairs)/outlierPairs {
		a.kind = w.settings.read(mean, wide, narrow, q.Direction)
	}
	if a.calibrationMoved && a.kind != Same {
		a.kind = Inconclusive
	}
	return a
}

// counted returns the legs of the pairs that count, and their differences.
func (w *walk) counted(pairs []Pair, deviation float64) (before, after, differences []float64) {
	for _, p := range pairs {
		before, after = append(before, p.Old.Value), append(after, p.New.Value)
	}
	limit := max(legOutlier*deviation, w.settings.Effect)
	middleBefore, middleAfter := median(before), median(after)
	before, after = before[:0], after[:0]
	for _, p := range pairs {
		if math.Abs(p.Old.Value-middleBefore) <= limit && math.Abs(p.New.Value-middleAfter) <= limit {
			before, after = append(before, p.Old.Value), append(after, p.New.Value)
			differences = append(differences, p.New.Value-p.Old.Value)
		}
	}
	return before, after, differences
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

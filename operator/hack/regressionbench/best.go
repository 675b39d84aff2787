package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// bestChange is the fall for which bounds are computed.
	bestChange = 0.02
	// bestDraws is how many stretches of runs a bound is drawn from.
	bestDraws = 40_000
	// varianceOfMedian is that of the median of five normal values, as a share of theirs.
	varianceOfMedian = 0.287
)

// bestShapes are the shapes with bounds. In those that are left out the testbed itself falls by about as much as the device.
var bestShapes = []string{gaussian, twoBands, autocorrelated}

// best prints how many suspicions no method avoids that looks at runs alone.
func (b *bench) best() {
	fmt.Fprintf(b.out, "\nthe least questions in 100 runs without a change, of a method that knows the noise and finds a fall of %.0f %% within %d runs as often as the target says\n", 100*bestChange, within)
	b.head("", deviations...)
	for _, shape := range bestShapes {
		if !slices.Contains(b.shapes, shape) {
			continue
		}
		var cells []string
		for _, deviation := range deviations {
			text := "-"
			if least := foundTarget(deviation, bestChange).least; least > 0 {
				text = fmt.Sprintf("%.2f", leastQuestions(shape, deviation, least/100, b.seed))
			}
			cells = append(cells, text)
		}
		b.row(shape, "knows the noise", cells, nil)
		b.done()
	}
}

// leastQuestions returns the least number of questions in 100 runs without a change. Whether one is asked within three runs is a
// test of these runs, and none with the same power is wrong less often than that of the likelihood ratio (J. Neyman and
// E. S. Pearson, Philosophical Transactions of the Royal Society A 231, 1933). Stretches of three runs that do not overlap are counted. The noise
// and the level before are known.
func leastQuestions(shape string, deviation, found float64, seed uint64) float64 {
	wrong := 0.0
	switch shape {
	case twoBands:
		wrong = wrongInBands(deviation, found, seed)
	case autocorrelated:
		wrong = wrongAt(distanceAutocorrelated(deviation), found)
	default:
		wrong = wrongAt(-math.Log1p(-bestChange)*math.Sqrt(within)/deviationOfRun(deviation), found)
	}
	return 100 / float64(within) * wrong
}

// deviationOfRun is that of a run whose deployments have a deviation.
func deviationOfRun(deviation float64) float64 {
	return math.Sqrt(deviation*deviation + varianceOfMedian*withinDeviation*withinDeviation)
}

// wrongAt returns how often a test of two normal distributions is wrong without a change, when it finds a share of the changes. Their distance
// is in deviations.
func wrongAt(distance, found float64) float64 {
	return distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(found) - distance)
}

// distanceAutocorrelated is how far a fall moves three autocorrelated runs, in deviations of what all runs before them do not foretell: R. E. Kalman's
// filter (Journal of Basic Engineering 82, 1960) in its steady state.
func distanceAutocorrelated(deviation float64) float64 {
	leg := deviationOfRun(deviation / 2)
	noise, fresh := leg*leg, (1-correlation*correlation)*deviation*deviation
	variance := deviation * deviation
	next := func() { variance = correlation*correlation*(variance-variance*variance/(variance+noise)) + fresh }
	for range 100 {
		next()
	}
	square, state := 0.0, 0.0
	for range within {
		off := -math.Log1p(-bestChange) - state
		square += off * off / (variance + noise)
		state = correlation * (state + variance/(variance+noise)*off)
		next()
	}
	return math.Sqrt(square)
}

// wrongInBands is wrongAt for runs in two bands, by drawn ones.
func wrongInBands(deviation, found float64, seed uint64) float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	run, change := deviationOfRun(deviation), math.Log1p(-bestChange)
	density := func(v float64) float64 {
		upper, lower := v/run, (v+bandGap)/run
		most := max(-upper*upper/2, -lower*lower/2)
		return most + math.Log(math.Exp(-upper*upper/2-most)+math.Exp(-lower*lower/2-most))
	}
	// ratios are of stretches that have a level.
	ratios := func(level float64) []float64 {
		out := make([]float64, bestDraws)
		for i := range out {
			for range within {
				v := level + run*random.NormFloat64()
				if random.Float64() < 0.5 {
					v -= bandGap
				}
				out[i] += density(v-change) - density(v)
			}
		}
		slices.Sort(out)
		return out
	}
	limit := ratios(change)[int((1-found)*bestDraws)]
	at, _ := slices.BinarySearch(ratios(0), limit)
	return float64(bestDraws-at) / bestDraws
}

package analysis

import (
	"math"
	"slices"

	"vnfbench.io/operator/internal/statistics"
)

// relevantGrowth is how much more a larger number must carry to be of use.
const relevantGrowth = 0.05

// leastReach is how many times as large the largest number must be as one at which a rate is said to stop growing: in proportion, it would carry that
// much more.
const leastReach = 1.2

// Level is what a number of workers does: the mean, and the repeats that it is of.
type Level struct {
	Number, Mean float64
	Repeats      []float64
}

// Growth says where a rate stops growing with the number of workers.
type Growth struct {
	// HalfWidth is half of the 95 % interval of the logarithm of two numbers' ratio.
	HalfWidth float64 `json:"halfWidth"`
	// StopsAt is the smallest number that each larger one exceeds by less than 5 %, with the upper end of that interval; nil where there is none, or where
	// the largest is less than 1.2 times as large. Its interval begins at the largest number, up to it, that a larger one exceeds, with the lower end.
	StopsAt *Estimate `json:"stopsAt,omitempty"`
	// StillGrows means that the largest number does more than each other one, with the lower end of that interval. Without it and StopsAt, where it
	// stops is not known.
	StillGrows bool `json:"stillGrows,omitempty"`
}

// Grow says where the means of levels stop growing, the smallest number first. It returns false without repeats.
func Grow(sorted []Level) (Growth, bool) {
	variation, degrees := variationOf(sorted)
	if degrees == 0 {
		return Growth{}, false
	}
	fewest := math.MaxInt
	for _, l := range sorted {
		fewest = min(fewest, max(1, len(l.Repeats)))
	}
	out := Growth{HalfWidth: statistics.StudentT(degrees) * variation * math.Sqrt(2/float64(fewest))}
	out.StopsAt = stopsAt(sorted, out.HalfWidth)
	out.StillGrows = out.StopsAt == nil && growsToTheEnd(sorted, out.HalfWidth)
	return out, true
}

// variationOf returns the scatter of the repeats as a share of their means, of all levels together, because two repeats of one level say little, and
// its degrees of freedom.
func variationOf(all []Level) (variation float64, degrees int) {
	squares := 0.0
	for _, l := range all {
		spread := statistics.SpreadOf(l.Repeats)
		if n := len(l.Repeats); n > 1 && spread.Mean > 0 {
			share := spread.StandardDeviation / spread.Mean
			squares, degrees = squares+share*share*float64(n-1), degrees+n-1
		}
	}
	if degrees == 0 {
		return 0, 0
	}
	return math.Sqrt(squares / float64(degrees)), degrees
}

// stopsAt returns a number only if larger ones were measured and are shown to be of no use: it is unknown
// whether a number above the largest would do more.
func stopsAt(sorted []Level, half float64) *Estimate {
	for i, l := range sorted[:max(0, len(sorted)-1)] {
		if sorted[len(sorted)-1].Number < leastReach*l.Number {
			return nil
		}
		limit := l.Mean * (1 + relevantGrowth)
		if slices.ContainsFunc(sorted[i+1:], func(larger Level) bool { return larger.Mean*math.Exp(half) >= limit }) {
			continue
		}
		return &Estimate{Value: l.Number, Low: growsUntil(sorted[:i+1], sorted, half), High: l.Number}
	}
	return nil
}

// growsUntil returns the largest number of some levels that a larger one is shown to exceed; the smallest where none is.
func growsUntil(some, sorted []Level, half float64) float64 {
	out := some[0].Number
	for i, l := range some {
		if slices.ContainsFunc(sorted[i+1:], func(larger Level) bool { return larger.Mean*math.Exp(-half) > l.Mean }) {
			out = l.Number
		}
	}
	return out
}

// growsToTheEnd reports whether the largest number is shown to do more than each other one.
func growsToTheEnd(sorted []Level, half float64) bool {
	last := sorted[len(sorted)-1]
	return !slices.ContainsFunc(sorted[:len(sorted)-1], func(l Level) bool { return last.Mean*math.Exp(-half) <= l.Mean })
}

package statistics

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Drift reports whether a limit rises or falls from search to search: the first bracket and the
// last share nothing, and Kendall's test of the brackets' middles against their order (H. B. Mann,
// Econometrica 13, 1945), in the normal approximation, has a p-value below 5 %. Fewer than five
// values never have one. Five have it where none of them goes back and at most two pairs are equal.
func Drift(brackets []Bracket) bool {
	n := float64(len(brackets))
	if len(brackets) < minValues {
		return false
	}
	first, last := brackets[0], brackets[len(brackets)-1]
	if first.Low < last.High && last.Low < first.High {
		return false
	}
	score, equals := 0.0, map[float64]float64{}
	for i, b := range brackets {
		equals[b.Low+b.High]++
		for _, later := range brackets[i+1:] {
			score += float64(cmp.Compare(later.Low+later.High, b.Low+b.High))
		}
	}
	variance := n * (n - 1) * (2*n + 5)
	for _, t := range equals {
		variance -= t * (t - 1) * (2*t + 5)
	}
	if variance <= 0 {
		return false
	}
	return 2*distuv.UnitNormal.Survival(math.Abs(score)/math.Sqrt(variance/18)) < 1-confidence
}

package statistics

import (
	"cmp"
	"maps"
	"slices"
)

// maxDriftChance is the p-value below which a drift is no chance. With it five searches that find two pairs of equal
// brackets would never have one (6.7 %), and a device that slows down looks like that once in ten runs. So five have
// another, which two of their 120 orders without equal brackets are below.
const maxDriftChance, maxDriftChanceOfFive = 0.05, 0.07

// Drift reports whether a limit rises or falls from search to search: the first bracket and the
// last share nothing, and Kendall's test of the brackets' middles against their order (H. B. Mann,
// Econometrica 13, 1945) has an exact p-value below 5 %. Fewer than five values never have one. Five
// have it below 7 %: where none of them goes back and at most two pairs are equal.
func Drift(brackets []Bracket) bool {
	if len(brackets) < minValues {
		return false
	}
	first, last := brackets[0], brackets[len(brackets)-1]
	if first.Low < last.High && last.Low < first.High {
		return false
	}
	if len(brackets) == minValues {
		return kendall(brackets) < maxDriftChanceOfFive
	}
	return kendall(brackets) < maxDriftChance
}

// kendall returns the two-sided p-value: the share of all orders of the brackets' middles that rise or fall at least
// as much as theirs. A pair counts as falling where the later middle is less.
func kendall(brackets []Bracket) float64 {
	falling, unequal, equals := 0, 0, map[float64]int{}
	for i, b := range brackets {
		equals[b.Low+b.High]++
		for _, later := range brackets[i+1:] {
			switch cmp.Compare(later.Low+later.High, b.Low+b.High) {
			case -1:
				falling++
				fallthrough
			case 1:
				unequal++
			}
		}
	}
	// The number of falling pairs is a sum: each group of equal middles has its own with those before.
	shares, before := []float64{1}, 0
	for _, middle := range slices.Sorted(maps.Keys(equals)) {
		shares = sum(shares, mannWhitney(before, equals[middle]))
		before += equals[middle]
	}
	p, least := 0.0, min(falling, unequal-falling)
	for n, share := range shares {
		if n <= least || n >= unequal-least {
			p += share
		}
	}
	return p
}

// mannWhitney returns the distribution of how many pairs of one of a values and one of b larger ones fall, in a
// random order of all (H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18, 1947).
func mannWhitney(a, b int) []float64 {
	// row has the distributions of as many values as are done, with 0 to b larger ones.
	row := make([][]float64, b+1)
	for j := range row {
		row[j] = []float64{1}
	}
	for i := 1; i <= a; i++ {
		for j := 1; j <= b; j++ {
			// The last value is one of i, before which all of j are, or one of j, which adds nothing.
			all, out := float64(i+j), make([]float64, i*j+1)
			for n, share := range row[j] {
				out[n+j] += share * float64(i) / all
			}
			for n, share := range row[j-1] {
				out[n] += share * float64(j) / all
			}
			row[j] = out
		}
	}
	return row[b]
}

// sum returns the distribution of the sum of two numbers.
func sum(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			out[i+j] += x * y
		}
	}
	return out
}

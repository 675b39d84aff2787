package statistics

import (
	"cmp"
	"slices"
)

// Holm returns p-values that hold for all of a family together, in the order of the values (S. Holm, Scandinavian Journal of
// Statistics 6, 1979): with those below a level, the chance of any false one is at most that level, however they depend on each other.
func Holm(values []float64) []float64 {
	return adjusted(values, func(order []int, out []float64) {
		least := 0.0
		for i, at := range order {
			least = max(least, min(1, float64(len(order)-i)*values[at]))
			out[at] = least
		}
	})
}

// BenjaminiHochberg returns p-values of a family, in the order of the values (Y. Benjamini and Y. Hochberg, Journal of the Royal
// Statistical Society B 57, 1995): of those below a level, a share of at most that level is false on average.
func BenjaminiHochberg(values []float64) []float64 {
	return adjusted(values, func(order []int, out []float64) {
		most := 1.0
		for i, at := range slices.Backward(order) {
			most = min(most, float64(len(order))*values[at]/float64(i+1))
			out[at] = most
		}
	})
}

// adjusted calls fill with the places of the values from the smallest to the largest.
func adjusted(values []float64, fill func(order []int, out []float64)) []float64 {
	order, out := make([]int, len(values)), make([]float64, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	fill(order, out)
	return out
}

package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// eWindow is the length of the windows, eChance the p-value of a change; a tenth as strict finds candidates.
	eWindow = 50
	eChance = 0.001
)

// eDivisive is the method of Apache Otava: E-divisive (D. S. Matteson and N. A. James, Journal of the American Statistical
// Association 109, 2014) splits windows, a t-test decides on each split, and weak ones are merged again.
func eDivisive(b *bed) (alarms []alarm) {
	for at := 3; at < len(b.values); at++ {
		values := make([]float64, at+1)
		for i := range values {
			values[i] = math.Exp(b.values[i])
		}
		points := mergeWeak(values, splitAll(values))
		for i, point := range points {
			low, high := neighbors(points, i, len(values))
			size := math.Log(stat.Mean(values[point:high], nil) / stat.Mean(values[low:point], nil))
			alarms = report(alarms, alarm{at, point, size})
		}
	}
	return alarms
}

// splitAll returns the change points of all windows, which overlap by a half.
func splitAll(values []float64) []int {
	var points []int
	for start := 0; start < len(values); {
		end := min(start+eWindow, len(values))
		found := split(values, start, end)
		last := 0
		for _, p := range found {
			if !slices.Contains(points, p) {
				points = append(points, p)
			}
			last = p
		}
		start = max(last, start+eWindow/2)
	}
	slices.Sort(points)
	return points
}

// split divides a stretch where it differs most, as long as that is significant.
func split(values []float64, start, end int) []int {
	at := mostDifferent(values[start:end]) + start
	if at == start || tTest(values[start:at], values[at:end]) > 10*eChance {
		return nil
	}
	return slices.Concat(split(values, start, at), []int{at}, split(values, at, end))
}

// mostDifferent returns the index with the highest statistic; 0 where there is none.
func mostDifferent(values []float64) int {
	n := len(values)
	best, highest := 0, math.Inf(-1)
	// Sums of distances: within the left part, within the right part, and between both.
	left, right, between := 0.0, 0.0, 0.0
	for i := range values {
		for j := range i {
			right += math.Abs(values[i] - values[j])
		}
	}
	for at := 1; at < n; at++ {
		moved := values[at-1]
		for j, v := range values {
			switch distance := math.Abs(v - moved); {
			case j < at-1:
				left, between = left+distance, between-distance
			case j > at-1:
				right, between = right-distance, between+distance
			}
		}
		if at < 2 || n-at < 2 {
			continue
		}
		a, b := float64(at), float64(n-at)
		q := a * b / (a + b) * (2*between/(a*b) - 2*left/(a*(a-1)) - 2*right/(b*(b-1)))
		if q > highest {
			best, highest = at, q
		}
	}
	return best
}

// mergeWeak removes the weakest change point until all are significant.
func mergeWeak(values []float64, points []int) []int {
	for len(points) > 0 {
		weakest, highest := 0, -1.0
		for i, point := range points {
			low, high := neighbors(points, i, len(values))
			if p := tTest(values[low:point], values[point:high]); p > highest {
				weakest, highest = i, p
			}
		}
		if highest <= eChance {
			break
		}
		points = slices.Delete(points, weakest, weakest+1)
	}
	return points
}

// neighbors returns the ends of the stretches to both sides of a point.
func neighbors(points []int, i, length int) (low, high int) {
	high = length
	if i > 0 {
		low = points[i-1]
	}
	if i+1 < len(points) {
		high = points[i+1]
	}
	return low, high
}

// tTest returns the p-value of Student's test with one variance for both samples, each taken as a population, as Otava does.
func tTest(a, b []float64) float64 {
	n, m := float64(len(a)), float64(len(b))
	if n+m <= 2 {
		return 1
	}
	meanA, varianceA := stat.PopMeanVariance(a, nil)
	meanB, varianceB := stat.PopMeanVariance(b, nil)
	pooled := ((n-1)*varianceA + (m-1)*varianceB) / (n + m - 2)
	if pooled <= 0 {
		if meanA == meanB {
			return 1
		}
		return 0
	}
	t := math.Abs(meanA-meanB) / math.Sqrt(pooled*(1/n+1/m))
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n + m - 2}.CDF(-t)
}

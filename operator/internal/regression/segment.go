package regression

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// base is what the last runs are compared with: values of one level.
type base struct {
	count           int
	mean, deviation float64
	// degrees of freedom of the deviation.
	degrees int
	// resemblance is the correlation of each value and the next, and at least 0.
	resemblance float64
}

// newBase sums up values. The deviation is shrunk to the prior one.
func newBase(values []float64) base {
	b := base{count: len(values), degrees: priorDegrees}
	variance := priorDegrees * priorDeviation * priorDeviation
	if len(values) > 0 {
		b.mean = stat.Mean(values, nil)
	}
	if len(values) > 1 {
		b.degrees += len(values) - 1
		variance += float64(len(values)-1) * stat.Variance(values, nil)
	}
	b.deviation = max(math.Sqrt(variance/float64(b.degrees)), resolution)
	b.resemblance = resemblance(values, b.mean)
	return b
}

// error returns the standard error of the difference between the mean of some independent runs and the base's.
func (b base) error(runs int) float64 {
	return b.deviation * math.Sqrt(1/float64(runs)+1/float64(b.count))
}

// errorInRow is error for runs in a row, which resemble each other as those of the base do.
func (b base) errorInRow(runs int) float64 {
	return b.deviation * math.Sqrt(b.varianceInRow(runs)+b.varianceInRow(b.count))
}

// varianceInRow returns the variance of the mean of some runs in a row, as a share of one run's. The resemblance of two runs fades with each run
// between them.
func (b base) varianceInRow(runs int) float64 {
	sum, correlation := float64(runs), b.resemblance
	for apart := 1; apart < runs && correlation > 0; apart++ {
		sum += 2 * float64(runs-apart) * correlation
		correlation *= b.resemblance
	}
	return sum / float64(runs*runs)
}

// resemblance returns the correlation of each value and the next, and at least 0.
func resemblance(values []float64, mean float64) float64 {
	products, squares := 0.0, 0.0
	for i, v := range values {
		squares += (v - mean) * (v - mean)
		if i > 0 {
			products += (v - mean) * (values[i-1] - mean)
		}
	}
	if products <= 0 {
		return 0
	}
	return products / squares
}

// outliersIn is how many of some runs may be left out as outliers: what happens more often than in one run of
// fifteen is a state of the device or the testbed, and no accident.
func outliersIn(runs int) int { return max(1, runs/15) }

// withoutOutliers returns values without those far from the median, beyond robust deviations (F. R. Hampel, Journal
// of the American Statistical Association 69, 1974) and beyond a least distance. It removes them in place, and returns scratch for the next call.
func withoutOutliers(values []float64, least float64, scratch []float64) (kept, next []float64) {
	if len(values) < 8 {
		return values, scratch
	}
	scratch = append(scratch[:0], values...)
	slices.Sort(scratch)
	middle := middleOf(scratch)
	for i, v := range values {
		scratch[i] = math.Abs(v - middle)
	}
	slices.Sort(scratch)
	limit := max(runOutlier*normalOfMedian*middleOf(scratch), least)
	far := 0
	for _, distance := range slices.Backward(scratch) {
		if distance <= limit {
			break
		}
		far++
	}
	if far == 0 || far > outliersIn(len(values)) {
		return values, scratch
	}
	return slices.DeleteFunc(values, func(v float64) bool { return math.Abs(v-middle) > limit }), scratch
}

// normalOfMedian makes the standard deviation of normal values from the median distance to their median.
const normalOfMedian = 1.4826

// median returns the middle value; of an even number of values, the mean of both.
func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return middleOf(sorted)
}

// middleOf returns the median of sorted values.
func middleOf(sorted []float64) float64 {
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}

// quantiles remembers quantiles of Student's t by their level, for all series: they take long to compute.
var quantiles sync.Map

// level is a quantile of the normal distribution in twentieths, and degrees of freedom.
type level struct{ twentieths, degrees int }

// student returns the quantile of Student's t that has the tail of a quantile of the normal distribution, which
// is rounded to a twentieth.
func student(normal float64, degrees int) float64 {
	key := level{int(math.Round(normal * 20)), degrees}
	if known, ok := quantiles.Load(key); ok {
		return known.(float64)
	}
	tail := distuv.UnitNormal.CDF(-float64(key.twentieths) / 20)
	t := -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(tail)
	quantiles.Store(key, t)
	return t
}

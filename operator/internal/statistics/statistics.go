// Package statistics sums up one figure over the repeats of a measurement. The figure's values go
// in, a summary with every one of them comes out: nothing is dropped, however far it is from the
// rest.
package statistics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// confidence is the level of the interval around the mean: 95 %.
const confidence = 0.95

// Number is a kind of value that a figure has.
type Number interface{ ~int64 | ~uint64 | ~float64 }

// Median returns the middle value; of an even number of values, the mean of both; of none, NaN.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Mean returns the arithmetic mean, and 0 for no values.
func Mean[T Number](values []T) float64 { return SpreadOf(values).Mean }

// Spread is how far apart values are, in their unit.
type Spread[T Number] struct {
	// Mean is the arithmetic mean, StandardDeviation that of the sample (n-1); 0 for one value.
	Mean, StandardDeviation float64
	Minimum, Maximum        T
}

// SpreadOf returns the spread of values; all of it is 0 for no values.
func SpreadOf[T Number](values []T) Spread[T] {
	if len(values) == 0 {
		return Spread[T]{}
	}
	floats := make([]float64, len(values))
	for i, v := range values {
		floats[i] = float64(v)
	}
	out := Spread[T]{Mean: stat.Mean(floats, nil), Minimum: slices.Min(values), Maximum: slices.Max(values)}
	if len(values) > 1 {
		out.StandardDeviation = stat.StdDev(floats, nil)
	}
	return out
}

// HalfWidth returns half of Student's 95 % confidence interval of the mean of so many values; infinite for fewer than two.
func (s Spread[T]) HalfWidth(values int) float64 {
	if values < 2 {
		return math.Inf(1)
	}
	return StudentT(values-1) * s.StandardDeviation / math.Sqrt(float64(values))
}

// Summary of at least two values, in their unit except the coefficient.
type Summary struct {
	// Mean is the arithmetic mean, StandardDeviation that of the sample (n-1).
	Mean, StandardDeviation float64
	// VariationPartsPerMillion is the standard deviation as a share of the mean; 0 where the mean
	// is 0.
	VariationPartsPerMillion float64
	// Low and High are the ends of Student's 95 % confidence interval of the mean.
	Low, High        float64
	Minimum, Maximum int64
	// Values in the order in which they were measured.
	Values []int64
}

// Summarize sums up what was measured. It returns false for fewer than two values, which have no
// scatter.
//
// The interval assumes that the values are independent draws from one normal distribution. For a
// device that has two states neither is true, so look at the values before you quote it.
func Summarize(values []int64) (Summary, bool) {
	if len(values) < 2 {
		return Summary{}, false
	}
	spread := SpreadOf(values)
	half := spread.HalfWidth(len(values))
	s := Summary{
		Mean: spread.Mean, StandardDeviation: spread.StandardDeviation, Low: spread.Mean - half, High: spread.Mean + half,
		Minimum: spread.Minimum, Maximum: spread.Maximum, Values: slices.Clone(values),
	}
	if spread.Mean != 0 {
		s.VariationPartsPerMillion = spread.StandardDeviation / math.Abs(spread.Mean) * 1e6
	}
	return s, true
}

// StudentT returns how many standard errors the 95 % confidence interval reaches to each side of
// the mean, for a number of degrees of freedom.
func StudentT(degreesOfFreedom int) float64 { return StudentTAt(1-confidence, degreesOfFreedom) }

// StudentTAt returns the same for an interval that misses the value with a chance of alpha.
func StudentTAt(alpha float64, degreesOfFreedom int) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degreesOfFreedom)}
	return t.Quantile(1 - alpha/2)
}

const (
	// minValues distinguish two bands from chance: of five draws from one normal distribution
	// less than 2 % look like two bands, of ten less than 0.1 %.
	minValues = 5
	// minInBand is how many values make a band: a single value is an outlier.
	minInBand = 2
	// bandGapOverSpread is how much wider than either band the gap between them is.
	bandGapOverSpread = 4
	// bandGapOfMean is the minimum gap, as a share of the values' mean.
	bandGapOfMean = 0.02
)

// Bands are the two groups that values fall into.
type Bands struct {
	// LowMinimum to LowMaximum is the lower band, HighMinimum to HighMaximum the higher.
	LowMinimum, LowMaximum, HighMinimum, HighMaximum int64
}

// TwoBands splits the sorted values at the widest gap between adjacent values. They are two bands
// when there are at least five, each side has at least two, and the gap is more than four times
// as wide as either side and more than 2 % of the mean.
func TwoBands(values []int64) (Bands, bool) {
	sorted := slices.Sorted(slices.Values(values))
	split := 0
	for i, v := range sorted {
		if i > 0 && (split == 0 || v-sorted[i-1] > sorted[split]-sorted[split-1]) {
			split = i
		}
	}
	if len(sorted) < minValues || split < minInBand || len(sorted)-split < minInBand {
		return Bands{}, false
	}
	b := Bands{
		LowMinimum: sorted[0], LowMaximum: sorted[split-1],
		HighMinimum: sorted[split], HighMaximum: sorted[len(sorted)-1],
	}
	gap := b.HighMinimum - b.LowMaximum
	spread := max(b.LowMaximum-b.LowMinimum, b.HighMaximum-b.HighMinimum)
	minGap := math.Abs(Mean(sorted)) * bandGapOfMean
	return b, gap > bandGapOverSpread*spread && float64(gap) > minGap
}

package statistics

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// SignificantPartsPerMillion is the p-value below which a difference is no chance: 5 %.
const SignificantPartsPerMillion = 50_000

// Change is the difference of the means of two samples, the second less the first.
type Change struct {
	Difference float64
	// Low and High are the ends of its 95 % confidence interval. There is none where HasInterval is false: no value of a sample
	// differs from another, and there is no resolution or there are too few values to say more.
	Low, High   float64
	HasInterval bool
	// P is the two-sided p-value: how likely two samples of equal devices differ at least as much.
	P float64
}

// ChangeOf compares two samples of figures. It returns false where one has fewer than two.
//
// A figure that was measured is a bracket of no width, and the p-value is that of Welch. A figure that was searched is a
// bracket, and only its lower end is known to be good. Where one limit explains all brackets of a sample, nothing says where in
// the range that they share it is: a uniform error as wide as that range is added, as IntervalOfLimit does.
//
// Where neither sample scatters, the p-value is at least the chance that two samples of a device with two values show one of them each.
func ChangeOf(first, second []Bracket) (Change, bool) {
	if len(first) < 2 || len(second) < 2 {
		return Change{}, false
	}
	a, b := endsOf(first), endsOf(second)
	scale, degrees := welch(SpreadOf(a.middles), len(first), SpreadOf(b.middles), len(second))
	d := blurred{center: Mean(b.middles) - Mean(a.middles), half: (a.shared + b.shared) / 2, scale: scale, degrees: degrees}
	out := Change{Difference: Mean(b.lows) - Mean(a.lows), P: d.chance()}
	out.HasInterval = scale > 0
	if scale == 0 {
		least := leastChance(len(first), len(second))
		out.P, out.HasInterval = max(out.P, least), d.half > 0 && least < 1-confidence
	}
	if out.HasInterval {
		tail := (1 - confidence) / 2
		out.Low, out.High = d.quantile(tail), d.quantile(1-tail)
	}
	return out, true
}

// ends are the middles and the lower ends of brackets, and how wide the range is that all share.
type ends struct {
	middles, lows []float64
	shared        float64
}

func endsOf(brackets []Bracket) ends {
	out, shared := ends{}, brackets[0]
	for _, b := range brackets {
		out.middles, out.lows = append(out.middles, (b.Low+b.High)/2), append(out.lows, b.Low)
		shared = Bracket{max(shared.Low, b.Low), min(shared.High, b.High)}
	}
	out.shared = max(0, shared.High-shared.Low)
	return out
}

// chance returns the two-sided probability of a value as far from the center as 0.
func (d blurred) chance() float64 {
	if d.scale == 0 && d.half == 0 {
		return map[bool]float64{true: 1}[d.center == 0]
	}
	d.center = math.Abs(d.center)
	return min(1, 2*d.below(0))
}

// leastChance returns how likely two samples of one distribution have no scatter and differ, at most: that of a distribution of two values, of
// which the first sample has one alone and the second the other. It is 12.5 % for two values each, 3.1 % for three, and 0.8 % for four.
func leastChance(a, b int) float64 {
	most := 0.0
	const parts = 1000
	for i := range parts {
		one, other := float64(i)/parts, 1-float64(i)/parts
		most = max(most, math.Pow(one, float64(a))*math.Pow(other, float64(b))+math.Pow(one, float64(b))*math.Pow(other, float64(a)))
	}
	return most
}

// welch returns the standard error of the difference of two means, and Satterthwaite's degrees of freedom; 0 and 1 where nothing scatters.
func welch[T Number](first Spread[T], a int, second Spread[T], b int) (scale, degrees float64) {
	squareA := first.StandardDeviation * first.StandardDeviation / float64(a)
	squareB := second.StandardDeviation * second.StandardDeviation / float64(b)
	if squareA+squareB == 0 {
		return 0, 1
	}
	degrees = (squareA + squareB) * (squareA + squareB) / (squareA*squareA/float64(a-1) + squareB*squareB/float64(b-1))
	if degrees-1 < nearOne {
		degrees = 1
	}
	return math.Sqrt(squareA + squareB), degrees
}

// nearOne is how far above 1 degrees of freedom are taken as 1, which is the wider distribution: areaOfStudent divides by what is
// above 1, and the difference of two areas would have no digit that is right.
const nearOne = 1e-4

// Welch returns the two-sided p-value of Welch's t-test (B. L. Welch, Biometrika 34, 1947), with
// Satterthwaite's degrees of freedom: how likely the means of two samples of one mean differ at
// least as much as these. It returns false where a sample has fewer than two values, or none of
// them differ: then the samples have no scatter to compare with.
//
// Like the interval of Summarize it assumes that values are independent draws from normal
// distributions, whose variances may differ.
func Welch(a, b []int64) (p float64, ok bool) {
	if len(a) < 2 || len(b) < 2 {
		return 0, false
	}
	first, second := SpreadOf(a), SpreadOf(b)
	scale, degrees := welch(first, len(a), second, len(b))
	if scale == 0 {
		return 0, false
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.CDF(-math.Abs(first.Mean-second.Mean)/scale), true
}

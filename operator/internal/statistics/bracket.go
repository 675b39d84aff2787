package statistics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Bracket is what one search knows of a limit: it is not below Low, and below High.
type Bracket struct{ Low, High float64 }

// LimitInterval is where a limit is that was searched several times.
type LimitInterval struct {
	// Low and High are the ends of the 95 % interval.
	Low, High float64
	// Resolution is the mean distance between the two ends of a bracket.
	Resolution float64
	// ResolutionLimited says that all brackets share a range: one limit explains every search, so
	// what they show of scatter may be that of the searches' loads alone.
	ResolutionLimited bool
}

// IntervalOfLimit returns the 95 % interval of the limit that repeated searches found. It returns
// false for fewer than two.
//
// A search says only that the limit is between two loads. The limit's distribution is that of the
// sum of two errors, as JCGM 101:2008 propagates them: Student's t of the brackets' middles, and a
// uniform error as wide as the range that all brackets share. No repeat says more about that range.
// Where brackets differ, their middles scatter, and the first error covers it.
//
// The interval leaves out 2.5 % of the distribution on each side. Where that would leave out the
// mean of the lower ends, loads that are known to be good, it starts there and still holds 95 %.
// Brackets that differ show that the device varies, and its limits need not have a normal
// distribution: one bad trial makes a load an upper bound for the rest of its search, so a search
// ends far below the limit more often than above it. The interval then reaches to the highest upper
// end too. That takes no assumption about the distribution: all n upper ends are below the median
// of the limits with a probability of 2^-n.
func IntervalOfLimit(brackets []Bracket) (LimitInterval, bool) {
	out, ok := interval(brackets)
	if ok && differ(brackets) {
		for _, b := range brackets {
			out.High = max(out.High, b.High)
		}
	}
	return out, ok
}

// IntervalOfDifference returns the same for brackets that are differences of two limits, which may
// be far off to either side: where they differ, the interval holds every one of them.
func IntervalOfDifference(brackets []Bracket) (LimitInterval, bool) {
	out, ok := interval(brackets)
	if ok && differ(brackets) {
		for _, b := range brackets {
			out.Low, out.High = min(out.Low, b.Low), max(out.High, b.High)
		}
	}
	return out, ok
}

func differ(brackets []Bracket) bool {
	return slices.ContainsFunc(brackets, func(b Bracket) bool { return b != brackets[0] })
}

// interval returns the interval of the two errors.
func interval(brackets []Bracket) (LimitInterval, bool) {
	if len(brackets) < 2 {
		return LimitInterval{}, false
	}
	middles, lows := make([]float64, len(brackets)), make([]float64, len(brackets))
	shared := brackets[0]
	out := LimitInterval{}
	for i, b := range brackets {
		middles[i], lows[i] = (b.Low+b.High)/2, b.Low
		shared = Bracket{max(shared.Low, b.Low), min(shared.High, b.High)}
		out.Resolution += (b.High - b.Low) / float64(len(brackets))
	}
	out.ResolutionLimited = shared.Low < shared.High
	spread := SpreadOf(middles)
	d := blurred{
		center: spread.Mean, half: max(0, shared.High-shared.Low) / 2,
		scale: spread.StandardDeviation / math.Sqrt(float64(len(brackets))), degrees: float64(len(brackets) - 1),
	}
	tail := (1 - confidence) / 2
	out.Low, out.High = d.quantile(tail), d.quantile(1-tail)
	if known := Mean(lows); out.Low > known {
		out.Low, out.High = known, d.quantile(d.below(known)+confidence)
	}
	return out, true
}

// blurred is the distribution of center + scale x Student's t + a uniform error of half to each
// side.
type blurred struct{ center, half, scale, degrees float64 }

// below returns the probability of a value of at most x.
func (d blurred) below(x float64) float64 {
	off := x - d.center
	switch {
	case d.scale == 0 && d.half == 0:
		return map[bool]float64{true: 1}[off >= 0]
	case d.scale == 0:
		return min(1, max(0, (off+d.half)/(2*d.half)))
	case d.half/d.scale < negligible:
		return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d.degrees}.CDF(off / d.scale)
	}
	area := areaOfStudent((off+d.half)/d.scale, d.degrees) - areaOfStudent((off-d.half)/d.scale, d.degrees)
	return min(1, max(0, area*d.scale/(2*d.half)))
}

// negligible is the share of the scatter below which the uniform error changes no digit, and the
// difference of two areas would have none that is right.
const negligible = 1e-6

// areaOfStudent is an antiderivative of the distribution function of Student's t.
func areaOfStudent(z, degrees float64) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}
	if degrees == 1 {
		return z*t.CDF(z) - math.Log1p(z*z)/(2*math.Pi)
	}
	return z*t.CDF(z) + (degrees+z*z)/(degrees-1)*t.Prob(z)
}

// quantile returns the value that a share of the distribution is below.
func (d blurred) quantile(share float64) float64 {
	reach := d.half + d.scale*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d.degrees}.Quantile(slices.Max([]float64{share, 1 - share, 0.75}))
	low, high := d.center-reach, d.center+reach
	for range 100 {
		if middle := (low + high) / 2; d.below(middle) < share {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

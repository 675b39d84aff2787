package report

import (
	"cmp"
	"math"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/statistics"
)

// relevantGrowth is how much more a larger number must carry to be of use.
const relevantGrowth = 0.05

// Point is what a number of parallel workers (connections, threads) carries.
type Point struct {
	Number        int64 `json:"number"`
	BitsPerSecond int64 `json:"bitsPerSecond"`
	// repeats are the values whose mean is BitsPerSecond, if there are several.
	repeats []int64
}

// Scaling is how a rate grows with the number of parallel workers.
type Scaling struct {
	// Direction is Forward or Reverse.
	Direction string `json:"direction,omitempty"`
	// BaseNumber is the smallest number, from which the others are extrapolated,
	// and BaseBitsPerSecond what one of them carries there.
	BaseNumber        int64          `json:"baseNumber"`
	BaseBitsPerSecond int64          `json:"baseBitsPerSecond"`
	Points            []ScalingPoint `json:"points"`
	// HalfWidthPartsPerMillion is half of the 95 % interval of the logarithm of two numbers' ratio, by the scatter of their repeats;
	// absent without repeats.
	HalfWidthPartsPerMillion *int64 `json:"halfWidthPartsPerMillion,omitempty"`
	// StopsAt is the smallest number that each larger one exceeds by less than 5 %, with the upper end of that interval;
	// 0 where there is none.
	StopsAt int64 `json:"stopsAt,omitempty"`
	// StillGrows means that the largest number carried more than each other one, with the lower end of that interval. Without it and
	// StopsAt, where it stops is not known.
	StillGrows bool `json:"stillGrows,omitempty"`
	// EquivalentThousandths is how many of the base, in thousandths, carry as much
	// as the best number did. Where this is below StopsAt, the number alone does not
	// explain the limit.
	EquivalentThousandths int64 `json:"equivalentThousandths"`
}

// ScalingPoint is a point with its extrapolation from the base.
type ScalingPoint struct {
	Point
	// ExtrapolatedBitsPerSecond is number times the base.
	ExtrapolatedBitsPerSecond int64 `json:"extrapolatedBitsPerSecond"`
	// EfficiencyPartsPerMillion is the rate as a share of the extrapolation.
	EfficiencyPartsPerMillion int64 `json:"efficiencyPartsPerMillion"`
}

// Scale computes how the rate of the points grows. It returns false unless there
// are two points of different numbers, and a base that carried something. Points
// may come in any order.
func Scale(points []Point) (Scaling, bool) {
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b Point) int { return cmp.Compare(a.Number, b.Number) })
	if len(sorted) < 2 || sorted[0].Number < 1 || sorted[0].BitsPerSecond <= 0 {
		return Scaling{}, false
	}
	base := float64(sorted[0].BitsPerSecond) / float64(sorted[0].Number)
	s := Scaling{BaseNumber: sorted[0].Number, BaseBitsPerSecond: int64(math.Floor(base))}
	best := int64(0)
	for _, p := range sorted {
		expected := base * float64(p.Number)
		s.Points = append(s.Points, ScalingPoint{
			Point: p, ExtrapolatedBitsPerSecond: int64(math.Round(expected)),
			EfficiencyPartsPerMillion: int64(math.Floor(float64(p.BitsPerSecond) / expected * 1e6)),
		})
		best = max(best, p.BitsPerSecond)
	}
	if half, known := halfWidth(sorted); known {
		s.HalfWidthPartsPerMillion = new(int64(math.Ceil(half * 1e6)))
		s.StopsAt = stopsAt(sorted, half)
		s.StillGrows = s.StopsAt == 0 && growsToTheEnd(sorted, half)
	}
	s.EquivalentThousandths = int64(math.Round(float64(best) / base * 1e3))
	return s, true
}

// halfWidth returns half of the 95 % interval of the logarithm of two numbers' ratio, and false without repeats. The scatter is
// that of all numbers together, as a share of their means: two repeats of one number alone say hardly anything of it.
func halfWidth(points []Point) (half float64, known bool) {
	squares, degrees, fewest := 0.0, 0, math.MaxInt
	for _, p := range points {
		spread := statistics.SpreadOf(p.repeats)
		if n := len(p.repeats); n > 1 && spread.Mean > 0 {
			variation := spread.StandardDeviation / spread.Mean
			squares, degrees = squares+variation*variation*float64(n-1), degrees+n-1
		}
		fewest = min(fewest, max(1, len(p.repeats)))
	}
	if degrees == 0 {
		return 0, false
	}
	return statistics.StudentT(degrees) * math.Sqrt(squares/float64(degrees)*2/float64(fewest)), true
}

// stopsAt returns a number only if larger ones were measured and are shown to be of no use: it is unknown
// whether a number above the largest would carry more.
func stopsAt(sorted []Point, half float64) int64 {
	for i, p := range sorted[:len(sorted)-1] {
		limit := float64(p.BitsPerSecond) * (1 + relevantGrowth)
		if !slices.ContainsFunc(sorted[i+1:], func(larger Point) bool { return float64(larger.BitsPerSecond)*math.Exp(half) >= limit }) {
			return p.Number
		}
	}
	return 0
}

// growsToTheEnd reports whether the largest number is shown to carry more than each other one.
func growsToTheEnd(sorted []Point, half float64) bool {
	last := sorted[len(sorted)-1]
	return !slices.ContainsFunc(sorted[:len(sorted)-1], func(p Point) bool {
		return float64(last.BitsPerSecond)*math.Exp(-half) <= float64(p.BitsPerSecond)
	})
}

// goodputs returns those of the repeats, and nil where there is one.
func goodputs(d v1alpha1.TCPDirectionResult) []int64 {
	for _, s := range d.Statistics {
		if s.Metric == v1alpha1.MetricTCPGoodput {
			return s.Values
		}
	}
	return nil
}

// tcpScaling returns that of the goodput over the number of connections, for each
// direction that has one.
func tcpScaling(result *v1alpha1.TCPResult) []Scaling {
	if result == nil {
		return nil
	}
	var out []Scaling
	for _, direction := range []string{"Forward", "Reverse"} {
		var points []Point
		for _, s := range result.Streams {
			for _, d := range s.Directions {
				if d.Direction == direction {
					points = append(points, Point{int64(s.Streams), d.GoodputBitsPerSecond, goodputs(d)})
				}
			}
		}
		if s, ok := Scale(points); ok {
			s.Direction = direction
			out = append(out, s)
		}
	}
	return out
}

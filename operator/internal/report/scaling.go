package report

import (
	"cmp"
	"math"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/statistics"
)

const (
	// unrepeatedTolerance is how much more a larger number must carry for the figure to count as still growing where nothing was
	// repeated: 5 %, in parts per million.
	unrepeatedTolerance = 50_000
	// minTolerance is how much it must carry more however little the repeats scatter: less is no use of more connections.
	minTolerance = 10_000
)

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
	// TolerancePartsPerMillion is how much more counts as growth: the 95 % interval of a difference between two numbers, by the scatter
	// of their repeats, and at least 1 %; 5 % without repeats.
	TolerancePartsPerMillion int64 `json:"tolerancePartsPerMillion,omitempty"`
	// StopsAt is the smallest number that no larger one exceeds by more than the tolerance;
	// 0 where the largest number measured still carried more.
	StopsAt int64 `json:"stopsAt,omitempty"`
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
	s.TolerancePartsPerMillion = tolerance(sorted)
	s.StopsAt = stopsAt(sorted, s.TolerancePartsPerMillion)
	s.EquivalentThousandths = int64(math.Round(float64(best) / base * 1e3))
	return s, true
}

// tolerance returns how much more counts as growth, in parts per million. The scatter is that of all numbers together, as a share of
// their means: two repeats of one number alone say hardly anything of it.
func tolerance(points []Point) int64 {
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
		return unrepeatedTolerance
	}
	half := statistics.StudentT(degrees) * math.Sqrt(squares/float64(degrees)*2/float64(fewest))
	return max(minTolerance, int64(math.Ceil(half*1e6)))
}

// stopsAt returns a number only if a larger one was measured: it is unknown
// whether a number above the largest would carry more.
func stopsAt(sorted []Point, tolerance int64) int64 {
	for i, p := range sorted[:len(sorted)-1] {
		limit := float64(p.BitsPerSecond) * (1 + float64(tolerance)/1e6)
		if !slices.ContainsFunc(sorted[i+1:], func(larger Point) bool { return float64(larger.BitsPerSecond) > limit }) {
			return p.Number
		}
	}
	return 0
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

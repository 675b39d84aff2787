package report

import (
	"cmp"
	"math"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// scalingTolerancePartsPerMillion is how much more a larger number must carry
// for the figure to count as still growing: 5 %.
const scalingTolerancePartsPerMillion = 50_000

// Point is what a number of parallel workers (connections, threads) carries.
type Point struct {
	Number        int64 `json:"number"`
	BitsPerSecond int64 `json:"bitsPerSecond"`
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
	// StopsAt is the smallest number that no larger one exceeds by more than 5 %;
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
	s.StopsAt = stopsAt(sorted)
	s.EquivalentThousandths = int64(math.Round(float64(best) / base * 1e3))
	return s, true
}

// stopsAt returns a number only if a larger one was measured: it is unknown
// whether a number above the largest would carry more.
func stopsAt(sorted []Point) int64 {
	for i, p := range sorted[:len(sorted)-1] {
		limit := float64(p.BitsPerSecond) * (1 + scalingTolerancePartsPerMillion/1e6)
		if !slices.ContainsFunc(sorted[i+1:], func(larger Point) bool { return float64(larger.BitsPerSecond) > limit }) {
			return p.Number
		}
	}
	return 0
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
					points = append(points, Point{Number: int64(s.Streams), BitsPerSecond: d.GoodputBitsPerSecond})
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

package report

import (
	"cmp"
	"math"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
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
	if growth, known := analysis.Grow(levelsOf(sorted)); known {
		s.HalfWidthPartsPerMillion = new(int64(math.Ceil(growth.HalfWidth * 1e6)))
		if growth.StopsAt != nil {
			s.StopsAt = int64(growth.StopsAt.Value)
		}
		s.StillGrows = growth.StillGrows
	}
	s.EquivalentThousandths = int64(math.Round(float64(best) / base * 1e3))
	return s, true
}

// levelsOf returns points with their repeats.
func levelsOf(points []Point) []analysis.Level {
	out := make([]analysis.Level, len(points))
	for i, p := range points {
		out[i] = analysis.Level{Number: float64(p.Number), Mean: float64(p.BitsPerSecond)}
		for _, value := range p.repeats {
			out[i].Repeats = append(out[i].Repeats, float64(value))
		}
	}
	return out
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

package analysis

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"vnfbench.io/operator/internal/statistics"
)

// Step is what one setting contributes, compared with the one before it.
type Step struct {
	// From and To are the names of the settings.
	From string `json:"from"`
	To   string `json:"to"`
	// Share is the change of the figure as a share of it.
	Share Estimate `json:"share"`
	// P is how likely a setting without an effect differs at least that much, by Student's t test of the blocks' differences, adjusted for the number
	// of steps as S. Holm does (Scandinavian Journal of Statistics 6, 1979).
	P float64 `json:"p"`
	// Blocks is how many blocks have both.
	Blocks int `json:"blocks"`
}

// Steps compares each setting with the one before it. A row of values is a setting, and a column is a block: a round in which each setting was measured
// once, so that what is the same in a round falls out. NaN stands for a measurement that has no value. All values must be above 0.
func Steps(names []string, values [][]float64) ([]Step, error) {
	if len(names) != len(values) || len(names) < 2 {
		return nil, fmt.Errorf("%w: there are %d names and %d settings, and it takes as many, and two of each", ErrTooFew, len(names), len(values))
	}
	out := make([]Step, 0, len(names)-1)
	for i := 1; i < len(names); i++ {
		var differences []float64
		for block := range min(len(values[i-1]), len(values[i])) {
			before, after := values[i-1][block], values[i][block]
			if math.IsNaN(before) || math.IsNaN(after) {
				continue
			}
			if before <= 0 || after <= 0 {
				return nil, fmt.Errorf("block %d of %q and %q has %g and %g: only values above 0 have shares", block+1, names[i-1], names[i], before, after)
			}
			differences = append(differences, math.Log(after/before))
		}
		if len(differences) < 2 {
			return nil, fmt.Errorf("%w: %d blocks have both %q and %q, and it takes 2", ErrTooFew, len(differences), names[i-1], names[i])
		}
		spread := statistics.SpreadOf(differences)
		d := around(spread.Mean, spread.HalfWidth(len(differences)))
		out = append(out, Step{
			From: names[i-1], To: names[i], Blocks: len(differences), P: chance(spread, len(differences)),
			Share: Estimate{math.Expm1(d.Value), math.Expm1(d.Low), math.Expm1(d.High)},
		})
	}
	holm(out)
	return out, nil
}

// chance returns the two-sided p-value of Student's t test of a mean of 0.
func chance(s statistics.Spread[float64], n int) float64 {
	if s.StandardDeviation == 0 {
		if s.Mean == 0 {
			return 1
		}
		return 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	return 2 * t.Survival(math.Abs(s.Mean)/s.StandardDeviation*math.Sqrt(float64(n)))
}

// holm adjusts p-values for their number.
func holm(steps []Step) {
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case steps[a].P < steps[b].P:
			return -1
		case steps[a].P > steps[b].P:
			return 1
		}
		return 0
	})
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, steps[i].P*float64(len(steps)-rank)))
		steps[i].P = highest
	}
}

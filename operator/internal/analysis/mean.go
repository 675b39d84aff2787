package analysis

import (
	"fmt"
	"math"

	"vnfbench.io/operator/internal/statistics"
)

// Mean returns the mean of two repeats or more.
func Mean(values []float64) (Estimate, error) {
	if len(values) < 2 {
		return Estimate{}, fmt.Errorf("%w: there are %d repeats, and it takes 2", ErrTooFew, len(values))
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Estimate{}, fmt.Errorf("the value %g is no number", v)
		}
	}
	spread := statistics.SpreadOf(values)
	return around(spread.Mean, spread.HalfWidth(len(values))), nil
}

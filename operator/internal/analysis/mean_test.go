package analysis

import (
	"errors"
	"math"
	"testing"
)

// TestMean compares a mean with one worked out by hand.
func TestMean(t *testing.T) {
	// A deviation of 2 with 2 degrees of freedom, whose 97.5 % point is 4.302652730.
	got, err := Mean([]float64{2, 4, 6})
	half := 4.302652730 * 2 / math.Sqrt(3)
	if err != nil || got.Value != 4 || !isNear(got.Low, 4-half, 1e-8) || !isNear(got.High, 4+half, 1e-8) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = Mean([]float64{0, 0}); err != nil || got != (Estimate{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = Mean([]float64{1}); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
	if _, err = Mean([]float64{1, math.Inf(1)}); err == nil || errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}

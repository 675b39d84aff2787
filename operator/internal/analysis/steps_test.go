package analysis

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestStepsWorkedOutByHand compares two steps with those worked out by hand.
func TestStepsWorkedOutByHand(t *testing.T) {
	got, err := Steps([]Setting{
		{"baseline", []float64{100, 200, 400}},
		{"pinned", []float64{100 * math.Exp(-1), 200 * math.Exp(-2), 400 * math.Exp(-3)}},
		{"quiet", []float64{50 * math.Exp(-1), 100 * math.Exp(-2), math.NaN()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// The changes are -1, -2 and -3: a mean of -2, a deviation of 1, and 2 degrees of freedom. The level of two intervals is 97.5 %, for which
	// Student's t with 2 degrees of freedom is 6.205346817.
	half := 6.205346817 / math.Sqrt(3)
	pinned := got[0].Share
	if !isNear(pinned.Value, math.Expm1(-2), 1e-9) || !isNear(pinned.Low, math.Expm1(-2-half), 1e-8) || !isNear(pinned.High, math.Expm1(-2+half), 1e-8) {
		t.Errorf("%+v", pinned)
	}
	if got[0].From != "baseline" || got[0].To != "pinned" || got[0].Blocks != 3 || got[1].From != "pinned" || got[1].To != "quiet" || got[1].Blocks != 2 {
		t.Errorf("%+v", got)
	}
	// Each block has half of it, so there is no scatter.
	if quiet := got[1].Share; !isNear(quiet.Value, -0.5, 1e-9) || !isNear(quiet.Low, -0.5, 1e-9) || !isNear(quiet.High, -0.5, 1e-9) {
		t.Errorf("%+v", quiet)
	}
}

// TestStepsHoldTogether checks that all intervals of a sequence hold what was simulated in at least 95 % of cases, whatever all of a block share, and that an
// effect is found.
func TestStepsHoldTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	factors := []float64{1, 0.8, 0.8, 0.6}
	const studies = 2000
	held, found := 0, 0
	for range studies {
		levels := make([]Setting, len(factors))
		for range 6 {
			round := math.Exp(0.5 * random.NormFloat64())
			for i, factor := range factors {
				levels[i].Values = append(levels[i].Values, 100*factor*round*math.Exp(0.01*random.NormFloat64()))
			}
		}
		steps, err := Steps(levels)
		if err != nil {
			t.Fatal(err)
		}
		all := true
		for i, step := range steps {
			truth := factors[i+1]/factors[i] - 1
			all = all && step.Share.Low <= truth && step.Share.High >= truth
		}
		if all {
			held++
		}
		if steps[0].Share.High < 0 && steps[2].Share.High < 0 {
			found++
		}
	}
	if held < studies*94/100 || held > studies*99/100 || found < studies*99/100 {
		t.Errorf("of %d studies all intervals of %d hold what is true, and %d found both effects", studies, held, found)
	}
}

// TestWhatHasNoSteps checks that what is too little is refused, and what has no logarithm.
func TestWhatHasNoSteps(t *testing.T) {
	nan := math.NaN()
	for name, levels := range map[string][]Setting{
		"one level":           {{"a", []float64{1, 2}}},
		"no repeats":          {{"a", []float64{1}}, {"b", []float64{2}}},
		"nothing in a block":  {{"a", []float64{1, nan, 3}}, {"b", []float64{nan, 2, 3}}},
		"an endless interval": {{"a", []float64{1, 1}}, {"b", []float64{1, 1e8}}, {"c", []float64{1, 1}}, {"d", []float64{1, 1}}, {"e", []float64{1, 1}}, {"f", []float64{1, 1}}, {"g", []float64{1, 1}}},
		"fewer than it takes": {{"a", []float64{1, 2, 3}}, {"b", []float64{1}}},
	} {
		if _, err := Steps(levels); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, value := range []float64{0, -1, math.Inf(1)} {
		if _, err := Steps([]Setting{{"a", []float64{1, value}}, {"b", []float64{1, 2}}}); err == nil || errors.Is(err, ErrTooFew) {
			t.Errorf("%g: %v", value, err)
		}
	}
}

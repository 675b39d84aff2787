package main

import (
	"math"
	"testing"
	"time"

	"vnfbench.io/operator/internal/search"
)

// TestBiasAndSpread checks that a search with CSIT's goals stays near the truth on every class of
// device, and hardly scatters. Where noise of 1 % hides the truth, it stays within that noise.
func TestBiasAndSpread(t *testing.T) {
	const seeds = 6
	most := map[string]float64{
		"cap, strong noise": 0.02, "knee, strong noise": 0.02,
		// At the end it forwards less than when it was measured.
		"slowing down": 0.1,
		// It loses at every load below its limit, so that 0 is an answer too.
		"less loss at more load": 1,
	}
	for _, class := range Classes() {
		t.Run(class.Name, func(t *testing.T) {
			got, err := class.Measure(t.Context(), Ours{}, search.CSIT(), seeds)
			if err != nil {
				t.Fatal(err)
			}
			limit := most[class.Name]
			if limit == 0 {
				limit = 0.01
			}
			for i := range got.Bias {
				if math.Abs(got.Bias[i]) > limit || got.Deviation[i] > limit {
					t.Errorf("goal %d: bias %.4f and deviation %.4f exceed %v", i, got.Bias[i], got.Deviation[i], limit)
				}
			}
			if got.MeanTrials > 200 {
				t.Errorf("took %.0f trials on average", got.MeanTrials)
			}
		})
	}
}

// TestDevicesThatSlowDown checks that the search follows a device, however fast it slows down: the
// result is what the device did a short time before.
func TestDevicesThatSlowDown(t *testing.T) {
	for halfLife, most := range map[time.Duration]float64{
		3 * time.Minute: 0.1, 5 * time.Minute: 0.05, 10 * time.Minute: 0.03, 20 * time.Minute: 0.02, time.Hour: 0.01,
	} {
		class := Class{"slowing down", func(s shape) Bed { return slowingIn(s, halfLife) }}
		got, err := class.Measure(t.Context(), Ours{}, search.CSIT(), 3)
		if err != nil {
			t.Fatal(err)
		}
		if got.Irregular > 0 || max(math.Abs(got.Bias[0]), math.Abs(got.Bias[1])) > most || got.MeanSeconds > 200 {
			t.Errorf("half in %v: %+v, want a bias within %v", halfLife, got, most)
		}
	}
}

// TestSeedsRepeat checks that the same seed gives the same device to every searcher.
func TestSeedsRepeat(t *testing.T) {
	for _, class := range Classes() {
		first, err := class.Try(t.Context(), Ours{}, search.CSIT(), 3)
		if err != nil {
			t.Fatal(err)
		}
		second, err := class.Try(t.Context(), Ours{}, search.CSIT(), 3)
		if err != nil {
			t.Fatal(err)
		}
		if first.Trials != second.Trials || first.Error[0] != second.Error[0] {
			t.Errorf("class %q: %+v, then %+v", class.Name, first, second)
		}
	}
}

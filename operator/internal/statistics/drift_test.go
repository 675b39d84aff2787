package statistics

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// bracketsAt returns brackets of width 2 that begin at some loads.
func bracketsAt(lows ...float64) []Bracket {
	out := make([]Bracket, len(lows))
	for i, low := range lows {
		out[i] = Bracket{low, low + 2}
	}
	return out
}

func TestDrift(t *testing.T) {
	for name, test := range map[string]struct {
		lows []float64
		want bool
	}{
		"falling":                     {[]float64{110, 108, 107, 104, 103}, true},
		"rising":                      {[]float64{103, 104, 107, 108, 110}, true},
		"falling by the grid's steps": {[]float64{110, 110, 108, 106, 106}, true},
		"one step back":               {[]float64{110, 107, 108, 104, 103}, false},
		"mostly one value":            {[]float64{110, 108, 106, 106, 106}, false},
		"one limit explains all":      {[]float64{101.4, 101.3, 101.2, 101.1, 101}, false},
		"all alike":                   {[]float64{100, 100, 100, 100, 100}, false},
		"four":                        {[]float64{110, 108, 106, 104}, false},
		"ten with a few steps back":   {[]float64{120, 118, 119, 114, 115, 110, 111, 106, 107, 102}, true},
		"none":                        {nil, false},
	} {
		if got := Drift(bracketsAt(test.lows...)); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestDriftByChance checks how often values in any order are called a drift: two of the 120 orders
// of five, and about 5 % of those of ten.
func TestDriftByChance(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const draws = 5000
	for count, most := range map[int]float64{5: 0.022, 10: 0.06, 20: 0.06} {
		found := 0
		for range draws {
			lows := make([]float64, count)
			for i := range lows {
				lows[i] = 1000 * random.Float64()
			}
			if Drift(bracketsAt(lows...)) {
				found++
			}
		}
		if share := float64(found) / draws; share > most || share < most/3 {
			t.Errorf("of %d values: %.3f drift by chance", count, share)
		}
	}
	lows := []float64{1, 2, 3, 4, 5}
	slices.Reverse(lows)
	if Drift(bracketsAt(lows...)) != Drift(bracketsAt(1, 2, 3, 4, 5)) {
		t.Error("falling and rising are not alike")
	}
}

package statistics

import (
	"cmp"
	"math"
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
		"six with two steps back":     {[]float64{110, 112, 106, 108, 102, 100}, false},
		"none":                        {nil, false},
	} {
		if got := Drift(bracketsAt(test.lows...)); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestKendall compares p-values with those of all orders of some values, one by one.
func TestKendall(t *testing.T) {
	for _, lows := range [][]float64{
		{1, 2, 3, 4, 5}, {5, 5, 3, 2, 2}, {1, 1, 1, 2, 3}, {4, 3, 3, 2, 1}, {1, 2, 3, 4, 6, 5}, {1, 1, 2, 2, 3, 3}, {1, 3, 2, 4, 5, 7, 6}, {7, 6, 7, 6, 1, 1, 1}, {2, 2, 2, 2, 2},
	} {
		all, least := 0, 0
		orders(slices.Clone(lows), func(order []float64) {
			if all++; math.Abs(trend(order)) >= math.Abs(trend(lows)) {
				least++
			}
		})
		if got, want := kendall(bracketsAt(lows...)), float64(least)/float64(all); !near(got, want, 1e-12) {
			t.Errorf("%v: p %v, want %v", lows, got, want)
		}
	}
	// The normal approximation says less than 5 % of both.
	for _, test := range []struct {
		lows []float64
		want float64
	}{{[]float64{2, 1, 4, 3, 5, 6}, 40.0 / 720}, {[]float64{3, 2, 1, 4, 5, 8, 7, 6}, 0.0610}} {
		if got := kendall(bracketsAt(test.lows...)); !near(got, test.want, 1e-4) {
			t.Errorf("%v: p %v, want %v", test.lows, got, test.want)
		}
	}
}

// trend returns how many more pairs rise than fall.
func trend(values []float64) (score float64) {
	for i, v := range values {
		for _, later := range values[i+1:] {
			score += float64(cmp.Compare(later, v))
		}
	}
	return score
}

// orders calls a function with each order of values.
func orders(values []float64, f func([]float64)) { ordersFrom(0, values, f) }

func ordersFrom(at int, values []float64, f func([]float64)) {
	if at == len(values) {
		f(values)
	}
	for i := at; i < len(values); i++ {
		values[at], values[i] = values[i], values[at]
		ordersFrom(at+1, values, f)
		values[at], values[i] = values[i], values[at]
	}
}

// TestDriftByChance checks how often values in any order are called a drift: two of the 120 orders
// of five, and at most 5 % of those of more.
func TestDriftByChance(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const draws = 5000
	for count, most := range map[int]float64{5: 0.022, 6: 0.022, 7: 0.04, 8: 0.04, 10: 0.056, 20: 0.056} {
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

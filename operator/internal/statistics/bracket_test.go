package statistics

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestIntervalOfLimit(t *testing.T) {
	type list = []Bracket
	for name, test := range map[string]struct {
		brackets                    list
		low, high, width, tolerance float64
		limited                     bool
	}{
		"equal brackets hold 95 % of it, from the lower end": {list{{980, 1000}, {980, 1000}, {980, 1000}}, 980, 999, 20, 1e-9, true},
		// 4.3027 x 28.8675 / sqrt(3) is 71.71 to each side of the middle, 1043.33.
		"brackets that share nothing": {list{{1000, 1020}, {1050, 1070}, {1050, 1070}}, 971.62, 1115.05, 20, 0.01, false},
		// Of docs/methodology/worked-example.md: Student's t reaches from 97.054 to 104.987.
		"a bracket above Student's t": {
			list{{104, 106.1224}, {96, 97.9592}, {100, 102.0408}, {98, 100}, {102, 104.0816}}, 97.0539, 106.1224, 2.0408, 1e-4, false,
		},
		"points, as when nothing is between two loads":              {list{{100, 100}, {100, 100}}, 100, 100, 0, 1e-9, false},
		"to the highest upper end, from the mean of the lower ones": {list{{980, 1000}, {980, 1000}, {980, 1000}, {980, 1000}, {985, 1002}}, 981, 1002, 19.4, 1e-9, true},
		// A sum over the shared 40 has 97.5 % of the distribution below 1095.60; the middles alone, 1093.53.
		"both errors": {list{{1000, 1050}, {1010, 1060}}, 964.40, 1095.60, 50, 0.01, true},
	} {
		got, ok := IntervalOfLimit(test.brackets)
		if !ok || !near(got.Low, test.low, test.tolerance) || !near(got.High, test.high, test.tolerance) ||
			!near(got.Resolution, test.width, 1e-4) || got.ResolutionLimited != test.limited {
			t.Errorf("%s: %+v, %t, want %+v", name, got, ok, test)
		}
	}
	for _, few := range []list{nil, {{1, 2}}} {
		if got, ok := IntervalOfLimit(few); ok {
			t.Errorf("%v: %+v", few, got)
		}
		if got, ok := IntervalOfDifference(few); ok {
			t.Errorf("%v: %+v", few, got)
		}
	}
}

// TestIntervalOfDifference checks that a difference has no side to which it is rather off.
func TestIntervalOfDifference(t *testing.T) {
	got, ok := IntervalOfDifference([]Bracket{{104, 106.1224}, {96, 97.9592}, {100, 102.0408}, {98, 100}, {102, 104.0816}})
	if !ok || got.Low != 96 || got.High != 106.1224 {
		t.Errorf("got %+v", got)
	}
	same, ok := IntervalOfDifference([]Bracket{{980, 1000}, {980, 1000}})
	if limit, _ := IntervalOfLimit([]Bracket{{980, 1000}, {980, 1000}}); !ok || same != limit {
		t.Errorf("got %+v, want %+v", same, limit)
	}
}

// The closed form is compared with a sum over the uniform error.
func TestBlurred(t *testing.T) {
	const steps = 20_000
	for _, d := range []blurred{{0, 1, 1, 1}, {10, 5, 0.1, 1}, {10, 0.5, 3, 2}, {-4, 2, 1, 4}, {1e6, 1e4, 100, 19}} {
		student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d.degrees}
		for _, off := range []float64{-4, -1, -0.3, 0, 0.5, 2, 6} {
			x, sum := d.center+off*(d.half+d.scale), 0.0
			for i := range steps {
				sum += student.CDF((x-d.center+d.half-2*d.half*(float64(i)+0.5)/steps)/d.scale) / steps
			}
			if got := d.below(x); !near(got, sum, 1e-6) {
				t.Errorf("%+v at %v: %v, want %v", d, x, got, sum)
			}
		}
		for _, share := range []float64{0.025, 0.4, 0.975} {
			if got := d.below(d.quantile(share)); !near(got, share, 1e-9) {
				t.Errorf("%+v: %v below the quantile of %v", d, got, share)
			}
		}
	}
	// Without a uniform error it is Student's t, and without scatter the uniform one.
	if got := (blurred{center: 5, scale: 2, degrees: 4}).quantile(0.975); !near(got, 5+2*StudentT(4), 1e-9) {
		t.Error(got)
	}
	if got := (blurred{center: 5, half: 2, degrees: 4}).quantile(0.25); !near(got, 4, 1e-9) {
		t.Error(got)
	}
}

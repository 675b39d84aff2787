package regression

import (
	"math"
	"testing"
)

func TestRead(t *testing.T) {
	s := Default()
	for name, test := range map[string]struct {
		mean, wide, narrow float64
		direction          Direction
		want               Kind
	}{
		"a fall":                                {-0.02, 0.01, 0.005, Fall, Regression},
		"a rise":                                {0.02, 0.01, 0.005, Rise, Improvement},
		"a rise where a fall was suspected":     {0.02, 0.01, 0.005, Fall, Same},
		"a fall where a rise was suspected":     {-0.02, 0.01, 0.005, Rise, Same},
		"either of both":                        {0.02, 0.01, 0.005, Both, Improvement},
		"a small fall that is sure":             {-0.008, 0.006, 0.003, Fall, Minor},
		"a small fall that may be a larger one": {-0.009, 0.008, 0.012, Fall, Inconclusive},
		"none":                                  {-0.001, 0.01, 0.005, Fall, Same},
		"not known yet":                         {-0.015, 0.03, 0.015, Fall, Inconclusive},
		"either of both, not known yet":         {0.015, 0.03, 0.015, Both, Inconclusive},
	} {
		if got := s.read(test.mean, test.wide, test.narrow, test.direction); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestDifference compares with Student's t by hand: of four differences whose deviation fits the history's.
func TestDifference(t *testing.T) {
	b := base{count: 30, deviation: 0.005, degrees: 31}
	mean, err, degrees := difference([]float64{-0.012, -0.02, -0.024, -0.016}, b)
	// The variance is (8 x 2 x 0.005^2 + 3 x 0.0000266667) / 11.
	want := math.Sqrt((8*2*0.005*0.005+3*0.0000266667)/11) / 2
	if math.Abs(mean+0.018) > 1e-12 || math.Abs(err-want) > 1e-7 || degrees != 11 {
		t.Errorf("got %v, %v, %d, want the error %v", mean, err, degrees, want)
	}
	// Legs that are clearly noisier than the history have only their own deviation.
	if _, _, degrees := difference([]float64{-0.2, 0.2, -0.3, 0.25}, b); degrees != 3 {
		t.Errorf("got %d degrees of freedom", degrees)
	}
}

// TestStudent checks quantiles against published ones: 97.5 % is 1.959964 normal deviations, and 2.228 with 10 degrees of freedom.
func TestStudent(t *testing.T) {
	for _, test := range []struct {
		normal  float64
		degrees int
		want    float64
	}{{2, 10, 2.2837}, {3, 5, 5.5071}, {3.8, 1000, 3.8140}} {
		if got := student(test.normal, test.degrees); math.Abs(got-test.want) > 2e-3 {
			t.Errorf("%v with %d degrees: %v, want %v", test.normal, test.degrees, got, test.want)
		}
	}
}

func TestWithoutOutliers(t *testing.T) {
	quiet := []float64{0, .001, -.001, .0005, -.0005, .0002, -.0002, .001, -.001}
	if got, _ := withoutOutliers(append(quiet[:len(quiet):len(quiet)], -.1), 0.02, nil); len(got) != 9 {
		t.Errorf("%d values are left of ten with one outlier", len(got))
	}
	if got, _ := withoutOutliers(append(quiet[:7:7], -.1, -.1, -.1), 0.02, nil); len(got) != 10 {
		t.Errorf("a second level lost values: %d are left of ten", len(got))
	}
}

func TestOneLegIsLeftOut(t *testing.T) {
	w := &walk{settings: Default()}
	pairs := make([]Pair, 8)
	for i := range pairs {
		pairs[i] = Pair{Leg{Value: 0.001 * float64(i%2), Calibration: math.NaN()}, Leg{Value: 0.001 * float64(i%3), Calibration: math.NaN()}}
	}
	pairs[1].New.Value = -0.1
	b := base{count: 30, deviation: 0.002, degrees: 31}
	if a := w.look(pairs, Question{Direction: Fall}, b, sameLevel); a.kind != Same || len(a.old) != 7 {
		t.Errorf("got %s of %d pairs", a.kind, len(a.old))
	}
	// Two of eight are no accident: there is no answer yet.
	pairs[4].Old.Value = 0.1
	if a := w.look(pairs, Question{Direction: Fall}, b, sameLevel); a.kind != Inconclusive {
		t.Errorf("got %s", a.kind)
	}
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for _, s := range []Settings{
		{math.NaN(), 48, 8, 0.05}, {0, 48, 8, 0.05}, {0.02, 2, 8, 0.05}, {0.02, 1000, 8, 0.05}, {0.02, 48, 2, 0.05}, {0.02, 48, 8, 0}, {0.02, 48, 8, math.NaN()},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// TestHeldCores checks pairs in which other work had the core that sends: as long on both sides it hides no fall, and a fall that it may explain because it is
// longer on one side is none.
func TestHeldCores(t *testing.T) {
	for name, test := range map[string]struct {
		fall, oldHeld, newHeld float64
		found, explained       bool
	}{
		"as long on both sides":              {fall: -0.03, oldHeld: 0.015, newHeld: 0.015, found: true},
		"longer on the new side":             {fall: -0.025, oldHeld: 0.007, newHeld: 0.019, explained: true},
		"longer, and a fall beyond it":       {fall: -0.05, oldHeld: 0.007, newHeld: 0.019, found: true},
		"longer on the old side, and a fall": {fall: -0.03, oldHeld: 0.012, newHeld: 0.01, found: true},
	} {
		for seed := range uint64(20) {
			b := newBed(seed, 0.002, 80).step(60, test.fall).draw()
			b.oldHeld, b.newHeld = test.oldHeld, test.newHeld
			events := b.walk()
			if got := those(events, Regression); (len(got) > 0) != test.found {
				t.Errorf("%s, seed %d: %+v", name, seed, got)
			} else if test.found && (got[0].Low > test.fall || got[0].High < test.fall || got[0].High > 0) {
				t.Errorf("%s, seed %d: %v to %v does not hold %v", name, seed, got[0].Low, got[0].High, test.fall)
			}
			got := those(events, Inconclusive)
			if test.explained && (len(got) == 0 || !got[0].HeldExplains || got[0].Wanted != 0) {
				t.Errorf("%s, seed %d: %+v", name, seed, events)
			}
		}
	}
}

// TestWeaker checks which of two answers holds where either may be true.
func TestWeaker(t *testing.T) {
	of := func(kind Kind, size float64) answer {
		return answer{kind: kind, size: size, low: size - 0.01, high: size + 0.01, chance: -size}
	}
	for name, test := range map[string]struct {
		a, other  answer
		kind      Kind
		size      float64
		explained bool
	}{
		"the same":              {of(Same, -0.001), of(Same, 0.002), Same, -0.001, false},
		"two falls":             {of(Regression, -0.05), of(Regression, -0.03), Regression, -0.03, false},
		"a small fall":          {of(Regression, -0.011), of(Minor, -0.009), Minor, -0.009, false},
		"a small fall, or none": {of(Minor, -0.006), of(Same, -0.001), Same, -0.001, false},
		"a fall, or none":       {of(Regression, -0.02), of(Same, -0.001), Inconclusive, -0.02, true},
		"none, or a fall":       {of(Same, -0.001), of(Regression, -0.02), Inconclusive, -0.001, true},
		"a fall, or a rise":     {of(Regression, -0.02), of(Improvement, 0.02), Inconclusive, -0.02, true},
		"a fall, or not known":  {of(Regression, -0.02), of(Inconclusive, -0.01), Inconclusive, -0.02, false},
		"not known, or a rise":  {of(Inconclusive, 0.01), of(Improvement, 0.02), Inconclusive, 0.01, false},
	} {
		got := weaker(test.a, test.other)
		if got.kind != test.kind || got.size != test.size || got.heldExplains != test.explained {
			t.Errorf("%s: %+v", name, got)
		}
		if got.low != min(test.a.low, test.other.low) || got.high != max(test.a.high, test.other.high) || got.chance != max(test.a.chance, test.other.chance) {
			t.Errorf("%s: the interval or the chance is of one answer alone: %+v", name, got)
		}
	}
}

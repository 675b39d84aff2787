package regression

import (
	"math"
	"strings"
	"testing"
)

func TestResemblance(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		want   float64
	}{
		"by turns":    {[]float64{1, -1, 1, -1, 1, -1, 1, -1}, 0},
		"two states":  {[]float64{1, 1, 1, 1, -1, -1, -1, -1}, 5.0 / 8},
		"all equal":   {[]float64{2, 2, 2, 2}, 0},
		"nothing yet": {nil, 0},
	} {
		if got := newBase(test.values).resemblance; math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestErrorInRow compares with sums by hand.
func TestErrorInRow(t *testing.T) {
	b := base{count: 2, deviation: 0.01, resemblance: 0.5}
	// Of three runs: 3 + 2 (2 x 0.5 + 1 x 0.25) = 5.5 of 9. Of two: 2 + 2 x 0.5 = 3 of 4.
	if got, want := b.errorInRow(3), 0.01*math.Sqrt(5.5/9+3.0/4); math.Abs(got-want) > 1e-12 {
		t.Errorf("got %v, want %v", got, want)
	}
	b.resemblance = 0
	if got, want := b.errorInRow(3), b.error(3); math.Abs(got-want) > 1e-12 {
		t.Errorf("independent runs have the error %v, want %v", got, want)
	}
}

// TestLimits checks that a quiet testbed asks about no fall of less than half of the effect, and that a noisy one asks about smaller ones.
func TestLimits(t *testing.T) {
	w := &walk{settings: Default()}
	for _, test := range []struct{ deviation, resemblance, least float64 }{
		{0.001, 0, 0.01}, {0.005, 0, 0.01}, {0.01, 0, 0.02 - 2.2*0.01*math.Sqrt(1.0/3+1.0/30)}, {0.01, 0.5, 0.003}, {0.02, 0, 0.003},
	} {
		b := base{count: 30, deviation: test.deviation, resemblance: test.resemblance}
		if _, least := w.limits(window, -0.01, b); math.Abs(least-test.least) > 1e-9 {
			t.Errorf("deviation %v, resemblance %v: at least %v, want %v", test.deviation, test.resemblance, least, test.least)
		}
		if _, least := w.limits(window, 0.01, b); least != 0.01 {
			t.Errorf("deviation %v: a rise of at least %v", test.deviation, least)
		}
	}
}

// TestExpected checks that runs are expected near those before them, as far as they resemble each other.
func TestExpected(t *testing.T) {
	b := newBed(1, 0, 20).move(10, 0.01).draw()
	w := newWalk(Default(), b.runs, b)
	level := base{count: 8, resemblance: 0.5}
	for _, test := range []struct {
		first, runs int
		want        float64
	}{{10, 3, 0}, {12, 1, 0.005}, {12, 3, 0.005}, {12, 6, 0.0025}, {1, 1, 0}} {
		if got := w.expected(test.first, test.runs, level); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%d runs from %d on: %v, want %v", test.runs, test.first, got, test.want)
		}
	}
	w.leaveOut(11)
	if got := w.expected(12, 3, level); got != 0 {
		t.Errorf("an outlier moves what is expected to %v", got)
	}
}

// TestADriftIsAskedAboutOnce checks that the same slow change of the testbed is not asked about again and again.
func TestADriftIsAskedAboutOnce(t *testing.T) {
	asked := 0
	for seed := range uint64(10) {
		b := newBed(seed, 0.001, 100)
		for i := range b.environment {
			b.environment[i] = -0.02 * float64(i) / 100
		}
		for _, e := range b.draw().walk() {
			if e.Kind != Shift {
				asked++
			}
			if e.Kind != Shift && e.Kind != Same {
				t.Errorf("seed %d: %+v", seed, e)
			}
		}
	}
	if asked < 10 || asked > 20 {
		t.Errorf("%d questions in 10 series, want 1 or 2 in each", asked)
	}
}

// TestASlowLossAfterAnAnswer checks that a loss that is not large enough yet when it is asked about is found when it continues.
func TestASlowLossAfterAnAnswer(t *testing.T) {
	found := 0
	for seed := range uint64(20) {
		b := newBed(seed, 0.005, 200)
		for i := 60; i < 160; i++ {
			b.step(i, -0.0003)
		}
		if len(those(b.draw().walk(), Regression, Minor)) > 0 {
			found++
		}
	}
	if found < 19 {
		t.Errorf("a loss of 3 %% in 100 steps is found in %d of 20 series", found)
	}
}

// TestAMovedEnvironmentIsKnownAtOnce checks that two pairs show that the environment moved, and that no run after them is blind.
func TestAMovedEnvironmentIsKnownAtOnce(t *testing.T) {
	for seed := range uint64(10) {
		b := newBed(seed, 0.001, 66).move(60, -0.03).draw()
		w := newWalk(Default(), b.runs[:61], b)
		for at := range w.runs {
			w.step(at)
		}
		if asked := those(w.events, Same); len(asked) != 1 || asked[0].Pairs != 2 || len(those(w.events, Shift)) != 1 {
			t.Errorf("seed %d: %+v", seed, w.events)
		}
		w.outlier = make([]bool, len(b.runs))
		for at := 61; at < len(b.runs); at++ {
			if w.isBlind() {
				t.Errorf("seed %d: run %d is blind", seed, at-1)
			}
			w.runs = b.runs[:at+1]
			w.step(at)
		}
	}
}

// TestPlaceIsAfterAnAnswer checks that a change is not placed where interleaved runs found none.
func TestPlaceIsAfterAnAnswer(t *testing.T) {
	b := newBed(1, 0, 12).move(6, -0.02).draw()
	w := newWalk(Default(), b.runs, b)
	x := suspicion{Question: Question{Cause: Step, First: 9, At: 11, Old: 2}, base: base{count: 8}}
	for cleared, want := range map[int]int{-1: 6, 3: 6, 7: 8} {
		w.cleared = cleared
		if got, _, _ := w.place(x, answer{size: -0.02}, false); got != want {
			t.Errorf("cleared at run %d: placed at run %d, want %d", cleared, got, want)
		}
	}
}

// TestPlaceIsWhereTheVersionChanged places a fall of 5 % at run 6, before which run 5 happens to be low. Without knowing what was deployed the runs do
// not tell which of both it began with, and with it they do.
func TestPlaceIsWhereTheVersionChanged(t *testing.T) {
	for name, c := range map[string]struct {
		deployed               string
		deviation              float64
		best, earliest, latest int
	}{
		"nothing is known":                        {"        ", 0.018, 5, 5, 6},
		"quiet runs":                              {"        ", 0.002, 5, 5, 5},
		"each run has a version of its own":       {"abcdefgh", 0.018, 5, 5, 6},
		"the old version until the change":        {"aaaaaabb", 0.018, 6, 6, 6},
		"a version between that was not compared": {"aaaaacbb", 0.018, 5, 5, 6},
		"both have the same":                      {"aaaaaaaa", 0.018, 5, 5, 6},
		"the new version came one run before":     {"aaaaabbb", 0.018, 5, 5, 5},
	} {
		b := newBed(1, 0, 8).move(6, -0.05).draw()
		b.runs[5].Value = b.runs[4].Value - 0.027
		for i := range b.runs {
			b.runs[i].Deployed = strings.TrimSpace(c.deployed[i : i+1])
		}
		w := newWalk(Default(), b.runs, b)
		x := suspicion{Question: Question{Cause: Step, First: 5, At: 7, Old: 2, New: 7}, base: base{count: 5, mean: b.runs[0].Value, deviation: c.deviation}}
		if best, earliest, latest := w.place(x, answer{size: -0.05}, false); best != c.best || earliest != c.earliest || latest != c.latest {
			t.Errorf("%s: placed at %d, %d to %d, want %d, %d to %d", name, best, earliest, latest, c.best, c.earliest, c.latest)
		}
	}
}

package main

import (
	"math"
	"testing"
)

// TestRises has delays pass that devices had, and those fail that no such device has.
func TestRises(t *testing.T) {
	for name, c := range map[string]struct {
		delays []float64
		limit  float64
		want   bool
	}{
		"a router":                               {[]float64{900, 1_600, 9_300, 534_000}, 1_911_741, true},
		"a slow router, faster with warm caches": {[]float64{4_000, 3_700, 38_000, 7_346_000}, 289_188, true},
		"two bridges, both directions":           {[]float64{2_100, 2_100, 6_900, 3_573_000}, 582_708, true},
		"no frame waits at 90 %":                 {[]float64{900, 1_600, 1_600, 534_000}, 1_911_741, false},
		"90 % is below idle":                     {[]float64{4_000, 3_700, 3_900, 3_739_000}, 291_364, false},
		"the ring is not full at 110 %":          {[]float64{900, 1_600, 9_300, 9_200}, 1_911_741, false},
		"50 % is a fifth below 10 %":             {[]float64{4_000, 3_200, 31_000, 3_739_000}, 291_364, false},
		"more than a batch waits at 50 %":        {[]float64{900, 6_000, 9_300, 534_000}, 1_911_741, false},
	} {
		if passed, want := rises(c.delays, c.limit); passed != c.want {
			t.Errorf("%s: %v passed %v, want %s", name, c.delays, passed, want)
		}
	}
}

// TestBetween takes the share of a trial's load from the higher rate, and says when both are not alike.
func TestBetween(t *testing.T) {
	for _, c := range []struct {
		before, after, share float64
		steady               bool
	}{{100, 103, 0.9 / 1.03, true}, {103, 100, 0.9, true}, {100, 100, 0.9, true}, {100, 104, 0.9 / 1.04, false}, {104, 100, 0.9, false}} {
		r := relative{}.between(0.9, c.before, c.after)
		if math.Abs(r.share-c.share) > 1e-9 || r.flatOut != max(c.before, c.after) || r.steady != c.steady {
			t.Errorf("before %.0f, after %.0f: %+v", c.before, c.after, r)
		}
	}
}

// TestLimitBetween returns what the highest loads have reached, and not what was asked for.
func TestLimitBetween(t *testing.T) {
	const device = 0.9
	for name, c := range map[string]struct {
		reached func(load float64) float64
		want    float64
	}{
		"a rate that stays":   {func(load float64) float64 { return load }, device},
		"a rate that rises":   {func(load float64) float64 { return load / 1.02 }, device / 1.02},
		"rises at its limit":  {func(load float64) float64 { return load / map[bool]float64{true: 1.03, false: 1}[load > 0.87] }, 0.87},
		"nothing that passes": {func(float64) float64 { return 0 }, 0.2},
	} {
		b := bench{rounds: 1}
		got, err := limitBetween(0.2, 1.2, func(load float64) (float64, error) {
			return b.passes(load, func(load float64) (tried, error) {
				if load > device {
					return tried{missing: 0.2}, nil
				}
				return tried{load: c.reached(load)}, nil
			})
		})
		if err != nil || got > c.want || got < c.want/limitStep/limitStep {
			t.Errorf("%s: a limit of %.4f, want %.4f; %v", name, got, c.want, err)
		}
	}
}

// TestHalfPass returns the lowest load of the trials that passed, and none where fewer than half did.
func TestHalfPass(t *testing.T) {
	for _, c := range []struct {
		trials []tried
		want   float64
	}{
		{[]tried{{0, 0.9}, {0.1, 0.9}, {0, 0.88}, {0, 0.89}}, 0.88},
		{[]tried{{0.1, 0.9}, {0, 0.88}, {0.1, 0.9}, {0.1, 0.9}}, 0},
	} {
		n := 0
		got, err := bench{rounds: 5}.halfPass(0.9, func(float64) (tried, error) { n++; return c.trials[n-1], nil })
		if got != c.want || err != nil {
			t.Errorf("%v: %.2f, %v, want %.2f", c.trials, got, err, c.want)
		}
	}
}

// TestMoreTrials gives a load as many trials as there are rounds, and one that lost little twice as many.
func TestMoreTrials(t *testing.T) {
	for _, c := range []struct {
		had   int
		least float64
		want  bool
	}{{0, 1, true}, {4, 0.3, true}, {5, 0.09, false}, {5, 0.01, true}, {9, 0.01, true}, {10, 0.01, false}} {
		if got := moreTrials(c.had, 5, c.least); got != c.want {
			t.Errorf("after %d trials that lost %.2f at least: more %v, want %v", c.had, c.least, got, c.want)
		}
	}
}

// TestHalfOf checks that half of the trials, and no fewer, let a load pass, with no more trials than decide it.
func TestHalfOf(t *testing.T) {
	for _, c := range []struct {
		rounds int
		trials string
		want   bool
	}{
		{5, "+++", true}, {5, "---", false}, {5, "+-+-+", true}, {5, "-+-+-", false},
		{4, "++", true}, {4, "--++", true}, {4, "---", false}, {1, "+", true}, {1, "-", false},
	} {
		made := 0
		got, err := halfOf(c.rounds, func() (bool, error) {
			made++
			return made <= len(c.trials) && c.trials[made-1] == '+', nil
		})
		if got != c.want || made != len(c.trials) || err != nil {
			t.Errorf("%d rounds, %s: %v after %d, %v", c.rounds, c.trials, got, made, err)
		}
	}
}

package main

import (
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestCoverage checks with few devices what `make bench-statistics` prints with many: no interval
// of a device in one state is called 95 % and holds the truth much less often.
func TestCoverage(t *testing.T) {
	const (
		seeds = 25
		// Of 25 intervals that hold the truth in 95 %, less than 1 % of samples hold it fewer times.
		minHeld = 21
	)
	// The search meets another state of these, or the device changes while it searches.
	unsteady := []string{"two bands", "less loss at more load", "slowing down"}
	for _, class := range Classes() {
		for _, method := range []v1alpha1.SearchMethod{v1alpha1.MethodMLRsearch, v1alpha1.MethodRFC2544} {
			t.Run(class.Name+"/"+string(method), func(t *testing.T) {
				t.Parallel()
				goals, err := class.Cover(t.Context(), method, seeds)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range goals {
					censored := map[bool]int{true: seeds}[class.Name == "generator ceiling"]
					switch {
					case c.Runs != seeds || c.Censored != censored:
						t.Errorf("%s: %d runs, %d of them censored, want %d and %d", c.Goal, c.Runs, c.Censored, seeds, censored)
					case censored == 0 && c.Held < minHeld && !slices.Contains(unsteady, class.Name):
						t.Errorf("%s: %d of %d intervals hold the truth, want %d", c.Goal, c.Held, seeds, minHeld)
					case strings.HasPrefix(class.Name, "hard") && (c.Limited != seeds || c.Alarms > 0 || c.Compared != seeds):
						t.Errorf("%s: %+v of a device that always answers alike", c.Goal, c)
					}
				}
			})
		}
	}
}

func TestReached(t *testing.T) {
	for name, test := range map[string]struct {
		c    Coverage
		want bool
	}{
		"95 %":        {Coverage{Runs: 100, Held: 95}, true},
		"too low":     {Coverage{Runs: 100, Held: 92}, false},
		"too high":    {Coverage{Runs: 100, Held: 98}, false},
		"no interval": {Coverage{Runs: 100, Censored: 100}, true},
		"of the rest": {Coverage{Runs: 100, Censored: 60, Held: 38}, true},
	} {
		if got := test.c.Reached(); got != test.want {
			t.Errorf("%s: %t, %s", name, got, test.c.row())
		}
	}
}

package main

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"vnfbench.io/operator/internal/comparison"
)

// TestGroupsOfDelays checks that equal devices are rarely called different, and that slower ones are found.
func TestGroupsOfDelays(t *testing.T) {
	const compared = 2000
	for _, noise := range noises {
		for _, runs := range groupSizes {
			random := rand.New(rand.NewPCG(1, uint64(runs)))
			got := compareGroups(compared, func(_ int, scale float64) comparison.Column {
				return delays(random, noise.draw, runs, 1/scale)
			})
			if got.tooMany() || got.Compared != compared {
				t.Errorf("%s, %d runs: %+v: false alarms", noise.name, runs, got)
			}
			if runs >= 5 && noise.name == "normal, 1 %" && (got.Found5 < compared*99/100 || got.Found2 < compared*7/10) {
				t.Errorf("%s, %d runs: %+v: slower devices are missed", noise.name, runs, got)
			}
		}
	}
}

// TestGroupsOfSearches checks the same of searches with a few devices of a class with noise and one without.
func TestGroupsOfSearches(t *testing.T) {
	for _, name := range []string{"hard cap", "cap, mild noise"} {
		var out bytes.Buffer
		if err := printGroups(t.Context(), &out, name, 10); err != nil {
			t.Errorf("%v:\n%s", err, out.String())
		}
	}
	if (GroupCounts{Compared: 2000, Alarms: 160}).tooMany() != true || (GroupCounts{Compared: 2000, Alarms: 110}).tooMany() {
		t.Error("8 % are few false alarms, or 5.5 % are too many")
	}
}

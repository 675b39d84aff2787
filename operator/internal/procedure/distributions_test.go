package procedure

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/measure"
)

// whole returns an outcome of two directions whose distributions take some bytes each.
func whole(delay, lateness int) measure.Outcome {
	d := measure.DirectionOutcome{Distributions: &measure.Distributions{Delay: strings.Repeat("d", delay), Lateness: strings.Repeat("l", lateness)}}
	return measure.Outcome{Directions: []measure.DirectionOutcome{d, d}}
}

// TestFitDistributions checks which trials keep their distributions, and what is left out first.
func TestFitDistributions(t *testing.T) {
	instr := instructions()
	instr.Sizes = sizes(64)
	for name, test := range map[string]struct {
		stage           measure.Stage
		delay, lateness int
		keeps           string
	}{
		"a latency":        {measure.StageLatency, 1000, 1000, "both"},
		"the calibration":  {measure.StageCalibrateLatency, 1000, 1000, "both"},
		"a fixed load":     {stageFixedLoad, 1000, 1000, "both"},
		"a long lateness":  {measure.StageLatency, 1000, 20_000, "delay"},
		"a long delay":     {measure.StageLatency, 20_000, 1000, ""},
		"a search":         {measure.StageThroughput, 1000, 1000, "both"},
		"a search's long":  {measure.StageThroughput, 4000, 4000, "delay"},
		"a longer delay":   {measure.StageThroughput, 8000, 100, ""},
		"a loss curve":     {stageFrameLossRate, 1000, 1000, "both"},
		"a receive rate":   {stageReceiveRate, 4000, 4000, "delay"},
		"a burst":          {stageBackToBack, 8000, 100, ""},
		"a recovery":       {stageRecovery, 100, 100, ""},
		"the highest rate": {measure.StageCalibrateRate, 100, 100, ""},
		"a discarded one":  {stageDiscard, 100, 100, ""},
	} {
		outcome := whole(test.delay, test.lateness)
		for _, d := range FitDistributions(instr, nil, test.stage, outcome).Directions {
			got := ""
			switch {
			case d.Distributions == nil:
			case d.Distributions.Lateness != "":
				got = "both"
			case d.Distributions.Delay != "":
				got = "delay"
			}
			if got != test.keeps {
				t.Errorf("%s keeps %q, want %q", name, got, test.keeps)
			}
		}
		if outcome.Directions[0].Distributions == nil {
			t.Errorf("%s: the driver's outcome was changed", name)
		}
	}
}

// TestFitDelayVariation checks that the distribution of the delay variation takes only what delay and lateness leave of a
// trial's room, and nothing from searches.
func TestFitDelayVariation(t *testing.T) {
	instr := instructions()
	instr.Sizes = sizes(64)
	for name, test := range map[string]struct {
		stage     measure.Stage
		variation int
		keeps     bool
	}{
		"a latency":            {measure.StageLatency, 1000, true},
		"a latency's long one": {measure.StageLatency, 20_000, false},
		"a search":             {measure.StageThroughput, 10, false},
		"a receive rate":       {stageReceiveRate, 10, false},
	} {
		outcome := whole(1000, 1000)
		for _, d := range outcome.Directions {
			d.Distributions.DelayVariation = strings.Repeat("v", test.variation)
		}
		before, err := json.Marshal(outcome)
		if err != nil {
			t.Fatal(err)
		}
		fit := FitDistributions(instr, nil, test.stage, outcome)
		for _, d := range fit.Directions {
			if got := d.Distributions; got == nil || got.Delay == "" || got.Lateness == "" || (got.DelayVariation != "") != test.keeps {
				t.Errorf("%s keeps %+v", name, got)
			}
		}
		if !test.keeps {
			continue
		}
		without := fit
		without.Directions = slices.Clone(fit.Directions)
		for i := range without.Directions {
			without.Directions[i].Distributions = nil
		}
		after, err := json.Marshal(without)
		if err != nil {
			t.Fatal(err)
		}
		if took, counted := len(before)-len(after), distributionBytes(fit).all(); took > counted {
			t.Errorf("%s: the distributions take %d bytes, and %d are counted", name, took, counted)
		}
	}
}

// TestDistributionsAreBounded checks that distributions leave room for the records, however many
// trials a run makes.
func TestDistributionsAreBounded(t *testing.T) {
	instr := instructions()
	for sizes := 1; sizes <= 32; sizes++ {
		instr.Sizes = nil
		for i := range sizes {
			instr.Sizes = append(instr.Sizes, measure.FrameSize(64+i))
		}
		var records []measure.Record
		taken := 0
		for range 500 {
			outcome := FitDistributions(instr, records, measure.StageLatency, whole(700, 700))
			taken += distributionBytes(outcome).all()
			records = append(records, measure.Record{Outcome: outcome})
		}
		if free := measure.MaximumResultsBytes - ExpectedBytes(instr); taken > max(0, free/6) || taken > maxDistributionBytes {
			t.Errorf("%d sizes: %d bytes, %d are free", sizes, taken, free)
		}
		if taken == 0 && sizes < 8 {
			t.Errorf("%d sizes keep no distribution", sizes)
		}
	}
}

// TestSearchesLeaveRoom checks that the distributions of searches take nothing from trials whose delays are figures, and
// that searches of a run of one size keep theirs, also where they take more trials than expected. Of more sizes the later ones
// keep what the figures of the first did not take. Bursts that follow take nothing from the figures of later sizes either.
func TestSearchesLeaveRoom(t *testing.T) {
	for _, bursts := range []int{0, 200} {
		searchesLeaveRoom(t, bursts)
	}
}

func searchesLeaveRoom(t *testing.T, bursts int) {
	instr := instructions()
	for sizes, least := range map[int]int{1: 25, 2: 5, 3: 5, 7: 0} {
		instr.Sizes = nil
		for i := range sizes {
			instr.Sizes = append(instr.Sizes, measure.FrameSize(64+i))
		}
		all, figures, share := distributionShares(instr)
		if figures%sizes != 0 {
			t.Fatalf("%d trials of %d sizes", figures, sizes)
		}
		var records []measure.Record
		taken, kept := 0, make([]int, sizes)
		add := func(stage measure.Stage, outcome measure.Outcome) bool {
			outcome = FitDistributions(instr, records, stage, outcome)
			bytes := distributionBytes(outcome)
			taken += bytes.all()
			records = append(records, measure.Record{Stage: stage, Outcome: outcome})
			return bytes.delay > 0 && bytes.lateness > 0
		}
		each := share/4 - 50
		if sizes > 1 {
			each /= 2
		}
		for size := range sizes {
			for range 25 {
				if add(measure.StageThroughput, whole(600, 600)) {
					kept[size]++
				}
			}
			for n := range figures / sizes {
				if !add(measure.StageLatency, whole(each, each)) {
					t.Errorf("%d sizes: trial %d of size %d whose delays are figures keeps no distribution of %d bytes", sizes, n, size, 4*each)
				}
			}
			for range bursts {
				add(stageBackToBack, whole(200, 200))
			}
		}
		if taken > all {
			t.Errorf("%d sizes: %d bytes of %d", sizes, taken, all)
		}
		if bursts > 0 {
			continue
		}
		if kept[sizes-1] < least {
			t.Errorf("%d sizes: of 25 trials of each size's search %v keep theirs, want %d of the last", sizes, kept, least)
		}
		t.Logf("%d sizes: of 25 trials of each size's search %v keep theirs; %d of %d bytes", sizes, kept, taken, all)
	}
}

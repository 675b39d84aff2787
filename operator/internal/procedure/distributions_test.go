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
	for _, sizes := range []int{1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32} {
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

// TestSearchesLeaveRoom checks that the distributions of searches and of bursts take nothing that the expected trials whose delays are
// figures have not taken yet: each of these keeps its whole share, and where trials of the first size are made again, no more of them
// go without than these. Searches of a run of one size keep theirs, also where they take more trials than expected. Of more sizes the
// later ones keep what the figures of the first did not take.
func TestSearchesLeaveRoom(t *testing.T) {
	for _, bursts := range []int{0, 200} {
		for _, again := range []int{0, 2} {
			for sizes, least := range map[int]int{1: 25, 2: 5, 3: 5, 7: 0} {
				if bursts+again > 0 {
					least = 0
				}
				searchesLeaveRoom(t, sizes, bursts, again, 1, 0)
				searchesLeaveRoom(t, sizes, bursts, again, 2, least)
			}
		}
	}
}

// searchesLeaveRoom makes searches, trials whose delays are figures and bursts of sizes. Those of figures take one of so many parts of
// their share, and some of the first size are made again. Of the last size's search at least so many trials keep theirs.
func searchesLeaveRoom(t *testing.T, sizes, bursts, again, parts, least int) {
	t.Helper()
	instr := instructions()
	instr.Sizes = nil
	for i := range sizes {
		instr.Sizes = append(instr.Sizes, measure.FrameSize(64+i))
	}
	all, figures, share := distributionShares(instr)
	var records []measure.Record
	without, expected, kept := 0, figures, make([]int, sizes)
	add := func(r measure.Record, outcome measure.Outcome) bool {
		r.Outcome = FitDistributions(instr, records, r.Stage, outcome)
		records = append(records, r)
		bytes := distributionBytes(r.Outcome)
		if left := all - takenBy(records); KeepsOfRest(r.Stage) && bytes.all() > 0 && left < expected*share {
			t.Errorf("%d sizes: after %d bytes of stage %s, %d bytes are left for %d figures of %d", sizes, bytes.all(), r.Stage, left, expected, share)
		}
		return bytes.delay > 0 && bytes.lateness > 0
	}
	each := share/4/parts - 50
	for i, size := range instr.Sizes {
		at := func(stage measure.Stage) measure.Record {
			return measure.Record{Stage: stage, Trial: measure.Trial{Size: size.Name}}
		}
		for range 25 {
			if add(at(measure.StageThroughput), whole(600, 600)) {
				kept[i]++
			}
		}
		first := true
		for _, ph := range expectedPhases(instr) {
			if !ph.measurement.distributions() || ph.size.Name != size.Name {
				continue
			}
			trials := ph.expectedTrials
			if i == 0 && first {
				trials, first = trials+again, false
			}
			r := at(ph.stage())
			r.Load, r.Repeat = ph.load.Name, ph.repeat
			for n := range trials {
				if n < ph.expectedTrials {
					expected--
				}
				if !add(r, whole(each, each)) {
					without++
				}
			}
		}
		for range bursts {
			add(at(stageBackToBack), whole(200, 200))
		}
	}
	if taken := takenBy(records); taken > all || without > again {
		t.Errorf("%d sizes: %d bytes of %d; of %d figures and %d made again, %d keep no distribution of %d bytes", sizes, taken, all, figures, again, without, 4*each)
	}
	if kept[sizes-1] < least {
		t.Errorf("%d sizes: of 25 trials of each size's search %v keep theirs, want %d of the last", sizes, kept, least)
	}
	t.Logf("%d sizes, %d figures of %d bytes, %d bursts, %d made again, %d without: of 25 trials of each size's search %v keep theirs", sizes, figures, share, bursts, again, without, kept)
}

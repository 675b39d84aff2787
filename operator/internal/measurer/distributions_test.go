package measurer

import (
	"testing"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/measure"
)

// TestDistributionsAreStored checks that trials whose delays are figures keep their distributions, and those of searches,
// and no others.
func TestDistributionsAreStored(t *testing.T) {
	l := newLab()
	l.chainReadyAt(measure.Sources{})
	m := l.measurer("a")
	m.Version = "1.2.3"
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, _ := l.stored(t)
	kept := map[measure.Stage]int{}
	for _, r := range store.Records() {
		for _, d := range r.Outcome.Directions {
			if d.Distributions == nil {
				continue
			}
			kept[r.Stage]++
			if h, err := distribution.Decode(d.Distributions.Delay); err != nil || h.Samples() != d.Latency.Samples {
				t.Errorf("trial %d: %d samples of %d: %v", r.Index, h.Samples(), d.Latency.Samples, err)
			}
		}
	}
	if kept[measure.StageLatency] == 0 || kept[measure.StageCalibrateLatency] == 0 || kept[measure.StageThroughput] == 0 || len(kept) != 3 {
		t.Errorf("distributions of the stages %v", kept)
	}
	if got := store.Generator().MeasurerVersion; got != "1.2.3" {
		t.Errorf("the measurer's version is %q", got)
	}
}

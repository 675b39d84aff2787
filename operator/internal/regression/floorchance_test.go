package regression

import (
	"math"
	"math/rand/v2"
	"testing"

	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/series"
)

// TestAFloorByChance counts, in series without a change whose device does about as much as the generator's ceiling, how many runs are below a floor.
func TestAFloorByChance(t *testing.T) {
	for _, deviation := range []float64{0.0025, 0.005, 0.01, 0.02} {
		for _, off := range []float64{0.5, 0, -0.5, -1, -2} {
			runs, below := 0, 0
			for seed := range uint64(40) {
				h := newHistory("a")
				h.random = rand.New(rand.NewPCG(seed, 9))
				for i := range 60 {
					p := h.point("night-"+string(rune('A'+i)), i, 0)
					p.Value = int64(math.Round(100_000 * math.Exp(deviation*(off+h.random.NormFloat64()))))
					if p.Value >= 100_000 {
						p.Value, p.Bound = 100_000, figure.AtLeast
					}
					if h.points = append(h.points, p); i < 20 {
						continue
					}
					j, err := Judge(Default(), series.Series{Key: p.Key, Runs: h.points}, nil)
					if err != nil {
						t.Fatal(err)
					}
					if runs++; j.Reason == ReasonBelowFloor {
						below++
					}
				}
			}
			if share := 100 * float64(below) / float64(runs); share > 2 {
				t.Errorf("variation %v, %v deviations from the ceiling: %.1f %% of the runs", deviation, off, share)
			} else {
				t.Logf("variation %v, %v deviations from the ceiling: %.1f %% of the runs", deviation, off, share)
			}
		}
	}
}

package page

import (
	"math"
	"testing"

	"vnfbench.io/operator/internal/distribution"
	"vnfbench.io/operator/internal/report"
)

// TestSteps checks that a frame that was lost counts as infinite: with a tenth lost, the distribution ends at 0.9 and its complement at 0.1.
// Without loss they end at 1 and at 0.
func TestSteps(t *testing.T) {
	delays, err := distribution.Decode(distribution.Encode(func(yield func(uint64, uint64) bool) { _ = yield(10_000, 45) && yield(20_000, 45) }))
	if err != nil {
		t.Fatal(err)
	}
	for received, want := range map[uint64][2]float64{90: {0.45, 0.9}, 100: {0.5, 1}} {
		cdf, ccdf := steps(report.DelayDistribution{Delays: delays, SentFrames: 100, ReceivedFrames: received})
		if len(cdf) != 3 || cdf[0].Y != 0 || ccdf[0].Y != 1 {
			t.Fatalf("the steps are %v and %v", cdf, ccdf)
		}
		for i, share := range want {
			if p, q := cdf[i+1], ccdf[i+1]; math.Abs(p.Y-share) > 1e-9 || math.Abs(q.Y-(1-share)) > 1e-9 || p.X < 10*float64(i+1) || p.X > 10.2*float64(i+1) {
				t.Errorf("with %d of 100 received, step %d is %v and %v, want a share of %v", received, i, p, q, share)
			}
		}
	}
}

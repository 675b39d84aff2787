package procedure

import (
	"cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// latenessOf returns how long frames waited before they left, the largest of each figure over trials and
// directions; nil where the driver does not know it. Percentiles of several trials do not add up, and none
// of all their frames exceeds the largest of theirs.
func latenessOf(records ...measure.Record) (worst *v1alpha1.DelayQuantiles) {
	for _, r := range records {
		for _, d := range r.Outcome.Directions {
			if q := d.Lateness; q.MaxNanoseconds > 0 {
				worst = laterOf(worst, &v1alpha1.DelayQuantiles{
					P50Nanoseconds: signed(q.P50Nanoseconds), P99Nanoseconds: signed(q.P99Nanoseconds), MaxNanoseconds: signed(q.MaxNanoseconds),
				})
			}
		}
	}
	return worst
}

// laterOf returns the larger of each figure.
func laterOf(a, b *v1alpha1.DelayQuantiles) *v1alpha1.DelayQuantiles {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &v1alpha1.DelayQuantiles{
		P50Nanoseconds: max(a.P50Nanoseconds, b.P50Nanoseconds),
		P99Nanoseconds: max(a.P99Nanoseconds, b.P99Nanoseconds),
		MaxNanoseconds: max(a.MaxNanoseconds, b.MaxNanoseconds),
	}
}

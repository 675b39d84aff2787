package procedure

import (
	"slices"

	"vnfbench.io/operator/internal/measure"
)

// Keep is what of an outcome goes into its record. Of a burst, only counts are
// figures; without its delays a record is a third as large, and a benchmark of
// hundreds of bursts fits into the results.
func Keep(stage measure.Stage, outcome measure.Outcome) measure.Outcome {
	if stage != measure.StageBackToBack {
		return outcome
	}
	outcome.Directions = slices.Clone(outcome.Directions)
	for i := range outcome.Directions {
		d := &outcome.Directions[i]
		d.Latency, d.DelayVariation = measure.Delays{}, measure.Delays{}
		d.FirstFrameNanoseconds, d.JitterNanoseconds = 0, 0
	}
	return outcome
}

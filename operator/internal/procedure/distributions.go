package procedure

import (
	"slices"

	"vnfbench.io/operator/internal/measure"
)

const (
	// maxDistributionBytes is what all distributions of a run may take of its results,
	// maxRecordDistributions what those of one trial may take.
	maxDistributionBytes   = 192 << 10
	maxRecordDistributions = 16 << 10
)

// FitDistributions returns an outcome with the distributions that its record may keep, after the
// earlier records: those of trials whose delays are figures, in all directions alike. Where both do
// not fit it keeps the delay and not the lateness. They take at most a sixth of what the records
// leave free, so that they do not prevent a measurement, and an equal share for each expected trial.
func FitDistributions(instr measure.Instructions, records []measure.Record, stage measure.Stage, outcome measure.Outcome) measure.Outcome {
	room := 0
	if m := measurementOf(stage); m != nil && m.stage() == stage && m.distributions() {
		room = distributionRoom(instr, records)
	}
	delay, lateness := distributionBytes(outcome)
	outcome.Directions = slices.Clone(outcome.Directions)
	for i, d := range outcome.Directions {
		switch {
		case d.Distributions == nil || delay+lateness <= room:
		case delay <= room:
			outcome.Directions[i].Distributions = &measure.Distributions{Delay: d.Distributions.Delay}
		default:
			outcome.Directions[i].Distributions = nil
		}
	}
	return outcome
}

// distributionRoom returns how many bytes the next trial's distributions may take.
func distributionRoom(instr measure.Instructions, records []measure.Record) int {
	trials, taken := 0, 0
	for _, ph := range expectedPhases(instr) {
		if ph.measurement.distributions() {
			trials += ph.expectedTrials
		}
	}
	if trials == 0 {
		return 0
	}
	for _, r := range records {
		delay, lateness := distributionBytes(r.Outcome)
		taken += delay + lateness
	}
	all := min(freeBytes(instr)/furtherShare, maxDistributionBytes)
	return max(0, min(all/trials, all-taken, maxRecordDistributions))
}

// distributionBytes returns what the distributions of all directions take in a record.
func distributionBytes(outcome measure.Outcome) (delay, lateness int) {
	const fieldBytes = len(`,"distributions":{"delay":"","lateness":""}`)
	for _, d := range outcome.Directions {
		if d.Distributions != nil {
			delay, lateness = delay+len(d.Distributions.Delay)+fieldBytes, lateness+len(d.Distributions.Lateness)
		}
	}
	return delay, lateness
}

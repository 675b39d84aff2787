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
	// restShare is one over the share that a trial may take of the rest that trials whose delays are figures leave: how many
	// follow is not known.
	restShare = 8
)

// KeepsOfRest reports whether trials of a stage keep the distributions that those whose delays are figures leave room for.
func KeepsOfRest(stage measure.Stage) bool {
	switch stage {
	case measure.StageThroughput, stageFrameLossRate, stageBackToBack, stageReceiveRate:
		return true
	}
	return false
}

// FitDistributions returns an outcome with the distributions that its record may keep, after the
// earlier records: those of trials whose delays are figures and of those that keep the rest, in all directions alike. Where all
// do not fit it leaves out first the delay variation, which only the former keep, and then the lateness. They take at most a sixth of
// what the records leave free, so that they do not prevent a measurement. Trials whose delays are figures have an equal
// share each, and the others what these leave.
func FitDistributions(instr measure.Instructions, records []measure.Record, stage measure.Stage, outcome measure.Outcome) measure.Outcome {
	room := 0
	switch m := measurementNamed(stage); {
	case KeepsOfRest(stage):
		room = restRoom(instr, records)
	case m != nil && m.distributions():
		room = distributionRoom(instr, records)
	}
	bytes := distributionBytes(outcome)
	outcome.Directions = slices.Clone(outcome.Directions)
	for i, d := range outcome.Directions {
		if d.Distributions == nil {
			continue
		}
		kept := *d.Distributions
		if KeepsOfRest(stage) || bytes.all() > room {
			kept.DelayVariation = ""
		}
		if bytes.delay+bytes.lateness > room {
			kept.Lateness = ""
		}
		outcome.Directions[i].Distributions = &kept
		if bytes.delay > room {
			outcome.Directions[i].Distributions = nil
		}
	}
	return outcome
}

// distributionRoom returns how many bytes the next trial's distributions may take, where its delays are figures.
func distributionRoom(instr measure.Instructions, records []measure.Record) int {
	all, _, share := distributionShares(instr)
	return max(0, min(share, all-takenBy(records)))
}

// restRoom returns how many bytes the distributions of the next trial that keeps the rest may take: a share of what is left
// when each expected trial whose delays are figures still takes its whole share. What these do not take is for later trials.
func restRoom(instr measure.Instructions, records []measure.Record) int {
	all, _, share := distributionShares(instr)
	return max(0, min((all-takenBy(records)-expectedFigures(instr, records)*share)/restShare, maxRecordDistributions))
}

// expectedFigures returns how many trials are expected after the records whose delays are figures. More of one phase than it expects,
// because some were made again, leave those of other phases as they are.
func expectedFigures(instr measure.Instructions, records []measure.Record) (left int) {
	for _, ph := range expectedPhases(instr) {
		if !ph.measurement.distributions() {
			continue
		}
		made := 0
		for _, r := range records {
			if ph.owns(r) && distributionBytes(r.Outcome).delay > 0 {
				made++
			}
		}
		left += max(0, ph.expectedTrials-made)
	}
	return left
}

// distributionShares returns how many bytes all distributions of a run may take, how many trials are expected whose delays
// are figures, and how many bytes each of these may take.
func distributionShares(instr measure.Instructions) (all, figures, share int) {
	figures = expectedFigures(instr, nil)
	all = max(0, min(freeBytes(instr)/furtherShare, maxDistributionBytes))
	return all, figures, min(all/max(1, figures), maxRecordDistributions)
}

// takenBy returns how many bytes the distributions of records take.
func takenBy(records []measure.Record) (taken int) {
	for _, r := range records {
		taken += distributionBytes(r.Outcome).all()
	}
	return taken
}

// distributionSizes are the bytes that the distributions of an outcome take in its record.
type distributionSizes struct{ delay, lateness, variation int }

func (s distributionSizes) all() int { return s.delay + s.lateness + s.variation }

// distributionBytes returns those of all directions.
func distributionBytes(outcome measure.Outcome) (s distributionSizes) {
	const fieldBytes = len(`,"distributions":{"delay":"","lateness":""}`)
	for _, d := range outcome.Directions {
		if d.Distributions != nil {
			s.delay += len(d.Distributions.Delay) + fieldBytes
			s.lateness += len(d.Distributions.Lateness)
			if n := len(d.Distributions.DelayVariation); n > 0 {
				s.variation += n + len(`,"delayVariation":""`)
			}
		}
	}
	return s
}

package procedure

import (
	"slices"

	"vnfbench.io/operator/internal/measure"
)

// seriesSlotBytes is what a slot of a series takes in a record, of two directions.
const seriesSlotBytes = 2 * 24

// seriesSlots are how many slots a kept series may have, the most first.
var seriesSlots = []int{64, 32, 16}

// hasSeries reports whether records of a stage have a series: those that hold a load for its delays.
func hasSeries(stage measure.Stage) bool {
	m := measurementOf(stage)
	return m != nil && m.stage() == stage && m.series()
}

// WithSeries returns an outcome with as much of its series as its record has room for, after the earlier
// records. All series together take at most a sixth of what the records leave free; trials that are made
// again take theirs from those that follow.
func WithSeries(instr measure.Instructions, records []measure.Record, stage measure.Stage, outcome measure.Outcome) measure.Outcome {
	most := 0
	if hasSeries(stage) {
		most = slotsKept(instr, records)
	}
	outcome.Directions = slices.Clone(outcome.Directions)
	for i := range outcome.Directions {
		outcome.Directions[i].Series = outcome.Directions[i].Series.Folded(most)
	}
	return outcome
}

// slotsKept returns how many slots the next kept series may have; 0 for none.
func slotsKept(instr measure.Instructions, records []measure.Record) int {
	trials, taken := 0, 0
	for _, ph := range expectedPhases(instr) {
		if ph.measurement.series() {
			trials += ph.expectedTrials
		}
	}
	for _, r := range records {
		for _, d := range r.Outcome.Directions {
			if d.Series != nil {
				taken += len(d.Series.ReceivedFrames) * seriesSlotBytes / 2
			}
		}
	}
	room := freeBytes(instr) / furtherShare
	for _, slots := range seriesSlots {
		if max(trials*slots, slots+taken/seriesSlotBytes)*seriesSlotBytes <= room {
			return slots
		}
	}
	return 0
}

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

// WithSeries returns an outcome with as much of its series as its record has room for. All series
// together take at most a quarter of what the records leave free.
func WithSeries(instr measure.Instructions, stage measure.Stage, outcome measure.Outcome) measure.Outcome {
	most := 0
	if hasSeries(stage) {
		most = slotsKept(instr)
	}
	outcome.Directions = slices.Clone(outcome.Directions)
	for i := range outcome.Directions {
		outcome.Directions[i].Series = outcome.Directions[i].Series.Folded(most)
	}
	return outcome
}

// slotsKept returns how many slots each kept series may have; 0 for none.
func slotsKept(instr measure.Instructions) int {
	trials := 0
	for _, ph := range expectedPhases(instr) {
		if ph.measurement.series() {
			trials += ph.expectedTrials
		}
	}
	room := (measure.MaximumResultsBytes - ExpectedBytes(instr)) / 4
	for _, slots := range seriesSlots {
		if trials*slots*seriesSlotBytes <= room {
			return slots
		}
	}
	return 0
}

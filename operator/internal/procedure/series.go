package procedure

import (
	"slices"
	"time"

	"vnfbench.io/operator/internal/measure"
)

// seriesSlotBytes is what a slot of a series is expected to take in a record at least, of two directions.
const seriesSlotBytes = 2 * 36

// seriesSlots are how many slots a kept series may have, the most first: the driver's own, and halves of that.
var seriesSlots = []int{1024, 512, 256, 128, 64, 32, 16, 8}

// seriesSlot is the length of a slot that has not been folded.
const seriesSlot = 100 * time.Millisecond

// minSeriesSlots is how many a trial has at least.
const minSeriesSlots = 16

// WithSeries returns an outcome with as much of its series as its record has room for, after the earlier
// records. All series together take at most a sixth of what the records leave free; trials that are made
// again take theirs from those that follow.
func WithSeries(instr measure.Instructions, records []measure.Record, stage measure.Stage, outcome measure.Outcome) measure.Outcome {
	trials, taken := 0, 0
	if m := measurementNamed(stage); m != nil {
		trials, _ = m.series(instr)
	}
	for _, r := range records {
		taken += seriesBytes(r.Outcome)
	}
	if trials > 0 {
		for _, most := range seriesSlots {
			if kept := withSlots(outcome, most); seriesFit(instr, kept, most, taken) {
				return withoutDelays(kept)
			}
		}
	}
	return withSlots(outcome, 0)
}

// seriesFit reports whether there is room for an outcome's series besides those that take a number of bytes, and for those
// of all expected trials if they are like its own, of which none has more slots than most.
func seriesFit(instr measure.Instructions, outcome measure.Outcome, most, taken int) bool {
	bytes, slots, numbers := seriesBytes(outcome), 1, 0
	for _, d := range outcome.Directions {
		if d.Series != nil {
			slots, numbers = max(slots, len(d.Series.ReceivedFrames)), numbers+d.Series.Numbers()
		}
	}
	if bytes > measure.MaximumSeriesBytes || numbers > measure.MaximumSeriesNumbers {
		return false
	}
	each := max(seriesSlotBytes, (bytes+slots-1)/slots)
	return max(expectedSlots(instr, most)*each, bytes+taken) <= freeBytes(instr)/furtherShare
}

// seriesBytes returns what the series of an outcome take in a record.
func seriesBytes(outcome measure.Outcome) (bytes int) {
	for _, d := range outcome.Directions {
		if d.Series != nil {
			bytes += len(`,"series":`) + d.Series.Bytes()
		}
	}
	return bytes
}

// withSlots returns an outcome whose series have so many slots at most; none with 0.
func withSlots(outcome measure.Outcome, most int) measure.Outcome {
	outcome.Directions = slices.Clone(outcome.Directions)
	for i := range outcome.Directions {
		outcome.Directions[i].Series = outcome.Directions[i].Series.Folded(most)
	}
	return outcome
}

// withoutDelays drops from an outcome's own series what is not stored.
func withoutDelays(outcome measure.Outcome) measure.Outcome {
	for i := range outcome.Directions {
		if s := outcome.Directions[i].Series; s != nil {
			stored := *s
			stored.Delays = nil
			outcome.Directions[i].Series = &stored
		}
	}
	return outcome
}

// expectedSlots returns how many slots the series of all expected trials have, if none has more than a number.
func expectedSlots(instr measure.Instructions, most int) (all int) {
	w := &replay{instr: instr}
	for _, ph := range expectedPhases(instr) {
		if trials, each := ph.measurement.series(instr); trials > 0 {
			sides := ph.expectedTrials / ph.measurement.trials(w, ph.phase)
			slots := min(seriesSlots[0], max(minSeriesSlots, int((each+seriesSlot-1)/seriesSlot)))
			all += sides * trials * folded(slots, most)
		}
	}
	return all
}

// folded returns how many slots are left where two, four and so on are made one, until there are at most so many.
func folded(slots, most int) int {
	each := 1
	for (slots+each-1)/each > most {
		each *= 2
	}
	return (slots + each - 1) / each
}

package procedure

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/internal/measure"
)

// What a record takes in the results with its key, with two directions, a doubt and
// figures of the usual length; the largest are a third more.
const (
	recordBytes = 2390
	// countsBytes is that without delays, except for the wait before the departure.
	countsBytes = 1050
)

// ExpectedBytes returns what the records of a measurement take, where the device is quiet and no
// trial has to be repeated.
func ExpectedBytes(instr measure.Instructions) int {
	total := 0
	for _, ph := range expectedPhases(instr) {
		total += ph.expectedTrials * ph.measurement.recordBytes(instr)
	}
	return total
}

// One over so many of what the expected records leave free is what all evidence may take, and what
// distributions, series and records that are made again so that a trial can be longer each may. The rest, a
// sixth, is for other trials that are made again, and for records that are larger than expected.
const (
	evidenceShare = 3
	furtherShare  = 6
)

// freeBytes returns what the expected records leave free of the results.
func freeBytes(instr measure.Instructions) int {
	return measure.MaximumResultsBytes - ExpectedBytes(instr)
}

// LargestStage returns the stage whose records take most of the results.
func LargestStage(instr measure.Instructions) measure.Stage {
	var largest measure.Stage
	bytes := map[measure.Stage]int{}
	for _, ph := range expectedPhases(instr) {
		stage := ph.stage()
		if bytes[stage] += ph.expectedTrials * ph.measurement.recordBytes(instr); bytes[stage] > bytes[largest] {
			largest = stage
		}
	}
	return largest
}

// expectedPhase is a phase with the trials that it takes on a quiet device.
type expectedPhase struct {
	phase
	expectedTrials int
}

func expectedPhases(instr measure.Instructions) []expectedPhase {
	w := &replay{instr: instr}
	var out []expectedPhase
	for _, ph := range phases(instr) {
		trials := ph.measurement.trials(w, ph)
		if instr.Compares() && ph.path() != PathCalibration {
			trials *= 2
		}
		out = append(out, expectedPhase{ph, trials})
	}
	return out
}

// countsOnly returns an outcome without delays, for trials of which only counts and the wait before the
// departure are figures: its record is less than half as large. A doubt that does not make the trial
// invalid is its code alone, once: sentences about both directions of each short trial would be most of
// the record.
func countsOnly(outcome measure.Outcome) measure.Outcome {
	outcome.Directions = slices.Clone(outcome.Directions)
	for i := range outcome.Directions {
		d := &outcome.Directions[i]
		d.Latency, d.DelayVariation = measure.Delays{}, measure.Delays{}
		d.DelaySinceDeparture = measure.DelayQuantiles{}
		d.FirstFrameNanoseconds, d.Jitter, d.Series, d.LatencyOfSent, d.MostInMillisecond = 0, nil, nil, nil, 0
		d.Distributions = nil
	}
	var doubts []measure.Doubt
	for _, d := range outcome.Doubts {
		if !d.Invalid {
			d.Detail = ""
		}
		if !slices.Contains(doubts, d) {
			doubts = append(doubts, d)
		}
	}
	outcome.Doubts = doubts
	return outcome
}

// because returns a doubt as a reason in a sentence.
func because(d measure.Doubt) string {
	if d.Detail == "" {
		return "of " + d.Code
	}
	return fmt.Sprintf("%s (%s)", d.Detail, d.Code)
}

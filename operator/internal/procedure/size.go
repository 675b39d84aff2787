package procedure

import (
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// What a record takes in the results with its key, with two directions and
// figures of the usual length; the largest are a fifth more.
const (
	recordBytes = 1620
	burstBytes  = 720
)

// ExpectedBytes is what the records of a measurement take, where the device is
// quiet and no trial has to be repeated.
func ExpectedBytes(instr measure.Instructions) int {
	total := 0
	eachPhase(instr, func(stage measure.Stage, trials int) {
		bytes := recordBytes
		switch stage {
		case measure.StageTCP:
			bytes = tcpRecordBytes + len(instr.TCP.Directions)*tcpDirectionBytes
		case measure.StageConnections:
			bytes = connectionsRecordBytes
		case measure.StageBackToBack:
			bytes = burstBytes
		}
		total += trials * bytes
	})
	return total
}

// eachPhase tells how many trials each phase takes on a quiet device.
func eachPhase(instr measure.Instructions, tell func(stage measure.Stage, trials int)) {
	w := &walk{instr: instr}
	for _, ph := range phases(instr) {
		trials := 1
		if k, ok := kindOf(ph.stage); ok {
			trials = k.trials(w, ph)
		}
		switch ph.stage {
		case measure.StageThroughput:
			if estimate, err := search.Remaining(w.searchConfigFor(ph.size, lineRate(instr, ph.size)), nil); err == nil {
				trials = estimate.Trials
			}
		case measure.StageLatency:
			trials = instr.Latency.Trials()
		}
		if instr.Compares() && ph.path() != PathCalibration {
			trials *= 2
		}
		tell(ph.stage, trials)
	}
}

package procedure

import "vnfbench.io/operator/internal/measure"

const (
	// maxEvidenceBytes is what all evidence of a run may take of its results, maxRecordEvidence
	// what the evidence of one trial may take.
	maxEvidenceBytes  = 192 << 10
	maxRecordEvidence = 4 << 10
)

// EvidenceRoom returns how many bytes the next trial's evidence may take, given what the earlier
// trials took. All evidence takes at most a third of what the records leave free, so that it does not
// prevent a measurement, and an equal share for each expected trial.
func EvidenceRoom(instr measure.Instructions, taken int) int {
	trials := 0
	for _, ph := range expectedPhases(instr) {
		if ph.measurement.evidence() {
			trials += ph.expectedTrials
		}
	}
	if trials == 0 {
		return 0
	}
	all := min(freeBytes(instr)/evidenceShare, maxEvidenceBytes)
	return max(0, min(all/trials, all-taken, maxRecordEvidence))
}

package procedure

import "vnfbench.io/operator/internal/measure"

// Counted returns the indexes of the records that count, on the sides without and with neighbors.
func Counted(instr measure.Instructions, records []measure.Record) map[int]bool {
	return indexes(instr, records, func(p *part) []measure.Record { return p.counted })
}

// MadeAgain returns the indexes of the records that do not count: of trials that were invalid,
// disturbed or interrupted, and that others replace.
func MadeAgain(instr measure.Instructions, records []measure.Record) map[int]bool {
	return indexes(instr, records, func(p *part) []measure.Record { return p.invalid })
}

func indexes(instr measure.Instructions, records []measure.Record, which func(*part) []measure.Record) map[int]bool {
	found := map[int]bool{}
	for _, side := range sidesOf(instr, records) {
		for _, p := range replayRecords(instr, side).parts {
			for _, r := range which(p) {
				found[r.Index] = true
			}
		}
	}
	return found
}

// sidesOf returns the records of each side, or all where a run has only one.
func sidesOf(instr measure.Instructions, records []measure.Record) [][]measure.Record {
	if !instr.Compares() {
		return [][]measure.Record{records}
	}
	return [][]measure.Record{of(sideWithout, records), of(sideWith, records)}
}

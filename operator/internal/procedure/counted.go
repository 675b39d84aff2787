package procedure

import "vnfbench.io/operator/internal/measure"

// Counted returns the indexes of the records that count, on the sides without and with neighbors:
// not those that were made again.
func Counted(instr measure.Instructions, records []measure.Record) map[int]bool {
	sides := [][]measure.Record{records}
	if instr.Compares() {
		sides = [][]measure.Record{of(sideWithout, records), of(sideWith, records)}
	}
	counted := map[int]bool{}
	for _, side := range sides {
		for _, p := range replayRecords(instr, side).parts {
			for _, r := range p.counted {
				counted[r.Index] = true
			}
		}
	}
	return counted
}

package procedure

import "vnfbench.io/operator/internal/measure"

// Counted returns the indexes of the records that count, on the sides without and with neighbors.
func Counted(instr measure.Instructions, records []measure.Record) map[int]bool {
	found := map[int]bool{}
	sides, _ := replaySides(instr, records, "")
	for _, w := range sides {
		for _, p := range w.parts {
			mark(found, p.counted)
		}
	}
	return found
}

// MadeAgain returns the indexes of the records that others replace: of trials that were invalid,
// disturbed, interrupted or prolonged, and of what a session left unfinished.
func MadeAgain(instr measure.Instructions, records []measure.Record) map[int]bool {
	found := map[int]bool{}
	sides, ends := replaySides(instr, records, "")
	for _, w := range sides {
		for _, p := range w.parts {
			for _, r := range p.invalid {
				found[r.Index] = true
			}
		}
	}
	mark(found, ends.dropped)
	return found
}

func mark(found map[int]bool, records []measure.Record) {
	for _, r := range records {
		found[r.Index] = true
	}
}

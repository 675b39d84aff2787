package procedure

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// inRepeatsOf repeats the measurement of each size. With scope Trials, the repeats of a size follow
// one another; with scope Chain, all sizes are measured before the next repeat, which has the next
// deployment.
func inRepeatsOf(list []phase, instr measure.Instructions) []phase {
	repeats := int(instr.Repeats)
	if repeats < 2 {
		return list
	}
	var out []phase
	if instr.RepeatScope == v1alpha1.RepeatChain {
		for repeat := range repeats {
			for _, piece := range piecesInOrder(piecesOf(list), instr.OrderSeed, repeat) {
				out = appendRepeat(out, piece, repeat)
			}
		}
		return out
	}
	for _, piece := range piecesOf(list) {
		for repeat := range repeats {
			out = appendRepeat(out, piece, repeat)
		}
	}
	return out
}

// piecesOf cuts a list of phases into pieces. The parts of a repeat, warm-up, searches and latency
// loads, are one piece for each frame size; everything else is a separate piece.
func piecesOf(list []phase) [][]phase {
	var out [][]phase
	for start := 0; start < len(list); {
		end := start
		for end < len(list) && list[end].repeats() && list[end].size.Name == list[start].size.Name {
			end++
		}
		end = max(end, start+1)
		out, start = append(out, list[start:end]), end
	}
	return out
}

// appendRepeat adds a repeat of a piece. One without figures that are repeated has only the first.
func appendRepeat(out, piece []phase, repeat int) []phase {
	if repeat > 0 && !slices.ContainsFunc(piece, phase.figures) {
		return out
	}
	for _, ph := range piece {
		ph.repeat = repeat
		out = append(out, ph)
	}
	return out
}

// deploymentOf returns the least number of a deployment that a repeat can be measured with: after
// each one that another repeat has used. A repeat that was cut off may continue on its own.
func deploymentOf(instr measure.Instructions, records []measure.Record, repeat int) int {
	if instr.RepeatScope != v1alpha1.RepeatChain {
		return 0
	}
	used := 0
	for _, r := range records {
		if r.Repeat != repeat {
			used = max(used, r.Deployment)
		}
	}
	return used + 1
}

// repeats reports whether the phase is made again in each repeat.
func (p phase) repeats() bool { return p.measurement.repetition() != once }

// figures reports whether the phase has its own figures: a warm-up alone is not worth repeating.
func (p phase) figures() bool { return p.measurement.repetition() == repeatedly }

// findRepeat returns the part of a stage, frame size and repeat that has begun, or nil.
func (w *replay) findRepeat(stage measure.Stage, size measure.Size, repeat int) *part {
	for _, p := range w.parts {
		if p.stage() == stage && p.size.Name == size.Name && p.repeat == repeat {
			return p
		}
	}
	return nil
}

// all returns the parts of a stage and frame size that have begun, in their order.
func (w *replay) all(stage measure.Stage, size measure.Size) []*part {
	var out []*part
	for _, p := range w.parts {
		if p.stage() == stage && p.size.Name == size.Name {
			out = append(out, p)
		}
	}
	return out
}

// ofRepeat ends a sentence about a stage, where there is more than one repeat.
func (w *replay) ofRepeat(p phase) string {
	if w.instr.Repeats < 2 || !p.repeats() {
		return ""
	}
	return fmt.Sprintf(", repeat %d of %d", p.repeat+1, w.instr.Repeats)
}

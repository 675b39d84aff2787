package procedure

import (
	"math/rand/v2"
	"slices"

	"vnfbench.io/operator/internal/measure"
)

// sizesInOrder returns the sizes as they are measured.
func sizesInOrder(instr measure.Instructions) []measure.Size {
	out := slices.Clone(instr.Sizes)
	shuffle(instr.OrderSeed, 0, out)
	return out
}

// firstRepeats is the first of the numbers by which the sizes of repeats are shuffled.
const firstRepeats = 1 << 33

// piecesInOrder returns the pieces of a repeat that has all sizes: those of sizes in a separate order,
// before the others. In the first repeat they are as sizesInOrder has them.
func piecesInOrder(pieces [][]phase, seed int64, repeat int) [][]phase {
	if repeat == 0 {
		return pieces
	}
	var ofSizes, others [][]phase
	for _, piece := range pieces {
		if piece[0].measurement.place() == perSize {
			ofSizes = append(ofSizes, piece)
		} else {
			others = append(others, piece)
		}
	}
	shuffle(seed, firstRepeats+uint64(repeat), ofSizes)
	return append(ofSizes, others...)
}

// loadsInOrder puts the latency loads of each size and repeat into their order. What they are
// shares of is before all of them, so that each order is possible.
func loadsInOrder(instr measure.Instructions, list []phase) []phase {
	for start := 0; start < len(list); {
		end := start + 1
		if list[start].stage() == measure.StageLatency {
			for end < len(list) && list[end].stage() == measure.StageLatency &&
				list[end].size.Name == list[start].size.Name && list[end].repeat == list[start].repeat {
				end++
			}
			shuffle(instr.OrderSeed, uint64(start)+1, list[start:end])
		}
		start = end
	}
	return list
}

// shuffle changes the order of a list by the seed and the list's number, and leaves it without a
// seed. It is Fisher and Yates' algorithm, written out: replay depends on its every step, and a
// later library may shuffle differently. PCG is defined by its publication.
func shuffle[T any](seed int64, number uint64, list []T) {
	if seed == 0 {
		return
	}
	random := rand.NewPCG(uint64(seed), number)
	for i := len(list) - 1; i > 0; i-- {
		j := random.Uint64() % uint64(i+1)
		list[i], list[j] = list[j], list[i]
	}
}

// declared puts the parts that are over into the order of the spec, so that results and warnings
// do not depend on the order of the trials. An open part stays the last.
func (w *replay) declared() {
	if w.instr.OrderSeed == 0 {
		return
	}
	unshuffled := w.instr
	unshuffled.OrderSeed = 0
	at := map[phaseKey]int{}
	for i, ph := range phases(unshuffled) {
		at[ph.key()] = i
	}
	over := w.parts
	if w.open() != nil {
		over = over[:len(over)-1]
	}
	slices.SortStableFunc(over, func(a, b *part) int { return at[a.key()] - at[b.key()] })
}

// phaseKey identifies a phase of a run.
type phaseKey struct {
	stage      measure.Stage
	size, load string
	repeat     int
}

func (p phase) key() phaseKey { return phaseKey{p.stage(), p.size.Name, p.load.Name, p.repeat} }

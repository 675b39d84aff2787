package suite

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// Measurement is one cell in one repeat.
type Measurement struct {
	// Cell is an index of Suite.Cells.
	Cell int
	// Repeat counts from 0.
	Repeat int
}

// Order returns the measurements of an execution in the order in which they are made: block after block, each of which has
// every cell once. A random order follows from the seed alone.
func Order(cells, repeats int, order v1alpha1.MeasurementOrder, seed int64) []Measurement {
	var all []Measurement
	for repeat := range repeats {
		block := make([]Measurement, cells)
		for cell := range block {
			block[cell] = Measurement{Cell: cell, Repeat: repeat}
		}
		if order != v1alpha1.OrderDeclared {
			shuffle(seed, uint64(repeat), block)
		}
		all = append(all, block...)
	}
	return all
}

// ByTurns returns the measurements of a confirmation: pair after pair, each of which begins with the other version than the pair before it, also
// than that of an earlier confirmation of the question. With which version the first one begins follows from the question.
func ByTurns(cells, repeats int, asked *v1alpha1.SuiteConfirmation) []Measurement {
	first := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", asked.Run, asked.Cause, asked.OldRun))[0]
	all := Order(cells, repeats, v1alpha1.OrderDeclared, 0)
	for repeat := range repeats {
		if (int(first)+int(asked.FirstPair)+repeat)%2 == 1 {
			slices.Reverse(all[repeat*cells : (repeat+1)*cells])
		}
	}
	return all
}

// shuffle is Fisher and Yates' algorithm, written out: an execution that continues depends on its every step, and a
// later library may shuffle differently. PCG is defined by its publication.
func shuffle[T any](seed int64, number uint64, list []T) {
	random := rand.NewPCG(uint64(seed), number)
	for i := len(list) - 1; i > 0; i-- {
		j := random.Uint64() % uint64(i+1)
		list[i], list[j] = list[j], list[i]
	}
}

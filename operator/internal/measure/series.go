package measure

import (
	"fmt"
	"slices"
)

// Series is one direction of a trial in slots of time. A frame belongs to the slot in which it was
// due.
type Series struct {
	// SlotNanoseconds is the length of a slot; the last may be longer, and after folding shorter.
	SlotNanoseconds int64 `json:"slotNanoseconds"`
	// ReceivedFrames arrived, at any time. MissingFrames were due and did not arrive: lost, or not
	// sent; nil if none is missing.
	ReceivedFrames []uint64 `json:"received"`
	MissingFrames  []uint64 `json:"missing,omitempty"`
	// MeanNanoseconds and MaxNanoseconds are the delays of those that arrived, 0 for none: on a path
	// with HopInline from the time when they were due, otherwise from their departure.
	MeanNanoseconds []uint64 `json:"mean"`
	MaxNanoseconds  []uint64 `json:"max"`
}

// Add appends a slot.
func (s *Series) Add(due, received, delaySum, longest uint64) {
	if missing := due - min(due, received); missing > 0 || s.MissingFrames != nil {
		s.MissingFrames = append(s.MissingFrames, slices.Repeat([]uint64{0}, len(s.ReceivedFrames)-len(s.MissingFrames))...)
		s.MissingFrames = append(s.MissingFrames, missing)
	}
	s.ReceivedFrames = append(s.ReceivedFrames, received)
	s.MeanNanoseconds = append(s.MeanNanoseconds, delaySum/max(received, 1))
	s.MaxNanoseconds = append(s.MaxNanoseconds, longest)
}

// Bytes returns what the series takes as JSON.
func (s *Series) Bytes() int {
	if s == nil {
		return 0
	}
	n := len(`{"slotNanoseconds":,"received":,"mean":,"max":}`) + len(fmt.Sprint(s.SlotNanoseconds))
	// A list in brackets has one byte between two numbers, as in JSON.
	n += len(fmt.Sprint(s.ReceivedFrames)) + len(fmt.Sprint(s.MeanNanoseconds)) + len(fmt.Sprint(s.MaxNanoseconds))
	if len(s.MissingFrames) > 0 {
		n += len(`"missing":,`) + len(fmt.Sprint(s.MissingFrames))
	}
	return n
}

// Folded returns the series with two slots, four and so on made one, so that it has at most so many.
func (s *Series) Folded(most int) *Series {
	if s == nil || most < 1 {
		return nil
	}
	each := 1
	for (len(s.ReceivedFrames)+each-1)/each > most {
		each *= 2
	}
	if each == 1 {
		return s
	}
	out := &Series{SlotNanoseconds: s.SlotNanoseconds * int64(each)}
	for from := 0; from < len(s.ReceivedFrames); from += each {
		var due, received, sum, longest uint64
		for n := from; n < min(from+each, len(s.ReceivedFrames)); n++ {
			received += s.ReceivedFrames[n]
			sum += s.MeanNanoseconds[n] * s.ReceivedFrames[n]
			longest = max(longest, s.MaxNanoseconds[n])
			if s.MissingFrames != nil {
				due += s.MissingFrames[n]
			}
		}
		out.Add(due+received, received, sum, longest)
	}
	return out
}

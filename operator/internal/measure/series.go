package measure

import (
	"cmp"
	"fmt"
	"slices"
)

// MaximumSeriesBytes and MaximumSeriesNumbers bound the series of a record, all directions together: a record is stored as one value,
// which is bounded in both.
const (
	MaximumSeriesBytes   = 96 << 10
	MaximumSeriesNumbers = 8500
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
	// LostFrames are those of the missing that had left the generator, with those that a port refused afterwards; nil if all
	// had, and in a series without percentiles, which an older measurer kept. With those that arrived they are what was sent.
	LostFrames []uint64 `json:"lost,omitempty"`
	// MeanNanoseconds and MaxNanoseconds are the delays of those that arrived, 0 for none: on a path
	// with HopInline from the time when they were due, otherwise from their departure.
	MeanNanoseconds []uint64 `json:"mean"`
	MaxNanoseconds  []uint64 `json:"max"`
	// P50Nanoseconds and P99Nanoseconds are percentiles of the same delays, by nearest rank: within 64 ns or a 16th of the delay.
	P50Nanoseconds []uint64 `json:"p50,omitempty"`
	P99Nanoseconds []uint64 `json:"p99,omitempty"`

	// Delays are those of each slot, for the percentiles of slots that are made one. They are not stored.
	Delays [][]DelayCount `json:"-"`
}

// Slot is what happened to the frames that were due in one slot.
type Slot struct {
	DueFrames, SentFrames, ReceivedFrames uint64
	// DelaySum is the sum of the delays of those that arrived, and Delays how many had which one, in rising order.
	DelaySum, MaxNanoseconds uint64
	Delays                   []DelayCount
}

// DelayCount is how many frames had a delay, which represents those next to it.
type DelayCount struct{ Nanoseconds, Frames uint64 }

// Add appends a slot.
func (s *Series) Add(slot Slot) {
	n := len(s.ReceivedFrames)
	due := max(slot.DueFrames, slot.ReceivedFrames)
	if missing := due - slot.ReceivedFrames; missing > 0 || s.MissingFrames != nil {
		s.MissingFrames = append(s.MissingFrames, slices.Repeat([]uint64{0}, n-len(s.MissingFrames))...)
		s.MissingFrames = append(s.MissingFrames, missing)
	}
	if slot.SentFrames < due || s.LostFrames != nil {
		for i := len(s.LostFrames); i < n; i++ {
			s.LostFrames = append(s.LostFrames, s.missing(i))
		}
		s.LostFrames = append(s.LostFrames, max(slot.SentFrames, slot.ReceivedFrames)-slot.ReceivedFrames)
	}
	s.ReceivedFrames = append(s.ReceivedFrames, slot.ReceivedFrames)
	s.MeanNanoseconds = append(s.MeanNanoseconds, slot.DelaySum/max(slot.ReceivedFrames, 1))
	s.MaxNanoseconds = append(s.MaxNanoseconds, slot.MaxNanoseconds)
	s.P50Nanoseconds = append(s.P50Nanoseconds, percentile(slot.Delays, 50))
	s.P99Nanoseconds = append(s.P99Nanoseconds, percentile(slot.Delays, 99))
	s.Delays = append(s.Delays, slot.Delays)
}

// Slots returns how many slots there are.
func (s *Series) Slots() int {
	if s == nil {
		return 0
	}
	return len(s.ReceivedFrames)
}

// Due returns how many frames were due in a slot.
func (s *Series) Due(n int) uint64 { return s.ReceivedFrames[n] + s.missing(n) }

// Lost returns how many frames of a slot left the generator and did not arrive, and false where that is not known.
func (s *Series) Lost(n int) (uint64, bool) {
	switch {
	case n < len(s.LostFrames):
		return s.LostFrames[n], true
	case len(s.P50Nanoseconds) == 0:
		return 0, false
	}
	return s.missing(n), true
}

// Sent returns how many frames of a slot left the generator, and false where that is not known.
func (s *Series) Sent(n int) (uint64, bool) {
	lost, known := s.Lost(n)
	return s.ReceivedFrames[n] + lost, known
}

func (s *Series) missing(n int) uint64 {
	if n < len(s.MissingFrames) {
		return s.MissingFrames[n]
	}
	return 0
}

// percentile returns a percentile by nearest rank, 0 of no delay.
func percentile(delays []DelayCount, percent uint64) uint64 {
	var frames, passed uint64
	for _, d := range delays {
		frames += d.Frames
	}
	rank := frames/100*percent + (frames%100*percent+99)/100
	for _, d := range delays {
		if passed += d.Frames; passed >= rank {
			return d.Nanoseconds
		}
	}
	return 0
}

// Bytes returns what the series takes as JSON.
func (s *Series) Bytes() int {
	if s == nil {
		return 0
	}
	n := len(`{"slotNanoseconds":,"received":,"mean":,"max":}`) + len(fmt.Sprint(s.SlotNanoseconds))
	// A list in brackets has one byte between two numbers, as in JSON.
	n += len(fmt.Sprint(s.ReceivedFrames)) + len(fmt.Sprint(s.MeanNanoseconds)) + len(fmt.Sprint(s.MaxNanoseconds))
	for name, list := range map[string][]uint64{"missing": s.MissingFrames, "lost": s.LostFrames, "p50": s.P50Nanoseconds, "p99": s.P99Nanoseconds} {
		if len(list) > 0 {
			n += len(name) + len(`"":,`) + len(fmt.Sprint(list))
		}
	}
	return n
}

// Numbers returns how many numbers the series has.
func (s *Series) Numbers() int {
	if s == nil {
		return 0
	}
	return len(s.ReceivedFrames) + len(s.MissingFrames) + len(s.LostFrames) + len(s.MeanNanoseconds) + len(s.MaxNanoseconds) +
		len(s.P50Nanoseconds) + len(s.P99Nanoseconds)
}

// Folded returns the series with two slots, four and so on made one, so that it has at most so many. Without Delays it
// has no percentiles, and does not say what was sent.
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
		var one Slot
		for n := from; n < min(from+each, len(s.ReceivedFrames)); n++ {
			sent, _ := s.Sent(n)
			one.DueFrames += s.Due(n)
			one.SentFrames += sent
			one.ReceivedFrames += s.ReceivedFrames[n]
			one.DelaySum += s.MeanNanoseconds[n] * s.ReceivedFrames[n]
			one.MaxNanoseconds = max(one.MaxNanoseconds, s.MaxNanoseconds[n])
			if n < len(s.Delays) {
				one.Delays = append(one.Delays, s.Delays[n]...)
			}
		}
		slices.SortFunc(one.Delays, func(a, b DelayCount) int { return cmp.Compare(a.Nanoseconds, b.Nanoseconds) })
		out.Add(one)
	}
	if len(s.Delays) == 0 {
		out.LostFrames, out.P50Nanoseconds, out.P99Nanoseconds = nil, nil, nil
	}
	return out
}

package measure

import (
	"fmt"
	"math/bits"
	"slices"
)

// Mix is a mix of frame sizes that are sent together (IMIX, RFC 6985).
type Mix struct {
	Name   string     `json:"name"`
	Frames []MixFrame `json:"frames"`
}

// MixFrame is one size of a mix, check sequence included, and how many of it
// are in every round.
type MixFrame struct {
	FrameBytes int `json:"frameBytes"`
	Weight     int `json:"weight"`
}

// What a mix may have, so that a driver can hold one.
const (
	MaximumMixFrames = 8
	MaximumMixRound  = 800
)

// Check says why a mix cannot be sent.
func (m Mix) Check() error {
	if len(m.Frames) == 0 || len(m.Frames) > MaximumMixFrames {
		return fmt.Errorf("mix %q has %d sizes: there can be 1 to %d", m.Name, len(m.Frames), MaximumMixFrames)
	}
	for _, f := range m.Frames {
		if f.Weight < 1 || f.FrameBytes < 1 {
			return fmt.Errorf("mix %q has a size of %d bytes with weight %d", m.Name, f.FrameBytes, f.Weight)
		}
	}
	if _, frames := m.round(); frames > MaximumMixRound {
		return fmt.Errorf("a round of mix %q has %d frames: there can be %d", m.Name, frames, MaximumMixRound)
	}
	return nil
}

// round is what one of each weight comes to.
func (m Mix) round() (bytes, frames int) {
	for _, f := range m.Frames {
		bytes += f.FrameBytes * f.Weight
		frames += f.Weight
	}
	return bytes, frames
}

// MeanFrameBytes is rounded to the nearest byte.
func (m Mix) MeanFrameBytes() int {
	bytes, frames := m.round()
	return (2*bytes + frames) / (2 * frames)
}

// Sequence is one round of the mix as indices of Frames, each spread as evenly
// as the others let it: at every point of the round, what has been sent of a
// size is within a frame of its share.
func (m Mix) Sequence() []int {
	_, frames := m.round()
	due := make([]int, len(m.Frames))
	sequence := make([]int, 0, frames)
	for range frames {
		next := 0
		for i, f := range m.Frames {
			due[i] += f.Weight
			if due[i] > due[next] {
				next = i
			}
		}
		due[next] -= frames
		sequence = append(sequence, next)
	}
	return sequence
}

// LineRateFramesPerSecond is the most frames of a mix that a link can carry.
func (m Mix) LineRateFramesPerSecond(linkBitsPerSecond uint64) uint64 {
	bytes, frames := m.round()
	high, low := bits.Mul64(linkBitsPerSecond, uint64(frames))
	onWire := uint64(bytes+frames*FrameOverheadBytes) * 8
	rate, _ := bits.Div64(high, low, onWire)
	return rate
}

// Layer1BitsPerSecond is the mix's rate on the wire, preamble and gap included.
func (m Mix) Layer1BitsPerSecond(framesPerSecond float64) float64 {
	bytes, frames := m.round()
	return framesPerSecond * float64(bytes+frames*FrameOverheadBytes) * 8 / float64(frames)
}

// CheckMixes wants each mix to be one that can be sent, and its mean to be one
// of FrameBytes and no other mix's.
func (i Instructions) CheckMixes() error {
	for n, m := range i.Mixes {
		if err := m.Check(); err != nil {
			return err
		}
		mean := m.MeanFrameBytes()
		if !slices.Contains(i.FrameBytes, mean) {
			return fmt.Errorf("the mean of mix %q, %d bytes, is none of what is measured", m.Name, mean)
		}
		if first := i.MixOf(mean); first != &i.Mixes[n] {
			return fmt.Errorf("the mixes %q and %q have one mean, %d bytes", first.Name, m.Name, mean)
		}
	}
	return nil
}

// MixOf is the mix whose mean this is, nil where it is a size of its own.
func (i Instructions) MixOf(frameBytes int) *Mix {
	for n := range i.Mixes {
		if i.Mixes[n].MeanFrameBytes() == frameBytes {
			return &i.Mixes[n]
		}
	}
	return nil
}

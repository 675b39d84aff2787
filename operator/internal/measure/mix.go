package measure

import (
	"fmt"
	"math/bits"
)

// Mix is a mix of frame sizes that are sent together (IMIX, RFC 6985).
type Mix struct {
	Frames []MixFrame `json:"frames"`
}

// MixFrame is one size of a mix, check sequence included, and the number of its frames in
// every round.
type MixFrame struct {
	FrameBytes int `json:"frameBytes"`
	Weight     int `json:"weight"`
}

// Limits of a mix, so that a driver can hold one.
const (
	MaximumMixFrames = 8
	MaximumMixRound  = 800
)

// Check returns why a mix cannot be sent.
func (m Mix) Check() error {
	if len(m.Frames) == 0 || len(m.Frames) > MaximumMixFrames {
		return fmt.Errorf("it has %d sizes: there can be 1 to %d", len(m.Frames), MaximumMixFrames)
	}
	for _, f := range m.Frames {
		if f.Weight < 1 || f.FrameBytes < 1 {
			return fmt.Errorf("it has a size of %d bytes with weight %d", f.FrameBytes, f.Weight)
		}
	}
	if _, frames := m.round(); frames > MaximumMixRound {
		return fmt.Errorf("a round of it has %d frames: there can be %d", frames, MaximumMixRound)
	}
	return nil
}

// round returns the bytes and frames of one round.
func (m Mix) round() (bytes, frames int) {
	for _, f := range m.Frames {
		bytes += f.FrameBytes * f.Weight
		frames += f.Weight
	}
	return bytes, frames
}

// MeanFrameBytes returns the mean size, rounded to the nearest byte.
func (m Mix) MeanFrameBytes() int {
	bytes, frames := m.round()
	return (2*bytes + frames) / (2 * frames)
}

// Sequence returns one round of the mix as indices of Frames, each spread as evenly as the
// others permit: at every point of the round, the number of sent frames of a size is within
// one frame of its share.
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

// LineRateFramesPerSecond returns the most frames of a mix that a link can carry.
func (m Mix) LineRateFramesPerSecond(linkBitsPerSecond uint64) uint64 {
	bytes, frames := m.round()
	high, low := bits.Mul64(linkBitsPerSecond, uint64(frames))
	onWire := uint64(bytes+frames*FrameOverheadBytes) * 8
	rate, _ := bits.Div64(high, low, onWire)
	return rate
}

// Layer1BitsPerSecond returns the mix's rate on the wire, including preamble and gap.
func (m Mix) Layer1BitsPerSecond(framesPerSecond float64) float64 {
	bytes, frames := m.round()
	return framesPerSecond * float64(bytes+frames*FrameOverheadBytes) * 8 / float64(frames)
}

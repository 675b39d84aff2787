package measure

import (
	"math"
	"math/bits"
)

// FramesPerSecond returns a stream's part of a trial's load, at least one frame; 0 stays
// "as fast as possible".
func (s Stream) FramesPerSecond(trial Trial) uint64 {
	load := trial.IntendedFramesPerSecond
	if s.LoadPercent <= 0 || s.LoadPercent >= 100 || load == 0 {
		return load
	}
	return max(1, load*uint64(s.LoadPercent)/100)
}

// IntendedFrames returns a stream's load times duration, rounded, or 0 for "as fast as
// possible".
func (s Stream) IntendedFrames(trial Trial) uint64 {
	high, low := bits.Mul64(s.FramesPerSecond(trial), uint64(trial.DurationNanoseconds))
	low, carry := bits.Add64(low, 5e8, 0)
	if high += carry; high >= 1e9 {
		return math.MaxUint64
	}
	frames, _ := bits.Div64(high, low, 1e9)
	return frames
}

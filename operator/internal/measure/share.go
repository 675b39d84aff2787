package measure

// ShareOf returns a stream's part of a load, at least one frame; 0 stays "as fast as
// possible".
func (s Stream) ShareOf(framesPerSecond uint64) uint64 {
	if s.LoadPercent <= 0 || s.LoadPercent >= 100 || framesPerSecond == 0 {
		return framesPerSecond
	}
	return max(1, framesPerSecond*uint64(s.LoadPercent)/100)
}

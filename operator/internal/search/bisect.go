package search

import "fmt"

// bisect runs the classic search of RFC 2544 section 26.1: "raise on no loss, lower on loss" by
// halving, from the maximum load down. RFC 2544 gives no stop rule; here it is the goal's width.
func (s *state) bisect(g Goal, full target) (candidate, bool) {
	st := s.standing(full)
	want := candidate{duration: full.trial, sum: full.sum}
	if s.settled(full, st) {
		want.load, want.why = st.lower, "confirm the lower bound once more"
		return want, !s.confirmed(full, st)
	}
	if short, shorter := full.shortened(g); shorter {
		_, contradicted := s.overruled(short, full)
		if quick := s.standing(short); !contradicted && s.settled(short, quick) {
			want.load, want.why = quick.lower, "confirm at full length what shorter trials found"
			return want, true
		} else if !contradicted {
			st, want.duration, want.sum = quick, short.trial, short.sum
		}
	}
	want.load, want.why = s.half(st, full.width)
	return want, true
}

// shortened returns the target of the trials that may search, and false where the goal has none.
func (t target) shortened(g Goal) (target, bool) {
	if g.InitialTrial == 0 || g.InitialTrial >= t.trial {
		return t, false
	}
	t.trial, t.sum = g.InitialTrial, g.InitialTrial
	return t, true
}

// half returns the load between the bounds. The limits replace missing bounds.
func (s *state) half(st standing, width float64) (uint64, string) {
	low, high := st.lower, st.upper
	switch least := s.cfg.MinimumFramesPerSecond; {
	case high == 0:
		return s.cfg.MaximumFramesPerSecond, "try the maximum load"
	case low == 0 && narrow(least, high, width):
		return least, "try the minimum load"
	case low == 0:
		low = least
	}
	return low + (high-low)/2, fmt.Sprintf("halve between %d and %d frames/s", low, high)
}

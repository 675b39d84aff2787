package search

import "fmt"

// bisect runs the classic search of RFC 2544 section 26.1: "raise on no loss, lower on loss" by
// halving, from the maximum load down. RFC 2544 gives no stop rule; here it is the goal's width.
func (s *state) bisect(g Goal, full target) (candidate, bool) {
	known := s.bounds(full)
	want := candidate{duration: full.trial, sum: full.sum}
	if s.settled(full, known) {
		want.load, want.why = known.lower, "confirm the lower bound again"
		if !s.confirmed(full, known) {
			return want, true
		}
		want.load, want.optional = s.higher(known, full.width), true
		want.why = "see whether the device loses less at a load that it forwarded in part of a higher one"
		return want, want.load > 0
	}
	if short, shorter := full.shortened(g); shorter {
		_, contradicted := s.overruled(short, full)
		if quick := s.bounds(short); !contradicted && s.settled(short, quick) {
			want.load, want.why = quick.lower, "confirm at full length what shorter trials found"
			return want, true
		} else if !contradicted {
			known, want.duration, want.sum = quick, short.trial, short.sum
		}
	}
	want.load, want.why = s.halfway(known, full.width)
	return want, true
}

// higher returns a load above the bounds that a device of one limit misses, and 0 where none has to
// be tried. Halving passes over loads, so it stops at the lowest loss that it meets. At the maximum load the
// device forwarded a rate; where that is above the bounds, it may have lost less at that rate, or one width
// below it.
func (s *state) higher(known bounds, width float64) uint64 {
	top := s.trials[s.cfg.MaximumFramesPerSecond]
	if len(top) == 0 || known.upper == 0 || known.inverted() {
		return 0
	}
	rate := whole(top[0].forwarding())
	for _, load := range []uint64{rate, down(rate, width, 1)} {
		if load > known.upper && !narrow(known.upper, load, width) && len(s.trials[load]) == 0 {
			return load
		}
	}
	return 0
}

// shortened returns the target of the trials that may search, and false where the goal has none.
func (t target) shortened(g Goal) (target, bool) {
	if g.InitialTrial == 0 || g.InitialTrial >= t.trial {
		return t, false
	}
	t.trial, t.sum = g.InitialTrial, g.InitialTrial
	return t, true
}

// halfway returns the load between the bounds. The limits replace missing bounds.
func (s *state) halfway(known bounds, width float64) (uint64, string) {
	low, high := known.lower, known.upper
	switch lowest := s.cfg.MinimumFramesPerSecond; {
	case high == 0:
		return s.cfg.MaximumFramesPerSecond, "try the maximum load"
	case low == 0 && narrow(lowest, high, width):
		return lowest, "try the minimum load"
	case low == 0:
		low = lowest
	}
	return low + (high-low)/2, fmt.Sprintf("halve between %d and %d frames/s", low, high)
}

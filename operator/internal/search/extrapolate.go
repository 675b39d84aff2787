package search

import "math"

// point is the mean loss of the trials at a load.
type point struct{ load, loss float64 }

// extrapolated returns the load where the loss would be what the goal allows, by the two nearest
// loads with loss; 0 where there are none. It is a guess that only says where to try next.
func (s *state) extrapolated(t target) uint64 {
	var below, above []point
	for _, load := range s.loads {
		p, sent := s.meanLoss(t, load)
		switch {
		case !sent && len(above) == 0:
			// The generator's limit is exact.
			return whole(s.trials[load][0].forwarding())
		case !sent:
		case p.loss > t.lossRatio:
			above = append(above, p)
		case p.loss > 0 && len(above) == 0:
			below = append(below, p)
		}
	}
	if len(above) == 0 {
		return 0
	}
	nearest := above[0]
	if n := len(below); n > 0 && below[n-1].load < nearest.load*(1-t.width) {
		return uint64(limitBetween(below[n-1], nearest, t.lossRatio))
	}
	for _, p := range above[1:] {
		if p.loss > nearest.loss && p.load*(1-2*t.width) > nearest.load {
			return uint64(limitBetween(nearest, p, t.lossRatio))
		}
	}
	return t.raised(nearest.load * (1 - nearest.loss))
}

// ceiling reports whether a generator reached exactly this load when it was asked for more. This
// limit has no noise, so a bracket needs no margin to it.
func (s *state) ceiling(load uint64) bool {
	for _, trials := range s.trials {
		for _, trial := range trials {
			if trial.UnsentRatio > s.cfg.UnsentTolerance && whole(trial.forwarding()) == load {
				return true
			}
		}
	}
	return false
}

// meanLoss returns the mean loss at a load, and false where the generator did not send a trial in
// full.
func (s *state) meanLoss(t target, load uint64) (point, bool) {
	p := point{load: float64(load)}
	for _, trial := range s.trials[load] {
		if trial.UnsentRatio > t.unsent {
			return p, false
		}
		p.loss += trial.LossRatio / float64(len(s.trials[load]))
	}
	return p, true
}

// limitBetween returns the load at which a curve through two points, the second of more load and
// loss, has a loss. Beyond its limit a device forwards a power of the load: a constant, or less
// and less under overload. Where loss grows slower than that, the device has a knee, and loss is
// taken to grow with the square.
func limitBetween(a, b point, loss float64) float64 {
	const steepest = 0.999
	steepness := (math.Log1p(-a.loss) - math.Log1p(-min(b.loss, steepest))) / math.Log(b.load/a.load)
	if steepness > 0.5 {
		return a.load * math.Exp((math.Log1p(-a.loss)-math.Log1p(-loss))/steepness)
	}
	slope := (math.Sqrt(b.loss) - math.Sqrt(a.loss)) / (b.load - a.load)
	return max(0, a.load+(math.Sqrt(loss)-math.Sqrt(a.loss))/slope)
}

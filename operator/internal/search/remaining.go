package search

import (
	"math"
	"time"
)

// Estimate is what a search still needs, for a progress bar.
type Estimate struct {
	Trials int
	Time   time.Duration
}

// Remaining simulates the rest of the search against a steady device that agrees with the
// history: its limits are in the middle of the brackets found so far. A quiet device needs about
// that; a noisy one needs more, and then the estimate grows. It is never beyond the limits of the
// configuration.
func Remaining(cfg Config, history []Trial) (Estimate, error) {
	s, err := newState(cfg, history)
	if err != nil {
		return Estimate{}, err
	}
	limits := s.presumedLimits()
	var left Estimate
	for {
		want, found := s.candidate(s.verdicts())
		if s.end(want, found) != Unfinished {
			return left, nil
		}
		trial := Trial{LoadFramesPerSecond: want.load, Duration: want.duration + want.rest}
		trial.LossRatio = s.presumedLoss(limits, trial.LoadFramesPerSecond)
		trial.LostFrames = uint64(math.Ceil(trial.LossRatio * float64(trial.LoadFramesPerSecond) * trial.Duration.Seconds()))
		left.Trials++
		left.Time += s.cfg.cost(trial)
		s.add(trial)
	}
}

// presumedLimits returns the highest load at which each goal presumably holds: the load that the
// loss so far points to, or else the middle of the presumed bracket, where that load is outside
// it.
func (s *state) presumedLimits() []float64 {
	limits := make([]float64, len(s.chains))
	for i, chain := range s.chains {
		low, high := float64(s.cfg.MinimumFramesPerSecond), float64(s.cfg.MaximumFramesPerSecond)
		for _, t := range chain {
			known := s.estimate(t, s.bounds(t))
			low, high = max(low, float64(known.lower)), min(high, orMaximum(known.upper))
		}
		limits[i] = math.Sqrt(low * max(low, high))
		final := chain[len(chain)-1]
		if final.sum > final.trial {
			if guess := float64(s.extrapolated(final)); guess >= low && guess < high {
				limits[i] = guess
			}
			continue
		}
		width := chain[0].width
		if guess := float64(s.receiveRate(chain[0]).low); len(s.history) > 0 && guess > low*(1-width) && guess < high {
			low = max(low, guess)
			limits[i] = math.Sqrt(low * max(low, min(high, low/(1-width))))
		}
	}
	return limits
}

func orMaximum(load uint64) float64 {
	if load == 0 {
		return math.MaxFloat64
	}
	return float64(load)
}

// presumedLoss returns the smallest loss that misses every goal whose limit is below the load.
func (s *state) presumedLoss(limits []float64, load uint64) float64 {
	loss := 0.0
	for i, limit := range limits {
		if over := float64(load); over > limit {
			missed := math.Nextafter(s.cfg.Goals[i].LossRatio, 1)
			loss = max(loss, missed, min(1-limit*(1-missed)/over, s.nextLossRatio(i, limits, over)))
		}
	}
	return loss
}

// nextLossRatio returns the largest loss that still holds the goals whose limits are not passed.
func (s *state) nextLossRatio(missed int, limits []float64, load float64) float64 {
	maxLoss := 1.0
	for i, limit := range limits {
		if i != missed && load <= limit {
			maxLoss = min(maxLoss, s.cfg.Goals[i].LossRatio)
		}
	}
	return maxLoss
}

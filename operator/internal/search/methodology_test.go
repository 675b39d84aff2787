package search

import (
	"math"
	"testing"
	"time"
)

// TestWorkedClassification classifies the invented trials of docs/methodology/worked-example.md.
func TestWorkedClassification(t *testing.T) {
	goal := target{lossRatio: 0.001, exceedRatio: 0.5, trial: time.Second, sum: 5 * time.Second, unsent: 0.001}
	trial := func(seconds, loss float64) Trial {
		return Trial{LoadFramesPerSecond: 1_000_000, Duration: time.Duration(seconds * 1e9), LossRatio: loss}
	}
	for name, test := range map[string]struct {
		trials []Trial
		want   Class
	}{
		"two good and one bad":    {[]Trial{trial(1, 0), trial(1, 0.0005), trial(1, 0.004)}, Undecided},
		"three good and one bad":  {[]Trial{trial(1, 0), trial(1, 0.0005), trial(1, 0.004), trial(1, 0.0002)}, LowerBound},
		"three bad":               {[]Trial{trial(1, 0.004), trial(1, 0.002), trial(1, 0.003)}, UpperBound},
		"short ones balance":      {[]Trial{trial(0.5, 0), trial(0.5, 0.01)}, Undecided},
		"three good, shorts fail": {[]Trial{trial(1, 0), trial(1, 0), trial(1, 0), trial(0.5, 0.01), trial(0.5, 0.01)}, LowerBound},
	} {
		if got := goal.classify(test.trials); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
	four := []Trial{trial(1, 0), trial(1, 0.0005), trial(1, 0.004), trial(1, 0.0002)}
	if got := goal.conditionalThroughput(four); math.Abs(got-999_500) > 1e-6 {
		t.Errorf("got %v", got)
	}
}

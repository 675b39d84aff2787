// Package regression works out which change TestRegressionInTheLab makes, and what was found of it.
package regression

import (
	"fmt"
	"math"
	"slices"
)

// maxRules is the most that a firewall can have.
const maxRules = 65535

// maxUncertainty is the largest standard error of the cost of a rule, as a share of it, with which a fall of 5 % is between 3 and 7 %.
const maxUncertainty = 0.2

// Level is what runs with a number of rules reached.
type Level struct {
	Rules int
	// FramesPerSecond are the values of at least two runs.
	FramesPerSecond []int64
}

// Choice is the number of rules with which a firewall is slower by a share, and what it follows from.
type Choice struct {
	Rules int
	// NanosecondsPerFrame is with the rules that the firewall has before the change.
	NanosecondsPerFrame float64
	NanosecondsPerRule  float64
	// Uncertainty is the standard error of the cost of a rule, as a share of it.
	Uncertainty float64
	// Variation is that of the runs before the change, as a share of their mean.
	Variation float64
}

func (c Choice) String() string {
	return fmt.Sprintf("a frame takes %.0f ns, a rule %.2f ns (± %.0f %%); %d rules; runs vary by %.2f %%, so the margin is %d %%", c.NanosecondsPerFrame, c.NanosecondsPerRule, 100*c.Uncertainty, c.Rules, 100*c.Variation, c.MarginPercent())
}

// MarginPercent returns the change that matters on a testbed whose runs vary like these: three times as much, as the advice for noisy testbeds is, and
// never less than the default of the API.
func (c Choice) MarginPercent() int { return max(2, int(math.Ceil(300*c.Variation))) }

// Choose returns with how many rules the rate falls by a share of that with few rules: the time of a frame grows by the same with each rule.
func Choose(few, more Level, fall float64) (Choice, error) {
	if more.Rules <= few.Rules || !(fall > 0 && fall < 1) {
		return Choice{}, fmt.Errorf("%d rules are no more than %d, or a fall by %g is none", more.Rules, few.Rules, fall)
	}
	before, spread, err := few.time()
	if err != nil {
		return Choice{}, err
	}
	after, afterSpread, err := more.time()
	if err != nil {
		return Choice{}, err
	}
	if after <= before {
		return Choice{}, fmt.Errorf("a frame takes %.0f ns with %d rules and %.0f ns with %d, so rules cost nothing here: the firewall is not what limits the rate", before, few.Rules, after, more.Rules)
	}
	c := Choice{NanosecondsPerFrame: before, NanosecondsPerRule: (after - before) / float64(more.Rules-few.Rules), Variation: Variation(few.FramesPerSecond)}
	c.Uncertainty = math.Hypot(spread, afterSpread) / (after - before)
	if c.Uncertainty > maxUncertainty {
		return c, fmt.Errorf("%s: the cost of a rule is too uncertain: stop what else the machine does, and try again", c)
	}
	c.Rules = few.Rules + int(math.Round(before*(1/(1-fall)-1)/c.NanosecondsPerRule))
	if c.Rules <= few.Rules || c.Rules > maxRules {
		return c, fmt.Errorf("%s: want more than %d and at most %d rules", c, few.Rules, maxRules)
	}
	return c, nil
}

// time returns the median time of a frame in nanoseconds, and the standard error of the mean.
func (l Level) time() (median, standardError float64, err error) {
	if len(l.FramesPerSecond) < 2 || slices.Min(l.FramesPerSecond) <= 0 {
		return 0, 0, fmt.Errorf("with %d rules the values are %v: want two or more, each above 0", l.Rules, l.FramesPerSecond)
	}
	times := make([]float64, len(l.FramesPerSecond))
	for i, rate := range l.FramesPerSecond {
		times[i] = 1e9 / float64(rate)
	}
	slices.Sort(times)
	n := len(times)
	mean, deviation := spread(times)
	if mean <= 0 {
		return 0, 0, fmt.Errorf("with %d rules the mean time is %g ns", l.Rules, mean)
	}
	return (times[(n-1)/2] + times[n/2]) / 2, deviation / math.Sqrt(float64(n)), nil
}

// spread returns the mean and the standard deviation of a sample.
func spread(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	if len(values) < 2 {
		return mean, 0
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(deviation)
}

// Variation returns the standard deviation of values as a share of their mean; 0 where there are too few of them.
func Variation(values []int64) float64 {
	mean, deviation := spread(floats(values))
	if mean == 0 {
		return 0
	}
	return deviation / mean
}

func floats(values []int64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

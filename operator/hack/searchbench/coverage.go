package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/baseline"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

const (
	// usualRepeats is what docs/concepts/repeats.md calls a good start.
	usualRepeats = 5
	// wholeFrame is what a trial of one second cannot show: a device has lost a frame or none.
	wholeFrame = 1
	// firstSeed keeps the devices apart from those of the comparison with another search.
	firstSeed = 10_000
	// noiseOfSlower starts other noise for the slower device.
	noiseOfSlower = 1 << 32
	// slowerShare is the capacity of the device that a baseline has to find: it loses twice as
	// much as the default tolerance of 5 %.
	slowerShare = 0.9
	// maxTrialsOfRepeat ends a search that does not.
	maxTrialsOfRepeat = 1000
)

// Coverage is how often the interval of a throughput held the truth.
type Coverage struct {
	Goal string
	// Runs were made, each with several repeats on another device. Of these, Censored runs had no
	// interval because a repeat was only a floor, Drifting ones because the repeats rose or fell,
	// Inverted ones because higher loads met the goal, and Few ones because the method gives none of so
	// few repeats. Held intervals held what the device forwards without its noise.
	Runs, Censored, Drifting, Inverted, Few, Held int
	// Limited intervals were limited by the resolution of the search.
	Limited int
	// Width is the sum of the intervals' widths, relative to the truth. Resolution is that of the mean distances between the
	// bounds of their searches, and Scatter that of Student's 95 % intervals of what the repeats found: what a width would be
	// of without the other.
	Width, Resolution, Scatter float64
	// Compared is how often a second run on the same device had a verdict on its baseline, the
	// first one; Alarms is how often the verdict was Failed, and Unsure how often Inconclusive.
	Compared, Alarms, Unsure int
	// Slower is how often a run on a slower device had such a verdict, Found how often it was
	// Failed, and Missed how often Passed.
	Slower, Found, Missed int
}

// Intervals returns the number of runs with an interval.
func (c Coverage) Intervals() int { return c.Runs - c.Censored - c.Withheld() - c.Few }

// Wrong returns the number of intervals that missed the truth.
func (c Coverage) Wrong() int { return c.Intervals() - c.Held }

// Withheld returns the number of runs whose interval was withheld: the limit is not one number.
func (c Coverage) Withheld() int { return c.Drifting + c.Inverted }

// Share returns the share of the intervals that held the truth, and NaN where there was none.
func (c Coverage) Share() float64 { return float64(c.Held) / float64(c.Intervals()) }

// Cover measures each of the class's devices twice in a row, and then a slower one, each with a number of
// repeats. It returns the coverage for each goal.
func (c Class) Cover(ctx context.Context, method v1alpha1.SearchMethod, repeats, seeds int) ([]Coverage, error) {
	instr := repeatedRun(method, repeats)
	out := make([]Coverage, len(instr.Throughput.Goals))
	for seed := range seeds {
		bed := c.Bed(uint64(firstSeed + seed))
		first := simulated.New(bed.Driver)
		earlier, err := measureRun(ctx, instr, first)
		if err != nil {
			return nil, fmt.Errorf("class %q, seed %d: %w", c.Name, seed, err)
		}
		for j, goal := range instr.Throughput.Goals {
			out[j].add(earlier[0].Throughput[j], bed.Truth(float64(goal.LossPartsPerMillion)/1e6, first.Elapsed()))
		}
		slow := bed.Driver
		slow.Seed += noiseOfSlower
		slow.Device = scaled{slow.Device, slowerShare}
		for _, later := range []struct {
			driver *simulated.Driver
			count  func(*Coverage, v1alpha1.VerdictResult)
		}{{first, (*Coverage).addSame}, {simulated.New(slow), (*Coverage).addSlower}} {
			frames, err := measureRun(ctx, instr, later.driver)
			if err != nil {
				return nil, fmt.Errorf("class %q, seed %d: %w", c.Name, seed, err)
			}
			for _, verdict := range compareRuns(earlier, frames) {
				for j := range out {
					if out[j].Goal == verdict.Goal {
						later.count(&out[j], verdict.Result)
					}
				}
			}
		}
	}
	return out, nil
}

func (c *Coverage) add(t v1alpha1.ThroughputResult, truth float64) {
	c.Goal = t.Goal
	c.Runs++
	if len(t.Statistics) == 0 {
		c.Censored++
		return
	}
	s := t.Statistics[0]
	switch s.LimitedBy {
	case v1alpha1.LimitedByDrift:
		c.Drifting++
		return
	case v1alpha1.LimitedByLossInversion:
		c.Inverted++
		return
	case v1alpha1.LimitedByTooFewRepeats:
		c.Few++
		return
	case v1alpha1.LimitedByResolution:
		c.Limited++
	}
	if float64(*s.ConfidenceLow)-wholeFrame <= truth && truth <= float64(*s.ConfidenceHigh)+wholeFrame {
		c.Held++
	}
	c.Width += float64(*s.ConfidenceHigh-*s.ConfidenceLow) / truth
	c.Resolution += float64(ptr.Deref(s.Resolution, 0)) / truth
	c.Scatter += scatter(s) / truth
}

// scatter returns the width of Student's 95 % interval of the mean.
func scatter(s v1alpha1.Statistics) float64 {
	n := float64(s.N)
	return 2 * distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * float64(s.StandardDeviation) / math.Sqrt(n)
}

func (c *Coverage) addSame(result v1alpha1.VerdictResult) {
	c.Compared++
	switch result {
	case v1alpha1.VerdictFailed:
		c.Alarms++
	case v1alpha1.VerdictInconclusive:
		c.Unsure++
	}
}

func (c *Coverage) addSlower(result v1alpha1.VerdictResult) {
	c.Slower++
	switch result {
	case v1alpha1.VerdictFailed:
		c.Found++
	case v1alpha1.VerdictPassed:
		c.Missed++
	}
}

// repeatedRun returns the instructions of a run with the API's default goals.
func repeatedRun(method v1alpha1.SearchMethod, repeats int) measure.Instructions {
	instr := measure.Instructions{
		LinkBitsPerSecond: 10_000_000_000, Sizes: []measure.Size{measure.FrameSize(64)},
		Measurements: v1alpha1.Measurements{Throughput: &v1alpha1.Throughput{Method: method, MinimumFramesPerSecond: MinimumFramesPerSecond}}.Filled(),
	}
	instr.WarmUpMilliseconds, instr.Repeats = nil, int32(repeats)
	return instr
}

// measureRun makes the trials that the procedure asks for. It asks for each repeat by itself,
// because the procedure replays all records for each trial.
func measureRun(ctx context.Context, instr measure.Instructions, driver measure.Driver) ([]v1alpha1.FrameResult, error) {
	var all []measure.Record
	one := instr
	one.Repeats = 1
	for repeat := range int(instr.Repeats) {
		records, err := measureRepeat(ctx, one, driver)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			r.Repeat, r.Index = repeat, len(all)
			all = append(all, r)
		}
	}
	frames := procedure.Results(instr, all).Frames
	if len(frames) != 1 || len(frames[0].Throughput) != len(instr.Throughput.Goals) {
		return nil, errors.New("the run has no result for each goal")
	}
	return frames, nil
}

func measureRepeat(ctx context.Context, instr measure.Instructions, driver measure.Driver) ([]measure.Record, error) {
	var records []measure.Record
	for range maxTrialsOfRepeat {
		step, err := procedure.Next(instr, records)
		if err != nil || step.Done {
			return records, err
		}
		outcome, err := driver.Measure(ctx, step.Trial)
		if err != nil {
			return nil, err
		}
		records = append(records, measure.Record{Index: len(records), Stage: step.Stage, Trial: step.Trial, Outcome: outcome})
	}
	return nil, fmt.Errorf("no end after %d trials", maxTrialsOfRepeat)
}

// compareRuns judges a run by an earlier one of the same device, with the API's default tolerance.
func compareRuns(earlier, later []v1alpha1.FrameResult) []v1alpha1.Verdict {
	judged := &v1alpha1.Baseline{Metrics: []v1alpha1.Metric{v1alpha1.MetricThroughputFramesPerSecond}}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Results = earlier
	measured := figure.Of(v1alpha1.BenchmarkRunStatus{Results: later})
	return baseline.Verdicts(judged, baseline.Measured(baseline.Figures(run, judged.Metrics), measured), measured)
}

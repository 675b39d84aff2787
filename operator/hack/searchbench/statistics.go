package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/baseline"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

const (
	// repeatsOfRun is what docs/concepts/repeats.md calls a good start.
	repeatsOfRun = 5
	// minCoverage and maxCoverage are what a 95 % interval may cover.
	minCoverage, maxCoverage = 0.93, 0.97
	// wholeFrame is what a trial of one second cannot show: a device has lost a frame or none.
	wholeFrame = 1
	// firstSeed starts the seeds after those that the formula of the interval was chosen with.
	firstSeed = 10_000
	// maxTrialsOfRepeat ends a search that does not.
	maxTrialsOfRepeat = 1000
)

// Coverage is how often the interval of a throughput held the truth.
type Coverage struct {
	Goal string
	// Runs were made, each with several repeats on another device. Censored of them had no
	// interval, and Held intervals held what the device forwards without its noise.
	Runs, Censored, Held int
	// Limited intervals were limited by the resolution of the search.
	Limited int
	// Width is the sum of the intervals' widths, relative to the truth.
	Width float64
	// Compared is how often a second run on the same device had a verdict on its baseline, the
	// first one, and Alarms how often the verdict was Failed.
	Compared, Alarms int
}

// Share returns the share of the intervals that held the truth, and NaN where there was none.
func (c Coverage) Share() float64 { return float64(c.Held) / float64(c.Runs-c.Censored) }

// Reached reports whether a 95 % interval is what it is called. Without an interval nothing is
// claimed.
func (c Coverage) Reached() bool {
	return c.Runs == c.Censored || c.Share() >= minCoverage && c.Share() <= maxCoverage
}

// Cover makes two runs on each of the class's devices, and returns the coverage for each goal.
func (c Class) Cover(ctx context.Context, method v1alpha1.SearchMethod, seeds int) ([]Coverage, error) {
	instr := repeatedRun(method)
	out := make([]Coverage, len(instr.Throughput.Goals))
	for seed := range seeds {
		bed := c.Bed(uint64(firstSeed + seed))
		driver := simulated.New(bed.Driver)
		var runs [2][]v1alpha1.FrameResult
		for i := range runs {
			frames, err := measureRun(ctx, instr, driver)
			if err != nil {
				return nil, fmt.Errorf("class %q, seed %d: %w", c.Name, seed, err)
			}
			runs[i] = frames
			if i > 0 {
				continue
			}
			for j, goal := range instr.Throughput.Goals {
				out[j].add(frames[0].Throughput[j], bed.Truth(float64(goal.LossPartsPerMillion)/1e6, driver.Elapsed()))
			}
		}
		for _, verdict := range compareRuns(runs[0], runs[1]) {
			for j := range out {
				if out[j].Goal == verdict.Goal {
					out[j].Compared++
					if verdict.Result == v1alpha1.VerdictFailed {
						out[j].Alarms++
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
	if float64(s.ConfidenceLow)-wholeFrame <= truth && truth <= float64(s.ConfidenceHigh)+wholeFrame {
		c.Held++
	}
	if s.LimitedBy == v1alpha1.LimitedByResolution {
		c.Limited++
	}
	c.Width += float64(s.ConfidenceHigh-s.ConfidenceLow) / truth
}

// repeatedRun returns the instructions of a run with the API's default goals.
func repeatedRun(method v1alpha1.SearchMethod) measure.Instructions {
	instr := measure.Instructions{
		LinkBitsPerSecond: 10_000_000_000, Sizes: []measure.Size{measure.FrameSize(64)},
		Measurements: v1alpha1.Measurements{Throughput: &v1alpha1.Throughput{Method: method, MinimumFramesPerSecond: MinimumFramesPerSecond}}.Filled(),
	}
	instr.WarmUpMilliseconds, instr.Repeats = nil, repeatsOfRun
	return instr
}

// measureRun makes the trials that the procedure asks for. It asks for each repeat by itself,
// because the procedure replays all records for each trial.
func measureRun(ctx context.Context, instr measure.Instructions, driver measure.Driver) ([]v1alpha1.FrameResult, error) {
	var all []measure.Record
	one := instr
	one.Repeats = 1
	for repeat := range repeatsOfRun {
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

// printStatistics prints the coverage of each class, and returns an error where it is not that of
// a 95 % interval.
func printStatistics(ctx context.Context, out io.Writer, seeds int) error {
	fmt.Fprintf(out, "%d devices of each class, %d repeats each, default goals\n", seeds, repeatsOfRun)
	fmt.Fprintf(out, "%-24s %-10s %-5s %10s %10s %10s %10s %10s  %s\n",
		"device", "method", "goal", "censored", "coverage", "width", "limited", "alarms", "verdict")
	missed := 0
	for _, class := range Classes() {
		for _, method := range []v1alpha1.SearchMethod{v1alpha1.MethodMLRsearch, v1alpha1.MethodRFC2544} {
			goals, err := class.Cover(ctx, method, seeds)
			if err != nil {
				return err
			}
			for _, c := range goals {
				fmt.Fprintf(out, "%-24s %-10s %-5s %s\n", class.Name, method, c.Goal, c.row())
				if !c.Reached() {
					missed++
				}
			}
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d coverages are outside of %.0f to %.0f %%", missed, 100*minCoverage, 100*maxCoverage)
	}
	return nil
}

func (c Coverage) row() string {
	intervals := float64(c.Runs - c.Censored)
	verdict := "reached"
	switch {
	case intervals == 0:
		verdict = "no interval is given"
	case c.Share() < minCoverage:
		verdict = "too low"
	case c.Share() > maxCoverage:
		verdict = "too high"
	}
	return fmt.Sprintf("%10s %10s %10s %10s %10s  %s", share(float64(c.Censored), float64(c.Runs)), share(float64(c.Held), intervals),
		share(c.Width, intervals), share(float64(c.Limited), intervals), share(float64(c.Alarms), float64(c.Compared)), verdict)
}

func share(part, whole float64) string {
	if whole == 0 || math.IsNaN(part) {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}

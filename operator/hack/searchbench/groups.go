package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// groupSizes are the numbers of runs of a group.
var groupSizes = []int{3, 5, 10}

const (
	// calibrationSpread is by how much the highest load of two runs differs at most: the generator is calibrated in each.
	calibrationSpread = 0.01
	// alarmsAtLevel is the share of comparisons of equal devices that a test at 5 % calls better or worse.
	alarmsAtLevel = 0.05
	// drawsOfNoise is how many comparisons of drawn values there are for each one of searches, which take longer.
	drawsOfNoise = 20
)

// noises are how the figures of runs scatter around 1.
var noises = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"normal, 1 %", func(r *rand.Rand) float64 { return 1 + 0.01*r.NormFloat64() }},
	{"normal, 3 %", func(r *rand.Rand) float64 { return 1 + 0.03*r.NormFloat64() }},
	{"skewed, 1 %", func(r *rand.Rand) float64 { return 1 + 0.01*(r.ExpFloat64()-1) }},
	{"two bands, 1 %", func(r *rand.Rand) float64 { return 1 + 0.01*float64(2*r.IntN(2)-1) }},
	{"outliers", func(r *rand.Rand) float64 {
		if r.IntN(10) == 0 {
			return 1 + 0.05*r.NormFloat64()
		}
		return 1 + 0.005*r.NormFloat64()
	}},
}

// GroupCounts are how often two groups were called different.
type GroupCounts struct{ Compared, Alarms, Found2, Found5, Wrong int }

// tooMany reports whether there are more false alarms than chance explains: three deviations above those of a test at 5 %.
func (c GroupCounts) tooMany() bool {
	expected := alarmsAtLevel * float64(c.Compared)
	return float64(c.Alarms) > expected+3*math.Sqrt(expected)
}

// printGroups prints how often groups of runs of equal devices are called better or worse, and how often those of a device that does
// 2 % or 5 % less are called worse. It returns an error where there are too many false alarms.
func printGroups(ctx context.Context, out io.Writer, named string, seeds int) error {
	classes, err := classesNamed(named)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "two groups of runs, %d comparisons of delays that are drawn, and %d of searches (MLRsearch, NDR)\n", drawsOfNoise*seeds, seeds)
	fmt.Fprintln(out, "alarms: equal devices that are called better or worse; 2 % and 5 %: devices that do so much less and are called worse; better: those that are called better")
	fmt.Fprintf(out, "%-24s %5s %9s %9s %9s %9s\n", "figures", "runs", "alarms", "2 %", "5 %", "better")
	missed := 0
	row := func(name string, runs int, c GroupCounts) {
		verdict, all := "", float64(c.Compared)
		if c.tooMany() {
			missed, verdict = missed+1, "  too many"
		}
		fmt.Fprintf(out, "%-24s %5d %9s %9s %9s %9s%s\n", name, runs, share(float64(c.Alarms), all), share(float64(c.Found2), all), share(float64(c.Found5), all), share(float64(c.Wrong), 2*all), verdict)
	}
	for _, noise := range noises {
		for _, runs := range groupSizes {
			random := rand.New(rand.NewPCG(firstSeed, uint64(runs)))
			row(noise.name, runs, compareGroups(drawsOfNoise*seeds, func(_ int, scale float64) comparison.Column {
				return delays(random, noise.draw, runs, 1/scale)
			}))
		}
	}
	for _, class := range classes {
		for _, runs := range groupSizes {
			counts := compareGroups(seeds, func(seed int, scale float64) comparison.Column {
				column, failed := class.searches(ctx, seed, runs, scale)
				if failed != nil {
					err = failed
				}
				return column
			})
			if err != nil {
				return fmt.Errorf("class %q: %w", class.Name, err)
			}
			row(class.Name, runs, counts)
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d kinds of figures have too many false alarms", missed)
	}
	return nil
}

// compareGroups compares a group of a device with another one of it, and with those of devices that do 2 % and 5 % less.
func compareGroups(seeds int, group func(seed int, scale float64) comparison.Column) GroupCounts {
	out := GroupCounts{Compared: seeds}
	for seed := range seeds {
		columns := []comparison.Column{group(4*seed, 1), group(4*seed+1, 1), group(4*seed+2, 0.98), group(4*seed+3, 0.95)}
		result, err := comparison.Compare(columns, comparison.AdjustNone)
		if err != nil {
			panic(err) // the adjustment is one
		}
		for _, f := range result.Figures {
			if f.Metric != v1alpha1.MetricThroughputFramesPerSecond && f.Metric != v1alpha1.MetricLatencyP99 || f.Goal == "PDR" {
				continue
			}
			same, two, five := f.Differences[0].Verdict, f.Differences[1].Verdict, f.Differences[2].Verdict
			out.Alarms += count(same == comparison.Better || same == comparison.Worse)
			out.Found2 += count(two == comparison.Worse)
			out.Found5 += count(five == comparison.Worse)
			out.Wrong += count(two == comparison.Better) + count(five == comparison.Better)
		}
	}
	return out
}

func count(is bool) int { return map[bool]int{true: 1}[is] }

// delays returns runs with a delay of 10 µs.
func delays(random *rand.Rand, draw func(*rand.Rand) float64, runs int, scale float64) (out comparison.Column) {
	for range runs {
		key := figure.Key{FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: "64", Load: "half"}, Direction: "Forward"}
		out = append(out, comparison.Run{Figures: []figure.Figure{{Key: key, Value: int64(10_000 * scale * draw(random)), Samples: 1, Bound: figure.Exact}}})
	}
	return out
}

// scaled is a device that does at a share of each load what another one does at all of it.
type scaled struct {
	simulated.Device
	share float64
}

// Answer implements simulated.Device.
func (d scaled) Answer(q simulated.Question) simulated.Answer {
	q.FramesPerSecond /= d.share
	answer := d.Device.Answer(q)
	answer.CapacityFramesPerSecond *= d.share
	return answer
}

// searches returns runs of the class's device of a seed, each a search with its own highest load.
func (c Class) searches(ctx context.Context, seed, runs int, scale float64) (out comparison.Column, err error) {
	for run := range runs {
		// Four groups share a device, and no two runs their noise.
		bed := c.Bed(uint64(firstSeed + seed/4))
		bed.Driver.Seed = uint64(seed)<<8 | uint64(run)
		bed.Driver.Device = scaled{bed.Driver.Device, scale}
		random := rand.New(rand.NewPCG(bed.Driver.Seed, 11))
		instr := repeatedRun(v1alpha1.MethodMLRsearch, 1)
		instr.LinkBitsPerSecond = uint64(float64(instr.LinkBitsPerSecond) * (1 - calibrationSpread*random.Float64()))
		frames, err := measureRun(ctx, instr, simulated.New(bed.Driver))
		if err != nil {
			return nil, err
		}
		out = append(out, comparison.Run{Figures: figure.Of(v1alpha1.BenchmarkRunStatus{Results: frames})})
	}
	return out, nil
}

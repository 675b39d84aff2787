package main

import (
	"context"
	"math"

	"vnfbench.io/operator/internal/search"
)

// Figures are the results of a search on one class, over the seeds.
type Figures struct {
	Runs []Run
	// MeanTrials and MeanSeconds are the mean cost of one search.
	MeanTrials, MeanSeconds float64
	// Bias is the mean and Deviation the standard deviation of each goal's
	// error, relative to the truth.
	Bias, Deviation []float64
	// Irregular is how many searches had an irregular result.
	Irregular int
}

// Measure runs a search on the devices of seeds 0 up to a number.
func (c Class) Measure(ctx context.Context, searcher Searcher, goals []search.Goal, seeds int) (Figures, error) {
	var f Figures
	for seed := range seeds {
		run, err := c.Try(ctx, searcher, goals, uint64(seed))
		if err != nil {
			return f, err
		}
		f.Runs = append(f.Runs, run)
		f.MeanTrials += float64(run.Trials) / float64(seeds)
		f.MeanSeconds += run.Time.Seconds() / float64(seeds)
		if !run.Regular {
			f.Irregular++
		}
	}
	for i := range goals {
		bias, deviation := spread(f.Runs, i)
		f.Bias, f.Deviation = append(f.Bias, bias), append(f.Deviation, deviation)
	}
	return f, nil
}

func spread(runs []Run, goal int) (mean, deviation float64) {
	n := float64(len(runs))
	for _, run := range runs {
		mean += run.Error[goal] / n
	}
	for _, run := range runs {
		deviation += (run.Error[goal] - mean) * (run.Error[goal] - mean) / n
	}
	return mean, math.Sqrt(deviation)
}

// Ratios returns one search's times divided by another's, seed by seed.
func Ratios(of, over Figures) []float64 {
	out := make([]float64, len(of.Runs))
	for i := range out {
		out[i] = of.Runs[i].Time.Seconds() / over.Runs[i].Time.Seconds()
	}
	return out
}

package search

import (
	"math"
	"testing"
	"time"

	"vnfbench.io/operator/internal/traffic/simulated"
)

// BenchmarkSearch reports what searches cost in trials and simulated seconds, and how much NDR
// varies over the seeds. Its wall-clock figure means little:
//
//	go test -run '^$' -bench Search -benchtime 40x ./internal/search
func BenchmarkSearch(b *testing.B) {
	limit := simulated.HardCap{CapacityFramesPerSecond: 8e6}
	knee := simulated.SoftKnee{KneeFramesPerSecond: 6e6, CapacityFramesPerSecond: 8e6, MaxLossRatio: 0.02}
	devices := []struct {
		name   string
		device simulated.Device
	}{
		{"cap", limit}, {"knee", knee}, {"collapse", simulated.Collapse{CapacityFramesPerSecond: 8e6}},
		{"cap-quiet", simulated.Noisy{Device: limit, Strength: simulated.Quiet}},
		{"cap-mild", simulated.Noisy{Device: limit, Strength: simulated.Mild}},
		{"cap-strong", simulated.Noisy{Device: limit, Strength: simulated.Strong}},
		{"knee-mild", simulated.Noisy{Device: knee, Strength: simulated.Mild}},
		{"knee-strong", simulated.Noisy{Device: knee, Strength: simulated.Strong}},
	}
	for _, goals := range figureGoals() {
		for _, d := range devices {
			b.Run(goals.name+"/"+d.name, func(b *testing.B) { figures(b, goals.goals, d.device) })
		}
	}
}

type namedGoals struct {
	name  string
	goals []Goal
}

func figureGoals() []namedGoals {
	short := Goal{RelativeWidth: 0.01, FinalTrial: time.Second, DurationSum: time.Second}
	five := short
	five.DurationSum, five.ExceedRatio = 5*time.Second, 0.5
	coarse := five
	coarse.PrecedingTargets, coarse.InitialTrial = 1, time.Second
	classic := Goal{RelativeWidth: 0.001, FinalTrial: time.Minute, DurationSum: time.Minute}
	growing := classic
	growing.PrecedingTargets, growing.InitialTrial = 2, time.Second
	return []namedGoals{
		{"lab", Lab()}, {"D1s-1%", pair(short, 0.005)}, {"D5s-1%", pair(five, 0.005)},
		{"D5s-1%-coarse", pair(coarse, 0.005)}, {"csit", CSIT()}, {"60s-0.1%", pair(classic, 0.005)},
		{"60s-0.1%-coarse", pair(growing, 0.005)},
	}
}

func figures(b *testing.B, goals []Goal, device simulated.Device) {
	var trials, seconds, sum, squares float64
	longest := 0
	for seed := range b.N {
		driver := simulate(device, uint64(seed))
		history, results := run(b, config(goals...), driver)
		longest = max(longest, len(history))
		trials += float64(len(history))
		seconds += driver.Elapsed().Seconds()
		rate := results[0].ConditionalThroughputFramesPerSecond
		sum, squares = sum+rate, squares+rate*rate
	}
	n := float64(b.N)
	mean := sum / n
	b.ReportMetric(trials/n, "trials")
	b.ReportMetric(float64(longest), "max-trials")
	b.ReportMetric(seconds/n, "simulated-s")
	b.ReportMetric(mean/1e6, "NDR-Mfps")
	b.ReportMetric(100*math.Sqrt(max(0, squares/n-mean*mean))/max(mean, 1), "NDR-stdev-%")
}

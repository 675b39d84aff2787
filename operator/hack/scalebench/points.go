package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
)

// runsOfSeries is the number of runs of each series.
const runsOfSeries = 100

var pointColumns = []column{{"series", 0}, {"file MiB", 1}, {"listing s", 2}, {"listing's MiB", 1}, {"judging s", 2}, {"judging allocates MiB", 1}}

// pointsOf returns a number of points of series with runsOfSeries runs each, whose values vary by 0.5 %.
func pointsOf(count int) []series.Point {
	random := rand.New(rand.NewPCG(1, 1))
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	points := make([]series.Point, 0, count)
	for run := range runsOfSeries {
		for figure := range count / runsOfSeries {
			points = append(points, series.Point{
				Key:  series.Key{Experiment: fmt.Sprintf("cell-%d", figure/10), Testbed: testbedName, Figure: fmt.Sprintf("ThroughputFramesPerSecond %d NDR", figure%10)},
				Time: start.AddDate(0, 0, run), Run: fmt.Sprintf("nightly-%d-cell-%d", run, figure/10), Execution: fmt.Sprintf("nightly-%d", run),
				Value: int64(1e6 * (1 + 0.005*random.NormFloat64())), Unit: "frames/s", Platform: "platform",
				Subject: series.Subject{Name: "router", Revision: fmt.Sprintf("%040d", run)},
			})
		}
	}
	return points
}

// measurePoints measures how points are listed, that is read and grouped, and judged. Nothing is written to a disk.
func measurePoints(count int) (row, error) {
	r := row{float64(count), map[string]float64{"series": float64(count / runsOfSeries)}}
	var file bytes.Buffer
	if err := series.WriteLines(&file, pointsOf(count)); err != nil {
		return r, err
	}
	r.figures["file MiB"] = float64(file.Len()) / (1 << 20)
	before := memory()
	start := time.Now()
	points, err := series.ReadLines(&file)
	if err != nil {
		return r, err
	}
	all, err := series.Group(points)
	if err != nil {
		return r, err
	}
	r.figures["listing s"] = time.Since(start).Seconds()
	listed := memory()
	// The file's buffer is still there.
	r.figures["listing's MiB"] = (float64(listed.HeapAlloc) - float64(before.HeapAlloc)) / (1 << 20)
	start = time.Now()
	report, err := regression.JudgeAll(regression.Default(), all, nil)
	if err != nil {
		return r, err
	}
	r.figures["judging s"] = time.Since(start).Seconds()
	r.figures["judging allocates MiB"] = float64(memory().TotalAlloc-listed.TotalAlloc) / (1 << 20)
	if len(report.Judgments) != len(all) {
		return r, fmt.Errorf("%d of %d series are judged", len(report.Judgments), len(all))
	}
	runtime.KeepAlive(file)
	runtime.KeepAlive(points)
	return r, nil
}

// memory returns what is in use after a collection.
func memory() runtime.MemStats {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats
}

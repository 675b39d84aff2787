package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	suitecontroller "vnfbench.io/operator/internal/controller/suite"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
)

const (
	// runsOfSeries is the number of runs of each series, one for each execution, figuresOfRun the number of series of a cell.
	runsOfSeries = 20
	figuresOfRun = 5
	pointsOfCell = runsOfSeries * figuresOfRun
	// judgeTimeout is how long a judgment may take.
	judgeTimeout = 10 * time.Minute
)

var judgeColumns = append([]column{{"suites", 0}, {"cells", 0}, {"series", 0}, {"µs per point", 1}, {"allocated KiB per point", 1}}, usageColumns...)

var listColumns = []column{
	{"cells", 0}, {"file MiB", 1},
	{"export s", 2}, {"export allocates MiB", 1}, {"export's highest heap MiB", 1},
	{"grouping s", 2}, {"grouping allocates MiB", 1}, {"grouping's highest heap MiB", 1},
	{"reading s", 2}, {"reading allocates MiB", 1}, {"reading's highest heap MiB", 1},
	{"judging s", 2}, {"judging allocates MiB", 1}, {"judging's highest heap MiB", 1},
}

// pointsOf returns how many points there are for numbers of cells.
func pointsOf(cells []int) (points []int) {
	for _, n := range cells {
		points = append(points, n*pointsOfCell)
	}
	return points
}

// measurementOf returns what is kept of one run of a cell. The values of its figures vary by 0.5 %.
func measurementOf(of string, parsed *suite.Suite, cell, execution int) (*v1alpha1.BenchmarkMeasurement, error) {
	random := rand.New(rand.NewPCG(uint64(cell), uint64(execution)))
	measured, executionName := time.Date(2026, time.January, 1+execution, 0, cell, 0, 0, time.UTC), executionOf(of, execution)
	name := parsed.Cells[cell].Name
	run := suite.RunName(executionName, name, 1, 1)
	points := make([]series.Point, figuresOfRun)
	for i := range points {
		value := int64(1e6 * (1 + 0.005*random.NormFloat64()))
		points[i] = series.Point{
			Key:  series.Key{Experiment: suite.ExperimentName(of, name) + "@0123456789ab", Testbed: testbedName, Figure: fmt.Sprintf("ThroughputFramesPerSecond %d NDR", frameBytes[i])},
			Time: measured, Run: run, Execution: executionName, Value: value, Repeats: []int64{value - 1, value, value + 1}, Unit: "frames/s",
			CalibrationLevel: 2_000_000, Platform: fmt.Sprintf("%064d", 1), PlatformParts: map[string]string{"kernel": "6.12", "node": "node-a", "cpu": "a processor"},
			Subject: series.Subject{Name: "router", Revision: fmt.Sprintf("%040d", execution), Image: "registry.test/function@sha256:" + fmt.Sprintf("%064d", 1)},
		}
	}
	common, parts, err := series.Parts(points)
	if err != nil {
		return nil, err
	}
	experiment, err := parsed.Experiment(cell)
	if err != nil {
		return nil, err
	}
	m := &v1alpha1.BenchmarkMeasurement{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: run,
		Labels: map[string]string{v1alpha1.LabelSuite: of, v1alpha1.LabelSuiteRun: executionName, v1alpha1.LabelCell: name, v1alpha1.LabelRepeat: "1"},
	}, Spec: v1alpha1.BenchmarkMeasurementSpec{
		Suite: of, Execution: executionName, Cell: name, Repeat: 1, Run: run, RunUID: run, Testbed: testbedName, CompletionTime: metav1.NewTime(measured),
		Subject: &v1alpha1.Subject{Name: "router", Revision: points[0].Subject.Revision}, Part: 1, Common: common, Points: parts[0],
	}}
	m.Spec.Experiment.Raw, err = json.Marshal(experiment)
	return m, err
}

func executionOf(suite string, execution int) string { return fmt.Sprintf("%s-%d", suite, execution+1) }

// keepMeasurements stores the measurements of a suite that was executed runsOfSeries times, as the operator does.
func (c *cluster) keepMeasurements(ctx context.Context, p *progress, name string, template *v1alpha1.SuiteTemplate) error {
	parsed, err := suite.Parse(template)
	if err != nil {
		return err
	}
	count := len(parsed.Cells) * runsOfSeries
	return inParallel(count, func(i int) error {
		p.is("storing measurement %d of %d of suite %q", i+1, count, name)
		m, err := measurementOf(name, parsed, i%len(parsed.Cells), i/len(parsed.Cells))
		if err != nil {
			return err
		}
		return c.client.Create(ctx, m)
	})
}

// keepSuite makes a suite that makes no execution by itself, as it is after its last one was deleted.
func (c *cluster) keepSuite(ctx context.Context, name string, template *v1alpha1.SuiteTemplate) (*v1alpha1.BenchmarkSuite, error) {
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.BenchmarkSuiteSpec{
		Template: *template, RunOn: v1alpha1.RunOnNever,
		Regression: &v1alpha1.SuiteRegression{Gate: []v1alpha1.RegressionGate{{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}}},
	}}
	if err := c.client.Create(ctx, s); err != nil {
		return nil, err
	}
	s.Status.Executions = runsOfSeries
	s.Status.LastExecution = &v1alpha1.SuiteExecution{Name: executionOf(name, runsOfSeries-1), Trigger: v1alpha1.TriggerChange, TemplateDigest: "deleted"}
	return s, c.client.Status().Update(ctx, s)
}

// measureJudging measures how the manager judges a number of points, after all suites that have them have been executed at the same time.
func measureJudging(ctx context.Context, s settings, points int) (row, error) {
	cells := points / pointsOfCell
	r := row{float64(points), map[string]float64{"suites": float64(len(suitesOf(cells))), "cells": float64(cells), "series": float64(points / runsOfSeries)}}
	err := with(ctx, s, func(ctx context.Context, node *node) error {
		var suites []*v1alpha1.BenchmarkSuite
		for i, size := range suitesOf(cells) {
			template, err := templateOf(size)
			if err != nil {
				return err
			}
			if err := node.keepMeasurements(ctx, s.progress, suiteName(i), &template); err != nil {
				return err
			}
			kept, err := node.keepSuite(ctx, suiteName(i), &template)
			if err != nil {
				return err
			}
			suites = append(suites, kept)
		}
		manager, err := startManager(s, node.kubeconfig)
		if err != nil {
			return err
		}
		return errors.Join(node.judgeSuites(ctx, manager, r.figures, suites), manager.stop())
	})
	if err != nil {
		return r, err
	}
	r.figures["µs per point"] = 1e6 * r.figures["time s"] / r.n
	r.figures["allocated KiB per point"] = 1024 * r.figures["allocated MiB"] / r.n
	return r, nil
}

// judgeSuites lets the manager judge suites, and waits for the verdicts of all of their series.
func (n *node) judgeSuites(ctx context.Context, manager *process, figures map[string]float64, suites []*v1alpha1.BenchmarkSuite) error {
	if _, _, err := n.settle(ctx, manager, 0); err != nil {
		return err
	}
	return n.observe(ctx, manager, figures, func(ctx context.Context) error {
		for _, s := range suites {
			// What was judged with other settings is judged again.
			patch := fmt.Appendf(nil, `{"status":{"regression":{"execution":%q}}}`, s.Status.LastExecution.Name)
			if err := n.client.Status().Patch(ctx, s, client.RawPatch("application/merge-patch+json", patch)); err != nil {
				return err
			}
		}
		return n.await(ctx, manager, judgeTimeout, func() (bool, error) {
			judged, verdicts := 0, 0
			for _, s := range suites {
				if err := n.client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
					return false, err
				}
				of := s.Status.Regression
				if of == nil || of.Digest == "" {
					continue
				}
				if of.Problem != "" {
					return false, fmt.Errorf("suite %q: %s", s.Name, of.Problem)
				}
				judged++
				verdicts += int(of.Counts.Pass + of.Counts.Regression + of.Counts.Improvement + of.Counts.Inconclusive + of.Counts.NotEnoughData)
			}
			n.progress.is("judging: %d of %d suites are judged", judged, len(suites))
			if judged < len(suites) {
				return false, nil
			}
			if want := int(figures["series"]); verdicts != want {
				return false, fmt.Errorf("%d of %d series are judged", verdicts, want)
			}
			return true, nil
		})
	})
}

// printPointLimits prints how many points of a suite the manager judges.
func printPointLimits(w io.Writer) error {
	// The manager lowers the limit by a tenth, for what is not Go's.
	_, err := fmt.Fprintf(w, "Limits: with %d MiB the manager judges at most %d points of a suite, and %d with any memory; it judges one suite at a time.\n",
		memoryLimitBytes>>20, suitecontroller.RoomIn(memoryLimitBytes/10*9), series.MaxPoints)
	return err
}

// measureListing measures the plugin's way: points are read from the API server and written as a file (export), grouped to series, and the file is
// read and judged. Nothing is written to a disk.
func measureListing(ctx context.Context, s settings, points int) (row, error) {
	cells := points / pointsOfCell
	r := row{float64(points), map[string]float64{"cells": float64(cells)}}
	c, err := startCluster(ctx)
	if err != nil {
		return r, err
	}
	err = c.list(ctx, s, r.figures, cells)
	return r, errors.Join(err, c.stop())
}

func (c *cluster) list(ctx context.Context, s settings, figures map[string]float64, cells int) error {
	for i, size := range suitesOf(cells) {
		template, err := templateOf(size)
		if err != nil {
			return err
		}
		if err := c.keepMeasurements(ctx, s.progress, suiteName(i), &template); err != nil {
			return err
		}
	}
	s.progress.is("listing %d points", cells*pointsOfCell)
	var file bytes.Buffer
	var points []series.Point
	took, err := spend(func() (err error) {
		points, err = series.ReadMeasurements(ctx, c.client, namespace, "", func(*v1alpha1.BenchmarkMeasurement) {})
		if err == nil {
			err = series.WriteLines(&file, points)
		}
		return err
	})
	if err != nil {
		return err
	}
	took.into(figures, "export")
	figures["file MiB"] = float64(file.Len()) / (1 << 20)
	if len(points) != cells*pointsOfCell {
		return fmt.Errorf("%d of %d points are listed", len(points), cells*pointsOfCell)
	}
	return listFile(figures, &file, points)
}

// listFile measures what follows an export.
func listFile(figures map[string]float64, file io.Reader, points []series.Point) error {
	var all []series.Series
	took, err := spend(func() (err error) { all, err = series.Group(points); return err })
	if err != nil {
		return err
	}
	took.into(figures, "grouping")
	var again []series.Point
	if took, err = spend(func() (err error) { again, err = series.ReadLines(file); return err }); err != nil {
		return err
	}
	took.into(figures, "reading")
	if len(again) != len(points) {
		return fmt.Errorf("%d of %d points are read again", len(again), len(points))
	}
	var report regression.Report
	if took, err = spend(func() (err error) { report, err = regression.JudgeAll(regression.Default(), all, nil); return err }); err != nil {
		return err
	}
	took.into(figures, "judging")
	if len(report.Judgments) != len(all) {
		return fmt.Errorf("%d of %d series are judged", len(report.Judgments), len(all))
	}
	return nil
}

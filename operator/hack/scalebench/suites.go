package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/clock"
	"vnfbench.io/operator/internal/suite"
)

// axisValues are the values of the second axis of a template. The first has the rest.
const axisValues = 5

// planTimeout is how long the planning of an execution may take.
const planTimeout = 10 * time.Minute

var planColumns = append([]column{{"suites", 0}, {"ms per cell", 1}, {"CPU ms per cell", 1}, {"allocated KiB per cell", 0}}, usageColumns...)

// templateOf returns a template with a number of cells, a multiple of axisValues, which differ in their limits of time.
func templateOf(cells int) (v1alpha1.SuiteTemplate, error) {
	experiment, err := json.Marshal(newRun("", 1).Spec.Experiment)
	if err != nil {
		return v1alpha1.SuiteTemplate{}, err
	}
	numbers := func(first, count int) (values []apiextensionsv1.JSON) {
		for i := range count {
			values = append(values, apiextensionsv1.JSON{Raw: fmt.Append(nil, first+i)})
		}
		return values
	}
	return v1alpha1.SuiteTemplate{Experiment: apiextensionsv1.JSON{Raw: experiment}, Matrix: v1alpha1.Matrix{Axes: []v1alpha1.Axis{
		{Name: "start", Kind: v1alpha1.AxisNumeric, Path: "startupSeconds", Values: numbers(300, cells/axisValues)},
		{Name: "limit", Kind: v1alpha1.AxisNumeric, Path: "deadlineSeconds", Values: numbers(80_000, axisValues)},
	}}}, nil
}

// suitesOf distributes cells over suites, of which each has as many as it may have, but the last.
func suitesOf(cells int) (sizes []int) {
	for ; cells > 0; cells -= v1alpha1.MaxSuiteCells {
		sizes = append(sizes, min(cells, v1alpha1.MaxSuiteCells))
	}
	return sizes
}

// suiteName returns the name of a suite, by its number from 0.
func suiteName(number int) string { return fmt.Sprintf("suite-%d", number+1) }

// measurePlanning measures how the manager plans executions with a number of cells together, which are made at the same time.
func measurePlanning(ctx context.Context, s settings, cells int) (row, error) {
	r := row{float64(cells), map[string]float64{"suites": float64(len(suitesOf(cells)))}}
	err := with(ctx, s, func(ctx context.Context, node *node) error {
		// The first run that an execution makes does not start.
		node.held.Store(true)
		manager, err := startManager(s, node.kubeconfig)
		if err != nil {
			return err
		}
		return errors.Join(node.planSuites(ctx, manager, r.figures, cells), manager.stop())
	})
	if err != nil {
		return r, err
	}
	n := float64(cells)
	r.figures["ms per cell"], r.figures["CPU ms per cell"] = 1e3*r.figures["time s"]/n, 1e3*r.figures["CPU s"]/n
	r.figures["allocated KiB per cell"] = 1024 * r.figures["allocated MiB"] / n
	return r, nil
}

// planSuites makes the executions, and waits until all of their cells are planned.
func (n *node) planSuites(ctx context.Context, manager *process, figures map[string]float64, cells int) error {
	if _, _, err := n.settle(ctx, manager, 0); err != nil {
		return err
	}
	var executions []*v1alpha1.BenchmarkSuiteRun
	for i, size := range suitesOf(cells) {
		template, err := templateOf(size)
		if err != nil {
			return err
		}
		executions = append(executions, &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: suiteName(i)}, Spec: v1alpha1.BenchmarkSuiteRunSpec{Template: template}})
	}
	return n.observe(ctx, manager, figures, func(ctx context.Context) error {
		for _, e := range executions {
			if err := n.client.Create(ctx, e); err != nil {
				return err
			}
		}
		return n.await(ctx, manager, planTimeout, func() (bool, error) {
			planned := 0
			for _, e := range executions {
				if err := n.client.Get(ctx, client.ObjectKeyFromObject(e), e); err != nil {
					return false, err
				}
				if c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil && c.Status != metav1.ConditionUnknown {
					return false, fmt.Errorf("execution %q ended: %s: %s", e.Name, c.Reason, c.Message)
				}
				planned += int(e.Status.PlannedCells)
			}
			n.progress.is("planning: %d of %d cells", planned, cells)
			return planned == cells, nil
		})
	})
}

// await asks again and again until something is done.
func (n *node) await(ctx context.Context, manager *process, timeout time.Duration, isDone func() (bool, error)) error {
	for start := time.Now(); time.Since(start) < timeout; {
		if done, err := isDone(); done || err != nil {
			return err
		}
		if err := errors.Join(manager.alive(), clock.Sleep(ctx, stepInterval)); err != nil {
			return err
		}
	}
	return fmt.Errorf("it took longer than %s", timeout)
}

// printCellLimits prints how many cells and measurements a suite has at most, and how long it takes to refuse twice as many.
func printCellLimits(w io.Writer, _ []row) error {
	fmt.Fprintf(w, "Limits: a suite has at most %d cells and %d measurements.\n", v1alpha1.MaxSuiteCells, v1alpha1.MaxSuiteMeasurements)
	cells := 2 * v1alpha1.MaxSuiteCells
	template, err := templateOf(cells)
	if err != nil {
		return err
	}
	start := time.Now()
	_, err = suite.Parse(&template)
	took := time.Since(start)
	if err == nil {
		return fmt.Errorf("a matrix of %d cells is not refused", cells)
	}
	fmt.Fprintf(w, "A matrix of %d cells is refused after %.1f ms: %v\n", cells, 1e3*took.Seconds(), err)
	return nil
}

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

var suiteColumns = []column{{"planning s", 2}, {"CPU s", 2}, {"CPU ms per cell", 1}, {"manager's writes", 0}, {"RSS MiB before", 1}, {"highest RSS MiB", 1}}

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

// measureSuite measures how the manager plans an execution with a number of cells.
func measureSuite(ctx context.Context, s settings, cells int) (row, error) {
	r := row{float64(cells), map[string]float64{}}
	err := with(ctx, s, func(ctx context.Context, node *node) error {
		manager, err := startManager(s, node.kubeconfig)
		if err != nil {
			return err
		}
		return errors.Join(node.planSuite(ctx, manager, r.figures, cells), manager.stop())
	})
	return r, err
}

// planSuite makes an execution, and waits until all of its cells are planned.
func (n *node) planSuite(ctx context.Context, manager *process, figures map[string]float64, cells int) error {
	if _, _, err := n.settle(ctx, manager, 0); err != nil {
		return err
	}
	template, err := templateOf(cells)
	if err != nil {
		return err
	}
	from, err := n.sample(ctx, manager)
	if err != nil {
		return err
	}
	execution := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "suite"}, Spec: v1alpha1.BenchmarkSuiteRunSpec{Template: template}}
	start := time.Now()
	if err := n.client.Create(ctx, execution); err != nil {
		return err
	}
	for int(execution.Status.PlannedCells) < cells {
		if c := meta.FindStatusCondition(execution.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil && c.Status != metav1.ConditionUnknown {
			return fmt.Errorf("the execution ended: %s: %s", c.Reason, c.Message)
		}
		if time.Since(start) > planTimeout {
			return fmt.Errorf("%d of %d cells were planned in %s", execution.Status.PlannedCells, cells, planTimeout)
		}
		n.progress.is("planning an execution: %d of %d cells", execution.Status.PlannedCells, cells)
		if err := errors.Join(manager.alive(), clock.Sleep(ctx, stepInterval)); err != nil {
			return err
		}
		if err := n.client.Get(ctx, client.ObjectKeyFromObject(execution), execution); err != nil {
			return err
		}
	}
	took := time.Since(start)
	to, err := n.sample(ctx, manager)
	if err != nil {
		return err
	}
	cpu := (to.cpu - from.cpu).Seconds()
	figures["planning s"], figures["CPU s"], figures["CPU ms per cell"] = took.Seconds(), cpu, 1e3*cpu/float64(cells)
	figures["manager's writes"], figures["RSS MiB before"], figures["highest RSS MiB"] = to.writes-from.writes, from.rss, to.peak
	return nil
}

// printRefusal prints how long it takes to refuse a matrix of a number of cells.
func printRefusal(w io.Writer, cells int) error {
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

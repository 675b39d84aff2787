package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// frameBytes are the sizes of RFC 2544 for Ethernet.
var frameBytes = []int32{64, 128, 256, 512, 1024, 1280, 1518}

// newRun returns a run of a router with the first of the sizes and the default measurements.
func newRun(name string, sizes int) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	experiment := &run.Spec.Experiment
	experiment.TestbedRef = &v1alpha1.TestbedReference{Name: testbedName}
	experiment.StartupSeconds = 600
	experiment.Chain = []v1alpha1.NetworkFunction{{Name: "router", Function: v1alpha1.FunctionRouter}}
	experiment.Traffic.FrameBytes = frameBytes[:sizes]
	return run
}

// measuring reports whether a run's chain is measured.
func measuring(run *v1alpha1.BenchmarkRun) bool {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionMeasured)
	return c != nil && c.Reason == v1alpha1.ReasonMeasuring
}

// succeeded returns an error if a run has ended without figures.
func succeeded(run *v1alpha1.BenchmarkRun) error {
	if c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionMeasured); c == nil || c.Status != metav1.ConditionTrue {
		return fmt.Errorf("run %q was not measured: %+v", run.Name, run.Status.Conditions)
	}
	return nil
}

// template is a run that was measured, with its plan and its results.
type template struct {
	run *v1alpha1.BenchmarkRun
	// configMaps are the plan, the results and their chunks.
	configMaps []*corev1.ConfigMap
}

// readTemplate reads a finished run with what it has left.
func (c *cluster) readTemplate(ctx context.Context, name string) (template, error) {
	t := template{run: &v1alpha1.BenchmarkRun{}}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, t.run); err != nil {
		return t, err
	}
	if err := succeeded(t.run); err != nil {
		return t, err
	}
	for _, name := range left(t.run) {
		found := &corev1.ConfigMap{}
		switch err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found); {
		case err == nil:
			t.configMaps = append(t.configMaps, found)
		case !apierrors.IsNotFound(err):
			return t, err
		}
	}
	return t, nil
}

// left returns the names of the ConfigMaps that a run that has ended can have.
func left(run *v1alpha1.BenchmarkRun) []string {
	names := plan.NamesOf(run)
	return append([]string{names.Plan, names.Results}, names.Chunks()...)
}

// copyRun makes a finished run as the template is, with its plan and its results.
func (c *cluster) copyRun(ctx context.Context, t template, name string) error {
	run := &v1alpha1.BenchmarkRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: t.run.Finalizers},
		Spec:       *t.run.Spec.DeepCopy(),
	}
	if err := c.client.Create(ctx, run); err != nil {
		return err
	}
	names := plan.NamesOf(run)
	run.Status = *t.run.Status.DeepCopy()
	run.Status.ResultsRef = &v1alpha1.LocalReference{Name: names.Results}
	if err := c.client.Status().Update(ctx, run); err != nil {
		return err
	}
	mine, theirs := left(run), left(t.run)
	for _, from := range t.configMaps {
		configMap := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mine[slices.Index(theirs, from.Name)], Labels: map[string]string{}, Annotations: map[string]string{v1alpha1.AnnotationRun: run.Name}},
			Data:       from.Data, Immutable: from.Immutable,
		}
		for key, value := range from.Labels {
			configMap.Labels[key] = value
		}
		configMap.Labels[v1alpha1.LabelRun] = string(run.UID)
		if err := controllerutil.SetControllerReference(run, configMap, c.client.Scheme()); err != nil {
			return err
		}
		if err := c.client.Create(ctx, configMap); err != nil {
			return err
		}
	}
	return nil
}

// inParallel calls a function with 0 to n-1, a few at a time, and returns the first error.
func inParallel(n int, do func(i int) error) error {
	var wait sync.WaitGroup
	var first sync.Once
	var problem error
	next := make(chan int)
	for range 4 {
		wait.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					first.Do(func() { problem = err })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	return problem
}

package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// soakIntervals is how many a soak has: more are not stored.
const soakIntervals = 288

// measureSoak measures one run with a soak of some hours.
func measureSoak(ctx context.Context, s settings, hours int) (row, error) {
	run := newRun("soak", 1)
	seconds := int32(hours) * 3600
	run.Spec.Experiment.DeadlineSeconds = seconds + 3600
	run.Spec.Experiment.Measurements.Soak = &v1alpha1.Soak{
		Size: fmt.Sprint(frameBytes[0]), FramesPerSecond: new(int64(capacityFramesPerSecond / 2)), DurationSeconds: seconds, IntervalSeconds: (seconds + soakIntervals - 1) / soakIntervals,
	}
	return measureAlone(ctx, s, s.speed, run, func(r *row, n *node, run *v1alpha1.BenchmarkRun) error {
		r.n = float64(hours)
		if results := run.Status.Results; len(results) != 1 || results[0].Soak == nil || results[0].Soak.SendingSeconds < int64(seconds) {
			return fmt.Errorf("the soak did not send for %d s: %+v", seconds, results)
		}
		stored, err := json.Marshal(run)
		if err != nil {
			return err
		}
		results, err := n.bytesOfResults(ctx, run)
		r.figures["run KiB"], r.figures["results KiB"] = float64(len(stored))/1024, float64(results)/1024
		return err
	})
}

// bytesOfResults returns the size of all that a run has stored.
func (n *node) bytesOfResults(ctx context.Context, run *v1alpha1.BenchmarkRun) (bytes int, err error) {
	for _, name := range left(run) {
		found := &corev1.ConfigMap{}
		switch err := n.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found); {
		case err == nil:
			bytes += measure.Bytes(found.Data)
		case !apierrors.IsNotFound(err):
			return 0, err
		}
	}
	return bytes, nil
}

package benchmarkrun

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
)

// Preview plans a run that does not exist, and returns how long its trials take by that plan. The run has the
// defaults of the API server. Preview makes nothing. A *measure.Failure says why there is no plan; it is passing while
// the run would wait.
func (r *Reconciler) Preview(ctx context.Context, run *v1alpha1.BenchmarkRun) (seconds int64, err error) {
	run = run.DeepCopy()
	run.Spec.Experiment.Measurements = run.Spec.Experiment.Measurements.Filled()
	s := &scope{now: r.Clock.Now(), run: run, names: plan.NamesOf(run)}
	for _, read := range []func(context.Context, *scope) error{r.readVMs, r.readTestbed} {
		if err := read(ctx, s); err != nil {
			return 0, err
		}
	}
	switch name := run.TestbedName(); {
	case s.testbed == nil && name == "":
		return 0, passing(measure.Failf(v1alpha1.ReasonNoDefaultTestbed, "name a Testbed, or mark one as the default", "no Testbed is marked as the cluster's default"))
	case s.testbed == nil || !s.testbed.DeletionTimestamp.IsZero():
		return 0, passing(measure.Failf(v1alpha1.ReasonTestbedNotFound, "create it, or name another", "the cluster has no Testbed %q", name))
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return 0, fmt.Errorf("listing nodes: %w", err)
	}
	if s.input, err = r.input(ctx, s, nodes.Items, nil); err != nil {
		return 0, err
	}
	made, err := planOf(ctx, *s.input)
	if err != nil && s.passing(err) != "" {
		return 0, passing(measure.Failf(v1alpha1.ReasonTestbedNotReady, "", "waiting for %s: %w", s.passing(err), err))
	} else if err != nil {
		return 0, err
	}
	return procedure.Progress(made.Instructions, nil).RemainingSeconds, nil
}

func passing(failure *measure.Failure) *measure.Failure {
	failure.Passing = true
	return failure
}

package benchmarkrun

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/baseline"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/platform"
)

// wantsBaseline reports whether to read the earlier run's figures: once, when the run has
// its testbed. If the run waited, the earlier run is measured by then.
func (s *scope) wantsBaseline() bool {
	return s.run.Spec.Experiment.Baseline != nil && s.run.Status.Baseline == nil && s.holds() && queue.Wants(s.run)
}

// readBaseline reads the run that spec.experiment.baseline names. It bypasses the cache:
// that run may have ended a moment ago.
func (r *Reconciler) readBaseline(ctx context.Context, s *scope) error {
	if !s.wantsBaseline() {
		return nil
	}
	earlier := &v1alpha1.BenchmarkRun{}
	key := client.ObjectKey{Namespace: s.run.Namespace, Name: s.run.Spec.Experiment.Baseline.RunRef.Name}
	if err := r.Reader.Get(ctx, key, earlier); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("reading BenchmarkRun %q: %w", key.Name, err)
	}
	s.baseline = earlier
	return r.readBaselineTestbed(ctx, s)
}

// readBaselineTestbed reads the testbed's spec from the earlier run's plan, if the operator made it.
func (r *Reconciler) readBaselineTestbed(ctx context.Context, s *scope) error {
	stored := s.baseline.Status.Plan
	if stored == nil {
		return nil
	}
	configMap, err := r.configMap(ctx, s.baseline.Namespace, plan.NamesOf(s.baseline).Plan)
	if err != nil || configMap == nil || plan.Sum(configMap.Data) != stored.StoredDigest {
		return err
	}
	// A plan of another layout is not read, and an older one has no testbed.
	if earlier, err := plan.Parse([]byte(configMap.Data[plan.KeyPlan])); err == nil && earlier.TestbedSpec.Ports.LinkBitsPerSecond > 0 {
		s.baselineTestbed, s.baselineOperator = &earlier.TestbedSpec, earlier.OperatorVersion
	}
	return nil
}

// baselineProblem returns why the run cannot be compared with its baseline, or "".
func (s *scope) baselineProblem() string {
	if !s.wantsBaseline() {
		return ""
	}
	return baseline.WhyIncomparable(s.run, s.baseline, s.baselineTestbed, &s.testbed.Spec)
}

// baselineReport returns what the status says about the baseline: its figures from the time
// when they were read, and with them what has been measured so far.
func (s *scope) baselineReport() *v1alpha1.BaselineReport {
	report := s.run.Status.Baseline.DeepCopy()
	if report == nil {
		if s.baseline == nil || s.baselineProblem() != "" {
			return nil
		}
		report = &v1alpha1.BaselineReport{RunRef: v1alpha1.LocalReference{Name: s.baseline.Name}, UID: string(s.baseline.UID), Figures: baseline.Figures(s.baseline, s.run.Spec.Experiment.Baseline.Metrics)}
		if plan := s.baseline.Status.Plan; plan != nil {
			report.PlanDigest = plan.Digest
		}
		if generator := s.baseline.Status.Generator; generator != nil {
			report.GeneratorImageID = generator.ImageID
		}
		status := s.baseline.Status
		report.Platform = platform.Parts(platform.Run{Plan: status.Plan, Device: status.Device, Generator: status.Generator, OperatorVersion: s.baselineOperator})
	}
	report.Figures = baseline.Measured(report.Figures, s.measured())
	return report
}

// baselineLoads returns the rates at which the run measures delays besides its own.
func (s *scope) baselineLoads() []measure.BaselineLoad {
	report := s.baselineReport()
	if s.run.Spec.Experiment.Baseline == nil || report == nil {
		return nil
	}
	return baseline.Loads(s.run.Spec.Experiment, report.Figures)
}

// measured returns what this run has measured so far, for comparison.
func (s *scope) measured() []figure.Figure {
	return figure.Results{Frames: s.figures.Frames, TCP: s.figures.TCP, Connections: s.figures.Connections, CPU: s.figures.CPU}.Figures()
}

// baselineVerdicts judges the figures by those of the baseline.
func (s *scope) baselineVerdicts() []v1alpha1.Verdict {
	report := s.baselineReport()
	if s.run.Spec.Experiment.Baseline == nil || report == nil {
		return nil
	}
	return baseline.Verdicts(s.run.Spec.Experiment.Baseline, report.Figures, s.measured())
}

// baselineWarnings returns warnings about the tolerance, about another generator on the device's core, and about another platform.
func (w *writer) baselineWarnings() []v1alpha1.Warning {
	report := w.baselineReport()
	if w.run.Spec.Experiment.Baseline == nil || report == nil {
		return nil
	}
	warnings := baseline.Warnings(w.run.Spec.Experiment, report.Figures, w.scope.measured())
	var generator []v1alpha1.Warning
	if w.plan.Instructions.Chain.Hop == measure.HopInline {
		generator = baseline.GeneratorWarning(*report, w.measurerImage())
	}
	now := platform.Parts(platform.Run{Plan: w.status.Plan, Device: w.status.Device, Generator: w.status.Generator, OperatorVersion: w.plan.OperatorVersion})
	return slices.Concat(warnings, generator, baseline.PlatformWarning(*report, now, len(generator) > 0))
}

package benchmarkrun

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/baseline"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/figure"
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
	return nil
}

// baselineProblem returns why the run cannot be compared with its baseline, or "".
func (s *scope) baselineProblem() string {
	if !s.wantsBaseline() {
		return ""
	}
	return baseline.WhyIncomparable(s.run, s.baseline)
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
	}
	report.Figures = baseline.Measured(report.Figures, s.measured())
	return report
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

// baselineWarnings returns warnings about the tolerance.
func (s *scope) baselineWarnings() []v1alpha1.Warning {
	report := s.baselineReport()
	if s.run.Spec.Experiment.Baseline == nil || report == nil {
		return nil
	}
	return baseline.Warnings(s.run.Spec.Experiment, report.Figures, s.measured())
}

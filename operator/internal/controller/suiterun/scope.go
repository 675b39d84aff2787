package suiterun

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/suite"
)

// scope is everything that was read for one reconciliation of one execution.
type scope struct {
	now       time.Time
	execution *v1alpha1.BenchmarkSuiteRun
	// suite has the cells of the template; problem says why there are none.
	suite   *suite.Suite
	problem error
	// current is the measurement that has begun and not ended; nil if there is none.
	current *suite.Measurement
	// run is that of the current measurement; nil if it does not exist.
	run *v1alpha1.BenchmarkRun
	// foreign is an object that has the name of the current measurement's run, and that the operator did not make for it.
	foreign *v1alpha1.BenchmarkRun
}

func (s *scope) deleting() bool { return !s.execution.DeletionTimestamp.IsZero() }

// ended reports whether the execution has its outcome.
func (s *scope) ended() bool { return Ended(s.execution) }

// Ended reports whether an execution has its outcome.
func Ended(execution *v1alpha1.BenchmarkSuiteRun) bool {
	c := meta.FindStatusCondition(execution.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && c.Status != metav1.ConditionUnknown
}

// planned reports whether all cells were planned.
func (s *scope) planned() bool {
	return len(s.execution.Status.Cells) > 0 && int(s.execution.Status.PlannedCells) == len(s.execution.Status.Cells)
}

// order returns the measurements in the order in which they are made.
func (s *scope) order() []suite.Measurement {
	cells := s.execution.Status.Cells
	if asked := s.execution.Spec.Confirmation; asked != nil {
		return suite.ByTurns(len(cells), len(cells[0].Measurements), asked)
	}
	return suite.Order(len(cells), len(cells[0].Measurements), s.execution.Spec.Template.Order, s.execution.Status.Seed)
}

func (s *scope) measurement(m suite.Measurement) *v1alpha1.SuiteMeasurement {
	return &s.execution.Status.Cells[m.Cell].Measurements[m.Repeat]
}

// findCurrent finds the measurement that is being made.
func (s *scope) findCurrent() {
	for i := range s.execution.Status.Cells {
		repeat := slices.IndexFunc(s.execution.Status.Cells[i].Measurements, func(m v1alpha1.SuiteMeasurement) bool {
			return m.State == v1alpha1.MeasurementRunning
		})
		if repeat >= 0 {
			s.current = &suite.Measurement{Cell: i, Repeat: repeat}
			return
		}
	}
}

// next returns the first measurement that has not begun, or nil.
func (s *scope) next() *suite.Measurement {
	for _, m := range s.order() {
		if s.measurement(m).State == v1alpha1.MeasurementPending {
			return &m
		}
	}
	return nil
}

// runName returns the name of the current measurement's run, or "".
func (s *scope) runName() string {
	if s.current == nil {
		return ""
	}
	return suite.RunName(s.execution.Name, s.execution.Status.Cells[s.current.Cell].Name, s.current.Repeat+1, int(s.measurement(*s.current).Attempts))
}

// hasFailed reports whether a measurement has failed.
func (s *scope) hasFailed() bool {
	return slices.ContainsFunc(s.execution.Status.Cells, func(c v1alpha1.SuiteCell) bool {
		return slices.ContainsFunc(c.Measurements, func(m v1alpha1.SuiteMeasurement) bool { return m.State == v1alpha1.MeasurementFailed })
	})
}

// waitsForLabels returns why the execution waits for the labels of its image, or nil.
func (s *scope) waitsForLabels() *reporting.Cause {
	c := meta.FindStatusCondition(s.execution.Status.Conditions, v1alpha1.ConditionPlanned)
	if c == nil || c.Reason != v1alpha1.ReasonImageLabelsUnreadable {
		return nil
	}
	return &reporting.Cause{Reason: c.Reason, Message: c.Message}
}

// waitsForLabelsSince returns when the execution began to wait for the labels of its image.
func (s *scope) waitsForLabelsSince() time.Time {
	c := meta.FindStatusCondition(s.execution.Status.Conditions, v1alpha1.ConditionPlanned)
	if c == nil || c.Reason != v1alpha1.ReasonImageLabelsUnreadable {
		return s.now
	}
	return c.LastTransitionTime.Time
}

// timeLeft returns how long the execution may still take, and whether that is limited.
func (s *scope) timeLeft() (time.Duration, bool) {
	limit, start := s.execution.Spec.Template.MaximumDurationMinutes, s.execution.Status.StartTime
	if limit == nil || start == nil {
		return 0, false
	}
	return start.Add(time.Duration(*limit) * time.Minute).Sub(s.now), true
}

// isLate reports whether the execution has taken longer than it may.
func (s *scope) isLate() bool {
	left, limited := s.timeLeft()
	return limited && left <= 0
}

// wasSuspended reports whether the status says that the execution is suspended.
func (s *scope) wasSuspended() bool {
	c := meta.FindStatusCondition(s.execution.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && c.Reason == v1alpha1.ReasonSuspended
}

// sameCells reports whether the template has the cells of the status: another version of the operator may name them
// in another way.
func (s *scope) sameCells() bool {
	return slices.EqualFunc(s.suite.Cells, s.execution.Status.Cells, func(a suite.Cell, b v1alpha1.SuiteCell) bool { return a.Name == b.Name })
}

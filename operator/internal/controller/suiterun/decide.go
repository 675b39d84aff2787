package suiterun

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/suite"
)

const (
	// conflictDelay is how long an execution waits whose status met a newer one than the cache showed.
	conflictDelay = time.Second
	// retryInterval is how often an execution tries again while it waits for a cause to pass.
	retryInterval = 10 * time.Second
	// plannedAtOnce is the number of cells that one reconciliation plans, so that none takes long.
	plannedAtOnce = 20
)

// action is the one thing that a reconciliation does in addition to the status.
type action string

const (
	actWait action = "Wait"
	// actBegin writes the table of cells.
	actBegin action = "Begin"
	// actDescribe reads from the labels of an image what is tested.
	actDescribe action = "Describe"
	// actPlan tries and plans the next cells.
	actPlan action = "Plan"
	// actStart marks the next measurement as running, before its run is made.
	actStart action = "Start"
	// actLaunch makes the run of the current measurement.
	actLaunch action = "Launch"
	// actRetry begins another attempt of the current measurement.
	actRetry action = "Retry"
	// actRecord stores the outcome of the current measurement.
	actRecord action = "Record"
	// actSuspend suspends the current run, actResume lets it continue.
	actSuspend action = "Suspend"
	actResume  action = "Resume"
	// actFinish ends the execution. It deletes a run that is active.
	actFinish action = "Finish"
)

// decision is the action and what it needs.
type decision struct {
	action action
	// after is when to check again; 0 if only a change matters.
	after time.Duration
	// next is the measurement that Start begins.
	next *suite.Measurement
	// outcome is the condition Succeeded that Finish sets, with its reason and message.
	outcome *reporting.Cause
	// failure is that of the current measurement, with Retry and with a Record of one that failed.
	failure *reporting.Cause
	// waiting is what the execution waits for.
	waiting *reporting.Cause
	// estimates are those of the cells that Plan has planned.
	estimates []int64
	// subject is what Describe read.
	subject *v1alpha1.Subject
}

func finish(reason, format string, args ...any) decision {
	return decision{action: actFinish, outcome: reporting.NewCause(reason, format, args...)}
}

// decide names exactly one next action. It is pure.
func decide(s *scope) decision {
	if s.deleting() || s.ended() {
		return decision{action: actWait}
	}
	d := decideActive(s)
	if left, limited := s.timeLeft(); limited && d.action != actFinish && (d.after == 0 || left < d.after) {
		d.after = max(left, 0)
	}
	return d
}

func decideActive(s *scope) decision {
	switch {
	case s.problem != nil:
		return decision{action: actFinish, outcome: reporting.CauseOf(s.problem)}
	case len(s.execution.Status.Cells) == 0:
		return decision{action: actBegin}
	case !s.sameCells():
		return finish(v1alpha1.ReasonVersionMismatch, "this operator's version gives the cells other names than the one that began: make another execution")
	}
	if s.isLate() && !s.hasOutcome() {
		return finish(v1alpha1.ReasonMaximumDurationExceeded, "the execution took longer than spec.template.maximumDurationMinutes, %d: raise it, or measure less", *s.execution.Spec.Template.MaximumDurationMinutes)
	}
	if s.current != nil {
		return decideCurrent(s)
	}
	if s.execution.Spec.Suspend {
		return decision{action: actWait, waiting: suspended()}
	}
	if s.suite.Image != "" && s.execution.Status.Subject == nil {
		return decision{action: actDescribe}
	}
	if !s.planned() {
		return decision{action: actPlan}
	}
	if s.hasFailed() && s.execution.Spec.Template.FailFast {
		return decision{action: actFinish, outcome: &reporting.Cause{Reason: v1alpha1.ReasonFailedFast}}
	}
	if next := s.next(); next != nil {
		return decision{action: actStart, next: next}
	}
	if s.hasFailed() {
		return decision{action: actFinish, outcome: &reporting.Cause{Reason: v1alpha1.ReasonMeasurementsFailed}}
	}
	return decision{action: actFinish, outcome: &reporting.Cause{Reason: v1alpha1.ReasonSucceeded}}
}

func suspended() *reporting.Cause {
	return reporting.NewCause(v1alpha1.ReasonSuspended, "spec.suspend is true: set it to false to continue")
}

// hasOutcome reports whether the current run has its verdict, which is recorded however late it is.
func (s *scope) hasOutcome() bool { return s.run != nil && queue.Finished(s.run) }

// decideCurrent decides about the measurement that is being made.
func decideCurrent(s *scope) decision {
	switch {
	case s.hasOutcome():
		return decideOutcome(s)
	case s.execution.Spec.Suspend && s.run != nil && !s.run.Spec.Suspend:
		return decision{action: actSuspend, waiting: suspended()}
	case s.execution.Spec.Suspend:
		return decision{action: actWait, waiting: suspended()}
	case s.foreign != nil:
		return decision{action: actWait, after: retryInterval, waiting: taken(s.foreign.Name)}
	case s.run == nil:
		return decision{action: actLaunch}
	case !s.run.DeletionTimestamp.IsZero():
		// The next one can have its name when it is gone.
		return decision{action: actWait, after: retryInterval}
	case s.run.Spec.Suspend && s.wasSuspended():
		return decision{action: actResume}
	}
	return decision{action: actWait}
}

// taken says that another writer has an object with the name of a run.
func taken(name string) *reporting.Cause {
	return reporting.NewCause(v1alpha1.ReasonObjectTaken, "BenchmarkRun %q exists, and the operator did not make it for this execution: delete it, and the execution continues", name)
}

// decideOutcome records the verdict of the current run, or tries again.
func decideOutcome(s *scope) decision {
	condition := meta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if condition.Status == metav1.ConditionTrue {
		return decision{action: actRecord}
	}
	d := decision{action: actRecord, failure: reporting.NewCause(condition.Reason, "BenchmarkRun %q: %s: %s", s.run.Name, condition.Reason, condition.Message)}
	if suite.MayPass(condition.Reason) && s.measurement(*s.current).Attempts < max(1, s.execution.Spec.Template.MaximumAttempts) {
		d.action = actRetry
	}
	return d
}

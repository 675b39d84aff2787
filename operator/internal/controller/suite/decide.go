package suite

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/controller/suiterun"
)

// conflictDelay is how long a suite waits whose status met a newer one than the cache showed.
const conflictDelay = time.Second

// retryInterval is how often a suite tries again while the API server refuses an execution.
const retryInterval = 10 * time.Second

// refusedTimeout is how long a suite waits for the right to read its measurements.
const refusedTimeout = 5 * time.Minute

// turnInterval is how often a suite that is to be judged looks whether another one still is.
const turnInterval = 2 * time.Second

// defaultHistoryLimit is the API's default of both limits, for a suite that was stored without them.
const defaultHistoryLimit = 3

// defaultStartingDeadline is the API's default of startingDeadlineSeconds.
const defaultStartingDeadline = time.Hour

// action is the one thing that a reconciliation does in addition to the status.
type action string

const (
	actWait action = "Wait"
	// actExecute makes an execution.
	actExecute action = "Execute"
	// actReplace deletes the active execution, so that another one can be made.
	actReplace action = "Replace"
	// actSuspend suspends the active execution with the suite, or lets one that the suite suspended continue.
	actSuspend action = "Suspend"
	// actRead reads the revision of an image that the template names, for runOn Revision.
	actRead action = "Read"
	// actSkip lets a time of the schedule pass.
	actSkip action = "Skip"
	// actJudge judges the series after the latest execution.
	actJudge action = "Judge"
	// actConfirm makes the confirmation that the status names.
	actConfirm action = "Confirm"
	// actAbandon deletes a confirmation that spec.regression no longer asks for.
	actAbandon action = "Abandon"
	// actPrune does nothing else than to delete executions that are more than the limits.
	actPrune action = "Prune"
)

// decision is the action and what it needs.
type decision struct {
	action action
	// after is when to check again; 0 if only a change matters.
	after time.Duration
	// trigger is why Execute makes an execution; taken is set by it to the last number that another one has or had.
	trigger v1alpha1.SuiteTrigger
	taken   int64
	// foreign is the name of an object that the operator did not make, where Execute or Confirm was to make one.
	foreign string
	// blocked says why Execute, Judge or Confirm cannot be performed yet.
	blocked *reporting.Cause
	// scheduled is the last time of the schedule that was not acted on: it is over with the execution that is made, for whatever reason, or is skipped.
	scheduled time.Time
	// execution is the active one, with Replace, Suspend and Abandon.
	execution *v1alpha1.BenchmarkSuiteRun
	// suspend is what Suspend sets.
	suspend bool
	// surplus are executions that are more than the limits, which are deleted with any action.
	surplus []*v1alpha1.BenchmarkSuiteRun
	// waiting is the trigger that waits for the active execution to end, or for the suite to continue; "" if none does.
	waiting v1alpha1.SuiteTrigger
	// why says why a time of the schedule is skipped.
	why string
	// revision is what Read found.
	revision string
	// verdicts are what Judge found.
	verdicts *v1alpha1.RegressionStatus
	// made is the UID of the confirmation that Confirm made, unmade says why it cannot be made.
	made   types.UID
	unmade string
}

// decide names exactly one next action. It is pure.
func decide(s *scope) decision {
	d := decideAction(s)
	if d.surplus = s.surplus(); d.action == actWait && len(d.surplus) > 0 {
		d.action = actPrune
	}
	if next := s.nextScheduled(); !next.IsZero() {
		d.after = next.Sub(s.now)
	}
	return d
}

// nextScheduled returns the next time of the schedule, or zero while there is none.
func (s *scope) nextScheduled() time.Time {
	if s.schedule.Schedule == nil || s.problem != nil {
		return time.Time{}
	}
	return s.schedule.Next(s.now)
}

func decideAction(s *scope) decision {
	active := s.active()
	if s.isAbandoned() {
		return decision{action: actAbandon, execution: s.confirmation}
	}
	if active != nil && active.DeletionTimestamp.IsZero() && s.isToSuspend(active) {
		return decision{action: actSuspend, execution: active, suspend: s.suite.Spec.Suspend}
	}
	if s.problem != nil {
		return decision{action: actWait}
	}
	if active == nil && s.isToJudge() {
		return decision{action: actJudge}
	}
	d := s.due()
	// With Replace what is due would delete the confirmation at once, and each one after it.
	if isReplaced := d.trigger != "" && s.suite.Spec.ConcurrencyPolicy == v1alpha1.ConcurrencyReplace; active == nil && !isReplaced && s.isToConfirm() {
		return decision{action: actConfirm}
	}
	switch {
	case d.trigger == "" && active == nil && s.isToRead():
		return decision{action: actRead}
	case d.trigger == "":
		return decision{action: actWait}
	case s.suite.Spec.Suspend && !d.scheduled.IsZero():
		skipped := skip(d.scheduled, "the suite is suspended")
		if d.trigger != v1alpha1.TriggerSchedule {
			skipped.waiting = d.trigger
		}
		return skipped
	case d.trigger == v1alpha1.TriggerSchedule && s.now.Sub(d.scheduled) > s.startingDeadline():
		return skip(d.scheduled, "it is more than spec.startingDeadlineSeconds ago")
	case s.suite.Spec.Suspend:
		return decision{action: actWait, waiting: d.trigger}
	case active == nil:
		return d
	case !active.DeletionTimestamp.IsZero():
		return decision{action: actWait, waiting: d.trigger}
	case s.suite.Spec.ConcurrencyPolicy == v1alpha1.ConcurrencyReplace:
		return decision{action: actReplace, execution: active, waiting: d.trigger}
	case d.trigger == v1alpha1.TriggerSchedule:
		return skip(d.scheduled, "execution "+active.Name+" is active, and spec.concurrencyPolicy is Forbid")
	}
	return decision{action: actWait, waiting: d.trigger}
}

// block notes why the action cannot be performed yet, and when to try again.
func (d *decision) block(after time.Duration, reason, format string, args ...any) {
	d.blocked = reporting.NewCause(reason, format, args...)
	d.checkAfter(after)
}

// checkAfter makes sure that the suite is checked again after a time at most.
func (d *decision) checkAfter(after time.Duration) {
	if d.after == 0 || d.after > after {
		d.after = after
	}
}

func skip(scheduled time.Time, why string) decision {
	return decision{action: actSkip, scheduled: scheduled, why: why}
}

// isToSuspend reports whether spec.suspend of the active execution changes with that of the suite. The suite lets no execution continue that someone
// else suspended.
func (s *scope) isToSuspend(active *v1alpha1.BenchmarkSuiteRun) bool {
	if s.suite.Spec.Suspend {
		return !active.Spec.Suspend
	}
	return active.Spec.Suspend && active.Annotations[v1alpha1.AnnotationSuspendedBySuite] == "true"
}

// due returns the decision to make the execution that is due, or one without a trigger.
func (s *scope) due() decision {
	at := s.scheduledTime()
	if asked := runNow(s.suite); asked != "" && asked != s.known.LastRunNow {
		return decision{action: actExecute, trigger: v1alpha1.TriggerAnnotation, scheduled: at}
	}
	if trigger := s.changeDue(); trigger != "" {
		return decision{action: actExecute, trigger: trigger, scheduled: at}
	}
	if !at.IsZero() {
		return decision{action: actExecute, trigger: v1alpha1.TriggerSchedule, scheduled: at}
	}
	return decision{}
}

func (s *scope) startingDeadline() time.Duration {
	if seconds := s.suite.Spec.StartingDeadlineSeconds; seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return defaultStartingDeadline
}

// surplus returns the executions that have ended and are more than the limits, the oldest ones. Executions with the annotation
// vnfbench.io/keep are not counted.
func (s *scope) surplus() []*v1alpha1.BenchmarkSuiteRun {
	keep := map[bool]int{
		true:  int(ptr.Deref(s.suite.Spec.SucceededHistoryLimit, defaultHistoryLimit)),
		false: int(ptr.Deref(s.suite.Spec.FailedHistoryLimit, defaultHistoryLimit)),
	}
	var out []*v1alpha1.BenchmarkSuiteRun
	for i := len(s.executions) - 1; i >= 0; i-- {
		e := s.executions[i]
		if !suiterun.Ended(e) || !e.DeletionTimestamp.IsZero() || e.Annotations[v1alpha1.AnnotationKeep] == "true" {
			continue
		}
		succeeded := outcome(e).Status == "True"
		if keep[succeeded]--; keep[succeeded] < 0 && s.isSeen(e) && (!s.awaitsArchive || isArchived(e)) {
			out = append(out, e)
		}
	}
	return out
}

// isArchived reports whether the archive has the documents of an execution and of its runs.
func isArchived(execution *v1alpha1.BenchmarkSuiteRun) bool {
	return meta.IsStatusConditionTrue(execution.Status.Conditions, v1alpha1.ConditionArchived)
}

// isSeen reports whether the status has the outcome of an execution that may be deleted: that of the latest one is the suite's own. With
// spec.regression the latest one stays: confirmations belong to it.
func (s *scope) isSeen(execution *v1alpha1.BenchmarkSuiteRun) bool {
	latest := s.latest()
	if latest == nil || latest.Name != execution.Name {
		return true
	}
	c := succeeded(&s.suite.Status)
	if c == nil || s.suite.Spec.Regression != nil {
		return false
	}
	return (isOfSeries(c) || c.Status == outcome(execution).Status) && s.suite.Status.LastExecution != nil && s.suite.Status.LastExecution.Name == execution.Name
}

// isOfSeries reports whether the condition Succeeded of a suite is False because of its series.
func isOfSeries(c *metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && slices.Contains([]string{v1alpha1.ReasonRegressionFound, v1alpha1.ReasonNotConfirmed, v1alpha1.ReasonGateWithoutSeries, v1alpha1.ReasonNotJudged}, c.Reason)
}

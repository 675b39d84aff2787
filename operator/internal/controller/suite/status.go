package suite

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/controller/suiterun"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/suite"
)

// summarize computes the whole status from what was read and done.
func summarize(s *scope, d decision) v1alpha1.BenchmarkSuiteStatus {
	status := *s.known.DeepCopy()
	status.ObservedGeneration, status.ObservedSchedule, status.Cells = s.suite.Generation, s.line(), int32(s.cells)
	if s.isNewLine() && s.line() != "" {
		status.LastScheduleTime = &metav1.Time{Time: s.now.Truncate(time.Second)}
	}
	switch d.action {
	case actExecute:
		status.Executions = max(d.taken, status.Executions)
		if d.taken == 0 && d.blocked == nil {
			status.Executions++
			status.LastExecution = describe(executionOf(s, &d), s.digest)
			s.acted(&status, d)
		}
	case actSkip:
		status.LastScheduleTime = &metav1.Time{Time: d.scheduled}
	case actRead:
		if d.revision != "" {
			status.ImageRevision = &v1alpha1.ImageRevision{TemplateDigest: s.digest, Revision: d.revision}
		}
	case actJudge:
		if d.blocked == nil {
			status.Regression = d.verdicts
		}
	case actAbandon:
		if judged := status.Regression; judged != nil && judged.Confirmation != nil {
			// The pairs that it made count when the series are judged again.
			judged.ExtraRuns -= runsOfPair * judged.Confirmation.Pairs
			judged.Confirmation = nil
		}
	case actConfirm:
		asked := status.Regression.Confirmation
		asked.UID, asked.Problem = string(d.made), d.unmade
		if d.foreign != "" {
			status.Regression.Confirmations++
			asked.Name = confirmationName(status.Regression)
		}
	}
	if s.suite.Spec.Regression == nil {
		status.Regression = nil
	} else if status.Regression != nil && s.latest() == nil {
		// The confirmation was deleted with the execution.
		status.Regression.Confirmation = nil
	}
	status.NextScheduleTime = nil
	if next := s.nextScheduled(); !next.IsZero() && !s.suite.Spec.Suspend {
		status.NextScheduleTime = &metav1.Time{Time: next.UTC()}
	}
	s.setConditions(&status, d)
	return status
}

// acted notes what was asked for, so that it is not asked for again.
func (s *scope) acted(status *v1alpha1.BenchmarkSuiteStatus, d decision) {
	if d.trigger == v1alpha1.TriggerAnnotation {
		status.LastRunNow = runNow(s.suite)
	}
	if !d.scheduled.IsZero() {
		status.LastScheduleTime = &metav1.Time{Time: d.scheduled}
	}
}

func (s *scope) setConditions(status *v1alpha1.BenchmarkSuiteStatus, d decision) {
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: message,
			ObservedGeneration: s.suite.Generation, LastTransitionTime: metav1.NewTime(s.now.Truncate(time.Second)),
		})
	}
	problem := s.notReady()
	if problem != nil {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, problem.Reason, problem.Message)
	} else {
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady, fmt.Sprintf("the suite can be executed, with %d cells", s.cells))
	}
	last := s.lastOutcome(status, d)
	set(v1alpha1.ConditionSucceeded, last.Status, last.Reason, last.Message)
	if d.blocked != nil {
		reporting.TimeTheReason(s.known.Conditions, status.Conditions, v1alpha1.ConditionSucceeded, metav1.NewTime(s.now.Truncate(time.Second)))
	}
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
	switch {
	case problem != nil:
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, problem.Reason, problem.Message)
	case last.Status == metav1.ConditionFalse:
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, last.Reason, last.Message)
	case last.Status == metav1.ConditionUnknown && last.Reason != v1alpha1.ReasonNotExecuted:
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, last.Reason, last.Message)
	}
}

// lastOutcome returns the condition Succeeded: that of the latest execution, if none is active or due.
func (s *scope) lastOutcome(status *v1alpha1.BenchmarkSuiteStatus, d decision) metav1.Condition {
	unknown := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: reason, Message: reporting.NewCause(reason, format, args...).Message}
	}
	if problem := s.notReady(); problem != nil && s.active() == nil {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: problem.Reason, Message: "the suite cannot be executed: " + problem.Message}
	}
	execution := s.latest()
	switch {
	case d.blocked != nil:
		return unknown(d.blocked.Reason, "%s", d.blocked.Message)
	case d.action == actRead && !s.isMeasured(d.revision):
		return unknown(v1alpha1.ReasonProgressing, "the labels of the image are being read")
	case d.foreign != "":
		return unknown(v1alpha1.ReasonProgressing, "%s", takenMessage(d.foreign))
	case d.action == actExecute:
		return unknown(v1alpha1.ReasonProgressing, "execution %s begins", executionName(s.suite, status.Executions))
	case d.waiting != "" && s.suite.Spec.Suspend:
		return unknown(v1alpha1.ReasonSuspended, "spec.suspend is true, and an execution is due (%s): set it to false to continue", d.waiting)
	case d.waiting != "":
		return unknown(v1alpha1.ReasonProgressing, "an execution is due (%s), and waits for the active one to end", d.waiting)
	case status.LastExecution == nil:
		return unknown(v1alpha1.ReasonNotExecuted, "no execution was made yet")
	case execution == nil:
		if c := succeeded(&s.suite.Status); c != nil && c.Status != metav1.ConditionUnknown {
			return s.outcomeOfDeleted(status, *c)
		}
		return unknown(v1alpha1.ReasonExecutionDeleted, "execution %s was deleted before its end was seen: annotate the suite with %s to make another", status.LastExecution.Name, v1alpha1.AnnotationRunNow)
	case suiterun.Ended(execution):
		if c := s.judgedOutcome(status.Regression, execution.Name, outcome(execution).Status); c != nil {
			return *c
		}
		c := outcome(execution)
		return metav1.Condition{Status: c.Status, Reason: c.Reason, Message: reporting.NewCause(c.Reason, "execution %s: %s", execution.Name, c.Message).Message}
	case execution.Spec.Suspend:
		return unknown(v1alpha1.ReasonSuspended, "execution %s is suspended%s", execution.Name, s.howToContinue())
	}
	return unknown(v1alpha1.ReasonProgressing, "execution %s is active", execution.Name)
}

// howToContinue says what lets an execution continue that is suspended while the suite is not; "" while it is.
func (s *scope) howToContinue() string {
	if s.suite.Spec.Suspend {
		return ""
	}
	return ", and the suite is not: set spec.suspend of the execution to false to continue"
}

// outcomeOfDeleted returns the condition Succeeded after the latest execution was deleted: the last one that was seen, unless its series, whose
// measurements are kept, say another thing now.
func (s *scope) outcomeOfDeleted(status *v1alpha1.BenchmarkSuiteStatus, last metav1.Condition) metav1.Condition {
	if last.Status != metav1.ConditionTrue && !isOfSeries(&last) {
		return last
	}
	name := status.LastExecution.Name
	if c := s.judgedOutcome(status.Regression, name, metav1.ConditionTrue); c != nil {
		return *c
	}
	if isOfSeries(&last) {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded, Message: fmt.Sprintf("execution %s was deleted, and no series fails the suite", name)}
	}
	return last
}

// takenMessage says that another writer has an object with the name of an execution.
func takenMessage(name string) string {
	return fmt.Sprintf("BenchmarkSuiteRun %q exists, and the operator did not make it: it stays, and the next number is used", name)
}

// judgedOutcome returns the condition Succeeded where the series decide it: while a change is confirmed, and where the gate fails the suite. It is
// nil where they do not. measured is the condition Succeeded of the execution itself.
func (s *scope) judgedOutcome(judged *v1alpha1.RegressionStatus, execution string, measured metav1.ConditionStatus) *metav1.Condition {
	if s.suite.Spec.Regression == nil || judged == nil || judged.Execution != execution {
		return nil
	}
	condition := func(is metav1.ConditionStatus, reason, format string, args ...any) *metav1.Condition {
		message := reporting.NewCause(reason, "execution %s: "+format, append([]any{execution}, args...)...).Message
		return &metav1.Condition{Status: is, Reason: reason, Message: message}
	}
	switch asked := judged.Confirmation; {
	case asked != nil && (s.suite.Spec.Suspend || s.confirmation != nil && s.confirmation.Spec.Suspend):
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonSuspended, "confirmation %s is suspended%s", asked.Name, s.howToContinue())
	case asked != nil:
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonConfirming, "%s measures the versions of runs %s and %s by turns, %d times each", asked.Name, asked.OldRun, asked.Run, asked.Pairs)
	case measured != metav1.ConditionTrue || len(s.suite.Spec.Regression.Gate) == 0:
		return nil
	}
	if reason, message := suite.GateFailure(judged); reason != "" {
		return condition(metav1.ConditionFalse, reason, "%s", message)
	}
	return nil
}

func succeeded(status *v1alpha1.BenchmarkSuiteStatus) *metav1.Condition {
	return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSucceeded)
}

// eventsBetween returns what changed from one status to the next.
func eventsBetween(before, after *v1alpha1.BenchmarkSuiteStatus, d decision) []reporting.Event {
	var events []reporting.Event
	switch d.action {
	case actExecute:
		if d.taken == 0 && d.blocked == nil {
			events = append(events, reporting.Event{Kind: corev1.EventTypeNormal, Reason: v1alpha1.ReasonExecuted, Message: fmt.Sprintf("execution %s was made (%s)", after.LastExecution.Name, d.trigger)})
			if d.trigger != v1alpha1.TriggerSchedule && !d.scheduled.IsZero() {
				why := fmt.Sprintf("execution %s (%s) begins after it", after.LastExecution.Name, d.trigger)
				events = append(events, skippedEvent(d.scheduled, why))
			}
		}
	case actSkip:
		events = append(events, skippedEvent(d.scheduled, d.why))
	case actReplace:
		events = append(events, reporting.Event{Kind: corev1.EventTypeNormal, Reason: v1alpha1.ReasonReplaced, Message: fmt.Sprintf("execution %s was deleted: the next one replaces it (%s)", d.execution.Name, d.waiting)})
	}
	if d.foreign != "" {
		events = append(events, reporting.Event{Kind: corev1.EventTypeWarning, Reason: v1alpha1.ReasonObjectTaken, Message: takenMessage(d.foreign)})
	}
	if was := succeeded(before); d.blocked != nil && d.blocked.Reason != v1alpha1.ReasonProgressing && (was == nil || was.Reason != d.blocked.Reason) {
		events = append(events, reporting.Event{Kind: corev1.EventTypeWarning, Reason: d.blocked.Reason, Message: d.blocked.Message})
	}
	events = append(events, regressionEvents(before.Regression, after.Regression, d)...)
	was, is := succeeded(before), succeeded(after)
	if is.Status != metav1.ConditionUnknown && (was == nil || was.Status != is.Status || was.Reason != is.Reason) {
		kind := corev1.EventTypeNormal
		if is.Status == metav1.ConditionFalse {
			kind = corev1.EventTypeWarning
		}
		events = append(events, reporting.Event{Kind: kind, Reason: is.Reason, Message: is.Message})
	}
	return events
}

// skippedEvent says that a time of the schedule has no execution.
func skippedEvent(scheduled time.Time, why string) reporting.Event {
	return reporting.Event{Kind: corev1.EventTypeWarning, Reason: v1alpha1.ReasonScheduleSkipped, Message: fmt.Sprintf("no execution for %s: %s", scheduled.UTC().Format(time.RFC3339), why)}
}

// regressionEvents returns an event for each change that was confirmed since, and for confirmations that begin or are deleted.
func regressionEvents(before, after *v1alpha1.RegressionStatus, d decision) (events []reporting.Event) {
	switch {
	case d.action == actAbandon:
		events = append(events, reporting.Event{Kind: corev1.EventTypeNormal, Reason: v1alpha1.ReasonConfirmationAbandoned, Message: fmt.Sprintf("confirmation %s was deleted: spec.regression asks for none", d.execution.Name)})
	case d.action == actConfirm && d.made != "":
		asked := after.Confirmation
		events = append(events, reporting.Event{Kind: corev1.EventTypeNormal, Reason: v1alpha1.ReasonConfirmationMade, Message: fmt.Sprintf("confirmation %s was made: %d pairs of the versions of runs %s and %s", asked.Name, asked.Pairs, asked.OldRun, asked.Run)})
	}
	if after == nil {
		return events
	}
	type change struct{ experiment, testbed, figure, verdict, run string }
	keyOf := func(v v1alpha1.SeriesVerdict) change {
		return change{v.Experiment, v.Testbed, v.Figure, v.Verdict, v.Change.Run}
	}
	known := map[change]bool{}
	if before != nil {
		for _, v := range before.Verdicts {
			if v.Change != nil {
				known[keyOf(v)] = true
			}
		}
	}
	for _, v := range after.Verdicts {
		if v.Change == nil || known[keyOf(v)] {
			continue
		}
		e := reporting.Event{Kind: corev1.EventTypeWarning, Reason: v1alpha1.ReasonRegressionConfirmed, Message: fmt.Sprintf("%s: %s: %s", v.Cell, v.Figure, v.Message)}
		if v.Verdict == string(regression.VerdictImprovement) {
			e.Kind, e.Reason = corev1.EventTypeNormal, v1alpha1.ReasonImprovementConfirmed
		}
		events = append(events, e)
	}
	return events
}

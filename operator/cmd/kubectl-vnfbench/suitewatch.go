package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
)

// clearScreen moves the cursor to the corner and erases what follows (ECMA-48 CUP and ED).
const clearScreen = "\x1b[H\x1b[J"

// sight is what one look at a suite or at an execution shows.
type sight struct {
	// text is what the user sees; "" for nothing.
	text string
	// hasEnded says that the execution has ended. With isOver the watch ends too, and outcome is its error.
	hasEnded, isOver bool
	outcome          error
}

// watchSuite shows an execution, or that of a suite which is the latest one at the time, until it has ended and the series after it are judged, and
// returns the outcome as an error with an exit code. The API server may be away meanwhile.
func watchSuite(ctx context.Context, c *cluster, name string, out io.Writer, pause func(context.Context, time.Duration) error) error {
	before, erase, until := "", "", "it ended"
	if isTerminal(out) {
		erase = clearScreen
	}
	interrupted := &exit{exitError, fmt.Errorf("interrupted; %s/%s continues", c.namespace, name)}
	for {
		seen, err := c.look(ctx, name)
		switch {
		case ctx.Err() != nil:
			return interrupted
		case apierrors.IsNotFound(err) && before == "":
			return c.noSuch(name)
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s/%s was deleted before %s", c.namespace, name, until)
		case err != nil && before == "":
			return err
		case err == nil && seen.text != "" && seen.text != before:
			fmt.Fprintf(out, "%s%s\n", erase, seen.text)
			before = seen.text
		}
		if err == nil && seen.isOver {
			return seen.outcome
		}
		if seen.hasEnded {
			until = "its series were judged"
		}
		if err := pause(ctx, suiteInterval); err != nil {
			return interrupted
		}
	}
}

// look reads the suite of a name with its latest execution, or else the execution of the name. Its error is that of an object that is not found where
// there is neither.
func (c *cluster) look(ctx context.Context, name string) (sight, error) {
	suite, err := c.suite(ctx, name)
	switch {
	case err != nil:
		return sight{}, err
	case suite == nil:
		return c.lookAtExecution(ctx, name)
	}
	return c.lookAtSuite(ctx, suite)
}

// lookAtExecution reads an execution and its suite. The suite is read last: what it says of an execution that has ended is not older than its end.
func (c *cluster) lookAtExecution(ctx context.Context, name string) (sight, error) {
	execution, err := c.suiteRun(ctx, name)
	if err != nil {
		return sight{}, err
	}
	suite, err := c.suiteOf(ctx, execution)
	if err != nil {
		return sight{}, err
	}
	text, err := c.render(ctx, suite, execution, report.FormatTable)
	seen := sight{text: string(text), hasEnded: report.HasEnded(execution)}
	if seen.isOver = seen.hasEnded && report.IsSettled(suite, execution); seen.isOver {
		seen.outcome = suiteError(suite, execution)
	}
	return seen, err
}

// suiteError returns nil where an execution succeeded, and the gate of its suite, which may be nil, does not fail it.
func suiteError(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) error {
	gate := report.GateOutcome(suite, execution)
	if !meta.IsStatusConditionTrue(execution.Status.Conditions, v1alpha1.ConditionSucceeded) || gate != nil && gate.Status == metav1.ConditionFalse {
		return &exit{exitFailed, errRunFailed}
	}
	return nil
}

// lookAtSuite reads the latest execution of a suite. It is over when the suite's own condition Succeeded says so, which is Unknown while an execution is
// active or due, and the operator has seen the suite as it is.
func (c *cluster) lookAtSuite(ctx context.Context, suite *v1alpha1.BenchmarkSuite) (sight, error) {
	if not := report.NotReady(suite); not != nil {
		return sight{isOver: true, outcome: &exit{exitFailed, fmt.Errorf("BenchmarkSuite %q cannot be executed: %s: %s", suite.Name, not.Reason, not.Message)}}, nil
	}
	succeeded := meta.FindStatusCondition(suite.Status.Conditions, v1alpha1.ConditionSucceeded)
	waiting := func(why string) (sight, error) {
		return sight{text: fmt.Sprintf("BenchmarkSuite %s/%s: %s", suite.Namespace, suite.Name, why)}, nil
	}
	noneIsDue := []string{v1alpha1.ReasonNotExecuted, v1alpha1.ReasonExecutionDeleted}
	isDecided := succeeded != nil && (succeeded.Status != metav1.ConditionUnknown || slices.Contains(noneIsDue, succeeded.Reason))
	switch last := suite.Status.LastExecution; {
	case succeeded == nil || suite.Status.ObservedGeneration != suite.Generation:
		return waiting(fmt.Sprintf("waiting for the operator to see generation %d", suite.Generation))
	case isDecided && asksForRun(suite):
		return waiting("waiting for the execution that the annotation " + v1alpha1.AnnotationRunNow + " asks for")
	case last == nil && isDecided:
		return sight{isOver: true, outcome: notExecuted(suite)}, nil
	case last == nil:
		return waiting(succeeded.Reason + ": " + succeeded.Message)
	}
	execution, err := c.suiteRun(ctx, suite.Status.LastExecution.Name)
	switch {
	case apierrors.IsNotFound(err) && isDecided:
		return sight{isOver: true, outcome: deletedLatest(suite)}, nil
	case apierrors.IsNotFound(err):
		return waiting(succeeded.Reason + ": " + succeeded.Message)
	case err != nil:
		return sight{}, err
	}
	text, err := c.render(ctx, suite, execution, report.FormatTable)
	seen := sight{text: string(text), hasEnded: report.HasEnded(execution)}
	if seen.isOver = isDecided && seen.hasEnded && report.IsSettled(suite, execution); seen.isOver {
		if seen.outcome = suiteError(suite, execution); succeeded.Status != metav1.ConditionTrue {
			seen.outcome = &exit{exitFailed, errRunFailed}
		}
	}
	return seen, err
}

// asksForRun reports whether the annotation asks for an execution that was not made yet.
func asksForRun(suite *v1alpha1.BenchmarkSuite) bool {
	asked := excerpt.Line(suite.Annotations[v1alpha1.AnnotationRunNow], v1alpha1.MaxRunNowBytes)
	return asked != "" && asked != suite.Status.LastRunNow
}

package report

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/suite"
)

// StateOf returns what a suite says of an execution; nothing where the suite is nil.
func StateOf(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) SuiteState {
	judged := judgedBy(suite, execution)
	return SuiteState{
		Suite: suiteOutcome(suite, execution), NotReady: NotReady(suite), Judged: judged,
		IsToJudge: judged == nil && HasEnded(execution) && !IsSettled(suite, execution),
	}
}

// HasEnded reports whether an execution has its outcome.
func HasEnded(execution *v1alpha1.BenchmarkSuiteRun) bool {
	return outcome(execution.Status.Conditions, v1alpha1.ConditionSucceeded).Status != metav1.ConditionUnknown
}

// NotReady returns the condition Ready of a suite, which may be nil, where the operator has seen the suite as it is and it is False; otherwise nil.
func NotReady(suite *v1alpha1.BenchmarkSuite) *Outcome {
	if suite == nil || suite.Status.ObservedGeneration != suite.Generation {
		return nil
	}
	if of := outcome(suite.Status.Conditions, v1alpha1.ConditionReady); of.Status == metav1.ConditionFalse {
		return &of
	}
	return nil
}

// isLatest reports whether an execution is the latest one of its suite.
func isLatest(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) bool {
	return suite.Status.LastExecution != nil && suite.Status.LastExecution.Name == execution.Name
}

// suiteOutcome returns the condition Succeeded of a suite, which may be nil, for its latest execution, and nil for another one: the condition says
// nothing of that.
func suiteOutcome(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) *Outcome {
	if suite == nil || !isLatest(suite, execution) {
		return nil
	}
	of := outcome(suite.Status.Conditions, v1alpha1.ConditionSucceeded)
	if suite.Status.ObservedGeneration != suite.Generation {
		of = Outcome{metav1.ConditionUnknown, v1alpha1.ReasonProgressing, fmt.Sprintf("the operator has not seen generation %d of the suite yet", suite.Generation)}
	}
	return &of
}

// judgedBy returns what a suite, which may be nil, says of the series after an execution, or nil.
func judgedBy(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) *v1alpha1.RegressionStatus {
	if suite == nil || suite.Status.Regression == nil || suite.Status.Regression.Execution != execution.Name {
		return nil
	}
	return suite.Status.Regression
}

// IsSettled reports whether nothing more will be said of the series after an execution that has ended: its suite, which may be nil, judges nothing, has
// judged them with all confirmations, has gone on to another execution, or cannot be executed.
func IsSettled(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) bool {
	if suite == nil || suite.Spec.Regression == nil {
		return true
	}
	if suite.Status.LastExecution != nil && !isLatest(suite, execution) {
		return true
	}
	if suite.Status.ObservedGeneration != suite.Generation {
		return false
	}
	if judged := judgedBy(suite, execution); judged != nil {
		return judged.Confirmation == nil && !isToJudgeAgain(suite)
	}
	return NotReady(suite) != nil
}

// isToJudgeAgain reports whether the verdicts of a suite whose latest execution has ended may be those of earlier settings: it waits for its turn to judge,
// or for the right to read its measurements.
func isToJudgeAgain(suite *v1alpha1.BenchmarkSuite) bool {
	of := outcome(suite.Status.Conditions, v1alpha1.ConditionSucceeded)
	return of.Status == metav1.ConditionUnknown && (of.Reason == v1alpha1.ReasonProgressing || of.Reason == v1alpha1.ReasonNotJudged)
}

// GateOutcome returns what the gate of a suite, which may be nil, says of an execution: False where it fails the suite, Unknown while it is not
// known, and Unknown with NotJudged where it never will be. It is nil where there is no gate.
func GateOutcome(suite *v1alpha1.BenchmarkSuite, execution *v1alpha1.BenchmarkSuiteRun) *Outcome {
	if suite == nil || suite.Spec.Regression == nil || len(suite.Spec.Regression.Gate) == 0 {
		return nil
	}
	judged := judgedBy(suite, execution)
	switch {
	case !HasEnded(execution):
		return &Outcome{metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "the execution has not ended"}
	case judged != nil && judged.Confirmation != nil:
		return &Outcome{metav1.ConditionUnknown, v1alpha1.ReasonConfirming, "confirmation " + judged.Confirmation.Name + " has not ended"}
	case !IsSettled(suite, execution):
		return &Outcome{metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "the operator has not judged the series yet"}
	case judged != nil:
		return gateOf(judged)
	case NotReady(suite) != nil && isLatest(suite, execution):
		not := NotReady(suite)
		return &Outcome{metav1.ConditionFalse, not.Reason, "the series cannot be judged: " + not.Message}
	}
	return &Outcome{metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, "the suite has gone on to another execution, and keeps no verdicts of this one"}
}

// gateOf returns what verdicts mean for the gate, with the reasons of the suite's condition Succeeded.
func gateOf(judged *v1alpha1.RegressionStatus) *Outcome {
	if reason, message := suite.GateFailure(judged); reason != "" {
		return &Outcome{metav1.ConditionFalse, reason, message}
	}
	return &Outcome{metav1.ConditionTrue, v1alpha1.ReasonSucceeded, judged.Message}
}

// outcomeInWords writes a condition as the head of a report has it.
func outcomeInWords(o Outcome) string {
	text := string(o.Status)
	if o.Reason != "" {
		text += ", " + o.Reason
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	return text
}

// gateCases returns the JUnit cases of the gate and of the series that the suite lists. Their names are the same for every execution. A gate that is not
// known yet fails, as all that has not ended; one that never will be is skipped, and so is a series that is neither gated nor without a change.
func gateCases(class string, doc SuiteDocument) []junitCase {
	var cases []junitCase
	if gate := doc.Gate; gate != nil {
		c := junitCase{ClassName: class, Name: "gate", Time: "0"}
		switch {
		case gate.Status == metav1.ConditionTrue:
		case gate.Status == metav1.ConditionUnknown && gate.Reason == v1alpha1.ReasonNotJudged:
			c.Skipped = &junitSkipped{Message: gate.Message}
		default:
			c.Failure = &junitFailure{Type: gate.Reason, Message: gate.Message}
		}
		cases = append(cases, c)
	}
	if doc.Regression == nil {
		return cases
	}
	for _, v := range slices.SortedFunc(slices.Values(doc.Regression.Verdicts), func(a, b v1alpha1.SeriesVerdict) int {
		return strings.Compare(a.Cell+" "+a.Figure+" "+a.Testbed, b.Cell+" "+b.Figure+" "+b.Testbed)
	}) {
		c := junitCase{ClassName: class + "." + v.Cell, Name: fmt.Sprintf("series %s on %s", v.Figure, v.Testbed), Time: "0"}
		switch {
		case v.Gated:
			c.Failure = &junitFailure{Type: v.Reason, Message: v.Verdict + ": " + v.Message}
		case v.Verdict != string(regression.VerdictPass) && v.Verdict != string(regression.VerdictImprovement):
			c.Skipped = &junitSkipped{Message: fmt.Sprintf("%s, and the gate does not fail for it: %s", v.Verdict, v.Message)}
		}
		cases = append(cases, c)
	}
	return cases
}

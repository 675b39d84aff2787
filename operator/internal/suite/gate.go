package suite

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/regression"
)

// GateFailure returns why verdicts with which nothing is confirmed any more fail the gate of a suite: the reason of its condition Succeeded, and a
// message. Both are "" where the gate passes.
func GateFailure(judged *v1alpha1.RegressionStatus) (reason, message string) {
	var worse, unknown []string
	for _, v := range judged.Verdicts {
		text := fmt.Sprintf("%s: %s %s", v.Cell, v.Figure, strings.TrimPrefix(v.Message, "it "))
		switch {
		case !v.Gated:
		case v.Verdict == string(regression.VerdictRegression) && v.Reason != v1alpha1.ReasonNotConfirmed:
			worse = append(worse, text)
		default:
			unknown = append(unknown, text)
		}
	}
	switch {
	case judged.Problem != "":
		return v1alpha1.ReasonNotJudged, "its series cannot be judged: " + judged.Problem
	case len(worse) > 0:
		return v1alpha1.ReasonRegressionFound, excerpt.List(worse, "; ")
	case judged.GateProblem != "":
		return v1alpha1.ReasonGateWithoutSeries, judged.GateProblem
	case len(unknown) > 0:
		return v1alpha1.ReasonNotConfirmed, "it is not known whether these became worse: " + excerpt.List(unknown, "; ")
	}
	return "", ""
}

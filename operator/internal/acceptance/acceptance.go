// Package acceptance judges figures by the user's own thresholds. Criteria and
// results go in, verdicts and one sentence come out.
package acceptance

import (
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// Evaluate returns a verdict for each criterion, in their order, and each frame
// size that it means; those about TCP are EvaluateTCP's, those about connections
// EvaluateConnections'. Without a figure the verdict is Failed: what was not
// measured has not been kept.
func Evaluate(criteria []v1alpha1.Criterion, frameBytes []int32, results []v1alpha1.FrameResult) []v1alpha1.Verdict {
	var verdicts []v1alpha1.Verdict
	for _, criterion := range criteria {
		if AboutTCP(criterion) || AboutConnections(criterion) {
			continue
		}
		for _, size := range FrameSizes(criterion, frameBytes) {
			verdicts = append(verdicts, judge(criterion, size, results))
		}
	}
	return verdicts
}

// FrameSizes are those of frameBytes that the criterion means: its own, or
// every one.
func FrameSizes(criterion v1alpha1.Criterion, frameBytes []int32) []int32 {
	if criterion.FrameBytes != nil {
		return []int32{*criterion.FrameBytes}
	}
	return slices.Clone(frameBytes)
}

// Failed are the verdicts that are not Passed, in their order.
func Failed(verdicts []v1alpha1.Verdict) []v1alpha1.Verdict {
	var failed []v1alpha1.Verdict
	for _, verdict := range verdicts {
		if verdict.Result != v1alpha1.VerdictPassed {
			failed = append(failed, verdict)
		}
	}
	return failed
}

func judge(criterion v1alpha1.Criterion, frameBytes int32, results []v1alpha1.FrameResult) v1alpha1.Verdict {
	verdict := v1alpha1.Verdict{Criterion: criterion.Name, FrameBytes: frameBytes, Result: v1alpha1.VerdictFailed}
	measured, err := Figure(criterion, frameBytes, results)
	return compare(verdict, criterion, measured, err)
}

// compare finishes a verdict by the figure, or by why there is none.
func compare(verdict v1alpha1.Verdict, criterion v1alpha1.Criterion, measured int64, err error) v1alpha1.Verdict {
	if err != nil {
		verdict.Message = fmt.Sprintf("%s has no figure: %v", subject(criterion), err)
		return verdict
	}
	verdict.Measured = &measured
	switch {
	case criterion.AtLeast != nil:
		verdict.Message = fmt.Sprintf("%s is %d%s, at least %d required", subject(criterion), measured, compared(criterion), *criterion.AtLeast)
		if measured >= *criterion.AtLeast {
			verdict.Result = v1alpha1.VerdictPassed
		}
	case criterion.AtMost != nil:
		verdict.Message = fmt.Sprintf("%s is %d%s, at most %d allowed", subject(criterion), measured, compared(criterion), *criterion.AtMost)
		if measured <= *criterion.AtMost {
			verdict.Result = v1alpha1.VerdictPassed
		}
	default:
		verdict.Message = fmt.Sprintf("%s is %d, and the criterion has no threshold", subject(criterion), measured)
	}
	return verdict
}

// subject names the figure: "LatencyP99Nanoseconds at pdr50".
func subject(criterion v1alpha1.Criterion) string {
	if _, ok := frameFigures[criterion.Metric]; ok || AboutTCP(criterion) {
		return string(criterion.Metric)
	}
	if criterion.Goal != "" {
		return fmt.Sprintf("%s of %s", criterion.Metric, criterion.Goal)
	}
	return fmt.Sprintf("%s at %s", criterion.Metric, criterion.Load)
}

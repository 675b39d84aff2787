package acceptance

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
)

const (
	// maxMessageBytes keeps a condition's message readable; the API server allows 32768.
	maxMessageBytes = 1024
	// namedFailures is how many verdicts a message names; status.acceptance lists all of them.
	namedFailures = 3
)

// Message returns one sentence on all verdicts, for the condition Accepted: at most
// 1024 bytes, with the first failures by name and the number of the others, or
// without a failure the first that are inconclusive.
func Message(verdicts []v1alpha1.Verdict) string {
	if len(verdicts) == 0 {
		return "there are no acceptance criteria"
	}
	by := map[v1alpha1.VerdictResult][]v1alpha1.Verdict{}
	for _, verdict := range verdicts {
		by[verdict.Result] = append(by[verdict.Result], verdict)
	}
	worst := Worst(verdicts)
	failed, inconclusive, named := by[v1alpha1.VerdictFailed], by[v1alpha1.VerdictInconclusive], by[worst]
	head := ""
	switch worst {
	case v1alpha1.VerdictPassed:
		return fmt.Sprintf("all acceptance checks passed (%d)", len(verdicts))
	case v1alpha1.VerdictFailed:
		head = fmt.Sprintf("%d of %d acceptance checks failed", len(failed), len(verdicts))
		if n := len(inconclusive); n > 0 {
			head += fmt.Sprintf(" and %d are inconclusive", n)
		}
		head += ": "
	default:
		head = fmt.Sprintf("%d of %d acceptance checks are inconclusive: ", len(named), len(verdicts))
	}
	var sentences []string
	for _, verdict := range named[:min(len(named), namedFailures)] {
		sentences = append(sentences, fmt.Sprintf("%s for %s: %s", verdict.Criterion, About(verdict.FigureKey), verdict.Message))
	}
	tail := ""
	if others := len(named) - len(sentences); others > 0 {
		tail = fmt.Sprintf("; and %d more", others)
	}
	return head + excerpt.Text(strings.Join(sentences, "; "), maxMessageBytes-len(head)-len(tail)) + tail
}

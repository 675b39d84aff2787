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
	// namedFailures is how many failures a message names; status.acceptance lists all of them.
	namedFailures = 3
)

// Message returns one sentence on all verdicts, for the condition Accepted: at most
// 1024 bytes, with the first failures by name and the number of the others.
func Message(verdicts []v1alpha1.Verdict) string {
	if len(verdicts) == 0 {
		return "there are no acceptance criteria"
	}
	failed := Failed(verdicts)
	if len(failed) == 0 {
		return fmt.Sprintf("all acceptance checks passed (%d)", len(verdicts))
	}
	head := fmt.Sprintf("%d of %d acceptance checks failed: ", len(failed), len(verdicts))
	var sentences []string
	for _, verdict := range failed[:min(len(failed), namedFailures)] {
		sentences = append(sentences, fmt.Sprintf("%s for %s: %s", verdict.Criterion, About(verdict.FigureKey), verdict.Message))
	}
	tail := ""
	if others := len(failed) - len(sentences); others > 0 {
		tail = fmt.Sprintf("; and %d more", others)
	}
	return head + excerpt.Text(strings.Join(sentences, "; "), maxMessageBytes-len(head)-len(tail)) + tail
}

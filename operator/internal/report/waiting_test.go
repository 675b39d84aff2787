package report

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPositionInTheQueue checks that a place that the status rounds down is not shown as exact.
func TestPositionInTheQueue(t *testing.T) {
	for position, want := range map[int32]string{9: "position 9 of the queue", 10: "position 10 of the queue or later", 200: "position 200 of the queue or later"} {
		if got := (Document{QueuePosition: &position, Succeeded: Outcome{Status: metav1.ConditionUnknown}}).partialCause(); !strings.HasSuffix(got, want) {
			t.Errorf("position %d: %q, want %q at its end", position, got, want)
		}
	}
}

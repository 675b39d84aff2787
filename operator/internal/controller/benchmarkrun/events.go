package benchmarkrun

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// event is one thing that happened to a run.
type event struct{ kind, reason, message string }

// eventsBetween returns what changed from one status to the next: an event for
// each milestone, each new cause of waiting, and the verdict. Equal statuses
// have no events, so that none is emitted twice.
func eventsBetween(before, after *v1alpha1.BenchmarkRunStatus) []event {
	var events []event
	for _, kind := range []string{
		v1alpha1.ConditionAdmitted, v1alpha1.ConditionPlanned, v1alpha1.ConditionChainReady,
		v1alpha1.ConditionMeasured, v1alpha1.ConditionSucceeded,
	} {
		was, is := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if is == nil || !shouldEmit(kind, was, is) {
			continue
		}
		level := corev1.EventTypeNormal
		if kind == v1alpha1.ConditionSucceeded && is.Status == metav1.ConditionFalse || waitsForUser[is.Reason] {
			level = corev1.EventTypeWarning
		}
		events = append(events, event{level, is.Reason, is.Message})
	}
	if restarts(after) > restarts(before) {
		events = append(events, event{corev1.EventTypeWarning, v1alpha1.ReasonMeasurerRestarted,
			sentence("the measurer was started again (%d times so far) and continues after its last trial", restarts(after))})
	}
	return events
}

// waitsForUser are the causes of waiting that a user has to correct.
var waitsForUser = map[string]bool{
	v1alpha1.ReasonNoDefaultTestbed:    true,
	v1alpha1.ReasonTestbedNotFound:     true,
	v1alpha1.ReasonNamespaceNotAllowed: true,
	v1alpha1.ReasonTestbedNotReady:     true,
}

func shouldEmit(kind string, was, is *metav1.Condition) bool {
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return false
	}
	switch kind {
	case v1alpha1.ConditionAdmitted:
		return is.Reason != v1alpha1.ReasonPending
	case v1alpha1.ConditionChainReady:
		return is.Status == metav1.ConditionTrue || is.Reason == v1alpha1.ReasonRedeploying || is.Reason == v1alpha1.ReasonWaiting
	case v1alpha1.ConditionSucceeded:
		return is.Status != metav1.ConditionUnknown
	}
	return is.Status == metav1.ConditionTrue
}

func restarts(status *v1alpha1.BenchmarkRunStatus) int32 {
	if status.Progress == nil {
		return 0
	}
	return status.Progress.MeasurerRestarts
}

package testbed

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// summarize computes the whole status from what was read and decided.
func summarize(s *scope, d decision) v1alpha1.TestbedStatus {
	status := *s.testbed.Status.DeepCopy()
	status.ObservedGeneration = s.testbed.Generation
	nodes, found := s.obstacle()
	status.Nodes = s.fingerprints(describe(nodes))
	status.ActiveRuns, status.QueuedRuns = d.admission.active, d.admission.queued
	status.Calibration = s.calibration()
	status.BridgeNodes = s.recordedBridgeNodes()

	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: message,
			ObservedGeneration: s.testbed.Generation, LastTransitionTime: s.timestamp(),
		})
	}
	switch {
	case s.deleting():
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, "Deleting: "+d.deleting)
	case found != nil:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, found.reason, found.why)
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady, "the testbed can take runs")
	}
	// Waiting is counted from here: a node that is back and has no devices yet is another obstacle, and an obstacle
	// that has ended one run may pass in the time of the next.
	before, now := queue.Ready(s.testbed), meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if before != nil && before.Reason != now.Reason || found != nil && found.bound == forStartup && d.admission.freed {
		now.LastTransitionTime = s.timestamp()
	}
	switch c := status.Calibration; {
	case c != nil:
		set(v1alpha1.ConditionCalibrated, metav1.ConditionTrue, v1alpha1.ReasonCalibrated, "run "+c.RunRef.Namespace+"/"+c.RunRef.Name+" calibrated the generator")
	case s.testbed.Spec.Ports.HaveLoop():
		set(v1alpha1.ConditionCalibrated, metav1.ConditionFalse, v1alpha1.ReasonNotCalibrated, "no run has calibrated the generator yet")
	default:
		set(v1alpha1.ConditionCalibrated, metav1.ConditionFalse, v1alpha1.ReasonNotCalibrated, "a calibration needs a way without a device: two ports with attachment Bridge, or a loop that spec.ports.calibrationNetworks names")
	}
	return status
}

// timestamp returns now as the API stores it.
func (s *scope) timestamp() metav1.Time { return metav1.NewTime(s.now.Truncate(time.Second)) }

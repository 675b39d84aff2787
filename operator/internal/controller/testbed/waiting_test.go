package testbed

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

func startup(seconds int32) func(*v1alpha1.BenchmarkRun) {
	return func(r *v1alpha1.BenchmarkRun) { r.Spec.Experiment.StartupSeconds = seconds }
}

// readyWas gives the testbed the condition Ready that it had since the epoch.
func readyWas(status metav1.ConditionStatus, reason string, generation int64) with {
	return func(s *scope) {
		s.testbed.Generation = 1
		s.testbed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(epoch)}}
	}
}

// vfs makes it a testbed with virtual functions, of which its node has a number.
func vfs(capacity, allocatable string) with {
	return func(s *scope) {
		s.testbed.Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "x.io/west"}}
		if capacity != "" {
			s.nodes[0].Status.Capacity = corev1.ResourceList{"x.io/west": resource.MustParse(capacity)}
			s.nodes[0].Status.Allocatable = corev1.ResourceList{"x.io/west": resource.MustParse(allocatable)}
		}
	}
}

func mismatched(s *scope) { s.testbed.Spec.Generator.NodeSelector = map[string]string{"name": "other"} }

// another adds a node without devices.
func another(s *scope) { s.nodes = append(s.nodes, node("b")) }

func cordoned(s *scope) { s.nodes[0].Spec.Unschedulable = true }

// TestQueueWaitsForWhatPasses checks which obstacles hold back the next run, and until when.
func TestQueueWaitsForWhatPasses(t *testing.T) {
	next := run("r", 1, startup(300))
	const ready, missing, lost, none = v1alpha1.ReasonReady, v1alpha1.ReasonResourceMissing, v1alpha1.ReasonNodesNotReady, v1alpha1.ReasonNoMatchingNode
	tests := map[string]struct {
		scope  *scope
		reason string
		active int
		again  time.Duration
	}{
		"ready":                             {newScope(next), ready, 1, 0},
		"the plugin restarts":               {newScope(next, vfs("8", "0"), readyWas("True", ready, 1), after(time.Hour)), missing, 0, 300 * time.Second},
		"the plugin is still away":          {newScope(next, vfs("0", "0"), readyWas("False", missing, 1), after(100*time.Second)), missing, 0, 200 * time.Second},
		"the plugin stays away":             {newScope(next, vfs("0", "0"), readyWas("False", missing, 1), after(300*time.Second)), missing, 1, 0},
		"the plugin is back":                {newScope(next, vfs("8", "8"), readyWas("False", missing, 1), after(100*time.Second)), ready, 1, 0},
		"no plugin":                         {newScope(next, vfs("", ""), readyWas("True", ready, 1)), missing, 1, 0},
		"the plugin comes after a boot":     {newScope(next, vfs("0", "0"), readyWas("False", lost, 1), after(time.Hour)), missing, 0, 300 * time.Second},
		"a label is gone":                   {newScope(next, mismatched, readyWas("True", ready, 1), after(time.Hour)), lost, 0, 300 * time.Second},
		"a label is still gone":             {newScope(next, mismatched, readyWas("False", lost, 1), after(299*time.Second)), lost, 0, time.Second},
		"a label stays gone":                {newScope(next, mismatched, readyWas("False", lost, 1), after(300*time.Second)), lost, 1, 0},
		"another field changes meanwhile":   {newScope(next, mismatched, readyWas("False", lost, 0), after(299*time.Second)), lost, 0, time.Second},
		"the node with devices is cordoned": {newScope(next, vfs("8", "8"), cordoned, another, readyWas("True", ready, 1)), lost, 0, 0},
		"it is cordoned, for however long":  {newScope(next, vfs("8", "8"), cordoned, another, readyWas("False", lost, 1), after(1000*time.Hour)), lost, 0, 0},
		"it is cordoned without devices":    {newScope(next, vfs("8", "0"), cordoned, another, readyWas("True", ready, 1)), missing, 0, 300 * time.Second},
		"the selector has changed":          {newScope(next, mismatched, readyWas("True", ready, 0)), none, 1, 0},
		"no node ever":                      {newScope(next, mismatched), none, 1, 0},
		"no node ever, an hour later":       {newScope(next, mismatched, readyWas("False", none, 1), after(time.Hour)), none, 1, 0},
		"cordoned, for however long":        {newScope(next, cordoned, readyWas("False", lost, 1), after(1000*time.Hour)), lost, 0, 0},
		"no run waits while it is away":     {newScope(vfs("8", "0"), readyWas("True", ready, 1)), missing, 0, 0},
		"another waits for longer":          {newScope(run("r", 1, startup(600)), vfs("8", "0"), readyWas("False", missing, 1), after(300*time.Second)), missing, 0, 300 * time.Second},
		"it was held when the plugin went":  {newScope(active("r"), run("r", 1, is(v1alpha1.ConditionAdmitted, "True")), vfs("8", "0"), readyWas("True", ready, 1)), missing, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := decide(test.scope)
			status := summarize(test.scope, d)
			if reason := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).Reason; reason != test.reason || len(status.ActiveRuns) != test.active || d.after != test.again {
				t.Errorf("%s, %d runs hold the testbed, again after %s, want %s, %d, %s", reason, len(status.ActiveRuns), d.after, test.reason, test.active, test.again)
			}
		})
	}
}

// TestReadySinceItsReason checks that the condition has the time of its reason, from which the wait counts.
func TestReadySinceItsReason(t *testing.T) {
	since := func(s *scope) time.Duration {
		c := meta.FindStatusCondition(summarize(s, decide(s)).Conditions, v1alpha1.ConditionReady)
		return c.LastTransitionTime.Sub(epoch)
	}
	if got := since(newScope(vfs("0", "0"), readyWas("False", v1alpha1.ReasonNodesNotReady, 1), after(time.Hour))); got != time.Hour {
		t.Errorf("another reason: %s", got)
	}
	if got := since(newScope(vfs("0", "0"), readyWas("False", v1alpha1.ReasonResourceMissing, 1), after(time.Hour))); got != 0 {
		t.Errorf("the same reason: %s", got)
	}
}

// TestAnOutageEndsOneRunInItsTime: a plugin stays away for longer than the runs of a queue wait. After the end of one
// that is admitted nevertheless, the next one has its whole time again.
func TestAnOutageEndsOneRunInItsTime(t *testing.T) {
	s := newScope(vfs("0", "0"), readyWas("False", v1alpha1.ReasonResourceMissing, 1))
	var admitted []time.Duration
	for second := range 1000 {
		s.now = epoch.Add(time.Duration(second) * time.Second)
		s.runs = nil // the holder has failed and is deleted
		for i := len(admitted); i < 5; i++ {
			run(string(rune('a'+i)), i, startup(300))(s)
		}
		if s.testbed.Status = summarize(s, decide(s)); len(s.testbed.Status.ActiveRuns) > 0 {
			admitted = append(admitted, s.now.Sub(epoch))
		}
	}
	if want := []time.Duration{300 * time.Second, 601 * time.Second, 902 * time.Second}; !slices.Equal(admitted, want) {
		t.Errorf("runs were admitted after %v, want %v", admitted, want)
	}
}

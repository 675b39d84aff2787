package testbed

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// measuredOn returns a run that read the fingerprints of two nodes.
func measuredOn(generator, device, digest string, started int) func(*v1alpha1.BenchmarkRun) {
	return func(r *v1alpha1.BenchmarkRun) {
		r.Status.StartTime = ptr.To(metav1.NewTime(epoch.Add(time.Duration(started) * time.Second)))
		r.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: generator, DeviceNode: device}
		r.Status.Generator = &v1alpha1.GeneratorReport{Fingerprint: &v1alpha1.Fingerprint{Digest: "generator-" + digest}}
		r.Status.Device = &v1alpha1.DeviceReport{Fingerprint: &v1alpha1.Fingerprint{Digest: "device-" + digest}}
	}
}

// TestFingerprints checks that a node's fingerprint is the latest that a run has read, and outlives the run.
func TestFingerprints(t *testing.T) {
	unobserved := func(r *v1alpha1.BenchmarkRun) { r.Status.Device = nil }
	unread := func(r *v1alpha1.BenchmarkRun) { r.Status.Device, r.Status.Generator = &v1alpha1.DeviceReport{}, nil }
	kept := func(s *scope) {
		s.testbed.Status.Nodes = []v1alpha1.TestbedNode{{Name: "a", Fingerprint: &v1alpha1.Fingerprint{Digest: "kept"}}}
	}
	for name, test := range map[string]struct {
		changes []with
		want    string
	}{
		"no run":                 {nil, ""},
		"a run that knows none":  {[]with{run("x", 1)}, ""},
		"one node for both":      {[]with{run("x", 1, measuredOn("a", "a", "1", 1))}, "device-1"},
		"not observed":           {[]with{run("x", 1, measuredOn("a", "a", "1", 1), unobserved)}, "generator-1"},
		"the generator's node":   {[]with{run("x", 1, measuredOn("a", "b", "1", 1))}, "generator-1"},
		"another node":           {[]with{run("x", 1, measuredOn("b", "c", "1", 1))}, ""},
		"the latest of two":      {[]with{run("x", 1, measuredOn("a", "a", "new", 9)), run("y", 2, measuredOn("a", "a", "old", 3))}, "device-new"},
		"the latest read none":   {[]with{run("x", 1, measuredOn("a", "a", "1", 1)), run("y", 2, measuredOn("a", "a", "2", 2), unread)}, "device-1"},
		"the runs are gone":      {[]with{kept}, "kept"},
		"a later run than those": {[]with{kept, run("x", 1, measuredOn("a", "a", "1", 1))}, "device-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(test.changes...)
			nodes := summarize(s, decide(s)).Nodes
			got := ""
			if f := nodes[0].Fingerprint; f != nil {
				got = f.Digest
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

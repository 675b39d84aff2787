package plan_test

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

var sourcePorts = []v1alpha1.FlowField{v1alpha1.FlowSourcePort}

func TestDigest(t *testing.T) {
	original := mustMake(t, plantest.Input(2)).Digest
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(original) {
		t.Errorf("digest %q", original)
	}
	equal := map[string]func(*plan.Input){
		"the same again":      func(*plan.Input) {},
		"another run":         func(in *plan.Input) { in.Run.Name, in.Run.UID = "other", "other" },
		"another testbed":     func(in *plan.Input) { in.Testbed.Name, in.Testbed.UID = "other", "other" },
		"another namespace":   func(in *plan.Input) { in.Run.Namespace = "other" },
		"another deadline":    func(in *plan.Input) { in.Run.Spec.Experiment.DeadlineSeconds = 60 },
		"acceptance":          func(in *plan.Input) { in.Run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{{Name: "x"}} },
		"a node that is idle": func(in *plan.Input) { in.Nodes = append(in.Nodes, plantest.Node("node-z")) },
		"pull secrets":        func(in *plan.Input) { in.Defaults.ImagePullSecrets = []string{"x"} },
		"a priority class":    func(in *plan.Input) { in.Defaults.PriorityClassName = "x" },
		"a seed for one flow": func(in *plan.Input) { in.Run.Spec.Experiment.Traffic.FlowSeed = 7 },
		"names of functions":  func(in *plan.Input) { in.Run.Spec.Experiment.Chain[0].Name = "other" },
	}
	for name, change := range equal {
		t.Run("equal/"+name, func(t *testing.T) {
			in := plantest.Input(2)
			change(&in)
			if got := mustMake(t, in).Digest; got != original {
				t.Errorf("the digest changed to %q", got)
			}
		})
	}
	different := map[string]func(*plan.Input){
		"frames": func(in *plan.Input) { in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64} },
		"family": func(in *plan.Input) {
			in.Run.Spec.Experiment.Traffic.IPFamily, in.Run.Spec.Experiment.Traffic.FrameBytes = v1alpha1.FamilyIPv6, []int32{128}
		},
		"directions": func(in *plan.Input) { in.Run.Spec.Experiment.Traffic.Directions = v1alpha1.DirectionsForward },
		"flows": func(in *plan.Input) {
			in.Run.Spec.Experiment.Traffic.Flows, in.Run.Spec.Experiment.Traffic.FlowVariation = 5, sourcePorts
		},
		"a mix": func(in *plan.Input) {
			in.Run.Spec.Experiment.Traffic.IMIX = []v1alpha1.FrameMix{{Name: v1alpha1.MixSimple}}
		},
		"less in reverse": func(in *plan.Input) { in.Run.Spec.Experiment.Traffic.ReversePercent = 10 },
		"random flows": func(in *plan.Input) {
			in.Run.Spec.Experiment.Traffic.Flows, in.Run.Spec.Experiment.Traffic.FlowVariation = 5, sourcePorts
			in.Run.Spec.Experiment.Traffic.FlowOrder, in.Run.Spec.Experiment.Traffic.FlowSeed = v1alpha1.FlowsRandom, 1
		},
		"another seed": func(in *plan.Input) {
			in.Run.Spec.Experiment.Traffic.Flows, in.Run.Spec.Experiment.Traffic.FlowVariation = 5, sourcePorts
			in.Run.Spec.Experiment.Traffic.FlowOrder, in.Run.Spec.Experiment.Traffic.FlowSeed = v1alpha1.FlowsRandom, 2
		},
		"flows by address": func(in *plan.Input) {
			in.Run.Spec.Experiment.Traffic.Flows, in.Run.Spec.Experiment.Traffic.FlowVariation = 5, []v1alpha1.FlowField{v1alpha1.FlowSourceAddress}
		},
		"a goal":              func(in *plan.Input) { in.Run.Spec.Experiment.Measurements.Throughput.Goals[0].ExceedPercent = 50 },
		"a shorter chain":     func(in *plan.Input) { in.Run.Spec.Experiment.Chain = in.Run.Spec.Experiment.Chain[:1] },
		"a port's MTU":        func(in *plan.Input) { in.Run.Spec.Experiment.Chain[0].East.MTUBytes = new(int32(3000)) },
		"the testbed's MTU":   func(in *plan.Input) { in.Testbed.Spec.Ports.MTUBytes = 3000 },
		"a function's CPU":    func(in *plan.Input) { in.Run.Spec.Experiment.Chain[0].CPU = "1" },
		"a function's image":  func(in *plan.Input) { in.Defaults.FunctionImage = "other" },
		"the traffic image":   func(in *plan.Input) { in.Defaults.TrafficImage = "other" },
		"the generator's CPU": func(in *plan.Input) { in.Testbed.Spec.Generator.CPU = "1" },
		"the way out":         func(in *plan.Input) { in.Testbed.Spec.Generator.XDP.TransmitPath = v1alpha1.TransmitDirect },
		"the scheduling":      func(in *plan.Input) { in.Testbed.Spec.Generator.XDP.Scheduling = v1alpha1.SchedulingFair },
		"real time":           func(in *plan.Input) { in.Testbed.Spec.Generator.XDP.Scheduling = v1alpha1.SchedulingRealTime },
		"the kernel":          func(in *plan.Input) { in.Nodes[0].Status.NodeInfo.KernelVersion = "6.13.0" },
		"the node":            func(in *plan.Input) { in.Nodes = []corev1.Node{plantest.Node("node-b")} },
		"existing networks":   withExistingNetworks,
	}
	seen := map[string]string{original: "the original"}
	for name, change := range different {
		in := plantest.Input(2)
		change(&in)
		got := mustMake(t, in).Digest
		if other, found := seen[got]; found {
			t.Errorf("%s: the digest is that of %s", name, other)
		}
		seen[got] = name
	}
}

// TestDigestOfEqualMeasurements checks that a profile, a preset and a default have the digest of the same measurements written out.
func TestDigestOfEqualMeasurements(t *testing.T) {
	of := func(m v1alpha1.Measurements) string {
		in := plantest.Input(1)
		in.Run.Spec.Experiment.Measurements = m
		return mustMake(t, in).Digest
	}
	standard := v1alpha1.Measurements{Profile: v1alpha1.ProfileStandard}
	written := standard.Filled()
	written.Profile, written.NoisyNeighbors = "", v1alpha1.NeighborsWith
	preset := v1alpha1.Measurements{
		Throughput: &v1alpha1.Throughput{MinimumFramesPerSecond: 1000}, Latency: &v1alpha1.Latency{Preset: v1alpha1.PresetStandard},
	}
	want := of(standard)
	if got := of(written); got != want {
		t.Errorf("written down: digest %s, want the profile's, %s", got, want)
	}
	if got := of(preset); got != want {
		t.Errorf("with a preset: digest %s, want the profile's, %s", got, want)
	}
}

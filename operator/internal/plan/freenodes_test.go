package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func requests(cpu, pods string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse(pods)}
}

func takesPods(number string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(number) }
}

// TestFullNodes checks that a node without room is not chosen while another has some.
func TestFullNodes(t *testing.T) {
	tests := map[string]struct {
		change            func(*plan.Input)
		generator, device string
	}{
		"the first is full": {func(in *plan.Input) {
			in.Nodes, in.Requested = nodes(nil, nil), map[string]corev1.ResourceList{"a": requests("3", "5"), "b": requests("1", "5")}
		}, "b", "b"},
		"the first has no room on its disk": {func(in *plan.Input) {
			disk := func(n *corev1.Node) {
				n.Status.Allocatable[corev1.ResourceEphemeralStorage] = resource.MustParse("2Gi")
			}
			in.Run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "disk", Kind: v1alpha1.NeighborDisk, Disk: "1Gi"}}
			in.Nodes, in.Requested = nodes(disk, disk), map[string]corev1.ResourceList{"a": {corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")}}
		}, "b", "b"},
		"just enough is left": {func(in *plan.Input) {
			in.Nodes, in.Requested = nodes(has("4", "8Gi"), nil), map[string]corev1.ResourceList{"a": requests("2890m", "5")}
		}, "a", "a"},
		"all are full": {func(in *plan.Input) {
			in.Nodes, in.Requested = nodes(nil, nil), map[string]corev1.ResourceList{"a": requests("4", "5"), "b": requests("4", "5")}
		}, "a", "a"},
		"the first takes no more pods": {func(in *plan.Input) {
			in.Nodes, in.Requested = nodes(takesPods("10"), takesPods("10")), map[string]corev1.ResourceList{"a": requests("0", "8"), "b": requests("0", "7")}
		}, "b", "b"},
		"one of two is full": {func(in *plan.Input) {
			withExistingNetworks(in)
			in.Nodes, in.Requested = nodes(has("1200m", "8Gi"), has("1200m", "8Gi"), has("1200m", "8Gi")), map[string]corev1.ResourceList{"b": requests("1100m", "5"), "a": requests("100m", "5")}
		}, "a", "c"},
		"the status has a plan": {func(in *plan.Input) {
			in.Nodes, in.Requested = nodes(nil, nil, nil), map[string]corev1.ResourceList{"c": requests("4", "5")}
			in.Run.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "c", DeviceNode: "c"}
		}, "c", "c"},
		"another run measures on the first": {func(in *plan.Input) {
			in.Nodes, in.Busy = nodes(nil, nil), map[string]bool{"a": true}
		}, "b", "b"},
		"one of two is busy": {func(in *plan.Input) {
			withExistingNetworks(in)
			in.Nodes, in.Busy = nodes(has("1000m", "8Gi"), has("1000m", "8Gi"), has("1000m", "8Gi")), map[string]bool{"a": true}
		}, "b", "c"},
		"all are busy": {func(in *plan.Input) {
			in.Nodes, in.Busy = nodes(nil, nil), map[string]bool{"a": true, "b": true}
		}, "a", "a"},
		"the idle one is full": {func(in *plan.Input) {
			in.Nodes, in.Busy, in.Requested = nodes(nil, nil), map[string]bool{"a": true}, map[string]corev1.ResourceList{"b": requests("4", "5")}
		}, "a", "a"},
		"the status's node is busy": {func(in *plan.Input) {
			in.Nodes, in.Busy = nodes(nil, nil), map[string]bool{"b": true}
			in.Run.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "b", DeviceNode: "b"}
		}, "a", "a"},
		"the status's node is busy as all are": {func(in *plan.Input) {
			in.Nodes, in.Busy = nodes(nil, nil), map[string]bool{"a": true, "b": true}
			in.Run.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "b", DeviceNode: "b"}
		}, "b", "b"},
		"the status's node is gone": {func(in *plan.Input) {
			in.Nodes = nodes(nil, nil)
			in.Run.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "gone", DeviceNode: "gone"}
		}, "a", "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(1)
			test.change(&in)
			if p := mustMake(t, in); p.GeneratorNode != test.generator || p.DeviceNode != test.device {
				t.Errorf("generator on %q, device on %q, want %q and %q", p.GeneratorNode, p.DeviceNode, test.generator, test.device)
			}
		})
	}
}

func TestChoice(t *testing.T) {
	in := plantest.Input(1)
	if got := plan.Choice(in.Testbed, nodes(nil)); len(got) != 0 {
		t.Errorf("a choice of one: %v", got)
	}
	if got := plan.Choice(in.Testbed, nodes(nil, cordoned, nil)); len(got) != 2 || got[0] != "a" || got[1] != "c" {
		t.Errorf("got %v", got)
	}
}

// TestPassing checks which failures end by themselves.
func TestPassing(t *testing.T) {
	plugin := func(capacity, allocatable string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Capacity = corev1.ResourceList{"x.io/vf": resource.MustParse(capacity)}
			n.Status.Allocatable["x.io/vf"] = resource.MustParse(allocatable)
		}
	}
	sriov := func(in *plan.Input) {
		for _, port := range []*v1alpha1.TestbedPort{&in.Testbed.Spec.Ports.West, &in.Testbed.Spec.Ports.East} {
			*port = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "x.io/vf"}}
		}
		in.Testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentSRIOV}
		in.Testbed.Spec.SystemUnderTest.SRIOV = &v1alpha1.DeviceSRIOV{WestResourceName: "x.io/vf", EastResourceName: "x.io/vf"}
		for i := range in.Run.Spec.Experiment.Chain {
			in.Run.Spec.Experiment.Chain[i].West.Attachment, in.Run.Spec.Experiment.Chain[i].East.Attachment = v1alpha1.AttachmentSRIOV, v1alpha1.AttachmentSRIOV
		}
	}
	tests := map[string]struct {
		nodes   []corev1.Node
		change  func(*plan.Input)
		reason  string
		passing bool
	}{
		"cordoned":                     {nodes(cordoned), nil, v1alpha1.ReasonNoMatchingNode, true},
		"not ready":                    {nodes(notReady), nil, v1alpha1.ReasonNoMatchingNode, true},
		"tainted":                      {nodes(tainted), nil, v1alpha1.ReasonNoMatchingNode, false},
		"too small":                    {nodes(has("500m", "8Gi")), nil, v1alpha1.ReasonInsufficientCPU, false},
		"the large one is cordoned":    {nodes(has("500m", "8Gi"), cordoned), nil, v1alpha1.ReasonInsufficientCPU, true},
		"the plugin restarts":          {nodes(plugin("8", "0")), sriov, v1alpha1.ReasonResourceMissing, true},
		"the plugin is gone":           {nodes(plugin("0", "0")), sriov, v1alpha1.ReasonResourceMissing, true},
		"there never was a plugin":     {nodes(nil), sriov, v1alpha1.ReasonResourceMissing, false},
		"the plugin offers too little": {nodes(plugin("1", "1")), sriov, v1alpha1.ReasonResourceMissing, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(1)
			in.Nodes = test.nodes
			if test.change != nil {
				test.change(&in)
				if missing := plan.MissingResource(in.Testbed, in.Nodes); missing == nil || missing.Passing != test.passing {
					t.Errorf("of the testbed: %+v", missing)
				}
			}
			failure := failureOf(t, in)
			if failure.Reason != test.reason || failure.Passing != test.passing {
				t.Errorf("%s, passing %t: %v", failure.Reason, failure.Passing, failure)
			}
		})
	}
}

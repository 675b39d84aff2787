package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// nodes returns n nodes, each changed by the function of its place.
func nodes(changes ...func(*corev1.Node)) []corev1.Node {
	var list []corev1.Node
	for i, change := range changes {
		node := plantest.Node(string(rune('a' + i)))
		if change != nil {
			change(&node)
		}
		list = append(list, node)
	}
	return list
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }
func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }
func windows(n *corev1.Node)  { n.Status.NodeInfo.OperatingSystem = "windows" }
func tainted(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "lab", Effect: corev1.TaintEffectNoSchedule}}
}

func avoided(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "busy", Effect: corev1.TaintEffectPreferNoSchedule}}
}

func has(cpu, memory string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu)
		n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse(memory)
	}
}

func onNode(name string) map[string]string { return map[string]string{corev1.LabelHostname: name} }

func withExistingNetworks(in *plan.Input) {
	in.Networks = map[string]bool{"west-net": true, "east-net": true}
	in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("west-net", "")
	in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "")
}

func TestNodes(t *testing.T) {
	tests := map[string]struct {
		change            func(*plan.Input)
		generator, device string
	}{
		"the first by name": {
			change: func(in *plan.Input) {
				in.Nodes = []corev1.Node{plantest.Node("c"), plantest.Node("b"), plantest.Node("d")}
			},
			generator: "b", device: "b",
		},
		"not those that take no pods": {
			change:    func(in *plan.Input) { in.Nodes = nodes(cordoned, notReady, windows, tainted, nil) },
			generator: "e", device: "e",
		},
		"tainted, but tolerated": {
			change: func(in *plan.Input) {
				in.Nodes = nodes(tainted, nil)
				toleration := []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "lab"}}
				in.Testbed.Spec.Generator.Tolerations = toleration
				in.Testbed.Spec.SystemUnderTest.Tolerations = toleration
			},
			generator: "a", device: "a",
		},
		"tolerated by one of the two": {
			change: func(in *plan.Input) {
				in.Nodes = nodes(tainted, nil)
				in.Testbed.Spec.Generator.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			},
			generator: "b", device: "b",
		},
		"preferably another": {
			change:    func(in *plan.Input) { in.Nodes = nodes(avoided, nil) },
			generator: "b", device: "b",
		},
		"preferably another, and there is none": {
			change:    func(in *plan.Input) { in.Nodes = nodes(avoided, cordoned, avoided) },
			generator: "a", device: "a",
		},
		"avoided, but tolerated": {
			change: func(in *plan.Input) {
				in.Nodes = nodes(avoided, nil)
				toleration := []corev1.Toleration{{Key: "busy", Operator: corev1.TolerationOpExists}}
				in.Testbed.Spec.Generator.Tolerations = toleration
				in.Testbed.Spec.SystemUnderTest.Tolerations = toleration
			},
			generator: "a", device: "a",
		},
		"the first that is large enough": {
			change:    func(in *plan.Input) { in.Nodes = nodes(has("1109m", "8Gi"), has("4", "351Mi"), has("1110m", "352Mi")) },
			generator: "c", device: "c",
		},
		"two nodes, where networks reach from one to the other": {
			change: func(in *plan.Input) {
				withExistingNetworks(in)
				in.Nodes = nodes(nil, nil, nil)
				in.Testbed.Spec.Generator.NodeSelector = onNode("c")
				in.Testbed.Spec.SystemUnderTest.NodeSelector = onNode("b")
			},
			generator: "c", device: "b",
		},
		"two small nodes instead of one large": {
			change: func(in *plan.Input) {
				withExistingNetworks(in)
				in.Nodes = nodes(has("1050m", "8Gi"), has("1050m", "8Gi"))
			},
			generator: "a", device: "b",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(1)
			test.change(&in)
			p := mustMake(t, in)
			if p.GeneratorNode != test.generator || p.DeviceNode != test.device {
				t.Errorf("generator on %q, device on %q, want %q and %q", p.GeneratorNode, p.DeviceNode, test.generator, test.device)
			}
		})
	}
}

func TestNoNode(t *testing.T) {
	tests := map[string]struct {
		change  func(*plan.Input)
		reason  string
		message []string
		remedy  string
	}{
		"no nodes at all": {
			change:  func(in *plan.Input) { in.Nodes = nil },
			reason:  v1alpha1.ReasonNoMatchingNode,
			message: []string{"0 nodes", "spec.generator.nodeSelector"},
			remedy:  "spec.generator.nodeSelector",
		},
		"the generator's selector": {
			change: func(in *plan.Input) {
				in.Nodes = nodes(nil, cordoned, notReady)
				in.Testbed.Spec.Generator.NodeSelector = onNode("c")
			},
			reason:  v1alpha1.ReasonNoMatchingNode,
			message: []string{"none of 3 nodes", "spec.generator.nodeSelector", "2 do not match {kubernetes.io/hostname=c}", "1 are not ready"},
			remedy:  "spec.generator.nodeSelector",
		},
		"the device's taints": {
			change: func(in *plan.Input) {
				in.Nodes = nodes(tainted)
				in.Testbed.Spec.Generator.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			},
			reason:  v1alpha1.ReasonNoMatchingNode,
			message: []string{"none of 1 nodes", "spec.systemUnderTest.nodeSelector", "taint"},
			remedy:  "spec.systemUnderTest.tolerations",
		},
		"a bridge between two nodes": {
			change: func(in *plan.Input) {
				in.Nodes = nodes(nil, nil)
				in.Testbed.Spec.Generator.NodeSelector = onNode("a")
				in.Testbed.Spec.SystemUnderTest.NodeSelector = onNode("b")
			},
			reason:  v1alpha1.ReasonNoMatchingNode,
			message: []string{"Bridge", "none of 2 nodes"},
			remedy:  "spec.ports",
		},
		"too little CPU": {
			change:  func(in *plan.Input) { in.Nodes = nodes(has("500m", "8Gi"), has("1099m", "1Mi")) },
			reason:  v1alpha1.ReasonInsufficientCPU,
			message: []string{"1000m", "the functions with their observer 110m", `"b"`, "1099m"},
			remedy:  "spec.generator.cpu",
		},
		"too little memory": {
			change:  func(in *plan.Input) { in.Nodes = nodes(has("4", "1Mi"), has("4", "2Mi")) },
			reason:  v1alpha1.ReasonInsufficientMemory,
			message: []string{"268435456 bytes", "100663296 bytes", `"b"`, "2097152 bytes"},
			remedy:  "spec.generator.memory",
		},
		"too little memory where there is CPU": {
			change:  func(in *plan.Input) { in.Nodes = nodes(has("4", "1Mi"), has("1", "8Gi")) },
			reason:  v1alpha1.ReasonInsufficientMemory,
			message: []string{`"a"`, "1048576 bytes"},
			remedy:  "spec.experiment.chain",
		},
		"too little CPU on either of two nodes": {
			change: func(in *plan.Input) {
				withExistingNetworks(in)
				in.Nodes = nodes(has("100m", "8Gi"), has("900m", "8Gi"))
				in.Testbed.Spec.SystemUnderTest.NodeSelector = onNode("a")
			},
			reason:  v1alpha1.ReasonInsufficientCPU,
			message: []string{`"b", has 900m`, `"a", 100m`},
			remedy:  "spec.generator.cpu",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := plantest.Input(1)
			test.change(&in)
			expectFailure(t, failureOf(t, in), test.reason, test.message, test.remedy)
		})
	}
}

package chain_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/plan/plantest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// inputs are the runs whose objects are kept as golden files.
var inputs = map[string]func() plan.Input{
	"one-router":   func() plan.Input { return plantest.Input(1) },
	"four-routers": func() plan.Input { return plantest.Input(4) },
	"ipv6": func() plan.Input {
		in := plantest.Input(1)
		in.Run.Spec.Traffic.IPFamily = v1alpha1.FamilyIPv6
		in.Run.Spec.Traffic.FrameBytes = []int32{128, 1518}
		in.Run.Spec.Traffic.Directions = v1alpha1.DirectionsForward
		return in
	},
	"tcp": func() plan.Input {
		in := plantest.Input(2)
		in.Run.Spec.Measurements = v1alpha1.Measurements{
			SettleMilliseconds: 100, Repeats: 3,
			TCP: &v1alpha1.TCP{
				Streams: []int32{1, 4}, Directions: v1alpha1.DirectionsBoth, DurationSeconds: 10, OmitSeconds: new(int32(2)),
				MSSBytes: new(int32(1400)), CongestionControl: "cubic", WindowBytes: new(int64(65536)), TargetBitsPerSecond: new(int64(1_000_000)),
			},
		}
		return in
	},
	"existing-networks": func() plan.Input {
		in := plantest.Input(1)
		in.Networks = map[string]bool{"west-net": true, "west-device": true, "east-net": true}
		in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("west-net", "west-device")
		in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("east-net", "")
		in.Nodes = append(in.Nodes, plantest.Node("node-b"))
		in.Testbed.Spec.DeviceUnderTest.NodeSelector = map[string]string{corev1.LabelHostname: "node-b"}
		tolerations := []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		in.Testbed.Spec.Generator.Tolerations = tolerations
		in.Testbed.Spec.DeviceUnderTest.Tolerations = tolerations
		in.Testbed.Spec.Generator.CPU = new(resource.MustParse("2"))
		in.Defaults.ImagePullSecrets = []string{"registry"}
		return in
	},
}

func mustMake(t *testing.T, in plan.Input) *plan.Plan {
	t.Helper()
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// objectsOf are all objects of a run.
func objectsOf(p *plan.Plan) []chain.Object {
	objects := []chain.Object{
		chain.PlanConfigMap(p), chain.ResultsConfigMap(p),
		chain.ServiceAccount(p), chain.Role(p), chain.RoleBinding(p),
	}
	for _, policy := range chain.NetworkPolicies(p) {
		objects = append(objects, policy)
	}
	for _, network := range chain.Networks(p) {
		objects = append(objects, network)
	}
	for _, function := range chain.Functions(p) {
		objects = append(objects, function.ConfigMap, function.Pod)
	}
	for _, end := range chain.Endpoints(p) {
		objects = append(objects, end.ConfigMap, end.Pod)
	}
	return append(objects, chain.MeasurerJob(p))
}

func render(t *testing.T, objects []chain.Object) []byte {
	t.Helper()
	var documents bytes.Buffer
	for _, object := range objects {
		content, err := chain.Unstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(content.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&documents, "---\n%s", text)
	}
	return documents.Bytes()
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			p := mustMake(t, input())
			compare(t, name, render(t, objectsOf(p)))
		})
	}
}

func TestCleanupGolden(t *testing.T) {
	in := plantest.Input(1)
	job := chain.BridgeCleanup(in.Testbed, "node-a", in.Defaults)
	compare(t, "cleanup", render(t, []chain.Object{job}))
}

// TestStoredPlan: the controller renders from the plan that it reads back.
func TestStoredPlan(t *testing.T) {
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			p := mustMake(t, input())
			back, err := plan.Parse([]byte(chain.PlanConfigMap(p).Data[plan.KeyPlan]))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(render(t, objectsOf(p))), string(render(t, objectsOf(back)))); diff != "" {
				t.Errorf("the objects differ (-made +read back):\n%s", diff)
			}
		})
	}
}

package plan_test

import (
	"reflect"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestCalibrationLoop checks that networks which the testbed names join the generator to itself where its
// ports are network cards, and that the traffic pod takes the devices that they give out.
func TestCalibrationLoop(t *testing.T) {
	make := func(east string) *plan.Plan {
		in := plantest.Input(1)
		in.Networks = map[string]bool{"lab/loop-west": true, "loop-east": true, "loop-other": true, "west-net": true, "east-net": true}
		in.NetworkResources = map[string]string{"lab/loop-west": "example.com/loop"}
		plantest.Offer(&in.Nodes[0], "example.com/loop", 1)
		in.Testbed.Spec.Ports.West, in.Testbed.Spec.Ports.East = plantest.ExistingNetwork("west-net", ""), plantest.ExistingNetwork("east-net", "")
		in.Testbed.Spec.Ports.West.VLAN = new(int32(100))
		in.Testbed.Spec.Ports.CalibrationNetworks = []v1alpha1.NetworkReference{{Namespace: "lab", Name: "loop-west"}, {Name: east}}
		return mustMake(t, in)
	}
	p := make("loop-east")
	loop := p.Calibration
	if loop == nil || loop.Bridge != "" || loop.West.NetworkKey() != "lab/loop-west" || loop.East.NetworkKey() != "loop-east" || !loop.West.Existing || !loop.East.Existing {
		t.Fatalf("the loop is %+v", loop)
	}
	path := p.Instructions.Calibration
	want := [2]measure.Port{{Interface: plan.InterfaceCalibrationWest, VLAN: 100}, {Interface: plan.InterfaceCalibrationEast, VLAN: 100}}
	if path == nil || !reflect.DeepEqual(path.Ports, want) || len(path.Streams) != 2 || path.Streams[0].DestinationMAC != loop.East.MAC || path.Streams[1].DestinationMAC != loop.West.MAC {
		t.Errorf("the path is %+v", path)
	}
	if got := p.DevicesOf(""); got["example.com/loop"] != 1 || len(got) != 1 {
		t.Errorf("the traffic pod takes %v", got)
	}
	if p.Digest == make("loop-other").Digest {
		t.Error("another loop makes the same experiment")
	}
}

// TestLoopOfAnUnknownNetwork checks that a loop which does not exist is refused, with its field.
func TestLoopOfAnUnknownNetwork(t *testing.T) {
	in := plantest.ExistingNetworks()
	in.Testbed.Spec.Ports.CalibrationNetworks[1].Name = "nowhere"
	_, err := plan.Make(in)
	if measure.ReasonOf(err) != v1alpha1.ReasonNetworkAttachmentMissing || !strings.Contains(err.Error(), `"nowhere"`) || !strings.Contains(err.Error(), "spec.ports.calibrationNetworks[1]") {
		t.Errorf("got %v", err)
	}
}

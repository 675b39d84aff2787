package plan_test

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

func bridging(f *v1alpha1.NetworkFunction) {
	f.Function = v1alpha1.FunctionFirewall
	f.Firewall = &v1alpha1.Firewall{Forwarding: v1alpha1.ForwardingBridged, Mode: v1alpha1.FirewallStateless}
}

func measureTCP(in *plan.Input) {
	in.Run.Spec.Experiment.Measurements.TCP = &v1alpha1.TCP{Streams: []int32{1}, Directions: v1alpha1.DirectionsForward, DurationSeconds: 10}
}

// TestTCPThroughABridge checks that the next hop of the ends is the function that routes, on the other
// side of the bridging firewalls.
func TestTCPThroughABridge(t *testing.T) {
	in := plantest.Input(3)
	measureTCP(&in)
	bridging(&in.Run.Spec.Experiment.Chain[0])
	bridging(&in.Run.Spec.Experiment.Chain[2])
	p := mustMake(t, in)
	west, east := p.Endpoints[0], p.Endpoints[1]
	if west.Config.GatewayMAC != p.Segments[1].East.MAC || east.Config.GatewayMAC != p.Segments[2].West.MAC {
		t.Errorf("gateways %s and %s, want the router's ports %s and %s",
			west.Config.GatewayMAC, east.Config.GatewayMAC, p.Segments[1].East.MAC, p.Segments[2].West.MAC)
	}
	router := p.Functions[1].Config
	for i, end := range []plan.Endpoint{west, east} {
		found := false
		for _, neighbor := range router.Neighbors {
			found = found || neighbor.MAC == end.Port.MAC
		}
		if !found {
			t.Errorf("the router does not know end %d", i)
		}
	}
	for _, i := range []int{0, 2} {
		for _, neighbor := range p.Functions[i].Config.Neighbors {
			t.Errorf("bridge %d has a neighbor %v", i, neighbor)
		}
	}
	// One network on each side of the router.
	if got, want := west.Config.Addresses[0].Masked(), router.Ports[0].Addresses[0].Masked(); got != want {
		t.Errorf("the western end is on %s, the router on %s", got, want)
	}
	if got, want := east.Config.Addresses[0].Masked(), router.Ports[1].Addresses[0].Masked(); got != want {
		t.Errorf("the eastern end is on %s, the router on %s", got, want)
	}
}

func TestImpossibleTCP(t *testing.T) {
	in := plantest.Input(1)
	measureTCP(&in)
	bridging(&in.Run.Spec.Experiment.Chain[0])
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonIncompatibleAttachments, []string{"every function of the chain is a bridge"}, "a function that routes")
	in = plantest.Input(1)
	measureTCP(&in)
	in.Testbed.Spec.Ports.East.VLAN = new(int32(7))
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonIncompatibleAttachments, []string{"port east", "send no VLAN tags"}, "spec.ports.east.vlan")
	in = plantest.SRIOV(1)
	measureTCP(&in)
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonIncompatibleAttachments, []string{"port west", "SRIOV"}, "leave measurements.tcp out")
	in = plantest.Input(1)
	measureTCP(&in)
	in.Run.Spec.Experiment.Measurements.TCP.MSSBytes = new(int32(1461))
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonTCPSettingRefused, []string{"segments of 1461 bytes"}, "measurements.tcp.mssBytes to at most 1460")
}

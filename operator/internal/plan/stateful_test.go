package plan_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// onTRex returns a run of TCP on a testbed with driver TRex.
func onTRex(routers int) plan.Input {
	in := withTCP(routers)
	in.Testbed.Spec.Generator.Driver = v1alpha1.DriverTRex
	in.Testbed.Spec.Generator.Image = "registry.example/trex:v1"
	in.Testbed.Spec.Generator.TRex = &v1alpha1.TRexGenerator{Mode: v1alpha1.TRexAFPacket}
	return in
}

// TestTCPOnTRex checks that TRex makes the connections itself, between hosts of the networks that the chain routes already:
// no pods at the ends, and nothing changes in the functions.
func TestTCPOnTRex(t *testing.T) {
	in := onTRex(2)
	p := mustMake(t, in)
	if len(p.Endpoints) != 0 {
		t.Errorf("there are ends: %+v", p.Endpoints)
	}
	address := netip.MustParseAddr
	want := &measure.Stateful{
		Clients: measure.Hosts{First: address("198.18.128.1"), Count: 254},
		Servers: measure.Hosts{First: address("198.19.128.1"), Count: 254},
	}
	compare := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	// Frames go in both directions here, on the same path.
	want.MSSBytes, want.Path = 1460, p.Instructions.Chain
	for i := range want.Path.Streams {
		want.Path.Streams[i].LoadPercent = 0
	}
	if diff := cmp.Diff(want, p.Instructions.Stateful, compare); diff != "" {
		t.Error(diff)
	}
	if got := want.Servers.Last(); got != address("198.19.128.254") {
		t.Errorf("the last server is %s", got)
	}
	if p.Instructions.TCPPath != nil {
		t.Errorf("the instructions have the addresses of ends: %+v", p.Instructions.TCPPath)
	}
	without := onTRex(2)
	without.Run.Spec.Experiment.Measurements.TCP = nil
	q := mustMake(t, without)
	if diff := cmp.Diff(q.Functions, p.Functions, compare, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("functions differ: %s", diff)
	}
	if q.Instructions.Stateful != nil {
		t.Error("a run of frames alone has clients and servers")
	}
	in.Run.Spec.Experiment.Traffic.IPFamily, in.Run.Spec.Experiment.Traffic.Directions = v1alpha1.FamilyIPv6, v1alpha1.DirectionsForward
	if p := mustMake(t, in); p.Instructions.Stateful.MSSBytes != 1440 || p.Instructions.Stateful.Clients.First != address("2001:2:0:8000::1") || len(p.Instructions.Stateful.Path.Streams) != 2 {
		t.Errorf("IPv6: %+v", p.Instructions.Stateful)
	}
}

func TestTCPOnTRexRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(*v1alpha1.TCP, *v1alpha1.Testbed)
		reason, remedy string
	}{
		"a rate":             {func(tcp *v1alpha1.TCP, _ *v1alpha1.Testbed) { tcp.TargetBitsPerSecond = new(int64(1e9)) }, v1alpha1.ReasonNotOfferedByDriver, "measurements.tcp.targetBitsPerSecond"},
		"congestion control": {func(tcp *v1alpha1.TCP, _ *v1alpha1.Testbed) { tcp.CongestionControl = "bbr" }, v1alpha1.ReasonNotOfferedByDriver, "cubic, newreno, reno"},
		"segments":           {func(tcp *v1alpha1.TCP, _ *v1alpha1.Testbed) { tcp.MSSBytes = new(int32(1461)) }, v1alpha1.ReasonTCPSettingRefused, "at most 1460"},
		"a tag": {func(_ *v1alpha1.TCP, testbed *v1alpha1.Testbed) {
			testbed.Spec.Ports.West.VLAN = new(int32(100))
		}, v1alpha1.ReasonNotOfferedByDriver, "spec.ports.west.vlan"},
	} {
		t.Run(name, func(t *testing.T) {
			in := onTRex(1)
			test.change(in.Run.Spec.Experiment.Measurements.TCP, in.Testbed)
			failure := failureOf(t, in)
			if failure.Reason != test.reason || !strings.Contains(failure.Remedy, test.remedy) {
				t.Errorf("got %v", failure)
			}
		})
	}
}

func connectionLoads() *v1alpha1.Connections {
	return &v1alpha1.Connections{Loads: []v1alpha1.ConnectionsLoad{
		{Name: "web", ConnectionsPerSecond: 1000, RequestBytes: 128, ResponseBytes: 1024, DurationSeconds: 10},
		{Name: "table", ConnectionsPerSecond: 500, ConcurrentConnections: new(int64(20_000)), RequestBytes: 64, ResponseBytes: 64, DurationSeconds: 30},
	}}
}

func TestConnections(t *testing.T) {
	in := onTRex(1)
	in.Run.Spec.Experiment.Measurements.TCP, in.Run.Spec.Experiment.Measurements.Connections = nil, connectionLoads()
	p := mustMake(t, in)
	if diff := cmp.Diff(connectionLoads(), p.Instructions.Connections); diff != "" {
		t.Error(diff)
	}
	held := measure.ConnectionsTrial{ConnectionsPerSecond: 500, ConcurrentConnections: 20_000}
	if got := held.RampNanoseconds(); got != 40e9 || p.Instructions.Stateful == nil || p.Instructions.Stateful.MSSBytes != 1460 {
		t.Errorf("%d ns are for the opening, clients and servers %+v", got, p.Instructions.Stateful)
	}
}

// TestConnectionsNeedTRex checks that a generator without its own TCP makes no connections.
func TestConnectionsNeedTRex(t *testing.T) {
	in := withTCP(1)
	in.Run.Spec.Experiment.Measurements.TCP, in.Run.Spec.Experiment.Measurements.Connections = nil, connectionLoads()
	failure := failureOf(t, in)
	if failure.Reason != v1alpha1.ReasonNotOfferedByDriver || !strings.Contains(failure.Remedy, "a testbed with driver TRex") || !strings.Contains(failure.Error(), "driver XDP") {
		t.Errorf("got %v", failure)
	}
}

// TestTrackedConnections checks that connection tracking holds what is open and what has just ended: a firewall whose node
// holds less does not start, so the cause of drops is always known.
func TestTrackedConnections(t *testing.T) {
	in := onTRex(1)
	in.Run.Spec.Experiment.Measurements.TCP, in.Run.Spec.Experiment.Measurements.Connections = nil, connectionLoads()
	in.Run.Spec.Experiment.Chain[0].Function = v1alpha1.FunctionFirewall
	for repeats, want := range map[int32]int{0: 31_000, 2: 62_000, 10: 140_000} {
		in.Run.Spec.Experiment.Measurements.Repeats = repeats
		if got := mustMake(t, in).Functions[0].Config.Firewall.TrackedFlows; got != want {
			t.Errorf("%d repeats: %d flows are tracked, want %d", repeats, got, want)
		}
	}
	// Twice without the neighbors and twice with them.
	in.Run.Spec.Experiment.Measurements.Repeats, in.Run.Spec.Experiment.Measurements.NoisyNeighbors = 1, v1alpha1.NeighborsWithAndWithout
	if got := mustMake(t, in).Functions[0].Config.Firewall.TrackedFlows; got != 124_000 {
		t.Errorf("a comparison: %d flows are tracked", got)
	}
}

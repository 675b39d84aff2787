package plan_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/placeholder"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

func withTCP(routers int) plan.Input {
	in := plantest.Input(routers)
	in.Run.Spec.Experiment.Measurements.TCP = &v1alpha1.TCP{Streams: []int32{1, 4}, Directions: v1alpha1.DirectionsForward, DurationSeconds: 10, OmitSeconds: new(int32(2))}
	return in
}

// nextHop returns where packets to an address continue: over the ports and routes of the
// functions from west to east, or from east to west.
func nextHop(t *testing.T, config vnf.Config, to netip.Addr) (via netip.Addr, mac string) {
	t.Helper()
	best := -1
	for _, route := range config.Routes {
		if route.Destination.Contains(to) && route.Destination.Bits() > best {
			best, via = route.Destination.Bits(), route.Via
		}
	}
	for _, neighbor := range config.Neighbors {
		if neighbor.Address == via {
			return via, neighbor.MAC
		}
	}
	t.Fatalf("function %q knows no way to %s", config.Name, to)
	return via, mac
}

// TestWaysBetweenTheEnds checks that packets of each end pass every function and reach the other end's port.
func TestWaysBetweenTheEnds(t *testing.T) {
	for _, routers := range []int{1, 3} {
		p := mustMake(t, withTCP(routers))
		west, east := p.Endpoints[0], p.Endpoints[1]
		owner := map[string]string{west.Port.MAC: "west end", east.Port.MAC: "east end"}
		for _, segment := range p.Segments {
			owner[segment.West.MAC], owner[segment.East.MAC] = segment.West.Function, segment.East.Function
		}
		for _, family := range []int{32, 128} {
			for _, way := range []struct {
				from, to plan.Endpoint
				reverse  bool
				want     string
			}{{west, east, false, "east end"}, {east, west, true, "west end"}} {
				target := own(t, way.to.Config, family)
				if !slices.ContainsFunc(way.from.Config.Routes, func(r endpoint.Route) bool { return r.Destination.Contains(target) }) {
					t.Errorf("the %s end has no route to %s", way.from.Config.Name, target)
				}
				at := owner[way.from.Config.GatewayMAC]
				for range routers {
					i := slices.IndexFunc(p.Functions, func(f plan.Function) bool { return f.Name == at })
					if i < 0 {
						t.Fatalf("%s to %s: %q is not a function", way.from.Config.Name, target, at)
					}
					_, mac := nextHop(t, p.Functions[i].Config, target)
					at = owner[mac]
				}
				if at != way.want {
					t.Errorf("%d routers: packets to %s end at %q", routers, target, at)
				}
			}
		}
	}
}

// own returns the address that TCP uses: the one of full length.
func own(t *testing.T, config endpoint.Config, bits int) netip.Addr {
	t.Helper()
	for _, prefix := range config.Addresses {
		if prefix.Bits() == bits && prefix.Addr().BitLen() == bits {
			return prefix.Addr()
		}
	}
	t.Fatalf("the %s end has no address of %d bits", config.Name, bits)
	return netip.Addr{}
}

// TestEndsAreNoDestination checks that no frame of the generator is sent to an end, however many flows there are.
func TestEndsAreNoDestination(t *testing.T) {
	in := withTCP(1)
	in.Run.Spec.Experiment.Traffic.Flows = measure.MaximumFlows
	in.Run.Spec.Experiment.Traffic.FlowVariation = []v1alpha1.FlowField{v1alpha1.FlowDestinationAddress, v1alpha1.FlowSourcePort}
	p := mustMake(t, in)
	for _, stream := range p.Instructions.Chain.Streams {
		first := stream.DestinationAddress.As4()
		host := int(first[2])<<8 + int(first[3])
		last := host + stream.Flows.Values(measure.FlowDestinationAddress) - 1
		for _, end := range p.Endpoints {
			address := own(t, end.Config, 32).As4()
			if own := int(address[2])<<8 + int(address[3]); address[1] == first[1] && own >= host && own <= last {
				t.Errorf("%s is one of the destinations of direction %s", netip.AddrFrom4(address), stream.Direction)
			}
		}
	}
}

func TestTCPPlan(t *testing.T) {
	p := mustMake(t, withTCP(2))
	macs := map[string]bool{}
	for _, segment := range append(p.Segments, *p.Calibration) {
		macs[segment.West.MAC], macs[segment.East.MAC] = true, true
	}
	for i, end := range p.Endpoints {
		name := []string{"west", "east"}[i]
		if end.Config.Name != name || macs[end.Port.MAC] || end.Image != "registry.example/endpoint:v1" || end.Bridge != p.Segments[2*i].Bridge {
			t.Errorf("end %d is %+v", i, end)
		}
		macs[end.Port.MAC] = true
		for _, object := range []string{p.Names().Endpoint(name), end.Port.Network} {
			if problems := validation.IsDNS1123Label(object); len(problems) > 0 {
				t.Errorf("%q: %v", object, problems)
			}
		}
	}
	want := &measure.TCPPath{West: netip.MustParseAddr("198.18.255.254"), East: netip.MustParseAddr("198.19.255.254")}
	if diff := cmp.Diff(want, p.Instructions.TCPPath, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

// TestTCPAlonePlan checks that TCP alone measures no frames, whatever the default of traffic.frameBytes is.
func TestTCPAlonePlan(t *testing.T) {
	in := withTCP(1)
	in.Run.Spec.Experiment.Measurements.Throughput, in.Run.Spec.Experiment.Measurements.Latency = nil, nil
	in.Testbed.Spec.Ports.MTUBytes = 1280 // too small for the default frame of 1518 bytes
	p := mustMake(t, in)
	if len(p.Instructions.Sizes) != 0 {
		t.Errorf("sizes %v are measured", p.Instructions.Sizes)
	}
	if p.Endpoints[0].Config.MTUBytes != 1280 {
		t.Errorf("the end's MTU is %d", p.Endpoints[0].Config.MTUBytes)
	}
}

// TestTCPDigest checks that what affects a figure changes the digest; a run without TCP has the plan that it always had.
func TestTCPDigest(t *testing.T) {
	without, with := mustMake(t, plantest.Input(1)), mustMake(t, withTCP(1))
	if without.Digest == with.Digest || without.Endpoints != nil {
		t.Error("TCP makes no difference")
	}
	in := withTCP(1)
	in.Run.Spec.Experiment.Measurements.TCP.MSSBytes = new(int32(1000))
	other := withTCP(1)
	other.Defaults.EndpointImage = "registry.example/endpoint:v2"
	for name, changed := range map[string]plan.Input{"MSS": in, "image": other} {
		if mustMake(t, changed).Digest == with.Digest {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}

func TestTCPOnExistingNetworks(t *testing.T) {
	in := withTCP(1)
	in.Networks = map[string]bool{"wan": true, "wan-device": true}
	in.Testbed.Spec.Ports.West = plantest.ExistingNetwork("wan", "wan-device")
	p := mustMake(t, in)
	if west := p.Endpoints[0]; !west.Port.Existing || west.Port.Network != "wan" || west.Bridge != "" {
		t.Errorf("the west end is %+v", west)
	}
	if east := p.Endpoints[1]; east.Port.Existing || east.Bridge == "" {
		t.Errorf("the east end is %+v", east)
	}
}

func TestIPv6TCP(t *testing.T) {
	in := withTCP(1)
	in.Run.Spec.Experiment.Traffic.IPFamily = v1alpha1.FamilyIPv6
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{128}
	tcp := mustMake(t, in).Instructions.TCPPath
	if tcp.West != netip.MustParseAddr("2001:2:0:8000::ffff") || tcp.East != netip.MustParseAddr("2001:2:0:9000::ffff") {
		t.Errorf("the ends are %s and %s", tcp.West, tcp.East)
	}
}

// TestTCPWithCustom checks that a user's own VM, which cannot get the ends' routes, is at
// no end.
func TestTCPWithCustom(t *testing.T) {
	tcp := withTCP(1).Run.Spec.Experiment.Measurements.TCP
	in := customInput(v1alpha1.CustomFunction{ContainerDisk: "x"})
	in.Run.Spec.Experiment.Measurements.TCP = tcp
	expectFailure(t, failureOf(t, in), v1alpha1.ReasonIncompatibleAttachments, []string{`function "own" is Custom`}, "put a function Router at both ends")
	in.Run.Spec.Experiment.Chain = append(in.Run.Spec.Experiment.Chain, plantest.VM("last"))
	p := mustMake(t, in)
	if want, got := "198.19.128.0/17", placeholder.Of(p.Functions[1].Config)["East.NetworkIPv4"]; got != want {
		t.Errorf("the network beyond east is %s, want %s", got, want)
	}
}

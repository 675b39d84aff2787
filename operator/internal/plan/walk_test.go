package plan_test

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

// hop is where a frame is: on a segment, for a MAC address.
type hop struct {
	segment int
	mac     string
}

// wires joins the ports only by what the plan says about segments.
type wires map[string]struct {
	end     plan.End
	segment int
}

func wire(p *plan.Plan) wires {
	w := wires{}
	for i, segment := range p.Segments {
		for _, end := range []plan.End{segment.West, segment.East} {
			w[end.MAC] = struct {
				end     plan.End
				segment int
			}{end, i}
		}
	}
	return w
}

// forward returns what a router does with a packet: the longest matching prefix of connected
// networks and routes, then the MAC address of the next hop.
func forward(config vnf.Config, destination netip.Addr) (port, mac string, err error) {
	best, gateway := -1, netip.Addr{}
	consider := func(network netip.Prefix, via netip.Addr, out string) {
		if network.Contains(destination) && network.Bits() > best {
			best, gateway, port = network.Bits(), via, out
		}
	}
	for _, p := range config.Ports {
		for _, address := range p.Addresses {
			if address.Addr() == destination {
				return "", "", fmt.Errorf("%s takes %s for itself", config.Name, destination)
			}
			consider(address.Masked(), destination, p.Name)
		}
	}
	for _, route := range config.Routes {
		consider(route.Destination, route.Via, route.Port)
	}
	for _, neighbor := range config.Neighbors {
		if neighbor.Address == gateway && neighbor.Port == port {
			return port, neighbor.MAC, nil
		}
	}
	return "", "", fmt.Errorf("%s has no way to %s (port %q, gateway %s)", config.Name, destination, port, gateway)
}

// walk follows a frame from where it is sent to the traffic pod's port that takes it, and returns
// the functions that it passed.
func walk(p *plan.Plan, from hop, destination netip.Addr) (iface string, passed []string, err error) {
	w, configs := wire(p), map[string]vnf.Config{}
	for _, function := range p.Functions {
		configs[function.Name] = function.Config
	}
	for range len(p.Functions) + 1 {
		taker, found := w[from.mac]
		if !found || taker.segment != from.segment {
			return "", passed, fmt.Errorf("on segment %d no port has the address %s", from.segment, from.mac)
		}
		if taker.end.Function == "" {
			return taker.end.Interface, passed, nil
		}
		config := configs[taker.end.Function]
		passed = append(passed, config.Name)
		port, mac, err := forward(config, destination)
		if err != nil {
			return "", passed, err
		}
		for _, out := range p.PortsOf(config.Name) {
			if out.Interface == port {
				from = hop{w[out.MAC].segment, mac}
			}
		}
	}
	return "", passed, fmt.Errorf("the frame goes round")
}

func TestPacketsArrive(t *testing.T) {
	for functions := 1; functions <= 8; functions++ {
		for _, family := range []v1alpha1.IPFamily{v1alpha1.FamilyIPv4, v1alpha1.FamilyIPv6} {
			t.Run(fmt.Sprintf("%d functions, %s", functions, family), func(t *testing.T) {
				in := plantest.Input(functions)
				in.Run.Spec.Experiment.Traffic.IPFamily = family
				in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{128}
				p := mustMake(t, in)
				for _, stream := range p.Instructions.Chain.Streams {
					checkStream(t, p, stream, family)
				}
			})
		}
	}
}

func checkStream(t *testing.T, p *plan.Plan, stream measure.Stream, family v1alpha1.IPFamily) {
	t.Helper()
	ranges := map[v1alpha1.IPFamily]netip.Prefix{
		v1alpha1.FamilyIPv4: netip.MustParsePrefix("198.18.0.0/15"),
		v1alpha1.FamilyIPv6: netip.MustParsePrefix("2001:2::/48"),
	}
	for _, address := range []netip.Addr{stream.SourceAddress, stream.DestinationAddress} {
		if !ranges[family].Contains(address) {
			t.Errorf("%s is outside of %s", address, ranges[family])
		}
	}
	last := len(p.Segments) - 1
	start, from, to := 0, "west", "east"
	if stream.Direction == measure.Reverse {
		start, from, to = last, "east", "west"
	}
	sender := wire(p)[stream.SourceMAC]
	if sender.end.Function != "" || sender.end.Interface != from || sender.segment != start {
		t.Errorf("%s is sent from %+v, want the traffic pod's port %q", stream.Direction, sender, from)
	}
	iface, passed, err := walk(p, hop{start, stream.DestinationMAC}, stream.DestinationAddress)
	if err != nil {
		t.Fatalf("%s: %v", stream.Direction, err)
	}
	if iface != to {
		t.Errorf("%s arrives at %q, want %q", stream.Direction, iface, to)
	}
	if len(passed) != len(p.Functions) {
		t.Errorf("%s passes %v, want each of %d functions once", stream.Direction, passed, len(p.Functions))
	}
}

func TestCalibrationIsDirect(t *testing.T) {
	p := mustMake(t, plantest.Input(1))
	path := p.Instructions.Calibration
	if !reflect.DeepEqual(path.Ports, [2]measure.Port{{Interface: "calwest"}, {Interface: "caleast"}}) {
		t.Errorf("ports %v", path.Ports)
	}
	west, east := p.Calibration.West.MAC, p.Calibration.East.MAC
	for i, want := range [][2]string{{west, east}, {east, west}} {
		if got := [2]string{path.Streams[i].SourceMAC, path.Streams[i].DestinationMAC}; got != want {
			t.Errorf("stream %s runs from and to %v, want %v", path.Streams[i].Direction, got, want)
		}
	}
}

func TestMACs(t *testing.T) {
	owners := map[string]string{}
	for _, testbed := range []types.UID{"one", "two", "three"} {
		in := plantest.Input(8)
		in.Testbed.UID = testbed
		p := mustMake(t, in)
		for i, segment := range append(p.Segments, *p.Calibration) {
			for _, end := range []plan.End{segment.West, segment.East} {
				owner := fmt.Sprintf("%s, segment %d, port %s of %q", testbed, i, end.Interface, end.Function)
				mac, err := net.ParseMAC(end.MAC)
				if err != nil {
					t.Errorf("%s: %v", owner, err)
					continue
				}
				if mac[0]&0x03 != 0x02 {
					t.Errorf("%s: %s is not locally administered and unicast", owner, mac)
				}
				if other, taken := owners[end.MAC]; taken {
					t.Errorf("%s has the address of %s", owner, other)
				}
				owners[end.MAC] = owner
			}
		}
	}
	if want := 3 * 2 * (9 + 1); len(owners) != want {
		t.Errorf("%d addresses, want %d", len(owners), want)
	}
}

package plan

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf"
)

// InterfaceEndpoint is the measured port of the pods at the ends of TCP connections.
const InterfaceEndpoint = "port"

const (
	// placeEndpoint follows the functions and the calibration in MAC addresses.
	placeEndpoint = placeCalibration + 1
	// hostEndpoint is the ends' host number on the outer segments, next to the generator's ports
	// and the functions'.
	hostEndpoint = 3
	// segmentEndpoints replaces in names the segment of the other networks.
	segmentEndpoints = "tcp"

	defaultEndpointMilliCPU = 100
)

const defaultEndpointMemory v1alpha1.ByteQuantity = "256Mi"

// The ends' own addresses are the last ones of the networks at the generator's ports. So what a
// chain does with those networks (a rule, a tunnel) it does with TCP too, and no flow of the
// generator is sent there: of an outer network's 32766 hosts, at most the first 32749 are a
// destination.
var (
	endpointWest = networks{netip.MustParsePrefix("198.18.255.254/32"), netip.MustParsePrefix("2001:2:0:8000::ffff/128")}
	endpointEast = networks{netip.MustParsePrefix("198.19.255.254/32"), netip.MustParsePrefix("2001:2:0:9000::ffff/128")}
)

// Endpoint is one end of the TCP connections: a pod next to the traffic pod.
type Endpoint struct {
	// Port is on the first or the last segment.
	Port End `json:"port"`
	// Bridge on the node; empty where the port joins a network that exists already.
	Bridge      string              `json:"bridge,omitempty" digest:"-"`
	Image       string              `json:"image"`
	Resources   Resources           `json:"resources"`
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" digest:"-"`
	// Config is what the endpoint itself reads.
	Config endpoint.Config `json:"config"`
}

// addEndpoints puts the two ends next to the generator, and gives the outermost functions the
// routes to them. Without measurements.tcp, and where the generator makes the connections itself,
// there are none, and the plan does not change.
func addEndpoints(in Input, p *Plan) {
	if in.Run.Spec.Experiment.Measurements.TCP == nil || ownsTCP(in) {
		return
	}
	chain, last := in.Run.Spec.Experiment.Chain, len(p.Segments)-1
	first, final := outermostRouting(chain)
	west := endpointOf(in, measure.EndWest, p.Segments[0].West, p.Segments[0])
	east := endpointOf(in, measure.EndEast, p.Segments[last].East, p.Segments[last])
	outer := network(chain, last)
	connect(&west, &p.Functions[first].Config, InterfaceWest, onSegment(0, hostEast), endpointWest, stubEast, onSegment(0, hostEndpoint), nextEast(chain, p.Segments, 0).MAC)
	connect(&east, &p.Functions[final].Config, InterfaceEast, onSegment(outer, hostWest), endpointEast, stubWest, onSegment(outer, hostEndpoint), nextWest(chain, p.Segments, last).MAC)
	p.Endpoints = []Endpoint{west, east}
}

// outermostRouting returns the indices of the first and the last function that route, and -1
// where all of them bridge.
func outermostRouting(chain []v1alpha1.NetworkFunction) (first, last int) {
	first, last = -1, -1
	for i := range chain {
		if isBridging(chain[i]) {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	return first, last
}

// checkTCP checks that there is room for the ends next to the generator, and that a function
// routes between their networks.
func checkTCP(in Input) error {
	if in.Run.Spec.Experiment.Measurements.TCP == nil || ownsTCP(in) {
		return nil
	}
	if first, _ := outermostRouting(in.Run.Spec.Experiment.Chain); first < 0 {
		return fail(v1alpha1.ReasonIncompatibleAttachments,
			"put a function that routes into the run's spec.experiment.chain, or leave measurements.tcp out",
			"measurements.tcp runs between two networks, and every function of the chain is a bridge")
	}
	first, last := outermostRouting(in.Run.Spec.Experiment.Chain)
	for _, i := range []int{first, last} {
		if f := in.Run.Spec.Experiment.Chain[i]; f.Function == v1alpha1.FunctionCustom {
			// Its placeholders name one next hop for each port, and the ends are a second.
			return fail(v1alpha1.ReasonIncompatibleAttachments,
				"put a function Router at both ends of the run's spec.experiment.chain, or leave measurements.tcp out",
				"the ends of measurements.tcp need routes in the outermost functions, and function %q is Custom, which cannot be given them", f.Name)
		}
	}
	if side := taggedPort(in); side != "" {
		return fail(v1alpha1.ReasonIncompatibleAttachments,
			fmt.Sprintf("leave measurements.tcp out, or the testbed's spec.ports.%s.vlan", side),
			"the ends of measurements.tcp send no VLAN tags, and port %s of testbed %q has one", side, in.Testbed.Name)
	}
	ports := in.Testbed.Spec.Ports
	for _, side := range []struct {
		name string
		port v1alpha1.TestbedPort
	}{{InterfaceWest, ports.West}, {InterfaceEast, ports.East}} {
		if wayOfPort(side.port) == wayWire {
			return fail(v1alpha1.ReasonIncompatibleAttachments,
				"leave measurements.tcp out, or use a testbed with ports of the kinds Bridge or NetworkAttachmentDefinition",
				"the ends of measurements.tcp run next to the generator, and port %s of testbed %q is %s, which one pod takes for itself",
				side.name, in.Testbed.Name, side.port.Attachment)
		}
	}
	return checkSegments(in)
}

func endpointOf(in Input, name string, generator End, segment Segment) Endpoint {
	host := hostWest
	if name == measure.EndEast {
		host = hostEast
	}
	port := generatorEnd(in, InterfaceEndpoint, placeEndpoint, host)
	port.Existing, port.Network, port.NetworkNamespace = generator.Existing, generator.Network, generator.NetworkNamespace
	if !port.Existing {
		port.Network = NamesOf(in.Run).network(segmentEndpoints, name)
	}
	return Endpoint{
		Port:        port,
		Bridge:      segment.Bridge,
		Image:       in.Defaults.EndpointImage,
		Resources:   Resources{RequestMilliCPU: defaultEndpointMilliCPU, MemoryBytes: defaultEndpointMemory.Bytes()},
		Tolerations: in.Testbed.Spec.Generator.Tolerations,
		Config:      endpoint.Config{Name: name, Interface: port.Interface, MAC: port.MAC, MTUBytes: port.MTUBytes},
	}
}

// connect gives an end its addresses and the route to the other end's network, and the function
// next to it the route to that end only.
func connect(e *Endpoint, next *vnf.Config, port string, gateway, own, other, link networks, gatewayMAC string) {
	e.Config.GatewayMAC = gatewayMAC
	e.Config.Addresses = append(link.both(), own.both()...)
	gateways, links := gateway.both(), link.both()
	for i, destination := range other.both() {
		e.Config.Routes = append(e.Config.Routes, endpoint.Route{Destination: destination, Via: gateways[i].Addr()})
	}
	for i, address := range own.both() {
		next.Routes = append(next.Routes, vnf.Route{Destination: address, Via: links[i].Addr(), Port: port})
		next.Neighbors = append(next.Neighbors, vnf.Neighbor{Address: links[i].Addr(), MAC: e.Port.MAC, Port: port})
	}
}

// tcpPathOf returns the addresses of the two ends; nil where there are none.
func tcpPathOf(in Input) *measure.TCPPath {
	spec := in.Run.Spec.Experiment
	if spec.Measurements.TCP == nil || ownsTCP(in) {
		return nil
	}
	return &measure.TCPPath{West: endpointWest.family(spec.Traffic.IPFamily), East: endpointEast.family(spec.Traffic.IPFamily)}
}

// family returns the network's own address in one family.
func (n networks) family(family v1alpha1.IPFamily) netip.Addr {
	if family == v1alpha1.FamilyIPv6 {
		return n.ipv6.Addr()
	}
	return n.ipv4.Addr()
}

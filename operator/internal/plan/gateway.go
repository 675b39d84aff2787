package plan

import (
	"cmp"
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/vnf"
)

const (
	// wireGuardPort is the UDP port of both gateways.
	wireGuardPort = 51820
	// firstSPI is the first one above the reserved values (RFC 4303 section 2.1).
	firstSPI = 0x1000
	// userspaceMemoryBytes is what WireGuard in user space needs in addition to the function's
	// own memory. Its queues hold packets in buffers of 64 KiB, and fill when more packets arrive
	// than it encrypts, which a search provokes.
	userspaceMemoryBytes = 448 << 20
)

// isGateway reports whether a function is one end of a tunnel.
func isGateway(function v1alpha1.NetworkFunction) bool {
	return function.Function == v1alpha1.FunctionEncryptionGateway
}

// hasTunnel reports whether the segment before the function at an index is between the two
// gateways of a pair. Admission leaves only pairs, so every second gateway is the eastern one.
func hasTunnel(chain []v1alpha1.NetworkFunction, index int) bool {
	if index <= 0 || index >= len(chain) || !isGateway(chain[index-1]) || !isGateway(chain[index]) {
		return false
	}
	before := 0
	for _, function := range chain[:index] {
		if isGateway(function) {
			before++
		}
	}
	return before%2 == 1
}

func gatewayOf(function v1alpha1.NetworkFunction) v1alpha1.EncryptionGateway {
	spec := v1alpha1.EncryptionGateway{}
	if function.EncryptionGateway != nil {
		spec = *function.EncryptionGateway
	}
	spec.Protocol = cmp.Or(spec.Protocol, v1alpha1.ProtocolWireGuard)
	spec.Implementation = cmp.Or(spec.Implementation, v1alpha1.EncryptionAuto)
	if spec.Protocol == v1alpha1.ProtocolIPsec {
		spec.Implementation = v1alpha1.EncryptionKernel
	}
	return spec
}

// gateway plans function EncryptionGateway.
type gateway struct{ router }

// elsewhere names a program in user space, or workers of the kernel on every core.
func (gateway) elsewhere(node string) string {
	return fmt.Sprintf("encrypts in programs of node %q", node)
}

// layOut gives the ports between two gateways the MTU that a tunnelled packet needs, where the
// run does not name one, so that a frame that fits the testbed's ports passes the tunnel in one
// piece. It refuses a frame that does not.
func (gateway) layOut(in Input, index int, segments []Segment) error {
	chain := in.Run.Spec.Experiment.Chain
	if !hasTunnel(chain, index) {
		return nil
	}
	west, east := chain[index-1], chain[index]
	outside := max(mtuOf(west.West, in.Testbed), mtuOf(east.East, in.Testbed))
	wide := min(outside+vnf.TunnelOverheadBytes(string(gatewayOf(east).Protocol)), vnf.MaximumMTUBytes)
	if west.East.MTUBytes == nil {
		segments[index].West.MTUBytes = wide
	}
	if east.West.MTUBytes == nil {
		segments[index].East.MTUBytes = wide
	}
	return checkTunnel(in, index, segments)
}

func (gateway) configure(in Input, index int, segments []Segment, config *vnf.Config) {
	config.Gateway = tunnelOf(in.Run.Spec.Experiment.Chain, index, segments)
	withoutRoutes(config)
}

func (gateway) memoryBytes(function Function) int64 {
	if inUserspace(function.Config.Gateway, function.Runtime) {
		return userspaceMemoryBytes
	}
	return 0
}

// inUserspace reports whether a gateway encrypts outside of the kernel, or may have to: what the
// kernel of a node has is not known, but the reference guest's kernel has everything.
func inUserspace(gateway *vnf.Gateway, runtime v1alpha1.Runtime) bool {
	if runtime == v1alpha1.RuntimeVirtualMachine {
		return gateway.Implementation == vnf.ImplementationUserspace
	}
	return gateway.Implementation != vnf.ImplementationKernel
}

// doubt warns about a gateway that was to prefer the kernel's WireGuard, and did not find it.
func (gateway) doubt(function *Function, state v1alpha1.FunctionState) (Doubt, bool) {
	asked, found := function.Config.Gateway, state.EncryptionGateway
	if asked == nil || found == nil || asked.Implementation != vnf.ImplementationAuto || found.Implementation != vnf.ImplementationUserspace {
		return Doubt{}, false
	}
	return Doubt{v1alpha1.WarningUserspaceEncryption, "The kernel under %s has no WireGuard, so a program encrypted in user space, which is slower."}, true
}

// tunnelMTU returns the largest packet that passes a tunnel in one piece.
func tunnelMTU(segment Segment, protocol v1alpha1.EncryptionProtocol) int {
	return min(segment.West.MTUBytes, segment.East.MTUBytes) - vnf.TunnelOverheadBytes(string(protocol))
}

// checkTunnel checks that every frame passes the tunnel before the function at an
// index in one piece, and that IPv6 passes at all.
func checkTunnel(in Input, index int, segments []Segment) error {
	chain := in.Run.Spec.Experiment.Chain
	west, east, protocol := chain[index-1].Name, chain[index].Name, gatewayOf(chain[index]).Protocol
	mtu, overhead := tunnelMTU(segments[index], protocol), vnf.TunnelOverheadBytes(string(protocol))
	fields := fmt.Sprintf("east.mtuBytes of function %q and west.mtuBytes of function %q in spec.experiment.chain", west, east)
	if mtu < minMTUBytes {
		return fail(v1alpha1.ReasonFrameTooLarge, fmt.Sprintf("leave out %s, or raise them to at least %d", fields, minMTUBytes+overhead),
			"between the gateways %q and %q packets of %d bytes fit into %s, but IPv6 asks every link for %d bytes (RFC 8200 section 5)",
			west, east, mtu, protocol, minMTUBytes)
	}
	for _, size := range frameSizes(in.Run.Spec.Experiment.Traffic) {
		if size <= mtu+headerBytes {
			continue
		}
		return fail(v1alpha1.ReasonFrameTooLarge,
			fmt.Sprintf("lower the size in the run's spec.experiment.traffic to at most %d, or leave out %s, or raise them to at least %d", mtu+headerBytes, fields, size-headerBytes+overhead),
			"frames of %d bytes do not fit the %s tunnel between %q and %q, which adds up to %d bytes to a packet: frames of at most %d bytes pass",
			size, protocol, west, east, overhead, mtu+headerBytes)
	}
	return nil
}

// frameSizes returns all sizes that the run sends, including those of mixes.
func frameSizes(traffic v1alpha1.Traffic) []int {
	var sizes []int
	for _, size := range traffic.Sizes() {
		sizes = append(sizes, int(size))
	}
	for _, mix := range traffic.IMIX {
		for _, frame := range mixOf(mix).Frames {
			sizes = append(sizes, frame.FrameBytes)
		}
	}
	return sizes
}

// tunnelOf returns the tunnel end of the gateway at an index. Keys are files that the plan only
// names.
func tunnelOf(chain []v1alpha1.NetworkFunction, index int, segments []Segment) *vnf.Gateway {
	spec := gatewayOf(chain[index])
	segment, port, eastern := index+1, InterfaceEast, false
	if hasTunnel(chain, index) {
		segment, port, eastern = index, InterfaceWest, true
	}
	west, east := onSegment(segment, hostWest).ipv4.Addr(), onSegment(segment, hostEast).ipv4.Addr()
	gateway := &vnf.Gateway{
		Protocol: string(spec.Protocol), Implementation: string(spec.Implementation), Port: port,
		Local: west, Peer: east, LocalNetworks: stubWest.both(), RemoteNetworks: stubEast.both(),
		TunnelMTUBytes: tunnelMTU(segments[segment], spec.Protocol),
	}
	if spec.Threads != nil {
		gateway.Threads = int(*spec.Threads)
	}
	if spec.Protocol == v1alpha1.ProtocolIPsec {
		gateway.SPIOut, gateway.SPIIn = uint32(firstSPI+2*segment), uint32(firstSPI+2*segment+1)
		gateway.Keys = vnf.KeyFiles{Out: vnf.KeyOut, In: vnf.KeyIn}
	} else {
		gateway.ListenPort = wireGuardPort
		gateway.Keys = vnf.KeyFiles{Private: vnf.KeyPrivate, PeerPublic: vnf.KeyPeerPublic, Preshared: vnf.KeyPreshared}
	}
	if eastern {
		gateway.Local, gateway.Peer = gateway.Peer, gateway.Local
		gateway.LocalNetworks, gateway.RemoteNetworks = gateway.RemoteNetworks, gateway.LocalNetworks
		gateway.SPIOut, gateway.SPIIn = gateway.SPIIn, gateway.SPIOut
	}
	return gateway
}

// withoutRoutes removes the routes of a port: a WireGuard tunnel's own device reaches what is
// beyond the tunnel. IPsec's policies need the routes.
func withoutRoutes(config *vnf.Config) {
	if config.Gateway.Protocol != vnf.ProtocolWireGuard {
		return
	}
	var kept []vnf.Route
	for _, route := range config.Routes {
		if route.Port != config.Gateway.Port {
			kept = append(kept, route)
		}
	}
	config.Routes = kept
}

// Pairs returns the plan's pairs of gateways, the western one first.
func (p *Plan) Pairs() [][2]Function {
	var pairs [][2]Function
	for i, function := range p.Functions {
		if function.Config.Gateway != nil && function.Config.Gateway.Port == InterfaceEast && i+1 < len(p.Functions) {
			pairs = append(pairs, [2]Function{function, p.Functions[i+1]})
		}
	}
	return pairs
}

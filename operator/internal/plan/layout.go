package plan

import (
	"fmt"
	"net/netip"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/vnf"
)

// layOut joins the ports: the western one of the generator, those of the functions, the eastern one
// of the generator.
func layOut(in Input) (segments []Segment, calibration *Segment) {
	last := len(in.Run.Spec.Experiment.Chain)
	for i := range last + 1 {
		segment := Segment{
			Bridge: bridgeName(in.Testbed.UID, fmt.Sprint(i)),
			West:   eastOf(in, i),
			East:   westOf(in, i+1),
		}
		names := NamesOf(in.Run)
		segment.West.Network = names.network(fmt.Sprint(i), InterfaceWest)
		segment.East.Network = names.network(fmt.Sprint(i), InterfaceEast)
		joinDevices(in, i, &segment)
		if i == 0 {
			joinExisting(in, &segment, in.Testbed.Spec.Ports.West, &segment.West, &segment.East)
		}
		if i == last {
			joinExisting(in, &segment, in.Testbed.Spec.Ports.East, &segment.East, &segment.West)
		}
		tagSegment(in, i, &segment)
		segments = append(segments, segment)
	}
	return segments, calibrationOf(in)
}

// eastOf returns the eastern port of place i. Place 0 is the generator, whose port is its western
// one because it is west of the chain.
func eastOf(in Input, i int) End {
	if i == 0 {
		return generatorEnd(in, InterfaceWest, placeGenerator, hostWest)
	}
	function := in.Run.Spec.Experiment.Chain[i-1]
	return End{
		Function:  function.Name,
		Interface: InterfaceEast,
		MAC:       functionMAC(in, i, hostEast),
		MTUBytes:  mtuOf(function.East, in.Testbed),
	}
}

// westOf returns the western port of place i; after the last function it is the
// generator's.
func westOf(in Input, i int) End {
	if i > len(in.Run.Spec.Experiment.Chain) {
		return generatorEnd(in, InterfaceEast, placeGenerator, hostEast)
	}
	function := in.Run.Spec.Experiment.Chain[i-1]
	return End{
		Function:  function.Name,
		Interface: InterfaceWest,
		MAC:       functionMAC(in, i, hostWest),
		MTUBytes:  mtuOf(function.West, in.Testbed),
	}
}

func generatorEnd(in Input, iface string, place, host int) End {
	return End{
		Interface: iface,
		MAC:       macAddress(in.Testbed.UID, place, host),
		MTUBytes:  int(in.Testbed.Spec.Ports.MTUBytes),
	}
}

func isBridge(port v1alpha1.TestbedPort) bool {
	return port.Attachment == v1alpha1.PortBridge
}

// joinExisting takes the user's networks instead of a bridge, where the port says so. One testbed
// may have both bridges and existing networks.
func joinExisting(in Input, segment *Segment, port v1alpha1.TestbedPort, generator, device *End) {
	if port.Attachment != v1alpha1.PortNetworkAttachmentDefinition {
		return
	}
	network := port.NetworkAttachmentDefinition
	segment.Bridge = ""
	joinNetwork(in, generator, network.GeneratorRef)
	joinNetwork(in, device, deviceNetwork(network))
}

// deviceNetwork returns the network of the chain's outer port.
func deviceNetwork(network *v1alpha1.ExistingNetwork) v1alpha1.NetworkReference {
	if network.DeviceRef != nil {
		return *network.DeviceRef
	}
	return network.GeneratorRef
}

func joinNetwork(in Input, end *End, network v1alpha1.NetworkReference) {
	end.Existing, end.Network = true, network.Name
	if network.Namespace != in.Run.Namespace {
		end.NetworkNamespace = network.Namespace
	}
	end.ResourceName = in.NetworkResources[end.NetworkKey()]
}

// NetworkKey returns the name of the end's network: alone where it is in the run's namespace, and
// as "namespace/name" elsewhere. Multus and KubeVirt read it.
func (e End) NetworkKey() string {
	if e.NetworkNamespace == "" {
		return e.Network
	}
	return e.NetworkNamespace + "/" + e.Network
}

// calibrationOf joins the generator to itself: on the networks that the testbed names, else on a bridge
// where its ports are bridges; nil where neither is so.
func calibrationOf(in Input) *Segment {
	ports := in.Testbed.Spec.Ports
	if !ports.HaveLoop() {
		return nil
	}
	names := NamesOf(in.Run)
	segment := &Segment{
		Bridge: bridgeName(in.Testbed.UID, calibrationSegment),
		West:   generatorEnd(in, InterfaceCalibrationWest, placeCalibration, hostWest),
		East:   generatorEnd(in, InterfaceCalibrationEast, placeCalibration, hostEast),
	}
	segment.West.Tag, segment.East.Tag = calibrationTag(in), calibrationTag(in)
	segment.West.Network = names.network(calibrationSegment, InterfaceWest)
	segment.East.Network = names.network(calibrationSegment, InterfaceEast)
	if loop := ports.CalibrationNetworks; len(loop) == 2 {
		segment.Bridge = ""
		joinNetwork(in, &segment.West, loop[0])
		joinNetwork(in, &segment.East, loop[1])
	}
	return segment
}

// configure returns the configuration of the function at an index.
func configure(in Input, index int, segments []Segment) vnf.Config {
	function := in.Run.Spec.Experiment.Chain[index]
	config := vnf.Config{Function: string(function.Function), Name: function.Name}
	forward(in.Run.Spec.Experiment.Chain, index, segments, &config)
	plannerOf(function.Function).configure(in, index, segments, &config)
	setResolution(in.Run.Spec.Experiment.Chain, index, &config)
	return config
}

// forward gives the function at an index its addresses and routes. Its western port is the
// eastern end of the segment before it, its eastern port the western end of the segment after it.
// Both families are always there: a run's family changes the frames, not the device. A bridging
// function has neither: the hosts on both sides are on one network.
func forward(chain []v1alpha1.NetworkFunction, index int, segments []Segment, config *vnf.Config) {
	before, after := segments[index], segments[index+1]
	if isBridging(chain[index]) {
		config.Ports = []vnf.Port{portOf(before.East, nil), portOf(after.West, nil)}
		return
	}
	west, east := network(chain, index), network(chain, index+1)
	config.Ports = []vnf.Port{
		portOf(before.East, onSegment(west, hostEast).both()),
		portOf(after.West, onSegment(east, hostWest).both()),
	}
	addNextHop(config, before.East.Interface, stubWest, onSegment(west, hostWest), nextWest(chain, segments, index).MAC)
	addNextHop(config, after.West.Interface, stubEast, onSegment(east, hostEast), nextEast(chain, segments, index+1).MAC)
}

func portOf(end End, addresses []netip.Prefix) vnf.Port {
	return vnf.Port{
		Name:      end.Interface,
		Interface: end.Interface,
		MAC:       end.MAC,
		MTUBytes:  end.MTUBytes,
		VLAN:      end.Tag,
		Addresses: addresses,
	}
}

func addNextHop(config *vnf.Config, port string, stub, via networks, mac string) {
	gateways := via.both()
	for i, destination := range stub.both() {
		gateway := gateways[i].Addr()
		config.Routes = append(config.Routes, vnf.Route{Destination: destination, Via: gateway, Port: port})
		config.Neighbors = append(config.Neighbors, vnf.Neighbor{Address: gateway, MAC: mac, Port: port})
	}
}

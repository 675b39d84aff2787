package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/vnf"
)

// asks reports whether the function at an index resolves the addresses of the machines next to it. There is none at
// -1 and after the last one, where the generator is.
func asks(chain []v1alpha1.NetworkFunction, index int) bool {
	if index < 0 || index >= len(chain) || isBridging(chain[index]) || isGateway(chain[index]) {
		return false
	}
	return chain[index].EffectiveAddressResolution() == v1alpha1.AddressResolutionDynamic
}

// endsOf returns the indices of the functions that route at both ends of a segment, across functions that bridge; -1
// and the number of functions are the generator.
func endsOf(chain []v1alpha1.NetworkFunction, segment int) (west, east int) {
	west, east = network(chain, segment)-1, segment
	for east < len(chain) && isBridging(chain[east]) {
		east++
	}
	return west, east
}

// setResolution lets the ports of the function at an index answer where the machine on the other side asks, and ask
// where the function does. A port that asks has no static neighbors. A user's own machine reads no configuration.
func setResolution(chain []v1alpha1.NetworkFunction, index int, config *vnf.Config) {
	if isBridging(chain[index]) || chain[index].Function == v1alpha1.FunctionCustom {
		return
	}
	for i := range config.Ports {
		west, east := endsOf(chain, index+i)
		switch {
		case asks(chain, index):
			config.Ports[i].Resolution = vnf.ResolutionAsks
		case asks(chain, west) || asks(chain, east):
			config.Ports[i].Resolution = vnf.ResolutionAnswers
		}
	}
	if asks(chain, index) {
		config.Neighbors = nil
	}
}

// resolveNextHops lets the generator's ports next to a function that asks answer for their addresses, and ask for the
// function's. The function resolves no other address of the generator: the streams' addresses are beyond it, in
// networks that are routed.
func resolveNextHops(in Input, path *measure.Path) {
	if !limitsOf(in.Testbed).Resolution {
		return
	}
	chain, family := in.Run.Spec.Experiment.Chain, in.Run.Spec.Experiment.Traffic.IPFamily
	if _, east := endsOf(chain, 0); asks(chain, east) {
		resolveNextHop(&path.Ports[0], onSegment(0, hostWest), onSegment(0, hostEast), family)
	}
	last := len(chain)
	if west, _ := endsOf(chain, last); asks(chain, west) {
		number := network(chain, last)
		resolveNextHop(&path.Ports[1], onSegment(number, hostEast), onSegment(number, hostWest), family)
	}
}

func resolveNextHop(port *measure.Port, own, next networks, family v1alpha1.IPFamily) {
	port.Addresses = []netip.Addr{own.ipv4.Addr(), own.ipv6.Addr()}
	port.NextHop = next.family(family)
}

// outermost returns the indices of the functions next to the generator, each once.
func outermost(chain []v1alpha1.NetworkFunction) []int {
	first, last := outermostRouting(chain)
	if first < 0 {
		return nil
	}
	return slices.Compact([]int{first, last})
}

// functionMAC returns the hardware address of a port of the function at a place: the one that the testbed fixes, or
// the planned one.
func functionMAC(in Input, place, host int) string {
	fixed := in.Testbed.Spec.SystemUnderTest.MACAddressesOf(in.Run.Spec.Experiment.Chain[place-1])
	mac := fixed.West
	if host == hostEast {
		mac = fixed.East
	}
	if mac != "" {
		return strings.ToLower(mac)
	}
	return macAddress(in.Testbed.UID, place, host)
}

// CheckMACAddresses returns why a testbed's fixed hardware addresses cannot be used with any run; nil where they can.
func CheckMACAddresses(testbed *v1alpha1.Testbed) *measure.Failure {
	// All that is planned for a testbed differs in the last octet only.
	planned := macAddress(testbed.UID, 0, 0)
	planned = planned[:strings.LastIndex(planned, ":")]
	for i, fixed := range testbed.Spec.SystemUnderTest.MACAddresses {
		for _, mac := range []string{fixed.Management, fixed.West, fixed.East} {
			if strings.HasPrefix(strings.ToLower(mac), planned) {
				return measure.Failf(v1alpha1.ReasonInvalidConfiguration,
					fmt.Sprintf("choose an address of the testbed's spec.systemUnderTest.macAddresses that does not begin with %s", planned),
					"spec.systemUnderTest.macAddresses[%d] of testbed %q has %s, and the operator plans the addresses that begin with %s for the other ports of this testbed",
					i, testbed.Name, mac, planned)
			}
		}
	}
	return nil
}

// checkMACAddresses checks the fixed hardware addresses for a run.
func checkMACAddresses(in Input) error {
	if failure := CheckMACAddresses(in.Testbed); failure != nil {
		return failure
	}
	for _, function := range in.Run.Spec.Experiment.Chain {
		fixed := in.Testbed.Spec.SystemUnderTest.MACAddressesOf(function)
		if why := withoutManagementNIC(function); fixed.Management != "" && why != "" {
			return fail(v1alpha1.ReasonInvalidConfiguration,
				fmt.Sprintf("leave management of function %q out of the testbed's spec.systemUnderTest.macAddresses, or %s", function.Name, why),
				"testbed %q fixes the hardware address of the management NIC of function %q, which has none", in.Testbed.Name, function.Name)
		}
		for _, port := range []struct {
			name, mac  string
			attachment v1alpha1.Attachment
		}{
			{InterfaceWest, fixed.West, function.EffectiveAttachment(function.West)},
			{InterfaceEast, fixed.East, function.EffectiveAttachment(function.East)},
		} {
			if port.mac != "" && port.attachment == v1alpha1.AttachmentHostDevice {
				return fail(v1alpha1.ReasonInvalidConfiguration,
					fmt.Sprintf("leave %s of function %q out of the testbed's spec.systemUnderTest.macAddresses, or use another attachment", port.name, function.Name),
					"testbed %q fixes the hardware address of port %s of function %q, which is a whole NIC and keeps its own", in.Testbed.Name, port.name, function.Name)
			}
		}
	}
	return nil
}

// withoutManagementNIC returns what gives a function Custom a management NIC; "" where it has one, and for any other function.
func withoutManagementNIC(function v1alpha1.NetworkFunction) string {
	switch {
	case function.Custom == nil:
		return ""
	case function.Custom.Container != nil:
		return "use runtime VirtualMachine: a container has the pod's own interface"
	case function.Custom.ManagementNIC == v1alpha1.ManagementNICNone:
		return fmt.Sprintf("set managementNIC First in spec.experiment.chain[%s].custom", function.Name)
	}
	return ""
}

// checkDiscovery refuses neighbor discovery across a bridging firewall that drops it. By address its rules accept the
// traffic's networks, and by port UDP; a machine asks from its link-local address. ARP is not IP, so it passes.
func checkDiscovery(in Input) error {
	experiment := in.Run.Spec.Experiment
	if experiment.Traffic.IPFamily != v1alpha1.FamilyIPv6 || !limitsOf(in.Testbed).Resolution {
		return nil
	}
	for i, function := range experiment.Chain {
		if !isBridging(function) {
			continue
		}
		west, east := endsOf(experiment.Chain, i)
		firewall := firewallOf(function, experiment)
		if firewall.Mode == vnf.ModeNone || firewall.DefaultPolicy == vnf.VerdictAccept || !asks(experiment.Chain, west) && !asks(experiment.Chain, east) {
			continue
		}
		if !asks(experiment.Chain, west) {
			west = east
		}
		return fail(v1alpha1.ReasonIncompatibleAttachments,
			fmt.Sprintf("set defaultPolicy Accept of %q, or addressResolution Static of %q and static neighbors in it", function.Name, experiment.Chain[west].Name),
			"function %q resolves addresses by neighbor discovery, and the bridging firewall %q between it and the next machine drops that (defaultPolicy Drop)",
			experiment.Chain[west].Name, function.Name)
	}
	return nil
}

package plan

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// defaultFirstInnerVLAN separates the links between functions on one NIC.
const defaultFirstInnerVLAN = 100

// way is how the two ends of a link meet.
type way string

const (
	// wayBridge is a Linux bridge on the node.
	wayBridge way = "a bridge on the node"
	// wayWire is a NIC with its own switch, or with a cable to another NIC.
	wayWire way = "a NIC"
	// wayAny is a network that the user made, of which the operator knows nothing.
	wayAny way = "a network that exists already"
)

func wayOf(attachment v1alpha1.Attachment) way {
	switch attachment {
	case v1alpha1.AttachmentSRIOV, v1alpha1.AttachmentHostDevice:
		return wayWire
	}
	return wayBridge
}

func wayOfPort(port v1alpha1.TestbedPort) way {
	switch port.Attachment {
	case v1alpha1.PortNetworkAttachmentDefinition:
		return wayAny
	case v1alpha1.PortSRIOV, v1alpha1.PortHostDevice:
		return wayWire
	}
	return wayBridge
}

// checkLinks checks that the two ends of each link can meet, and that the testbed names the NIC
// that a port takes.
func checkLinks(in Input) error {
	chain, ports := in.Run.Spec.Experiment.Chain, in.Testbed.Spec.Ports
	for _, outer := range []struct {
		side       string
		port       v1alpha1.TestbedPort
		function   string
		runtime    v1alpha1.Runtime
		attachment v1alpha1.Attachment
	}{
		{InterfaceWest, ports.West, chain[0].Name, chain[0].Runtime, chain[0].EffectiveAttachment(chain[0].West)},
		{InterfaceEast, ports.East, chain[len(chain)-1].Name, chain[len(chain)-1].Runtime, chain[len(chain)-1].EffectiveAttachment(chain[len(chain)-1].East)},
	} {
		theirs, ours := wayOfPort(outer.port), wayOf(outer.attachment)
		if theirs != wayAny && theirs != ours {
			return fail(v1alpha1.ReasonIncompatibleAttachments,
				fmt.Sprintf("change %s.attachment of function %q in the run's spec.experiment.chain, or the testbed's spec.ports.%s.attachment", outer.side, outer.function, outer.side),
				"the testbed's port %s is %s and leads to %s, but port %s of function %q is %s and leads to %s",
				outer.side, outer.port.Attachment, theirs, outer.side, outer.function, outer.attachment, ours)
		}
		check := checkNIC
		if outer.runtime == v1alpha1.RuntimeVirtualMachine {
			check = checkVMNIC
		}
		if err := check(in, outer.side, outer.function, outer.attachment, outer.port); err != nil {
			return err
		}
	}
	for i := range len(chain) - 1 {
		if err := checkInnerLink(in, chain[i], chain[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// checkNIC checks the NIC of the outer port of a function in a pod.
func checkNIC(in Input, side, function string, attachment v1alpha1.Attachment, port v1alpha1.TestbedPort) error {
	if port.Attachment == v1alpha1.PortNetworkAttachmentDefinition {
		return nil
	}
	switch {
	case attachment == v1alpha1.AttachmentSRIOV && outerPool(in, side) == "":
		return fail(v1alpha1.ReasonResourceMissing,
			fmt.Sprintf("name the pool in the testbed's spec.systemUnderTest.sriov.%sResourceName", side),
			"port %s of function %q takes a virtual function, but testbed %q does not say of which pool", side, function, in.Testbed.Name)
	case attachment == v1alpha1.AttachmentHostDevice && outerDevice(in, side).PCIAddress == "":
		return fail(v1alpha1.ReasonResourceMissing,
			fmt.Sprintf("name the NIC in the testbed's spec.systemUnderTest.hostDevices.%s.pciAddress", side),
			"port %s of function %q takes a whole NIC, but testbed %q does not say which", side, function, in.Testbed.Name)
	}
	return nil
}

// checkInnerLink compares the eastern port of a function with the western port of the next.
func checkInnerLink(in Input, west, east v1alpha1.NetworkFunction) error {
	ours, theirs := west.EffectiveAttachment(west.East), east.EffectiveAttachment(east.West)
	for _, end := range []struct {
		port, function string
		attachment     v1alpha1.Attachment
	}{{InterfaceEast, west.Name, ours}, {InterfaceWest, east.Name, theirs}} {
		if end.attachment == v1alpha1.AttachmentHostDevice {
			return fail(v1alpha1.ReasonIncompatibleAttachments,
				fmt.Sprintf("use SRIOV or a bridge's attachment for %s of function %q in the run's spec.experiment.chain", end.port, end.function),
				"port %s of function %q is inside of the chain, where a whole NIC leads nowhere", end.port, end.function)
		}
	}
	if wayOf(ours) != wayOf(theirs) {
		return fail(v1alpha1.ReasonIncompatibleAttachments,
			fmt.Sprintf("give east of function %q and west of function %q in the run's spec.experiment.chain attachments that meet", west.Name, east.Name),
			"port east of function %q is %s and leads to %s, but port west of function %q is %s and leads to %s",
			west.Name, ours, wayOf(ours), east.Name, theirs, wayOf(theirs))
	}
	sriov := in.Testbed.Spec.SystemUnderTest.SRIOV
	if ours == v1alpha1.AttachmentSRIOV && (sriov == nil || sriov.InnerResourceName == "") {
		return fail(v1alpha1.ReasonResourceMissing,
			"name the pool in the testbed's spec.systemUnderTest.sriov.innerResourceName",
			"functions %q and %q are joined by virtual functions, but testbed %q does not say of which pool", west.Name, east.Name, in.Testbed.Name)
	}
	return nil
}

// outerPool returns the pool of the chain's first or last port, and "" where there is none.
func outerPool(in Input, side string) string {
	port, named := in.Testbed.Spec.Ports.West, ""
	sriov := in.Testbed.Spec.SystemUnderTest.SRIOV
	if side == InterfaceEast {
		port = in.Testbed.Spec.Ports.East
	}
	if sriov != nil {
		named = sriov.WestResourceName
		if side == InterfaceEast {
			named = sriov.EastResourceName
		}
	}
	if named == "" && port.SRIOV != nil {
		return port.SRIOV.ResourceName
	}
	return named
}

// outerDevice returns the NIC of the chain's first or last port, and the empty one where the
// testbed names none.
func outerDevice(in Input, side string) v1alpha1.DeviceHostDevice {
	devices := in.Testbed.Spec.SystemUnderTest.HostDevices
	if devices == nil {
		return v1alpha1.DeviceHostDevice{}
	}
	device := devices.East
	if side == InterfaceWest {
		device = devices.West
	}
	if device == nil {
		return v1alpha1.DeviceHostDevice{}
	}
	return *device
}

// joinDevices gives the ends of a segment their NICs instead of a bridge, where they have some.
// checkLinks has checked them before.
func joinDevices(in Input, index int, segment *Segment) {
	chain, ports := in.Run.Spec.Experiment.Chain, in.Testbed.Spec.Ports
	last := len(chain)
	if index == 0 {
		joinGenerator(segment, &segment.West, ports.West)
		joinFunction(in, segment, &segment.East, chain[0], chain[0].EffectiveAttachment(chain[0].West), InterfaceWest, ports.West)
	}
	if index == last {
		joinGenerator(segment, &segment.East, ports.East)
		joinFunction(in, segment, &segment.West, chain[last-1], chain[last-1].EffectiveAttachment(chain[last-1].East), InterfaceEast, ports.East)
	}
	if index == 0 || index == last || chain[index-1].EffectiveAttachment(chain[index-1].East) != v1alpha1.AttachmentSRIOV {
		return
	}
	sriov := in.Testbed.Spec.SystemUnderTest.SRIOV
	first := defaultFirstInnerVLAN
	if sriov.FirstInnerVLAN != nil {
		first = int(*sriov.FirstInnerVLAN)
	}
	segment.Bridge = ""
	for _, end := range []*End{&segment.West, &segment.East} {
		end.ResourceName, end.VLAN = sriov.InnerResourceName, first+index-1
	}
}

func joinGenerator(segment *Segment, end *End, port v1alpha1.TestbedPort) {
	switch port.Attachment {
	case v1alpha1.PortSRIOV:
		segment.Bridge = ""
		end.ResourceName, end.VLAN = port.SRIOV.ResourceName, int(port.SRIOV.VLAN)
	case v1alpha1.PortHostDevice:
		segment.Bridge = ""
		end.PCIAddress = port.HostDevice.PCIAddress
	}
}

func joinFunction(in Input, segment *Segment, end *End, function v1alpha1.NetworkFunction, attachment v1alpha1.Attachment, side string, port v1alpha1.TestbedPort) {
	if port.Attachment == v1alpha1.PortNetworkAttachmentDefinition {
		return
	}
	switch attachment {
	case v1alpha1.AttachmentSRIOV:
		segment.Bridge = ""
		end.ResourceName = outerPool(in, side)
		if port.SRIOV != nil {
			end.VLAN = int(port.SRIOV.VLAN)
		}
	case v1alpha1.AttachmentHostDevice:
		segment.Bridge = ""
		if function.Runtime == v1alpha1.RuntimeVirtualMachine {
			giveToVM(end, outerDevice(in, side))
			return
		}
		end.PCIAddress = outerDevice(in, side).PCIAddress
	}
}

// DevicesOf counts the device plugins' resources that a function's pod takes, or the traffic pod
// where function is empty.
func (p *Plan) DevicesOf(function string) map[string]int64 {
	numbers := map[string]int64{}
	for _, end := range p.PortsOf(function) {
		if end.ResourceName != "" {
			numbers[end.ResourceName]++
		}
	}
	return numbers
}

// deviceNeeds returns what all pods take of device plugins' resources, by name.
func deviceNeeds(p *Plan) []need {
	generator, functions, passedThrough := p.DevicesOf(""), map[string]int64{}, map[string]bool{}
	for _, function := range p.Functions {
		for name, number := range p.DevicesOf(function.Name) {
			functions[name] += number
		}
		for _, end := range p.PortsOf(function.Name) {
			passedThrough[end.ResourceName] = end.PassedThrough()
		}
	}
	return resourceNeeds(generator, functions, passedThrough)
}

// resourceNeeds returns numbers of device plugins' resources as needs, by name. KubeVirt offers
// those that are passed through.
func resourceNeeds(generator, functions map[string]int64, passedThrough map[string]bool) []need {
	all := maps.Clone(generator)
	maps.Copy(all, functions)
	var needs []need
	for _, name := range slices.Sorted(maps.Keys(all)) {
		needs = append(needs, need{
			resource: name, generator: generator[name], functions: functions[name],
			allocatable: func(node *corev1.Node) int64 {
				quantity := node.Status.Allocatable[corev1.ResourceName(name)]
				return quantity.Value()
			},
			reason: v1alpha1.ReasonResourceMissing,
			remedy: fmt.Sprintf("let a device plugin offer more of %s on a node that the testbed's selectors match (%s), or correct the name in the testbed", name, offering(passedThrough[name])),
		})
	}
	return needs
}

// offering names the place where the number of a resource is set.
func offering(passedThrough bool) string {
	if passedThrough {
		return "KubeVirt's: bind the NICs to vfio-pci, and list them in spec.configuration.permittedHostDevices of the KubeVirt resource"
	}
	return "with the SR-IOV network operator: numVfs of a SriovNetworkNodePolicy"
}

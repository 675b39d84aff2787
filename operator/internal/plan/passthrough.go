package plan

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// vfioBytes is what KubeVirt adds to the memory of a VM with devices of the node, for the
// address space of their registers.
const vfioBytes = 1 << 30

// PassedThrough reports whether KubeVirt gives the port to its virtual machine as a device of the
// node: no network of the cluster is part of it.
func (e End) PassedThrough() bool { return e.Network == "" }

// giveToVM makes an end a whole NIC of a virtual machine. Its MAC address cannot be set, so
// the plan takes the one that it has.
func giveToVM(end *End, device v1alpha1.DeviceHostDevice) {
	end.Network, end.ResourceName = "", device.ResourceName
	end.MAC = strings.ToLower(device.MACAddress)
}

// hasDevices reports whether a port of the function is a device of its node.
func (f *Function) hasDevices() bool {
	return wayOf(f.WestAttachment) == wayWire || wayOf(f.EastAttachment) == wayWire
}

// checkVMNIC checks the NIC of the outer port of a function in a virtual machine.
func checkVMNIC(in Input, side, function string, attachment v1alpha1.Attachment, port v1alpha1.TestbedPort) error {
	existing := port.Attachment == v1alpha1.PortNetworkAttachmentDefinition
	switch {
	case attachment == v1alpha1.AttachmentSRIOV && existing:
		return checkExistingPool(in, side, function, *port.NetworkAttachmentDefinition)
	case attachment == v1alpha1.AttachmentHostDevice && existing:
		return fail(v1alpha1.ReasonIncompatibleAttachments,
			fmt.Sprintf("use attachment SRIOV for %s of function %q in the run's spec.experiment.chain, or SRIOV or HostDevice for the testbed's spec.ports.%s", side, function, side),
			"the testbed's port %s is a network that exists already, but port %s of function %q is a whole NIC of a virtual machine, which joins no network", side, side, function)
	case attachment == v1alpha1.AttachmentHostDevice && outerDevice(in, side).ResourceName == "":
		return fail(v1alpha1.ReasonResourceMissing,
			fmt.Sprintf("name KubeVirt's resource and the NIC's MAC address in the testbed's spec.systemUnderTest.hostDevices.%s", side),
			"port %s of function %q takes a whole NIC for a virtual machine, but testbed %q does not say of which resource", side, function, in.Testbed.Name)
	}
	if attachment == v1alpha1.AttachmentHostDevice {
		return nil
	}
	return checkNIC(in, side, function, attachment, port)
}

// checkExistingPool checks that the user's network gives out a resource: KubeVirt takes virtual
// functions from nowhere else.
func checkExistingPool(in Input, side, function string, network v1alpha1.ExistingNetwork) error {
	var end End
	if joinNetwork(in, &end, deviceNetwork(&network)); end.ResourceName != "" {
		return nil
	}
	return fail(v1alpha1.ReasonResourceMissing,
		fmt.Sprintf("annotate it with k8s.v1.cni.cncf.io/resourceName, or name another in the testbed's spec.ports.%s.networkAttachmentDefinition.deviceRef", side),
		"port %s of function %q takes a virtual function, but NetworkAttachmentDefinition %q names no resource to take it from", side, function, end.NetworkKey())
}

// checkPools checks that each pool has one kind of user: virtual functions of one pool have one
// driver, which for a pod is the kernel's and for a virtual machine vfio-pci.
func checkPools(p *Plan) error {
	pods := map[string]string{}
	for name := range p.DevicesOf("") {
		pods[name] = "the traffic pod"
	}
	for i := range p.Functions {
		// A program that reads its ports itself takes devices of either driver.
		if f := &p.Functions[i]; !f.OwnsPorts() {
			for name := range p.DevicesOf(f.Name) {
				pods[name] = fmt.Sprintf("function %q in a pod", f.Name)
			}
		}
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		if !f.IsVM() {
			continue
		}
		for _, end := range p.PortsOf(f.Name) {
			if other, shared := pods[end.ResourceName]; shared {
				return fail(v1alpha1.ReasonResourceMissing,
					"make a pool of deviceType vfio-pci for virtual machines, and name it in the testbed's spec.systemUnderTest.sriov",
					"%s and port %s of function %q in a virtual machine both take from %s, whose devices have one driver: the kernel's for pods, or vfio-pci for virtual machines",
					other, end.Interface, f.Name, end.ResourceName)
			}
		}
	}
	return nil
}

package v1alpha1

// TestbedPorts are the two ports of the generator and what they are attached to.
type TestbedPorts struct {
	// linkBitsPerSecond is the rate of each port's link. Line rate in frames is computed from
	// it, and no load above it is accepted. Default 10 Gbit/s.
	// +optional
	// +kubebuilder:default=10000000000
	// +kubebuilder:validation:Minimum=1000000
	// +kubebuilder:validation:Maximum=800000000000
	LinkBitsPerSecond int64 `json:"linkBitsPerSecond,omitempty"`

	// mtuBytes is the largest IP packet that both ports carry; the largest
	// frame is 18 bytes more (header and check sequence). At least 1280, what IPv6
	// asks of a link (RFC 8200 section 5). Default 1500.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTUBytes int32 `json:"mtuBytes,omitempty"`

	// west is the port at the chain's first function. Default: a bridge.
	// +optional
	// +kubebuilder:default={}
	West TestbedPort `json:"west,omitzero"`

	// east is the port at the chain's last function. Default: a bridge.
	// +optional
	// +kubebuilder:default={}
	East TestbedPort `json:"east,omitzero"`

	// calibrationNetworks join two more ports of the generator, west first, by a cable or a switch
	// without a device. Absent: with two bridges a third one, else no calibration.
	// +optional
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=2
	CalibrationNetworks []NetworkReference `json:"calibrationNetworks,omitempty"`
}

// HaveLoop reports whether the generator can send to itself without a device: over a bridge that the
// operator makes, or over the networks that the testbed names for it.
func (p TestbedPorts) HaveLoop() bool {
	return len(p.CalibrationNetworks) > 0 || p.West.Attachment == PortBridge && p.East.Attachment == PortBridge
}

// PortAttachment is how a traffic port is attached.
// +kubebuilder:validation:Enum=Bridge;NetworkAttachmentDefinition;SRIOV;HostDevice
type PortAttachment string

const (
	// PortBridge makes a Linux bridge on the node for generator and device; both run on one node.
	PortBridge PortAttachment = "Bridge"
	// PortNetworkAttachmentDefinition uses existing networks.
	PortNetworkAttachmentDefinition PortAttachment = "NetworkAttachmentDefinition"
	// PortSRIOV uses a virtual function of a resource pool.
	PortSRIOV PortAttachment = "SRIOV"
	// PortHostDevice moves a whole NIC of the node into the pod, and back when the pod ends.
	PortHostDevice PortAttachment = "HostDevice"
)

// TestbedPort is one traffic port.
// +kubebuilder:validation:XValidation:rule="(has(self.attachment) && self.attachment == 'NetworkAttachmentDefinition') == has(self.networkAttachmentDefinition)",message="networkAttachmentDefinition is required with attachment NetworkAttachmentDefinition, and forbidden with any other"
// +kubebuilder:validation:XValidation:rule="(has(self.attachment) && self.attachment == 'SRIOV') == has(self.sriov)",message="sriov is required with attachment SRIOV, and forbidden with any other"
// +kubebuilder:validation:XValidation:rule="(has(self.attachment) && self.attachment == 'HostDevice') == has(self.hostDevice)",message="hostDevice is required with attachment HostDevice, and forbidden with any other"
// +kubebuilder:validation:XValidation:rule="!has(self.vlan) || !has(self.attachment) || self.attachment != 'SRIOV'",message="with attachment SRIOV the NIC adds the tag: use sriov.vlan",fieldPath=".vlan"
type TestbedPort struct {
	// attachment is Bridge, NetworkAttachmentDefinition, SRIOV or HostDevice.
	// Default Bridge.
	// +optional
	// +kubebuilder:default=Bridge
	Attachment PortAttachment `json:"attachment,omitempty"`

	// vlan is the 802.1Q tag of the generator's frames at this port, with priority 0; only
	// frames with it are counted here. The port of the function on the other side has the
	// same tag. Frame sizes do not include its 4 bytes, rates on the wire do. With attachment
	// SRIOV the NIC adds the tag, see sriov.vlan. Absent: no tag.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`

	// networkAttachmentDefinition names existing networks, with attachment NetworkAttachmentDefinition.
	// +optional
	NetworkAttachmentDefinition *ExistingNetwork `json:"networkAttachmentDefinition,omitempty"`

	// sriov names a pool of virtual functions, with attachment SRIOV.
	// +optional
	SRIOV *SRIOVPort `json:"sriov,omitempty"`

	// hostDevice names a whole NIC of the node, with attachment HostDevice.
	// +optional
	HostDevice *HostDevicePort `json:"hostDevice,omitempty"`
}

// ExistingNetwork names the NetworkAttachmentDefinitions that a port joins.
type ExistingNetwork struct {
	// generatorRef names the network that the traffic pod's port joins.
	// +required
	GeneratorRef NetworkReference `json:"generatorRef,omitzero"`

	// deviceRef names the network that the chain's outer port joins. Absent: the same as generatorRef.
	// +optional
	DeviceRef *NetworkReference `json:"deviceRef,omitempty"`

	// deviceVLAN is the tag at the chain's outer port, where the networks change it on the
	// way; 0 means that they remove it. Absent: the port's vlan.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	DeviceVLAN *int32 `json:"deviceVLAN,omitempty"`
}

// NetworkReference names a NetworkAttachmentDefinition.
type NetworkReference struct {
	// namespace, which Multus and watchNamespaces must allow. Absent: that of each run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// name of the network.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// SRIOVPort names a pool of virtual functions.
type SRIOVPort struct {
	// resourceName is the device plugin's resource, such as "openshift.io/west":
	// the resource prefix of the SR-IOV network operator, and the resourceName of
	// a SriovNetworkNodePolicy.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="resourceName is a prefix and a name, such as openshift.io/west"
	ResourceName string `json:"resourceName,omitempty"`

	// vlan is the tag that the NIC adds to frames of the generator's and the function's
	// virtual function, and removes from received ones. Default 0: none.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	VLAN int32 `json:"vlan,omitempty"`
}

// HostDevicePort names a NIC of a node. A PCI address does not choose a node: the node selector
// must match the one that has the NIC.
type HostDevicePort struct {
	// pciAddress is that of the NIC, such as "0000:03:00.1".
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`
	// +kubebuilder:validation:MaxLength=12
	PCIAddress string `json:"pciAddress,omitempty"`
}

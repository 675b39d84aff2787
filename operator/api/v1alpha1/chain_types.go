package v1alpha1

// Function is what a network function does.
// +kubebuilder:validation:Enum=Router;Firewall;EncryptionGateway;Custom
type Function string

const (
	// FunctionRouter forwards by static routes and static neighbor entries.
	FunctionRouter Function = "Router"
	// FunctionFirewall forwards and filters.
	FunctionFirewall Function = "Firewall"
	// FunctionEncryptionGateway encrypts on one port and decrypts on the other.
	FunctionEncryptionGateway Function = "EncryptionGateway"
	// FunctionCustom is the user's own virtual machine or container.
	FunctionCustom Function = "Custom"
)

// Runtime is what a network function runs in.
// +kubebuilder:validation:Enum=Pod;VirtualMachine
type Runtime string

const (
	// RuntimePod runs the function in a pod, on the node's own kernel.
	RuntimePod Runtime = "Pod"
	// RuntimeVirtualMachine runs the function in a KubeVirt virtual machine.
	RuntimeVirtualMachine Runtime = "VirtualMachine"
)

// Attachment is what a function's port is to the function.
// +kubebuilder:validation:Enum=Veth;Virtio;E1000;E1000e;RTL8139;SRIOV;HostDevice
type Attachment string

const (
	// AttachmentVeth is a pod's virtual Ethernet port.
	AttachmentVeth Attachment = "Veth"
	// AttachmentVirtio is a paravirtual NIC.
	AttachmentVirtio Attachment = "Virtio"
	// AttachmentE1000 is an emulated Intel 82540EM.
	AttachmentE1000 Attachment = "E1000"
	// AttachmentE1000e is an emulated Intel 82574L.
	AttachmentE1000e Attachment = "E1000e"
	// AttachmentRTL8139 is an emulated Realtek 8139.
	AttachmentRTL8139 Attachment = "RTL8139"
	// AttachmentSRIOV is a virtual function of an SR-IOV capable NIC.
	AttachmentSRIOV Attachment = "SRIOV"
	// AttachmentHostDevice is a whole NIC of the node.
	AttachmentHostDevice Attachment = "HostDevice"
)

// AddressResolution is how a function learns the hardware addresses of the machines next to it.
// +kubebuilder:validation:Enum=Static;Dynamic
type AddressResolution string

const (
	// AddressResolutionStatic gives the function static entries, and nothing asks.
	AddressResolutionStatic AddressResolution = "Static"
	// AddressResolutionDynamic is ARP (RFC 826) and neighbor discovery (RFC 4861).
	AddressResolutionDynamic AddressResolution = "Dynamic"
)

// NetworkFunction is one function of the chain.
// +kubebuilder:validation:XValidation:rule="!has(self.custom) || has(self.custom.container) == (self.runtime == 'Pod')",message="custom.container is for runtime Pod, and a disk for VirtualMachine; set the other runtime",fieldPath=".runtime"
// +kubebuilder:validation:XValidation:rule="!has(self.west.queues) || (self.runtime == 'VirtualMachine' && (!has(self.west.attachment) || self.west.attachment == 'Virtio'))",message="queues is only for attachment Virtio of runtime VirtualMachine; leave it out",fieldPath=".west.queues"
// +kubebuilder:validation:XValidation:rule="!has(self.east.queues) || (self.runtime == 'VirtualMachine' && (!has(self.east.attachment) || self.east.attachment == 'Virtio'))",message="queues is only for attachment Virtio of runtime VirtualMachine; leave it out",fieldPath=".east.queues"
// +kubebuilder:validation:XValidation:rule="self.runtime == 'VirtualMachine' || !has(self.platform)",message="platform is for runtime VirtualMachine; for a pod set cpu and memory",fieldPath=".platform"
// +kubebuilder:validation:XValidation:rule="self.runtime == 'Pod' || !has(self.cpu)",message="cpu is for runtime Pod; for a virtual machine set platform.vcpus",fieldPath=".cpu"
// +kubebuilder:validation:XValidation:rule="self.runtime == 'Pod' || !has(self.memory)",message="memory is for runtime Pod; for a virtual machine set platform.memory",fieldPath=".memory"
// +kubebuilder:validation:XValidation:rule="(self.function == 'Firewall') || !has(self.firewall)",message="firewall is only for function Firewall; leave it out",fieldPath=".firewall"
// +kubebuilder:validation:XValidation:rule="(self.function == 'EncryptionGateway') || !has(self.encryptionGateway)",message="encryptionGateway is only for function EncryptionGateway; leave it out",fieldPath=".encryptionGateway"
// +kubebuilder:validation:XValidation:rule="(self.function == 'Custom') == has(self.custom)",message="custom is required with function Custom, and forbidden with any other",fieldPath=".custom"
type NetworkFunction struct {
	// name of the function, unique in the chain: lowercase letters, digits and '-', at most
	// 20 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// function is Router, Firewall, EncryptionGateway, or Custom: the user's own
	// machine or container.
	// +required
	Function Function `json:"function,omitempty"`

	// runtime is Pod (the node's kernel) or VirtualMachine (KubeVirt, which the
	// cluster must have). Default Pod.
	// +optional
	// +kubebuilder:default=Pod
	Runtime Runtime `json:"runtime,omitempty"`

	// cpu that a function in a pod requests and is limited to. Absent: requests
	// 100m and has no limit. Forwarding in the kernel is not charged to a pod.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('10m')) && !quantity(string(self)).isGreaterThan(quantity('1024'))",message="cpu must be 10m to 1024: leave it out for no limit"
	CPU CPUQuantity `json:"cpu,omitempty"`

	// memory that a function in a pod requests and is limited to. Absent: 64Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('16Mi')) && !quantity(string(self)).isGreaterThan(quantity('16Ti'))",message="memory must be 16Mi to 16Ti: leave it out for 64Mi"
	Memory ByteQuantity `json:"memory,omitempty"`

	// west is the port toward the chain's beginning.
	// +optional
	// +kubebuilder:default={}
	West FunctionPort `json:"west,omitzero"`

	// east is the port toward the chain's end.
	// +optional
	// +kubebuilder:default={}
	East FunctionPort `json:"east,omitzero"`

	// addressResolution is Dynamic (ARP and neighbor discovery, on both sides) or Static
	// (planned entries). Absent: Dynamic for Custom, else Static.
	// +optional
	AddressResolution AddressResolution `json:"addressResolution,omitempty"`

	// firewall sets function Firewall. Absent: every default.
	// +optional
	Firewall *Firewall `json:"firewall,omitempty"`

	// encryptionGateway sets function EncryptionGateway. Absent: every default.
	// +optional
	EncryptionGateway *EncryptionGateway `json:"encryptionGateway,omitempty"`

	// custom sets function Custom. Its own disk starts a machine: platform.boot does not apply.
	// +optional
	Custom *CustomFunction `json:"custom,omitempty"`

	// platform is the virtual machine's shape. Absent: every default.
	// +optional
	Platform *Platform `json:"platform,omitempty"`
}

// EffectiveAddressResolution returns that of the spec, or the function's default.
func (f *NetworkFunction) EffectiveAddressResolution() AddressResolution {
	switch {
	case f.AddressResolution != "":
		return f.AddressResolution
	case f.Function == FunctionCustom:
		return AddressResolutionDynamic
	}
	return AddressResolutionStatic
}

// FunctionState is what a function reports about itself before it is measured. It has one member
// for each function that reports anything.
type FunctionState struct {
	// firewall is what the function reports about its rules. Absent: it is no firewall, or did
	// not answer.
	// +optional
	Firewall *FirewallReport `json:"firewall,omitempty"`

	// encryptionGateway is what the function reports about its tunnel. Absent: it is no
	// encryption gateway, or did not answer.
	// +optional
	EncryptionGateway *EncryptionGatewayReport `json:"encryptionGateway,omitempty"`
}

// Summary describes in a few words what the function runs. It returns "" where the function
// reports nothing.
func (s FunctionState) Summary() string {
	switch {
	case s.Firewall != nil:
		return s.Firewall.Summary()
	case s.EncryptionGateway != nil:
		return s.EncryptionGateway.Summary()
	default:
		return ""
	}
}

// FunctionPort is one port of a function.
type FunctionPort struct {
	// attachment of the port. Both ends of a link are devices (SRIOV or HostDevice), or both are on a
	// bridge. Absent: the other end's where it is a device; else the first of the testbed for the
	// runtime.
	// +optional
	Attachment Attachment `json:"attachment,omitempty"`

	// queues is the number of queue pairs of a Virtio port: 1, or as many as
	// platform.vcpus. Absent: one for each vCPU.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Queues *int32 `json:"queues,omitempty"`

	// mtuBytes is the port's largest IP packet. Absent: the testbed's.
	// +optional
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTUBytes *int32 `json:"mtuBytes,omitempty"`
}

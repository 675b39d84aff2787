package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Function is what a network function does.
// +kubebuilder:validation:Enum=Router;Firewall;EncryptionGateway;Custom
type Function string

const (
	// FunctionRouter forwards by static routes and neighbours.
	FunctionRouter Function = "Router"
	// FunctionFirewall routes and filters.
	FunctionFirewall Function = "Firewall"
	// FunctionEncryptionGateway encrypts on one port and decrypts on the other.
	FunctionEncryptionGateway Function = "EncryptionGateway"
	// FunctionCustom is the user's own virtual machine.
	FunctionCustom Function = "Custom"
)

// Runtime is what a network function runs in.
// +kubebuilder:validation:Enum=Pod;VirtualMachine
type Runtime string

const (
	// RuntimePod runs the function in the node's own kernel.
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

// NetworkFunction is one link of the chain.
// +kubebuilder:validation:XValidation:rule="self.function != 'Custom'",message="function Custom is not implemented yet; use Router, Firewall or EncryptionGateway",fieldPath=".function"
// +kubebuilder:validation:XValidation:rule="self.runtime == 'Pod'",message="runtime VirtualMachine is not implemented yet; use Pod",fieldPath=".runtime"
// +kubebuilder:validation:XValidation:rule="self.west.attachment in ['Veth', 'SRIOV', 'HostDevice']",message="attachments Virtio, E1000, E1000e and RTL8139 are for virtual machines, which are not implemented yet; use Veth, SRIOV or HostDevice",fieldPath=".west.attachment"
// +kubebuilder:validation:XValidation:rule="self.east.attachment in ['Veth', 'SRIOV', 'HostDevice']",message="attachments Virtio, E1000, E1000e and RTL8139 are for virtual machines, which are not implemented yet; use Veth, SRIOV or HostDevice",fieldPath=".east.attachment"
// +kubebuilder:validation:XValidation:rule="!has(self.platform)",message="platform is for virtual machines, which are not implemented yet; leave it out",fieldPath=".platform"
// +kubebuilder:validation:XValidation:rule="(self.function == 'Firewall') || !has(self.firewall)",message="firewall is for function Firewall alone",fieldPath=".firewall"
// +kubebuilder:validation:XValidation:rule="(self.function == 'EncryptionGateway') || !has(self.encryptionGateway)",message="encryptionGateway is for function EncryptionGateway alone",fieldPath=".encryptionGateway"
// +kubebuilder:validation:XValidation:rule="(self.function == 'Custom') == has(self.custom)",message="custom is required with function Custom, and forbidden with any other",fieldPath=".custom"
type NetworkFunction struct {
	// name of the function, unique in the chain: lower case letters, digits and '-', at most 20 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// function is Router, Firewall, EncryptionGateway or Custom. Custom is not implemented yet.
	// +required
	Function Function `json:"function,omitempty"`

	// runtime is Pod (the node's kernel) or VirtualMachine. Default Pod, the only one implemented yet.
	// +optional
	// +kubebuilder:default=Pod
	Runtime Runtime `json:"runtime,omitempty"`

	// image that runs the function. Absent: the reference functions' image that the operator was installed with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// cpu that a function in a pod requests and is limited to. Absent: requests
	// 100m and has no limit. Forwarding in the kernel is not charged to a pod.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory that a function in a pod requests and is limited to. Default 64Mi.
	// +optional
	// +kubebuilder:default="64Mi"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// west is the port towards the chain's beginning.
	// +optional
	// +kubebuilder:default={}
	West FunctionPort `json:"west,omitzero"`

	// east is the port towards the chain's end.
	// +optional
	// +kubebuilder:default={}
	East FunctionPort `json:"east,omitzero"`

	// firewall sets function Firewall. Absent: every default.
	// +optional
	Firewall *Firewall `json:"firewall,omitempty"`

	// encryptionGateway sets function EncryptionGateway. Absent: every default.
	// +optional
	EncryptionGateway *EncryptionGateway `json:"encryptionGateway,omitempty"`

	// custom sets function Custom. Not implemented yet.
	// +optional
	Custom *CustomFunction `json:"custom,omitempty"`

	// platform is the virtual machine's shape. Not implemented yet.
	// +optional
	Platform *Platform `json:"platform,omitempty"`
}

// FunctionPort is one port of a function.
// +kubebuilder:validation:XValidation:rule="!has(self.queues)",message="queues is for virtual machines, which are not implemented yet; leave it out",fieldPath=".queues"
type FunctionPort struct {
	// attachment of the port; the testbed must offer it. Both ends of a link
	// are of one way: SRIOV and HostDevice where the testbed's port is one of the
	// two, the others on its bridges. Default Veth.
	// +optional
	// +kubebuilder:default=Veth
	Attachment Attachment `json:"attachment,omitempty"`

	// queues is the number of queue pairs of a virtio or SR-IOV port. Absent: one for each vCPU.
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

// CustomFunction is the user's own virtual machine: exactly one disk.
// +kubebuilder:validation:XValidation:rule="[has(self.containerDisk), has(self.persistentVolumeClaim), has(self.dataVolume)].filter(x, x).size() == 1",message="exactly one of containerDisk, persistentVolumeClaim and dataVolume is required"
type CustomFunction struct {
	// containerDisk is an image that holds the disk.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ContainerDisk string `json:"containerDisk,omitempty"`

	// persistentVolumeClaim is the name of a claim that holds the disk.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`

	// dataVolume is the name of a DataVolume that holds the disk.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataVolume string `json:"dataVolume,omitempty"`

	// userData is cloud-init user data with placeholders for the addresses that the plan chose.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	UserData string `json:"userData,omitempty"`
}

// CPUPlacement says whether a virtual machine shares its cores.
// +kubebuilder:validation:Enum=Shared;Dedicated;DedicatedWithIsolatedEmulator
type CPUPlacement string

// HugepageSize is a size of page that the node's kernel offers.
// +kubebuilder:validation:Enum="2Mi";"1Gi"
type HugepageSize string

// NUMAPolicy says whether the guest sees the node's NUMA layout.
// +kubebuilder:validation:Enum=None;GuestMappingPassthrough
type NUMAPolicy string

// Realtime says whether vCPU threads run with real-time priority.
// +kubebuilder:validation:Enum=Disabled;Enabled
type Realtime string

// Platform is the shape of a virtual machine.
type Platform struct {
	// vcpus of the virtual machine. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	VCPUs int32 `json:"vcpus,omitempty"`

	// memory of the virtual machine. Default 512Mi.
	// +optional
	// +kubebuilder:default="512Mi"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// cpuPlacement is Shared, Dedicated, or DedicatedWithIsolatedEmulator. Default Shared.
	// +optional
	// +kubebuilder:default=Shared
	CPUPlacement CPUPlacement `json:"cpuPlacement,omitempty"`

	// numa is None or GuestMappingPassthrough. Default None.
	// +optional
	// +kubebuilder:default=None
	NUMA NUMAPolicy `json:"numa,omitempty"`

	// hugepages backs the memory with pages of this size. Absent: ordinary pages.
	// +optional
	Hugepages HugepageSize `json:"hugepages,omitempty"`

	// realtime is Disabled or Enabled. Default Disabled.
	// +optional
	// +kubebuilder:default=Disabled
	Realtime Realtime `json:"realtime,omitempty"`
}

package v1alpha1

// FunctionReport describes a function of the chain as it ran.
type FunctionReport struct {
	// name of the function in the chain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name,omitempty"`

	// runtime is Pod or VirtualMachine.
	// +required
	Runtime Runtime `json:"runtime,omitempty"`

	// attachments of the west and the east port, as planned.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	Attachments []Attachment `json:"attachments,omitempty"`

	// node that the function runs on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// imageID of the function, as the node's container runtime reports it; with a virtual
	// machine, of the image that it booted from.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ImageID string `json:"imageID,omitempty"`

	// virtualMachine is what KubeVirt reports; absent for a pod.
	// +optional
	VirtualMachine *VirtualMachineReport `json:"virtualMachine,omitempty"`

	// What the function reports about itself, in the member of its kind.
	FunctionState `json:",inline"`
}

// VirtualMachineReport is what KubeVirt reports about a virtual machine: the status of its
// VirtualMachineInstance, and its spec after admission.
type VirtualMachineReport struct {
	// machineType that QEMU resolved, such as pc-q35-9.2.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MachineType string `json:"machineType,omitempty"`

	// cpuModel that was requested from KubeVirt; host-model where none was set.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CPUModel string `json:"cpuModel,omitempty"`

	// vcpus that the guest has. Absent: not reported.
	// +optional
	// +kubebuilder:validation:Minimum=1
	VCPUs int32 `json:"vcpus,omitempty"`

	// memoryBytes that the guest has. Absent: not reported.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MemoryBytes int64 `json:"memoryBytes,omitempty"`

	// launcherImage is the image of KubeVirt in which QEMU runs.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	LauncherImage string `json:"launcherImage,omitempty"`

	// ports are the function's ports, west first.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Ports []VirtualPortReport `json:"ports,omitempty"`
}

// VirtualPortReport is one NIC of a virtual machine.
type VirtualPortReport struct {
	// name of the port: west or east.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Name string `json:"name,omitempty"`

	// model that was requested from KubeVirt, such as virtio or e1000; sriov and hostdev are
	// devices of the node.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Model string `json:"model,omitempty"`

	// mac is the hardware address that KubeVirt reports.
	// +optional
	// +kubebuilder:validation:MaxLength=17
	MAC string `json:"mac,omitempty"`

	// queues is the number of queue pairs. Absent: not reported.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Queues int32 `json:"queues,omitempty"`
}

package v1alpha1

// FunctionReport is what a function of the chain turned out to be.
type FunctionReport struct {
	// name of the function in the chain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name,omitempty"`

	// runtime is Pod or VirtualMachine.
	// +required
	Runtime Runtime `json:"runtime,omitempty"`

	// node that the function runs on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// imageID of the function, as the node's container runtime tells it; with a
	// virtual machine, of the image that it booted from.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ImageID string `json:"imageID,omitempty"`

	// virtualMachine is what KubeVirt reports; absent for a pod.
	// +optional
	VirtualMachine *VirtualMachineReport `json:"virtualMachine,omitempty"`

	// firewall is what the function said of its rules before it was measured.
	// Absent: it is none, or did not answer.
	// +optional
	Firewall *FirewallReport `json:"firewall,omitempty"`

	// encryptionGateway is what the function said of its tunnel before it was
	// measured. Absent: it is none, or did not answer.
	// +optional
	EncryptionGateway *EncryptionGatewayReport `json:"encryptionGateway,omitempty"`
}

// FirewallReport is what holds a firewall's rules.
type FirewallReport struct {
	// implementation is the part of the kernel that holds the rules: nf_tables,
	// x_tables, or none with mode None. Absent: not told.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Implementation string `json:"implementation,omitempty"`

	// rules that the kernel holds for each IP version, the one that the traffic
	// matches among them, counted in the kernel after they were loaded.
	// +required
	// +kubebuilder:validation:Minimum=0
	Rules int32 `json:"rules"`

	// loadMilliseconds is how long it took to load them.
	// +required
	// +kubebuilder:validation:Minimum=0
	LoadMilliseconds int64 `json:"loadMilliseconds"`
}

// EncryptionGatewayReport is what encrypts.
type EncryptionGatewayReport struct {
	// protocol is WireGuard or IPsec. Absent: not told.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Protocol string `json:"protocol,omitempty"`

	// implementation is Kernel or Userspace. Absent: not told.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Implementation string `json:"implementation,omitempty"`

	// threads that may encrypt at a time in user space. Absent where the kernel does.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Threads int32 `json:"threads,omitempty"`

	// tunnelMTUBytes is the largest IP packet that goes into the tunnel.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TunnelMTUBytes int32 `json:"tunnelMTUBytes,omitempty"`
}

// VirtualMachineReport is what KubeVirt reports about a virtual machine: its
// VirtualMachineInstance's status, and what its spec became at admission.
type VirtualMachineReport struct {
	// machineType that QEMU resolved, such as pc-q35-9.2.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MachineType string `json:"machineType,omitempty"`

	// cpuModel that KubeVirt was asked for: host-model where nothing else is set.
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

	// launcherImage is KubeVirt's own image in which QEMU runs.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	LauncherImage string `json:"launcherImage,omitempty"`

	// ports are the function's ports, west first.
	// +optional
	// +listType=atomic
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

	// model that KubeVirt was asked for, such as virtio or e1000; sriov and
	// hostdev are devices of the node.
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

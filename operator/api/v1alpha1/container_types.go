package v1alpha1

// ContainerCapability is one of Linux.
// +kubebuilder:validation:Enum=IPC_LOCK;NET_ADMIN;NET_RAW
type ContainerCapability string

const (
	// CapabilityIPCLock locks memory, for devices that read it.
	CapabilityIPCLock ContainerCapability = "IPC_LOCK"
	// CapabilityNetAdmin changes links, addresses and routes of the pod.
	CapabilityNetAdmin ContainerCapability = "NET_ADMIN"
	// CapabilityNetRaw opens packet sockets.
	CapabilityNetRaw ContainerCapability = "NET_RAW"
)

// Forwarding is what forwards between the ports of the user's own container.
// +kubebuilder:validation:Enum=UserSpace;Kernel
type Forwarding string

const (
	// ForwardingUserSpace leaves it to a program that reads the ports itself.
	ForwardingUserSpace Forwarding = "UserSpace"
	// ForwardingKernel leaves it to the node's kernel.
	ForwardingKernel Forwarding = "Kernel"
)

// CustomContainer is the user's own program in a pod.
type CustomContainer struct {
	// image of the container.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^\S+$`
	Image string `json:"image,omitempty"`

	// command replaces the image's entry point. Absent: the image's.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	Command []string `json:"command,omitempty"`

	// args of the command, with variables such as $(VNFBENCH_WEST_MAC). Absent: the image's.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	Args []string `json:"args,omitempty"`

	// env are variables besides those of the ports. Every reader of the run can read them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []ContainerVariable `json:"env,omitempty"`

	// capabilities of the container, which then runs as user 0. Absent: none, and the image's user.
	// +optional
	// +kubebuilder:validation:MaxItems=3
	Capabilities []ContainerCapability `json:"capabilities,omitempty"`

	// forwarding is UserSpace (the program reads the ports) or Kernel
	// (it forwards; the program sets addresses and routes with NET_ADMIN). Absent: UserSpace.
	// +optional
	Forwarding Forwarding `json:"forwarding,omitempty"`

	// hugepages at /dev/hugepages. Absent: none.
	// +optional
	Hugepages *ContainerHugepages `json:"hugepages,omitempty"`
}

// ContainerVariable is an environment variable.
type ContainerVariable struct {
	// name of it.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('VNFBENCH_')",message="names that begin with VNFBENCH_ are those of the ports; choose another"
	Name string `json:"name,omitempty"`

	// value of it. Absent: empty.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}

// ContainerHugepages are large pages of memory that the node has reserved.
type ContainerHugepages struct {
	// pageSize is 2Mi or 1Gi.
	// +required
	PageSize HugepageSize `json:"pageSize,omitempty"`

	// pages is their number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	Pages int32 `json:"pages,omitempty"`
}

// Bytes returns what all pages hold.
func (h *ContainerHugepages) Bytes() int64 { return ByteQuantity(h.PageSize).Bytes() * int64(h.Pages) }

package v1alpha1

// Fingerprint is what figures of a node depend on. An absent field could not be read, or the node
// has no such thing.
type Fingerprint struct {
	// digest of everything else: nodes with equal digests are the same platform.
	// +required
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest,omitempty"`

	// cpuModel of the first processor.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	CPUModel string `json:"cpuModel,omitempty"`

	// microcode of the first processor.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Microcode string `json:"microcode,omitempty"`

	// cpus that are online, as the kernel's scheduler counts them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CPUs int32 `json:"cpus,omitempty"`

	// cores is how many physical cores they are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cores int32 `json:"cores,omitempty"`

	// sockets is how many packages they are in.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sockets int32 `json:"sockets,omitempty"`

	// smt is the kernel's word for simultaneous multithreading: on, off,
	// forceoff, notsupported or notimplemented.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	SMT string `json:"smt,omitempty"`

	// numaNodes that the kernel knows.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANodes int32 `json:"numaNodes,omitempty"`

	// kernel is release and version of the running kernel.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Kernel string `json:"kernel,omitempty"`

	// kernelParameters are those of the kernel's command line that affect timing, and no
	// others.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=200
	KernelParameters []string `json:"kernelParameters,omitempty"`

	// scalingDriver sets the CPUs' frequencies.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	ScalingDriver string `json:"scalingDriver,omitempty"`

	// scalingGovernors of all CPUs, each once.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=200
	ScalingGovernors []string `json:"scalingGovernors,omitempty"`

	// turbo is Enabled or Disabled.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Turbo string `json:"turbo,omitempty"`

	// isolatedCPUs is the kernel's list (isolcpus), such as "2-7".
	// +optional
	// +kubebuilder:validation:MaxLength=200
	IsolatedCPUs string `json:"isolatedCPUs,omitempty"`

	// ticklessCPUs is the kernel's list (nohz_full).
	// +optional
	// +kubebuilder:validation:MaxLength=200
	TicklessCPUs string `json:"ticklessCPUs,omitempty"`

	// vulnerabilities are those that affect the CPU, ordered by name, with what the
	// kernel does about each.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Vulnerabilities []Vulnerability `json:"vulnerabilities,omitempty"`

	// hugepagePools are what the node has set aside, the smallest pages first.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	HugepagePools []HugepagePool `json:"hugepagePools,omitempty"`

	// transparentHugepages is always, madvise or never.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	TransparentHugepages string `json:"transparentHugepages,omitempty"`

	// clockSource of the kernel.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	ClockSource string `json:"clockSource,omitempty"`

	// hypervisor is Present where the node is a virtual machine. Absent: it is none, or does
	// not show it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Hypervisor string `json:"hypervisor,omitempty"`

	// product is the machine's maker and name by its firmware.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Product string `json:"product,omitempty"`
}

// Vulnerability is one that affects the CPU, and what the kernel does about it.
type Vulnerability struct {
	// name in the kernel, such as meltdown.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name,omitempty"`

	// state as the kernel gives it, such as "Mitigation: PTI" or "Vulnerable".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	State string `json:"state,omitempty"`
}

// HugepagePool is how many hugepages of one size a node has set aside.
type HugepagePool struct {
	// sizeKibibytes of each page.
	// +required
	// +kubebuilder:validation:Minimum=1
	SizeKibibytes int64 `json:"sizeKibibytes,omitempty"`

	// pages is how many there are.
	// +required
	// +kubebuilder:validation:Minimum=1
	Pages int64 `json:"pages,omitempty"`
}

// NetworkInterface is a network interface of a node, as its kernel reports it.
type NetworkInterface struct {
	// name of the interface.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name,omitempty"`

	// driver, such as ice or veth.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Driver string `json:"driver,omitempty"`

	// firmwareVersion of the NIC, as the driver gives it.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	FirmwareVersion string `json:"firmwareVersion,omitempty"`

	// busAddress is the NIC's address on its bus, for PCI such as 0000:3b:00.0.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	BusAddress string `json:"busAddress,omitempty"`

	// speedMegabitsPerSecond that the link has negotiated, or that the driver of a virtual
	// port claims.
	// +optional
	// +kubebuilder:validation:Minimum=1
	SpeedMegabitsPerSecond int64 `json:"speedMegabitsPerSecond,omitempty"`

	// queues is how many the driver uses in each direction.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Queues int32 `json:"queues,omitempty"`

	// rpsCPUMask in hexadecimal of CPUs that get its packets (RPS).
	// +optional
	// +kubebuilder:validation:MaxLength=200
	RPSCPUMask string `json:"rpsCPUMask,omitempty"`

	// pci is where its device is on the PCI bus. Absent: it has no such device.
	// +optional
	PCI *PCIDevice `json:"pci,omitempty"`
}

// PCIDevice is a PCI device as the node's kernel shows it to the pod. An absent field is not
// shown, or the device has no such thing.
type PCIDevice struct {
	// function is Physical or Virtual with a device that has SR-IOV.
	// +optional
	Function PCIFunction `json:"function,omitempty"`

	// physicalFunction is the address of the NIC that a virtual function is of.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	PhysicalFunction string `json:"physicalFunction,omitempty"`

	// numaNode that the device is at.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANode *int32 `json:"numaNode,omitempty"`

	// iommuGroup is the number of its group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	IOMMUGroup *int32 `json:"iommuGroup,omitempty"`

	// linkMegatransfersPerSecond is the speed of its PCIe link, of a virtual function that of
	// its NIC's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	LinkMegatransfersPerSecond int32 `json:"linkMegatransfersPerSecond,omitempty"`

	// linkLanes is the width of that link.
	// +optional
	// +kubebuilder:validation:Minimum=1
	LinkLanes int32 `json:"linkLanes,omitempty"`
}

// PCIFunction says whether a PCI device is a physical function or a virtual one.
// +kubebuilder:validation:Enum=Physical;Virtual
type PCIFunction string

const (
	// PCIFunctionPhysical means that the device can have virtual functions.
	PCIFunctionPhysical PCIFunction = "Physical"
	// PCIFunctionVirtual means that the device is one.
	PCIFunctionVirtual PCIFunction = "Virtual"
)

package v1alpha1

// Fingerprint is what figures of a node depend on. A field that is absent could
// not be read, or the node has no such thing.
type Fingerprint struct {
	// digest over everything else but ports: nodes with equal digests are the
	// same platform.
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

	// kernelParameters are those of the kernel's command line that bear on
	// timing; the others are not read.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=200
	KernelParameters []string `json:"kernelParameters,omitempty"`

	// scalingDriver sets the CPUs' frequencies.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	ScalingDriver string `json:"scalingDriver,omitempty"`

	// scalingGovernors of all CPUs, each once.
	// +optional
	// +listType=atomic
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

	// mitigations are the kernel's words on each vulnerability that affects the
	// CPU, such as "meltdown: Mitigation: PTI".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=402
	Mitigations []string `json:"mitigations,omitempty"`

	// hugepages are how many are set aside, by their size in kibibytes, such as "2048: 512".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	Hugepages []string `json:"hugepages,omitempty"`

	// transparentHugepages is always, madvise or never.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	TransparentHugepages string `json:"transparentHugepages,omitempty"`

	// clockSource of the kernel.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	ClockSource string `json:"clockSource,omitempty"`

	// hypervisor is Present where the node is a virtual machine. Absent: it is
	// none, or hides it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Hypervisor string `json:"hypervisor,omitempty"`

	// product is the machine's maker and name by its firmware.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Product string `json:"product,omitempty"`

	// ports are the measured ones of the generator, such as "west: ice, firmware 4.40".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=512
	Ports []string `json:"ports,omitempty"`
}

// DeviceReport is what the chain ran on, as its node showed it.
type DeviceReport struct {
	// fingerprint of the node. Absent where it was not observed.
	// +optional
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`

	// domains are the chain's virtual machines as they really ran.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Domains []DomainReport `json:"domains,omitempty"`

	// problems say what is absent and why.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Problems []string `json:"problems,omitempty"`
}

// DomainReport is a virtual machine as its QEMU was started, and where its
// threads may run: what was in force, and not what was asked for.
type DomainReport struct {
	// function of the chain that it is.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Function string `json:"function,omitempty"`

	// accelerator is kvm, or tcg where the guest's processor is emulated.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Accelerator string `json:"accelerator,omitempty"`

	// machineType, such as pc-q35-9.2.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	MachineType string `json:"machineType,omitempty"`

	// cpuModel that the guest sees.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	CPUModel string `json:"cpuModel,omitempty"`

	// vcpus of the guest.
	// +optional
	// +kubebuilder:validation:Minimum=0
	VCPUs int32 `json:"vcpus,omitempty"`

	// memoryBacking is Hugepages, Shared, File or Anonymous.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MemoryBacking string `json:"memoryBacking,omitempty"`

	// hugepageKibibytes that the process holds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	HugepageKibibytes *int64 `json:"hugepageKibibytes,omitempty"`

	// nics, such as "virtio-net-pci 02:00:00:00:00:01, tap with vhost, 2 queues".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	NICs []string `json:"nics,omitempty"`

	// threads by what they do, such as "2 VCPU on CPUs 2, 3, scheduled FIFO 1".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Threads []string `json:"threads,omitempty"`

	// problems say what is absent and why.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Problems []string `json:"problems,omitempty"`
}

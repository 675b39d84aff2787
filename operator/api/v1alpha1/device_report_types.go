package v1alpha1

// DeviceReport is what the chain ran on, as its node reported it.
type DeviceReport struct {
	// fingerprint of the node. Absent where it was not observed.
	// +optional
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`

	// domains are the chain's virtual machines as they really ran.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Domains []DomainReport `json:"domains,omitempty"`

	// cycleCounter says whether the node's cycles are counted, or why not; problems have the
	// details. Absent: the Testbed does not ask for it.
	// +optional
	CycleCounter CycleCounter `json:"cycleCounter,omitempty"`

	// problems say what is absent and why.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Problems []string `json:"problems,omitempty"`
}

// CycleCounter says whether cycles are counted, or why not.
// +kubebuilder:validation:Enum=Counted;NoCounter;NotPermitted;Failed
type CycleCounter string

const (
	// CycleCounterCounted means that the processors' own counters are read.
	CycleCounterCounted CycleCounter = "Counted"
	// CycleCounterNoCounter means that the processors have none, or that a hypervisor hides it.
	CycleCounterNoCounter CycleCounter = "NoCounter"
	// CycleCounterNotPermitted means that the node does not let the observer count.
	CycleCounterNotPermitted CycleCounter = "NotPermitted"
	// CycleCounterFailed means another error.
	CycleCounterFailed CycleCounter = "Failed"
)

// DomainReport is a virtual machine as QEMU really ran it, and where its threads may run. It may
// differ from what was requested.
type DomainReport struct {
	// function is the name of the function of the chain.
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

	// interfaces of the machine, in its order.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Interfaces []DomainInterface `json:"interfaces,omitempty"`

	// threadGroups are its threads by their work.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	ThreadGroups []ThreadGroup `json:"threadGroups,omitempty"`

	// problems say what is absent and why.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Problems []string `json:"problems,omitempty"`
}

// DomainInterface is one of a virtual machine's network devices.
type DomainInterface struct {
	// model is QEMU's device, such as virtio-net-pci, e1000 or vfio-pci.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Model string `json:"model,omitempty"`

	// macAddress that the guest sees. Absent for a device that is passed through.
	// +optional
	// +kubebuilder:validation:MaxLength=17
	MACAddress string `json:"macAddress,omitempty"`

	// backend is QEMU's, such as tap. Absent for a device that is passed through.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Backend string `json:"backend,omitempty"`

	// vhost is Enabled where the host's kernel, or another process, moves the
	// frames, and Disabled where QEMU does. Absent for a device that is passed through.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Vhost string `json:"vhost,omitempty"`

	// queues is how many pairs of queues it has. Absent for a device that is passed through.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Queues int32 `json:"queues,omitempty"`

	// hostAddress is the PCI address on the node of a device that is passed
	// through, such as 0000:3b:02.1.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	HostAddress string `json:"hostAddress,omitempty"`
}

// ThreadGroup is a virtual machine's threads that do the same work.
type ThreadGroup struct {
	// class is the work of the threads.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Class string `json:"class,omitempty"`

	// count is how many there are.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`

	// cpus are the sets of CPUs on which they may run, each once, such as "2-3".
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=200
	CPUs []string `json:"cpus,omitempty"`

	// scheduling is how the kernel schedules them, each way once.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Scheduling []ThreadScheduling `json:"scheduling,omitempty"`
}

// ThreadScheduling is a scheduling policy of the kernel.
type ThreadScheduling struct {
	// policy by its name in sched(7): Other, FIFO, RoundRobin, Batch, Idle or
	// Deadline; or its number, where it has none there.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Policy string `json:"policy,omitempty"`

	// priority of FIFO and RoundRobin. Absent for the other policies.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	Priority int32 `json:"priority,omitempty"`
}

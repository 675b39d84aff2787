package v1alpha1

// CPUFigure says which kind of figure a CPU use stands beside.
// +kubebuilder:validation:MaxLength=64
type CPUFigure string

// What a CPU use stands beside.
const (
	CPUAtThroughput  CPUFigure = "Throughput"
	CPUAtLatency     CPUFigure = "Latency"
	CPUAtFixedLoad   CPUFigure = "FixedLoad"
	CPUAtReceiveRate CPUFigure = "ReceiveRate"
	CPUAtSoak        CPUFigure = "Soak"
	CPUAtTCP         CPUFigure = "TCP"
	CPUAtConnections CPUFigure = "Connections"
)

// CPUResult is what the device's node and the functions used at one reported
// figure, in thousandths of a core: processor time over the time between a look
// right before the trial and one right behind its last frame. Of several trials
// it is that of all of them together.
type CPUResult struct {
	// figure is Throughput, Latency, FixedLoad, ReceiveRate, Soak, TCP or Connections.
	// +required
	Figure CPUFigure `json:"figure,omitempty"`

	// name of the goal, load or profile. Absent with ReceiveRate, Soak and TCP.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name,omitempty"`

	// trials whose counters are known. Of a throughput, those at its lower bound.
	// +required
	// +kubebuilder:validation:Minimum=1
	Trials int32 `json:"trials,omitempty"`

	// node is the whole node of the chain, whoever used it. Absent where it was
	// not observed.
	// +optional
	Node *NodeCPU `json:"node,omitempty"`

	// functions in the chain's order. Absent where they did not answer, where
	// the stored trials had no room for them, and behind the first 256 of a run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Functions []FunctionCPU `json:"functions,omitempty"`
}

// NodeCPU is the use of a node by kind.
type NodeCPU struct {
	// cpus that are online.
	// +required
	CPUs int32 `json:"cpus,omitempty"`
	// userMilliCPU is that of programs, niced ones included, and without guests.
	// +required
	UserMilliCPU int64 `json:"userMilliCPU"`
	// systemMilliCPU is the kernel's work for programs.
	// +required
	SystemMilliCPU int64 `json:"systemMilliCPU"`
	// irqMilliCPU is interrupts.
	// +required
	IRQMilliCPU int64 `json:"irqMilliCPU"`
	// softirqMilliCPU is what interrupts put off: a kernel that forwards frames does it here.
	// +required
	SoftirqMilliCPU int64 `json:"softirqMilliCPU"`
	// guestMilliCPU is time inside of virtual machines.
	// +required
	GuestMilliCPU int64 `json:"guestMilliCPU"`
	// stealMilliCPU is what the hypervisor below gave to somebody else.
	// +required
	StealMilliCPU int64 `json:"stealMilliCPU"`
	// softirqThreadsMilliCPU is the part of all this in the kernel's ksoftirqd
	// threads: softirq work that was put off once more. Absent: not known.
	// +optional
	SoftirqThreadsMilliCPU *int64 `json:"softirqThreadsMilliCPU,omitempty"`
}

// FunctionCPU is the use of one function.
type FunctionCPU struct {
	// name of the function.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name,omitempty"`

	// processMilliCPU is that of a pod's own container. A pod's frames are
	// forwarded by the node's kernel and stand in node.softirqMilliCPU. Absent for a
	// virtual machine.
	// +optional
	ProcessMilliCPU *int64 `json:"processMilliCPU,omitempty"`

	// guest is what a virtual machine's own kernel counted. Absent for a pod.
	// +optional
	Guest *GuestCPU `json:"guest,omitempty"`

	// domain is what a virtual machine's threads used on the node. Absent for a
	// pod, and where the node did not show it.
	// +optional
	Domain *DomainCPU `json:"domain,omitempty"`

	// droppedFrames are those that the function's own ports counted as dropped or
	// broken in these trials. Absent: not known.
	// +optional
	DroppedFrames *int64 `json:"droppedFrames,omitempty"`

	// sentFrames that the generator sent in the trials whose counters are known, both
	// directions, each fragment for itself. Absent with TCP, whose frames are
	// not counted, and without counters.
	// +optional
	SentFrames *int64 `json:"sentFrames,omitempty"`

	// counters of the function's own work in these trials, by name. The page of
	// each function in the documentation says what they count. Absent: it has none,
	// or they are not known.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=12
	Counters []FunctionCounter `json:"counters,omitempty"`
}

// FunctionCounter is one counter of a function.
type FunctionCounter struct {
	// name of the counter, with its unit, such as matchedPackets or encryptedBytes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name,omitempty"`
	// value that the counter rose by.
	// +required
	// +kubebuilder:validation:Minimum=0
	Value int64 `json:"value"`
}

// Counter returns a counter's value, and whether it is known.
func (f FunctionCPU) Counter(name string) (value int64, known bool) {
	for _, counter := range f.Counters {
		if counter.Name == name {
			return counter.Value, true
		}
	}
	return 0, false
}

// GuestCPU is the use inside of a virtual machine by kind.
type GuestCPU struct {
	// userMilliCPU is that of programs.
	// +required
	UserMilliCPU int64 `json:"userMilliCPU"`
	// systemMilliCPU is the guest kernel's work for programs.
	// +required
	SystemMilliCPU int64 `json:"systemMilliCPU"`
	// irqMilliCPU is interrupts.
	// +required
	IRQMilliCPU int64 `json:"irqMilliCPU"`
	// softirqMilliCPU is what interrupts put off: forwarding, above all.
	// +required
	SoftirqMilliCPU int64 `json:"softirqMilliCPU"`
	// stealMilliCPU is time in which a processor of the guest was ready and did not run.
	// +required
	StealMilliCPU int64 `json:"stealMilliCPU"`
}

// DomainCPU is the use of a virtual machine's threads on the node. A class
// is absent where the node shows no such thread.
type DomainCPU struct {
	// vcpuMilliCPU is that of the threads that run the guest's processors.
	// +optional
	VCPUMilliCPU *int64 `json:"vcpuMilliCPU,omitempty"`
	// guestMilliCPU is the part of it inside of the guest.
	// +optional
	GuestMilliCPU *int64 `json:"guestMilliCPU,omitempty"`
	// emulatorMilliCPU is that of QEMU's main thread and helpers.
	// +optional
	EmulatorMilliCPU *int64 `json:"emulatorMilliCPU,omitempty"`
	// ioThreadMilliCPU is that of QEMU's threads for disks.
	// +optional
	IOThreadMilliCPU *int64 `json:"ioThreadMilliCPU,omitempty"`
	// vhostMilliCPU is that of the kernel's threads that move the guest's frames.
	// +optional
	VhostMilliCPU *int64 `json:"vhostMilliCPU,omitempty"`
	// otherMilliCPU is that of threads of no known name.
	// +optional
	OtherMilliCPU *int64 `json:"otherMilliCPU,omitempty"`
}

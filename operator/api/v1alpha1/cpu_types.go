package v1alpha1

// CPUResult is what the chain's node and the functions used at one figure, in thousandths of a
// core, from right before each trial to right after its last frame; for TCP and connections in whole
// trials. At a load its metric is LatencyMeanNanoseconds.
type CPUResult struct {
	FigureKey `json:",inline"`

	// trials whose counters are known. For a throughput, those at its lower bound.
	// +required
	// +kubebuilder:validation:Minimum=1
	Trials int32 `json:"trials,omitempty"`

	// sentFrames of the generator in these trials, in both directions, with each fragment counted;
	// perFrame is for each of them. Absent with TCP.
	// +optional
	SentFrames *int64 `json:"sentFrames,omitempty"`

	// sendingPartsPerMillion of the time between the two looks is the sending time, the least of node and
	// functions: a use while frames were sent is at most the use ÷ this share. Absent: not known.
	// +optional
	SendingPartsPerMillion *int64 `json:"sendingPartsPerMillion,omitempty"`

	// node is the chain's whole node, all processes included. Absent where it was not
	// observed.
	// +optional
	Node *NodeCPU `json:"node,omitempty"`

	// functions in the chain's order. Absent where they did not answer, where the stored
	// trials had no room for them, and after the first 256 of a run.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Functions []FunctionCPU `json:"functions,omitempty"`
}

// NodeCPU is the use of a node by kind.
type NodeCPU struct {
	// cpus that are online.
	// +required
	CPUs int32 `json:"cpus,omitempty"`
	// userMilliCPU is that of programs, with niced ones and without guests.
	// +required
	UserMilliCPU int64 `json:"userMilliCPU"`
	// systemMilliCPU is the kernel's work for programs.
	// +required
	SystemMilliCPU int64 `json:"systemMilliCPU"`
	// irqMilliCPU is interrupts.
	// +required
	IRQMilliCPU int64 `json:"irqMilliCPU"`
	// softirqMilliCPU is deferred interrupt work: a kernel that forwards frames does it here.
	// +required
	SoftirqMilliCPU int64 `json:"softirqMilliCPU"`
	// guestMilliCPU is time inside virtual machines.
	// +required
	GuestMilliCPU int64 `json:"guestMilliCPU"`
	// stealMilliCPU is what the hypervisor below gave to others.
	// +required
	StealMilliCPU int64 `json:"stealMilliCPU"`
	// softirqThreadsMilliCPU is the part of all this in the kernel's ksoftirqd threads:
	// softirq work that was deferred again. Absent: not known.
	// +optional
	SoftirqThreadsMilliCPU *int64 `json:"softirqThreadsMilliCPU,omitempty"`
	// perFrame is the processor time for each sent frame. Absent with TCP.
	// +optional
	PerFrame *NodeFrameCost `json:"perFrame,omitempty"`
}

// NodeFrameCost is the processor time of a node for each frame, of the kinds of NodeCPU. It has
// what the node did besides in it.
type NodeFrameCost struct {
	// userNanoseconds: see userMilliCPU.
	// +required
	UserNanoseconds int64 `json:"userNanoseconds"`
	// systemNanoseconds: see systemMilliCPU.
	// +required
	SystemNanoseconds int64 `json:"systemNanoseconds"`
	// irqNanoseconds: see irqMilliCPU.
	// +required
	IRQNanoseconds int64 `json:"irqNanoseconds"`
	// softirqNanoseconds: see softirqMilliCPU.
	// +required
	SoftirqNanoseconds int64 `json:"softirqNanoseconds"`
	// guestNanoseconds: see guestMilliCPU.
	// +required
	GuestNanoseconds int64 `json:"guestNanoseconds"`
	// stealNanoseconds: see stealMilliCPU.
	// +required
	StealNanoseconds int64 `json:"stealNanoseconds"`
	// softirqThreadsNanoseconds: see softirqThreadsMilliCPU. Absent: not known.
	// +optional
	SoftirqThreadsNanoseconds *int64 `json:"softirqThreadsNanoseconds,omitempty"`
	// cycles of all processors together, by their own counters: see device.cycleCounter.
	// +optional
	Cycles *int64 `json:"cycles,omitempty"`
}

// FunctionCPU is the use of one function.
type FunctionCPU struct {
	// name of the function.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name,omitempty"`

	// processMilliCPU is that of a pod's own container. The node's kernel forwards a pod's
	// frames: see node.softirqMilliCPU. Absent for a virtual machine.
	// +optional
	ProcessMilliCPU *int64 `json:"processMilliCPU,omitempty"`

	// processNanosecondsPerFrame is the processor time of processMilliCPU for each frame that was
	// sent. Absent for a virtual machine, and with TCP.
	// +optional
	ProcessNanosecondsPerFrame *int64 `json:"processNanosecondsPerFrame,omitempty"`

	// guest is what a virtual machine's own kernel counted. Absent for a pod.
	// +optional
	Guest *GuestCPU `json:"guest,omitempty"`

	// domain is what a virtual machine's threads used on the node. Absent for a pod, and
	// where the node did not show it.
	// +optional
	Domain *DomainCPU `json:"domain,omitempty"`

	// droppedFrames are those that the function's own ports counted as dropped or
	// broken in these trials. Absent: not known.
	// +optional
	DroppedFrames *int64 `json:"droppedFrames,omitempty"`

	// sentFrames of the generator in the trials whose counters are known, with each fragment counted.
	// Absent with TCP, and without counters.
	// +optional
	SentFrames *int64 `json:"sentFrames,omitempty"`

	// counters of the function's own work in these trials, by name: see each function's page. Absent:
	// it has none, or they are not known.
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
	// value is the increase of the counter.
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

// GuestCPU is the use inside a virtual machine by kind.
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
	// softirqMilliCPU is deferred interrupt work: mostly forwarding.
	// +required
	SoftirqMilliCPU int64 `json:"softirqMilliCPU"`
	// stealMilliCPU is time in which a guest's processor was ready and did not run.
	// +required
	StealMilliCPU int64 `json:"stealMilliCPU"`
	// perFrame is the processor time for each sent frame. Absent with TCP.
	// +optional
	PerFrame *GuestFrameCost `json:"perFrame,omitempty"`
}

// GuestFrameCost is the processor time inside a virtual machine for each frame, of the kinds of
// GuestCPU.
type GuestFrameCost struct {
	// userNanoseconds: see userMilliCPU.
	// +required
	UserNanoseconds int64 `json:"userNanoseconds"`
	// systemNanoseconds: see systemMilliCPU.
	// +required
	SystemNanoseconds int64 `json:"systemNanoseconds"`
	// irqNanoseconds: see irqMilliCPU.
	// +required
	IRQNanoseconds int64 `json:"irqNanoseconds"`
	// softirqNanoseconds: see softirqMilliCPU.
	// +required
	SoftirqNanoseconds int64 `json:"softirqNanoseconds"`
	// stealNanoseconds: see stealMilliCPU.
	// +required
	StealNanoseconds int64 `json:"stealNanoseconds"`
}

// DomainCPU is the use of a virtual machine's threads on the node. A class
// is absent where the node shows no such thread.
type DomainCPU struct {
	// vcpuMilliCPU is that of the threads that run the guest's processors.
	// +optional
	VCPUMilliCPU *int64 `json:"vcpuMilliCPU,omitempty"`
	// guestMilliCPU is the part of it inside the guest.
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
	// perFrame is the processor time for each sent frame. Absent with TCP.
	// +optional
	PerFrame *DomainFrameCost `json:"perFrame,omitempty"`
}

// DomainFrameCost is the processor time of a virtual machine's threads for each frame, of the
// classes of DomainCPU.
type DomainFrameCost struct {
	// vcpuNanoseconds: see vcpuMilliCPU.
	// +optional
	VCPUNanoseconds *int64 `json:"vcpuNanoseconds,omitempty"`
	// guestNanoseconds: see guestMilliCPU.
	// +optional
	GuestNanoseconds *int64 `json:"guestNanoseconds,omitempty"`
	// emulatorNanoseconds: see emulatorMilliCPU.
	// +optional
	EmulatorNanoseconds *int64 `json:"emulatorNanoseconds,omitempty"`
	// ioThreadNanoseconds: see ioThreadMilliCPU.
	// +optional
	IOThreadNanoseconds *int64 `json:"ioThreadNanoseconds,omitempty"`
	// vhostNanoseconds: see vhostMilliCPU.
	// +optional
	VhostNanoseconds *int64 `json:"vhostNanoseconds,omitempty"`
	// otherNanoseconds: see otherMilliCPU.
	// +optional
	OtherNanoseconds *int64 `json:"otherNanoseconds,omitempty"`
}

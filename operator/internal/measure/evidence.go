package measure

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/vnf"
)

// Evidence is what the device's node and the chain's functions counted between the start of
// a trial and the end of its sending. It accompanies the figures: no figure is computed
// from it, and a trial without it is as valid.
type Evidence struct {
	// ElapsedMilliseconds is the time between the two reads of the node.
	ElapsedMilliseconds int64 `json:"elapsedMilliseconds,omitempty"`
	// CPUs is how many the device's node has.
	CPUs int `json:"cpus,omitempty"`
	// Node is the processor time of the device's node; nil if unknown.
	Node *CPUTime `json:"node,omitempty"`
	// SoftirqThreadsMilliseconds is the part of Node in ksoftirqd threads; nil if unknown.
	SoftirqThreadsMilliseconds *int64 `json:"softirqThreadsMilliseconds,omitempty"`
	// Cycles of all CPUs of the node, as their own counters counted them; nil if unknown.
	Cycles *int64 `json:"cycles,omitempty"`
	// Functions are in the chain's order; those that did not answer are missing.
	Functions []FunctionEvidence `json:"functions,omitempty"`
	// Neighbors are those that loaded the node during the trial; those that did not answer are
	// missing.
	Neighbors []NeighborEvidence `json:"neighbors,omitempty"`
	// Notes say what is missing and why, one sentence each.
	Notes []string `json:"notes,omitempty"`
	// Shortened is true if parts were left out because the results have no room for them.
	Shortened bool `json:"shortened,omitempty"`
}

// CPUTime is processor time by kind, in milliseconds, as /proc/stat counts it:
// in hundredths of a second.
type CPUTime struct {
	UserMilliseconds int64 `json:"user,omitempty"`
	NiceMilliseconds int64 `json:"nice,omitempty"`
	// SystemMilliseconds is the kernel's work for processes.
	SystemMilliseconds int64 `json:"system,omitempty"`
	// IRQMilliseconds and SoftirqMilliseconds are interrupts and the work that they defer. A
	// kernel that forwards frames does so in softirq.
	IRQMilliseconds     int64 `json:"irq,omitempty"`
	SoftirqMilliseconds int64 `json:"softirq,omitempty"`
	// GuestMilliseconds is the time that the CPUs ran guests. UserMilliseconds does not include
	// it.
	GuestMilliseconds int64 `json:"guest,omitempty"`
	// StealMilliseconds is time in which the hypervisor below had the CPU.
	StealMilliseconds  int64 `json:"steal,omitempty"`
	IdleMilliseconds   int64 `json:"idle,omitempty"`
	IOWaitMilliseconds int64 `json:"iowait,omitempty"`
}

// Minus returns the time since an earlier count. The kernel's idle counters can go back
// (proc_stat(5)); no result is below 0.
func (t CPUTime) Minus(earlier CPUTime) CPUTime {
	return CPUTime{
		UserMilliseconds:    since(t.UserMilliseconds, earlier.UserMilliseconds),
		NiceMilliseconds:    since(t.NiceMilliseconds, earlier.NiceMilliseconds),
		SystemMilliseconds:  since(t.SystemMilliseconds, earlier.SystemMilliseconds),
		IRQMilliseconds:     since(t.IRQMilliseconds, earlier.IRQMilliseconds),
		SoftirqMilliseconds: since(t.SoftirqMilliseconds, earlier.SoftirqMilliseconds),
		GuestMilliseconds:   since(t.GuestMilliseconds, earlier.GuestMilliseconds),
		StealMilliseconds:   since(t.StealMilliseconds, earlier.StealMilliseconds),
		IdleMilliseconds:    since(t.IdleMilliseconds, earlier.IdleMilliseconds),
		IOWaitMilliseconds:  since(t.IOWaitMilliseconds, earlier.IOWaitMilliseconds),
	}
}

func since(now, earlier int64) int64 { return max(0, now-earlier) }

// FunctionEvidence is the evidence of one function.
type FunctionEvidence struct {
	Name string `json:"name"`
	// ElapsedMilliseconds is the time between the two reads of the function.
	ElapsedMilliseconds int64 `json:"elapsedMilliseconds"`
	// Process is the time of a pod's own container. It does not include forwarding, which the
	// kernel charges to the node. Nil for a virtual machine.
	Process *CPUTime `json:"process,omitempty"`
	// Guest is the time of a virtual machine as its own kernel counts it. Nil for a pod.
	Guest *CPUTime `json:"guest,omitempty"`
	// Domain is the time of a virtual machine's threads on the node. Nil for a
	// pod, and where the node does not show it.
	Domain *DomainTime `json:"domain,omitempty"`
	// Ports lists the west port first.
	Ports []PortEvidence `json:"ports,omitempty"`
	// Counters are the increases of the function's own counters, named as in
	// vnf.FunctionStatus. Nil if it has none or they are unknown.
	Counters map[string]int64 `json:"counters,omitempty"`
}

// PortEvidence is what a function's port counted.
type PortEvidence struct {
	Name string `json:"name"`
	// ReceivedFrames and SentFrames are the kernel's rx_packets and tx_packets.
	ReceivedFrames int64 `json:"rx,omitempty"`
	SentFrames     int64 `json:"tx,omitempty"`
	// ReceiveDroppedFrames and SendDroppedFrames include the errors.
	ReceiveDroppedFrames int64 `json:"rxDropped,omitempty"`
	SendDroppedFrames    int64 `json:"txDropped,omitempty"`
}

// DroppedFrames returns those of all ports: what the function lost by its own count.
func (f FunctionEvidence) DroppedFrames() int64 {
	sum := int64(0)
	for _, p := range f.Ports {
		sum += p.ReceiveDroppedFrames + p.SendDroppedFrames
	}
	return sum
}

// DomainTime is a virtual machine's processor time on its node, in
// milliseconds, by what its threads do. A class is nil where the node shows
// no such thread.
type DomainTime struct {
	// VCPUMilliseconds is the time of the threads that run the guest's processors,
	// GuestMilliseconds the part of it inside the guest; the rest is the hypervisor's. With
	// emulation all of it is the emulator's work.
	VCPUMilliseconds  *int64 `json:"vcpu,omitempty"`
	GuestMilliseconds *int64 `json:"guest,omitempty"`
	// EmulatorMilliseconds is the time of the main thread and QEMU's helpers.
	EmulatorMilliseconds *int64 `json:"emulator,omitempty"`
	IOThreadMilliseconds *int64 `json:"iothread,omitempty"`
	// VhostMilliseconds is the time of the kernel's threads that move the guest's frames. The
	// guest does not see it.
	VhostMilliseconds *int64 `json:"vhost,omitempty"`
	// OtherMilliseconds is the time of threads with unknown names.
	OtherMilliseconds *int64 `json:"other,omitempty"`
}

// Minus returns the time since an earlier count of the same process. A class that is
// missing in one of the counts is nil.
func (t DomainTime) Minus(earlier DomainTime) DomainTime {
	minus := func(now, before *int64) *int64 {
		if now == nil || before == nil {
			return nil
		}
		return new(since(*now, *before))
	}
	return DomainTime{
		VCPUMilliseconds:     minus(t.VCPUMilliseconds, earlier.VCPUMilliseconds),
		GuestMilliseconds:    minus(t.GuestMilliseconds, earlier.GuestMilliseconds),
		EmulatorMilliseconds: minus(t.EmulatorMilliseconds, earlier.EmulatorMilliseconds),
		IOThreadMilliseconds: minus(t.IOThreadMilliseconds, earlier.IOThreadMilliseconds),
		VhostMilliseconds:    minus(t.VhostMilliseconds, earlier.VhostMilliseconds),
		OtherMilliseconds:    minus(t.OtherMilliseconds, earlier.OtherMilliseconds),
	}
}

// Classes of a virtual machine's threads.
const (
	ThreadVCPU     = "VCPU"
	ThreadEmulator = "Emulator"
	ThreadIO       = "IOThread"
	ThreadVhost    = "Vhost"
	ThreadOther    = "Other"
)

// Domain is a virtual machine as it really runs: the options with which its QEMU was
// started, and where its threads may run.
type Domain struct {
	// Name is libvirt's name; for KubeVirt it is "namespace_name".
	Name string `json:"name"`
	// Emulator is the QEMU binary's name, Accelerator "kvm" or "tcg".
	Emulator    string `json:"emulator,omitempty"`
	Accelerator string `json:"accelerator,omitempty"`
	MachineType string `json:"machineType,omitempty"`
	CPUModel    string `json:"cpuModel,omitempty"`
	VCPUs       int    `json:"vcpus,omitempty"`
	// MemoryBacking is "Hugepages", "Shared", "File" or "Anonymous".
	MemoryBacking string `json:"memoryBacking,omitempty"`
	// HugepageKibibytes is the process's memory in hugepages; nil if the kernel does not report
	// it.
	HugepageKibibytes *int64          `json:"hugepageKibibytes,omitempty"`
	NICs              []DomainNIC     `json:"nics,omitempty"`
	Threads           []DomainThreads `json:"threads,omitempty"`
	// Problems say what is missing and why.
	Problems []string `json:"problems,omitempty"`
}

// DomainNIC is one of a virtual machine's network devices.
type DomainNIC struct {
	// Model is QEMU's device, such as "virtio-net-pci", "e1000" or "vfio-pci".
	Model string `json:"model"`
	MAC   string `json:"mac,omitempty"`
	// Backend is QEMU's backend, such as "tap"; empty for a device that is passed through.
	Backend string `json:"backend,omitempty"`
	// Vhost is true if the kernel moves the frames, and false if QEMU does.
	Vhost bool `json:"vhost"`
	// Queues are pairs of queues; 0 for a device that is passed through.
	Queues int `json:"queues,omitempty"`
	// HostAddress is the address of a device that is passed through, such as "0000:3b:02.1".
	HostAddress string `json:"hostAddress,omitempty"`
}

// DomainThreads are the threads of one class.
type DomainThreads struct {
	// Class is one of the constants above.
	Class string `json:"class"`
	Count int    `json:"count"`
	// CPUs are the lists of CPUs on which the threads may run, each once, such as "2-3".
	CPUs []string `json:"cpus,omitempty"`
	// Scheduling lists each way in which the kernel schedules the threads once.
	Scheduling []ThreadScheduling `json:"scheduling,omitempty"`
}

// ThreadScheduling is a scheduling policy of the kernel.
type ThreadScheduling struct {
	// Policy is its name in sched(7), such as "Other" or "FIFO", or its number.
	Policy string `json:"policy"`
	// Priority is that of the real-time policies FIFO and RoundRobin; 0 for others.
	Priority int `json:"priority,omitempty"`
}

// FunctionState is what a function reported about itself before it was measured.
type FunctionState struct {
	Name string `json:"name"`
	vnf.State
}

// DeviceState is what is known about the chain and its node.
type DeviceState struct {
	// Node is nil if unknown.
	Node *NodeFacts `json:"node,omitempty"`
	// Functions are in the chain's order; those that did not answer are missing.
	Functions []FunctionState `json:"functions,omitempty"`
	// Domains are the chain's virtual machines.
	Domains []Domain `json:"domains,omitempty"`
	// CycleCounter says whether the node's cycles are counted, or why not; empty if the Testbed does not ask for it.
	CycleCounter v1alpha1.CycleCounter `json:"cycleCounter,omitempty"`
	// OpenAgents are those that answered a request without the token that they are to ask for.
	OpenAgents []string `json:"openAgents,omitempty"`
	// Problems say what is missing and why.
	Problems []string `json:"problems,omitempty"`
}

// Sources name whom the measurer may ask about a trial. The controller writes them when the
// chain is ready, since the measurer has no right to read from the API server.
type Sources struct {
	// Observer is "address:port"; empty if the testbed has none.
	Observer string `json:"observer,omitempty"`
	// Functions are in the chain's order.
	Functions []FunctionSource `json:"functions,omitempty"`
	// Neighbors are in the run's order.
	Neighbors []NeighborSource `json:"neighbors,omitempty"`
}

// Addresses returns the addresses of all that report something.
func (s Sources) Addresses() []string {
	var out []string
	for _, f := range s.Functions {
		out = append(out, f.Address)
	}
	for _, n := range s.Neighbors {
		out = append(out, n.Address)
	}
	return slices.DeleteFunc(append(out, s.Observer), func(address string) bool { return address == "" })
}

// FunctionSource is where a function reports its status.
type FunctionSource struct {
	Name string `json:"name"`
	// Address is "address:port"; empty for a function that does not report its status.
	Address string `json:"address,omitempty"`
	// Guest is the observer's name for the function's virtual machine; empty for a pod.
	Guest string `json:"guest,omitempty"`
}

const (
	// KeySources holds Sources. The controller writes it together with KeyChain.
	KeySources = "sources.json"
	// KeyDevice holds a DeviceState. The measurer writes it.
	KeyDevice = "device.json"
)

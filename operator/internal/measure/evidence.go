package measure

import "vnfbench.io/operator/internal/vnf"

// Evidence is what the device's node and the chain's functions counted between
// the start of a trial and the end of its sending. It stands beside the
// figures: no figure is formed from it, and a trial without it is as valid.
type Evidence struct {
	// ElapsedMilliseconds between the two looks at the node.
	ElapsedMilliseconds int64 `json:"elapsedMilliseconds,omitempty"`
	// CPUs of the device's node.
	CPUs int `json:"cpus,omitempty"`
	// Node is the processor time of the device's node; nil where it is not known.
	Node *CPUTime `json:"node,omitempty"`
	// SoftirqThreadsMilliseconds is the part of Node in ksoftirqd threads; nil where it is not known.
	SoftirqThreadsMilliseconds *int64 `json:"softirqThreadsMilliseconds,omitempty"`
	// Functions in the chain's order; those that did not answer are missing.
	Functions []FunctionEvidence `json:"functions,omitempty"`
	// Neighbors are those that loaded beside the trial; those that did not answer are missing.
	Neighbors []NeighborEvidence `json:"neighbors,omitempty"`
	// Notes say what is missing and why, one sentence each.
	Notes []string `json:"notes,omitempty"`
	// Shortened says that parts were left out because the results have no room for them.
	Shortened bool `json:"shortened,omitempty"`
}

// CPUTime is processor time by kind, in milliseconds, as /proc/stat counts it:
// in hundredths of a second.
type CPUTime struct {
	UserMilliseconds int64 `json:"user,omitempty"`
	NiceMilliseconds int64 `json:"nice,omitempty"`
	// SystemMilliseconds is the kernel's work for processes.
	SystemMilliseconds int64 `json:"system,omitempty"`
	// IRQMilliseconds and SoftirqMilliseconds are interrupts and what they put
	// off. A kernel that forwards frames does so in softirq.
	IRQMilliseconds     int64 `json:"irq,omitempty"`
	SoftirqMilliseconds int64 `json:"softirq,omitempty"`
	// GuestMilliseconds is the time that the CPUs ran guests; it is not in UserMilliseconds.
	GuestMilliseconds int64 `json:"guest,omitempty"`
	// StealMilliseconds is time in which the hypervisor below had the CPU.
	StealMilliseconds  int64 `json:"steal,omitempty"`
	IdleMilliseconds   int64 `json:"idle,omitempty"`
	IOWaitMilliseconds int64 `json:"iowait,omitempty"`
}

// Minus is the time since an earlier count. The kernel's idle counters can go
// back (proc_stat(5)); nothing is below 0.
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

// FunctionEvidence is one function's.
type FunctionEvidence struct {
	Name string `json:"name"`
	// ElapsedMilliseconds between the two looks at the function.
	ElapsedMilliseconds int64 `json:"elapsedMilliseconds"`
	// Process is the time of a pod's own container. Forwarding is not in it: the
	// kernel charges that to the node. Nil for a virtual machine.
	Process *CPUTime `json:"process,omitempty"`
	// Guest is the time of a virtual machine as its own kernel counts it. Nil for a pod.
	Guest *CPUTime `json:"guest,omitempty"`
	// Domain is the time of a virtual machine's threads on the node. Nil for a
	// pod, and where the node does not show it.
	Domain *DomainTime `json:"domain,omitempty"`
	// Ports, west first.
	Ports []PortEvidence `json:"ports,omitempty"`
	// Counters are what the function's own counters rose by, as vnf.FunctionStatus
	// names them. Nil: it has none, or they are not known.
	Counters map[string]int64 `json:"counters,omitempty"`
}

// PortEvidence is what a function's port counted.
type PortEvidence struct {
	Name string `json:"name"`
	// ReceivedFrames and SentFrames are the kernel's rx_packets and tx_packets.
	ReceivedFrames int64 `json:"rx,omitempty"`
	SentFrames     int64 `json:"tx,omitempty"`
	// ReceiveDroppedFrames and SendDroppedFrames have the errors in them.
	ReceiveDroppedFrames int64 `json:"rxDropped,omitempty"`
	SendDroppedFrames    int64 `json:"txDropped,omitempty"`
}

// DroppedFrames are those of all ports: what the function lost by its own count.
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
	// VCPUMilliseconds is the time of the threads that run the guest's
	// processors, GuestMilliseconds the part of it inside of the guest; the rest
	// is the hypervisor's. With emulation all of it is the emulator's work.
	VCPUMilliseconds  *int64 `json:"vcpu,omitempty"`
	GuestMilliseconds *int64 `json:"guest,omitempty"`
	// EmulatorMilliseconds is that of the main thread and QEMU's helpers.
	EmulatorMilliseconds *int64 `json:"emulator,omitempty"`
	IOThreadMilliseconds *int64 `json:"iothread,omitempty"`
	// VhostMilliseconds is that of the kernel's threads that move the guest's
	// frames. The guest does not see it.
	VhostMilliseconds *int64 `json:"vhost,omitempty"`
	// OtherMilliseconds is that of threads of no known name.
	OtherMilliseconds *int64 `json:"other,omitempty"`
}

// Minus is the time since an earlier count of the same process. A class that
// came or went in between is nil.
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

// Domain is a virtual machine as it really runs: what its QEMU was started
// with, and where its threads may run.
type Domain struct {
	// Name is libvirt's, for KubeVirt "namespace_name".
	Name string `json:"name"`
	// Emulator is the QEMU binary's name, Accelerator "kvm" or "tcg".
	Emulator    string `json:"emulator,omitempty"`
	Accelerator string `json:"accelerator,omitempty"`
	Machine     string `json:"machine,omitempty"`
	CPUModel    string `json:"cpuModel,omitempty"`
	VCPUs       int    `json:"vcpus,omitempty"`
	// MemoryBacking is "Hugepages", "Shared", "File" or "Anonymous".
	MemoryBacking string `json:"memoryBacking,omitempty"`
	// HugepageKibibytes is what the process holds in hugepages; nil where the
	// kernel does not say.
	HugepageKibibytes *int64          `json:"hugepageKibibytes,omitempty"`
	NICs              []DomainNIC     `json:"nics,omitempty"`
	Threads           []DomainThreads `json:"threads,omitempty"`
	// Problems say what is absent and why.
	Problems []string `json:"problems,omitempty"`
}

// DomainNIC is one of a virtual machine's network devices.
type DomainNIC struct {
	// Model is QEMU's device, such as "virtio-net-pci", "e1000" or "vfio-pci".
	Model string `json:"model"`
	MAC   string `json:"mac,omitempty"`
	// Backend is QEMU's, such as "tap"; empty for a device that is passed through.
	Backend string `json:"backend,omitempty"`
	// Vhost says that the kernel moves the frames; false where QEMU does it itself.
	Vhost bool `json:"vhost"`
	// Queues are pairs of queues; 0 for a device that is passed through.
	Queues int `json:"queues,omitempty"`
	// HostAddress of a device that is passed through, such as "0000:3b:02.1".
	HostAddress string `json:"hostAddress,omitempty"`
}

// DomainThreads are the threads of one class.
type DomainThreads struct {
	// Class is one of the constants above.
	Class string `json:"class"`
	Count int    `json:"count"`
	// CPUs are the lists of CPUs on which they may run, each once, such as "2-3".
	CPUs []string `json:"cpus,omitempty"`
	// Scheduling is how the kernel schedules them, each way once.
	Scheduling []ThreadScheduling `json:"scheduling,omitempty"`
}

// ThreadScheduling is a scheduling policy of the kernel.
type ThreadScheduling struct {
	// Policy by its name in sched(7), such as "Other" or "FIFO", or its number.
	Policy string `json:"policy"`
	// Priority of the real-time policies FIFO and RoundRobin; 0 for others.
	Priority int `json:"priority,omitempty"`
}

// FunctionState is what a function said of itself before it was measured.
type FunctionState struct {
	Name string `json:"name"`
	vnf.State
}

// DeviceState is what is known of the chain, and of the node that it runs on.
type DeviceState struct {
	// Machine is nil where it is not known.
	Machine *Machine `json:"machine,omitempty"`
	// Functions in the chain's order; those that did not answer are missing.
	Functions []FunctionState `json:"functions,omitempty"`
	// Domains are the chain's virtual machines.
	Domains []Domain `json:"domains,omitempty"`
	// Problems say what is absent and why.
	Problems []string `json:"problems,omitempty"`
}

// Sources say whom the measurer may ask about a trial. The controller writes
// them when the chain is ready, since the measurer may ask the API server nothing.
type Sources struct {
	// Observer is "address:port"; empty where the testbed has none.
	Observer string `json:"observer,omitempty"`
	// Functions in the chain's order.
	Functions []FunctionSource `json:"functions,omitempty"`
	// Neighbors in the run's order.
	Neighbors []NeighborSource `json:"neighbors,omitempty"`
}

// FunctionSource is where a function tells its status.
type FunctionSource struct {
	Name string `json:"name"`
	// Address is "address:port"; empty for a function that tells nothing itself.
	Address string `json:"address,omitempty"`
	// Guest is the name of the virtual machine that the function is, as the
	// observer knows it; empty for a pod.
	Guest string `json:"guest,omitempty"`
}

const (
	// KeySources is written by the controller together with KeyChain: Sources.
	KeySources = "sources.json"
	// KeyDevice is a DeviceState, written by the measurer.
	KeyDevice = "device.json"
)

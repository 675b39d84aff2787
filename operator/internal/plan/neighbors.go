package plan

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// placeNeighbors is the first neighbor's place in a MAC address, after the ends of TCP
	// connections; each neighbor has a separate place.
	placeNeighbors = placeEndpoint + 1
	// maxNeighbors is the largest number that the API takes.
	maxNeighbors = 8

	defaultNeighborMilliCPU = 100
	// agentMilliCPU is the limit of the agent that starts the workers, in addition to a CPU for
	// each.
	agentMilliCPU = 100
	// agentMemoryBytes and workerMemoryBytes are what the agent with stress-ng and each worker
	// take in addition to the memory that they load.
	agentMemoryBytes  = 96 << 20
	workerMemoryBytes = 24 << 20
	// guestMemoryBytes is the memory of a neighbor's guest before it loads: its kernel, the
	// initial file system, and the agent. It boots with 192 MiB, and not with 160.
	guestMemoryBytes = 256 << 20
	// guestShare of what a Memory neighbor loads is the guest's page tables and what its kernel
	// keeps free.
	guestShare = 32
	// minNeighborMTUBytes of a neighbor's port.
	minNeighborMTUBytes = 1500
)

const (
	defaultNeighborMemory v1alpha1.ByteQuantity = "256Mi"
	defaultNeighborDisk   v1alpha1.ByteQuantity = "256Mi"
)

// Neighbor is a pod or a virtual machine that loads the device's node while the chain runs.
type Neighbor struct {
	// Load is the load that its agent gets.
	Load        measure.NeighborLoad `json:"load"`
	Image       string               `json:"image"`
	Resources   Resources            `json:"resources"`
	Tolerations []corev1.Toleration  `json:"tolerations,omitempty" digest:"-"`
	// ScratchBytes bounds the folder that it may write to; for a virtual machine it is the size
	// of its disk, which only a Disk neighbor has.
	ScratchBytes int64 `json:"scratchBytes"`
	// Network joins a Network neighbor's two ports; nil for any other.
	Network *Segment `json:"network,omitempty"`
	// VM is nil for a pod.
	VM *VM `json:"vm,omitempty"`
	// Attachment of a VM's ports; empty for a pod's.
	Attachment v1alpha1.Attachment `json:"attachment,omitempty"`
}

// IsVM reports whether the neighbor is a virtual machine.
func (n *Neighbor) IsVM() bool { return n.VM != nil }

// neighborsOf returns the run's neighbors, in its order.
func neighborsOf(in Input) []Neighbor {
	var out []Neighbor
	for i := range in.Run.Spec.Experiment.NoisyNeighbors {
		out = append(out, neighborOf(in, i))
	}
	return out
}

func neighborOf(in Input, index int) Neighbor {
	spec := in.Run.Spec.Experiment.NoisyNeighbors[index]
	workers := max(1, spec.Workers)
	neighbor := Neighbor{
		Load:        measure.NeighborLoad{Name: spec.Name, Kind: string(spec.Kind), Workers: int(workers)},
		Image:       in.Defaults.NeighborImage,
		Tolerations: in.Testbed.Spec.SystemUnderTest.Tolerations,
		Resources: Resources{
			RequestMilliCPU: defaultNeighborMilliCPU,
			MemoryBytes:     agentMemoryBytes + int64(workers)*workerMemoryBytes,
		},
		ScratchBytes: workerMemoryBytes,
	}
	load := &neighbor.Load
	threads := int64(workers)
	switch spec.Kind {
	case v1alpha1.NeighborCPU:
		load.LoadPercent = v1alpha1.DefaultNeighborLoadPercent
		if spec.LoadPercent != nil {
			load.LoadPercent = int(*spec.LoadPercent)
		}
	case v1alpha1.NeighborMemory:
		load.Bytes = cmp.Or(spec.Memory, defaultNeighborMemory).Bytes()
		neighbor.Resources.MemoryBytes += load.Bytes
	case v1alpha1.NeighborDisk:
		load.Bytes = cmp.Or(spec.Disk, defaultNeighborDisk).Bytes()
		// The kubelet ends a pod that has more.
		neighbor.ScratchBytes += load.Bytes + load.Bytes/2
	case v1alpha1.NeighborNetwork:
		load.Workers = 0
		load.FrameBytes = v1alpha1.DefaultNeighborFrameBytes
		if spec.FrameBytes != nil {
			load.FrameBytes = int(*spec.FrameBytes)
		}
		load.Directions = string(cmp.Or(spec.Directions, v1alpha1.DirectionsBoth))
		switch {
		case spec.FramesPerSecond != nil:
			load.FramesPerSecond = *spec.FramesPerSecond
		case spec.BitsPerSecond != nil:
			load.FramesPerSecond = *spec.BitsPerSecond / int64(load.FrameBytes*8)
		}
		if load.Directions == string(v1alpha1.DirectionsBoth) {
			threads = 2
		}
		neighbor.Network = neighborNetwork(in, index, load.FrameBytes)
	}
	if spec.Runtime == v1alpha1.RuntimeVirtualMachine {
		neighborInVM(&neighbor, spec, int32(threads), in.Defaults)
		return neighbor
	}
	neighbor.Resources.RequestMilliCPU = cmp.Or(spec.CPU.MilliCPU(), neighbor.Resources.RequestMilliCPU)
	// Kubernetes refuses a limit below the request.
	neighbor.Resources.LimitMilliCPU = max(threads*1000+agentMilliCPU, neighbor.Resources.RequestMilliCPU)
	return neighbor
}

// neighborInVM makes a neighbor a virtual machine, with a vCPU for each of its threads. It
// shares the node's cores, as a tenant's does.
func neighborInVM(n *Neighbor, spec v1alpha1.NoisyNeighbor, threads int32, defaults Defaults) {
	memory := n.Resources.MemoryBytes - agentMemoryBytes + guestMemoryBytes
	if spec.Kind == v1alpha1.NeighborMemory {
		memory += n.Load.Bytes / guestShare
	}
	n.Image = defaults.NeighborGuestImage
	n.VM = &VM{
		VCPUs:        threads,
		MemoryBytes:  wholePages(memory, ""),
		Queues:       1,
		CPUPlacement: v1alpha1.CPUPlacementShared,
		NUMA:         v1alpha1.NUMANone,
		Realtime:     v1alpha1.RealtimeDisabled,
		Boot:         v1alpha1.BootKernel,
	}
	n.VM.WeightMilliCPU = spec.CPU.MilliCPU()
	n.Resources = n.VM.requests()
	if spec.Kind != v1alpha1.NeighborDisk {
		n.ScratchBytes = 0
	}
	if spec.Kind == v1alpha1.NeighborNetwork {
		n.Attachment = cmp.Or(spec.Attachment, v1alpha1.AttachmentVirtio)
	}
}

// neighborNetwork returns a bridge that only the neighbor uses, so that its frames meet the
// measured ones in the node's processors and nowhere else.
func neighborNetwork(in Input, index, frameBytes int) *Segment {
	names, segment := NamesOf(in.Run), neighborSegment(index)
	end := func(iface string, host int) End {
		return End{
			Interface: iface,
			MAC:       macAddress(in.Testbed.UID, placeNeighbors+index, host),
			MTUBytes:  max(minNeighborMTUBytes, frameBytes-headerBytes),
			Network:   names.network(segment, iface),
		}
	}
	return &Segment{Bridge: bridgeName(in.Testbed.UID, segment), West: end(InterfaceWest, hostWest), East: end(InterfaceEast, hostEast)}
}

// neighborSegment returns what replaces the segment's number in names.
func neighborSegment(index int) string { return fmt.Sprintf("n%d", index) }

// checkNeighbors refuses a load of no frames.
func checkNeighbors(in Input) error {
	for i, spec := range in.Run.Spec.Experiment.NoisyNeighbors {
		if load := neighborOf(in, i).Load; spec.Kind == v1alpha1.NeighborNetwork && load.FramesPerSecond < 1 {
			return fail(v1alpha1.ReasonInvalidLoadRange, "raise bitsPerSecond, or lower frameBytes",
				"bitsPerSecond of neighbor %q in the run's spec.experiment.noisyNeighbors is less than one frame of %d bytes each second", spec.Name, load.FrameBytes)
		}
	}
	return nil
}

// orNeighbors adds another remedy where the nodes have too little.
func orNeighbors(remedy, field string) string {
	return remedy + fmt.Sprintf(", or lower %s in the run's spec.experiment.noisyNeighbors", field)
}

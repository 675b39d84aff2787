package measure

// NeighborLoad is what a neighbour does beside the chain. The plan puts it into
// the instructions, so that it is a part of the experiment, and the measurer
// sends it to the neighbour's agent as it is.
type NeighborLoad struct {
	Name string `json:"name"`
	// Kind is "CPU", "Memory", "Disk" or "Network".
	Kind string `json:"kind"`
	// Workers load at once; 0 for a Network neighbour.
	Workers int `json:"workers,omitempty"`
	// LoadPercent of a CPU that each worker of a CPU neighbour takes.
	LoadPercent int `json:"loadPercent,omitempty"`
	// Bytes are what all workers of a Memory or Disk neighbour write to together.
	Bytes int64 `json:"bytes,omitempty"`
	// FramesPerSecond of each direction, FrameBytes with the check sequence, and
	// Directions by the API's names are a Network neighbour's.
	FramesPerSecond int64  `json:"framesPerSecond,omitempty"`
	FrameBytes      int    `json:"frameBytes,omitempty"`
	Directions      string `json:"directions,omitempty"`
}

// IntendedMilliCPU is what a CPU neighbour is asked to take, 0 for any other.
func (l NeighborLoad) IntendedMilliCPU() int64 {
	if l.Kind != NeighborCPU {
		return 0
	}
	return int64(l.Workers) * int64(l.LoadPercent) * 10
}

// IntendedFramesPerSecond of all directions, 0 where no frames are sent.
func (l NeighborLoad) IntendedFramesPerSecond() int64 {
	if l.Directions == "Both" {
		return 2 * l.FramesPerSecond
	}
	return l.FramesPerSecond
}

// Kinds of neighbours, by the API's names.
const (
	NeighborCPU     = "CPU"
	NeighborMemory  = "Memory"
	NeighborDisk    = "Disk"
	NeighborNetwork = "Network"
)

// Beside says that the measurement, or its second half, is made beside neighbours.
func (i Instructions) Beside() bool { return len(i.Neighbors) > 0 }

// Compares says that everything is measured twice: without neighbours first,
// then beside them.
func (i Instructions) Compares() bool { return i.Beside() && i.NeighborsCompared }

// NeighborEvidence is what one neighbour did between two looks around a trial.
type NeighborEvidence struct {
	Name                string `json:"name"`
	ElapsedMilliseconds int64  `json:"elapsedMilliseconds"`
	// CPUMilliseconds is the processor time of the neighbour's container. What
	// the kernel does with frames in softirq is not in it.
	CPUMilliseconds int64 `json:"cpu,omitempty"`
	// SentFrames and ReceivedFrames are a Network neighbour's, of all directions.
	SentFrames     int64 `json:"sent,omitempty"`
	ReceivedFrames int64 `json:"received,omitempty"`
	// Stopped says that the neighbour did not load at the end of the trial.
	Stopped bool `json:"stopped,omitempty"`
}

// NeighborState is what a neighbour did in all, as it told when it was stopped.
type NeighborState struct {
	Name string `json:"name"`
	// Stressors are stress-ng's own figures; none for a Network neighbour.
	Stressors []Stressor `json:"stressors,omitempty"`
	// Problem is why it ended by itself; empty where it did not.
	Problem string `json:"problem,omitempty"`
}

// Stressor is stress-ng's account of one of its stressors. Its bogus operations
// compare runs of the same stress-ng, and nothing else.
type Stressor struct {
	Name       string `json:"name"`
	Operations int64  `json:"operations"`
	// OperationsPerSecond are formed over real time.
	OperationsPerSecond int64 `json:"operationsPerSecond"`
}

// NeighborSource is where a neighbour's agent listens.
type NeighborSource struct {
	Name string `json:"name"`
	// Address is "address:port".
	Address string `json:"address"`
}

// KeyNeighbors is a list of NeighborState, written by the measurer when it
// stops the neighbours.
const KeyNeighbors = "neighbors.json"

package measure

import (
	"math"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// NeighborLoad is the work of one neighbor. The plan puts it into the instructions, so that
// it is a part of the experiment. The measurer sends it unchanged to the neighbor's agent.
type NeighborLoad struct {
	Name string `json:"name"`
	// Kind is "CPU", "Memory", "Disk" or "Network".
	Kind string `json:"kind"`
	// Workers is the number of workers at a time; 0 for a Network neighbor.
	Workers int `json:"workers,omitempty"`
	// LoadPercent is the share of a CPU that each worker of a CPU neighbor takes.
	LoadPercent int `json:"loadPercent,omitempty"`
	// Bytes is the memory or space that all workers of a Memory or Disk neighbor write to
	// together.
	Bytes int64 `json:"bytes,omitempty"`
	// FramesPerSecond of each direction, FrameBytes with the check sequence, and Directions by
	// the API's names are those of a Network neighbor.
	FramesPerSecond int64  `json:"framesPerSecond,omitempty"`
	FrameBytes      int    `json:"frameBytes,omitempty"`
	Directions      string `json:"directions,omitempty"`
}

// IntendedMilliCPU returns what a CPU neighbor is asked to take, 0 for any other.
func (l NeighborLoad) IntendedMilliCPU() int64 {
	if l.Kind != NeighborCPU {
		return 0
	}
	return int64(l.Workers) * int64(l.LoadPercent) * 10
}

// IntendedFramesPerSecond returns the rate of all directions, 0 if no frames are sent.
func (l NeighborLoad) IntendedFramesPerSecond() int64 {
	if l.Directions == "Both" {
		return 2 * l.FramesPerSecond
	}
	return l.FramesPerSecond
}

// Kinds of neighbors, by the API's names.
const (
	NeighborCPU     = "CPU"
	NeighborMemory  = "Memory"
	NeighborDisk    = "Disk"
	NeighborNetwork = "Network"
)

// HasNeighbors reports whether neighbors load the node in the measurement, or in a half of it.
func (i Instructions) HasNeighbors() bool { return len(i.Neighbors) > 0 }

// Compares reports whether everything is measured without neighbors and with them, in turns.
func (i Instructions) Compares() bool {
	return i.HasNeighbors() && i.NoisyNeighbors == v1alpha1.NeighborsWithAndWithout
}

// NeighborEvidence is what one neighbor did between two reads around a trial.
type NeighborEvidence struct {
	Name                string `json:"name"`
	ElapsedMilliseconds int64  `json:"elapsedMilliseconds"`
	// CPUMilliseconds is the processor time of the neighbor's container. It does not include
	// the kernel's work on frames in softirq.
	CPUMilliseconds int64 `json:"cpu,omitempty"`
	// SentFrames and ReceivedFrames are those of a Network neighbor, of all directions.
	SentFrames     int64 `json:"sent,omitempty"`
	ReceivedFrames int64 `json:"received,omitempty"`
	// Stopped is true if the neighbor did not load the node at the end of the trial.
	Stopped bool `json:"stopped,omitempty"`
}

// NeighborState is what a neighbor did in total, as it reported each time that it was stopped.
type NeighborState struct {
	Name string `json:"name"`
	// Stressors are stress-ng's own figures; empty for a Network neighbor.
	Stressors []Stressor `json:"stressors,omitempty"`
	// Problem is why it ended by itself; empty if it did not.
	Problem string `json:"problem,omitempty"`
}

// Stressor is stress-ng's account of one of its stressors. Its bogus operations only
// compare runs of the same stress-ng.
type Stressor struct {
	Name       string `json:"name"`
	Operations int64  `json:"operations"`
	// OperationsPerSecond are computed over real time.
	OperationsPerSecond int64 `json:"operationsPerSecond"`
}

// AddStressors adds the accounts of two loads of one neighbor. Its rate is that over the time of both.
func AddStressors(first, second []Stressor) []Stressor {
	out := slices.Clone(first)
	for _, s := range second {
		at := slices.IndexFunc(out, func(o Stressor) bool { return o.Name == s.Name })
		if at < 0 {
			out = append(out, s)
			continue
		}
		total := out[at].Operations + s.Operations
		if seconds := out[at].seconds() + s.seconds(); seconds > 0 {
			out[at].OperationsPerSecond = int64(math.Round(float64(total) / seconds))
		}
		out[at].Operations = total
	}
	return out
}

// seconds returns how long a stressor ran, and 0 where it did nothing.
func (s Stressor) seconds() float64 {
	if s.OperationsPerSecond == 0 {
		return 0
	}
	return float64(s.Operations) / float64(s.OperationsPerSecond)
}

// NeighborSource is where a neighbor's agent listens.
type NeighborSource struct {
	Name string `json:"name"`
	// Address is "address:port".
	Address string `json:"address"`
}

// KeyNeighbors holds a list of NeighborState. The measurer writes it each time that it has stopped
// the neighbors.
const KeyNeighbors = "neighbors.json"

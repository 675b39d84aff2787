// Package neighbor is a noisy neighbour of a chain: an agent that is told over
// HTTP to load its node and tells what it did. A measure.NeighborLoad goes in;
// a load by stress-ng, or by frames over a bridge of its own, and its counters
// come out. It loads only while it is told to.
package neighbor

import (
	"time"

	"vnfbench.io/operator/internal/measure"
)

// Port is where the agent listens on the pod network.
const Port = 8080

// Paths of the agent.
const (
	// PathStart takes a measure.NeighborLoad and answers with a Status. A load
	// that goes on is ended first.
	PathStart = "/start"
	// PathStop ends the load and answers with a Status that has what it came to.
	PathStop = "/stop"
	// PathStatus answers with a Status.
	PathStatus = "/status"
	// PathReady answers with code 200 when a load can be started, else with 503
	// and the reason.
	PathReady = "/readyz"
)

// Interfaces of a Network neighbour's pod or machine.
const (
	InterfaceWest = "west"
	InterfaceEast = "east"
)

// Scratch is the folder in which files may be written.
const Scratch = "/scratch"

// Accounts of processor time.
const (
	// AccountContainer is the time of the container's processes, without what the
	// kernel does for them in interrupts.
	AccountContainer = "Container"
	// AccountMachine is what the processors of a virtual machine did, by their own
	// reckoning: processes, kernel and interrupts. A Network neighbour's softirq time
	// is in it. Idle time, the wait for disks and stolen time are not, nor what the
	// hypervisor spends beside the machine.
	AccountMachine = "Machine"
)

// Status is what a neighbour tells.
type Status struct {
	// StartedAt is when the agent was started.
	StartedAt time.Time `json:"startedAt"`
	// ElapsedNanoseconds since then.
	ElapsedNanoseconds int64 `json:"elapsedNanoseconds"`
	// Running says that the load goes on.
	Running bool `json:"running"`
	// Problem is why a load ended by itself, or its account cannot be read.
	Problem string `json:"problem,omitempty"`
	// NotReady is why no load can be started, in a machine whose configuration or
	// devices are not as they must be; it tries no second time.
	NotReady string `json:"notReady,omitempty"`
	// Account says whose processor time CPUNanoseconds is, AccountContainer or
	// AccountMachine.
	Account string `json:"account,omitempty"`
	// CPUNanoseconds is the processor time of the account since StartedAt, the
	// agent's own with it; 0 and CPUProblem where it cannot be read.
	CPUNanoseconds uint64 `json:"cpuNanoseconds"`
	CPUProblem     string `json:"cpuProblem,omitempty"`
	// SentFrames and ReceivedFrames are those of all loads since StartedAt.
	SentFrames     uint64 `json:"sentFrames,omitempty"`
	ReceivedFrames uint64 `json:"receivedFrames,omitempty"`
	// Stressors are the account of the load that ended last.
	Stressors []measure.Stressor `json:"stressors,omitempty"`
}

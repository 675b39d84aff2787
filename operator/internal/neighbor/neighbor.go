// Package neighbor is a noisy neighbor of a chain: an agent that loads its node
// on request over HTTP and reports what it did. A measure.NeighborLoad goes in;
// a load by stress-ng, or by frames over a separate bridge, and its counters
// come out. It loads only between a start and a stop.
package neighbor

import (
	"time"

	"vnfbench.io/operator/internal/measure"
)

// Port is where the agent listens on the pod network.
const Port = 8080

// Paths of the agent.
const (
	// PathStart takes a measure.NeighborLoad and answers with a Status. It first
	// ends a running load.
	PathStart = "/start"
	// PathStop ends the load and answers with a Status that has its account.
	PathStop = "/stop"
	// PathStatus answers with a Status.
	PathStatus = "/status"
	// PathReady answers with code 200 when a load can be started, else with 503
	// and the reason.
	PathReady = "/readyz"
)

// Interfaces of a Network neighbor's pod or machine.
const (
	InterfaceWest = "west"
	InterfaceEast = "east"
)

// Scratch is the folder in which files may be written.
const Scratch = "/scratch"

// Accounts of processor time.
const (
	// AccountContainer is the time of the container's processes, without the
	// kernel's work for them in interrupts.
	AccountContainer = "Container"
	// AccountMachine is what the processors of a virtual machine did, by their own
	// account: processes, kernel and interrupts. It includes a Network neighbor's
	// softirq time. It excludes idle time, the wait for disks, stolen time, and what
	// the hypervisor uses outside of the machine.
	AccountMachine = "Machine"
)

// Status is what a neighbor reports.
type Status struct {
	// StartedAt is when the agent was started.
	StartedAt time.Time `json:"startedAt"`
	// ElapsedNanoseconds since then.
	ElapsedNanoseconds int64 `json:"elapsedNanoseconds"`
	// Running reports whether the load is running.
	Running bool `json:"running"`
	// Problem is why a load ended by itself, or its account cannot be read.
	Problem string `json:"problem,omitempty"`
	// NotReady is why no load can be started, in a machine whose configuration or
	// devices are wrong; the machine does not try again.
	NotReady string `json:"notReady,omitempty"`
	// Account names whose processor time CPUNanoseconds is, AccountContainer or
	// AccountMachine.
	Account string `json:"account,omitempty"`
	// CPUNanoseconds is the processor time of the account since StartedAt, including
	// the agent's own; 0 and CPUProblem where it cannot be read.
	CPUNanoseconds uint64 `json:"cpuNanoseconds"`
	CPUProblem     string `json:"cpuProblem,omitempty"`
	// SentFrames and ReceivedFrames are the counts of all loads since StartedAt.
	SentFrames     uint64 `json:"sentFrames,omitempty"`
	ReceivedFrames uint64 `json:"receivedFrames,omitempty"`
	// Stressors are the account of the load that ended last.
	Stressors []measure.Stressor `json:"stressors,omitempty"`
}

package measure

import (
	"context"
	"net/netip"

	"vnfbench.io/operator/api/v1alpha1"
)

// Driver makes traffic on one Path. It is RFC 9971's Measurer seen from the search: a load
// and a duration go in, an Outcome comes out. One goroutine at a time uses a driver.
type Driver interface {
	// Measure runs one trial. An error means that nothing was measured; what the generator
	// doubts about a trial that did run is in the Outcome. A canceled ctx ends the trial at
	// once with ctx's error.
	Measure(ctx context.Context, trial Trial) (Outcome, error)
	// Description says how the driver transmits. It becomes a part of the result.
	Description() Description
	// Close removes everything that the driver put on the ports.
	Close() error
}

// ErrClosed is what Measure returns after Close.
var ErrClosed error = Failf(v1alpha1.ReasonInvalidTrial, "open a new driver", "the driver is closed")

// Notifier is a Driver that reports the end of sending while frames may still be under way:
// what others counted until then belongs to the load.
type Notifier interface {
	// NotifySent has sent called once in every trial, after the last frame and before the trial
	// settles. It must return at once. nil ends the calls.
	NotifySent(sent func())
}

// Logger is a Driver that uses a separate program to make frames. Some of what the program
// reports is only in its log.
type Logger interface {
	// Log returns the last lines that the program wrote, the oldest first.
	Log() []string
}

// Description names the driver and what it found out about the ports.
type Description struct {
	// Driver is the name under which it is registered; "Simulated" in tests.
	Driver string `json:"driver"`
	// TransmitPath names the way that frames leave the port, in the driver's words.
	TransmitPath string `json:"transmitPath,omitempty"`
	// ReceiveMode names the way that frames are received, in the driver's words.
	ReceiveMode string `json:"receiveMode,omitempty"`
	// Threads is the number of cores that send.
	Threads int `json:"threads,omitempty"`
	// Scheduling is how the kernel schedules the sending threads, "Fair" or "RealTime".
	Scheduling string `json:"scheduling,omitempty"`
	// RealTimeLimited is true if the sending threads run in real time and the kernel limits how
	// long they may run.
	RealTimeLimited bool `json:"realTimeLimited,omitempty"`
	// RingFrames is the number of places of the ring in which frames wait that are due; 0 if the
	// driver has none.
	RingFrames int `json:"ringFrames,omitempty"`
	// FrameCostNanoseconds is the time that the driver itself takes of a core for each
	// frame of 128 bytes, without the device; 0 if unknown.
	FrameCostNanoseconds int64 `json:"frameCostNanoseconds,omitempty"`
	// Ports are the path's two, in its order; nil if the driver says nothing of them.
	Ports []PortState `json:"ports,omitempty"`
	// Fallbacks are sentences, one for each thing that the port or the node did not support,
	// with what was used instead.
	Fallbacks []string `json:"fallbacks,omitempty"`
}

// What is known of the frames that a sending port refused.
const (
	// RefusedCounted: the port's counters show each of them.
	RefusedCounted = "Counted"
	// RefusedUnproven: the port may drop frames without a count.
	RefusedUnproven = "Unproven"
)

// PortState is what a driver found out about a port.
type PortState struct {
	Interface string `json:"interface"`
	// RefusedFrames is RefusedCounted or RefusedUnproven; empty if the port does not send.
	RefusedFrames string `json:"refusedFrames,omitempty"`
	// InterruptMicroseconds is for how long the port may delay an interrupt for arriving frames, and
	// AdaptiveInterrupts that it chooses the time by the traffic; nil if it has no such setting.
	InterruptMicroseconds *int64 `json:"interruptMicroseconds,omitempty"`
	AdaptiveInterrupts    bool   `json:"adaptiveInterrupts,omitempty"`
	// NextHop is the address that the port resolved, NextHopMAC the hardware address that
	// answered and to which the port's frames go. Absent: the plan's is used.
	NextHop    netip.Addr `json:"nextHop,omitzero"`
	NextHopMAC string     `json:"nextHopMAC,omitempty"`
}

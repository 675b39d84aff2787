package measure

import "context"

// Driver makes traffic on one Path. It is RFC 9971's Measurer seen from the
// search: a load and a duration in, an Outcome out. A driver is used by one
// goroutine at a time.
type Driver interface {
	// Measure runs one trial. An error means that nothing was measured; what
	// the generator doubts about a trial that did run stands in the Outcome.
	// A cancelled ctx ends the trial at once with ctx's error.
	Measure(ctx context.Context, trial Trial) (Outcome, error)
	// Description says how the driver transmits; it goes into the result.
	Description() Description
	// Close gives back everything that the driver put on the ports.
	Close() error
}

// Notifier is a Driver that reports when sending is over, while frames may still
// be under way: what others counted until then belongs to the load.
type Notifier interface {
	// NotifySent has sent called once in every trial, behind the last frame and
	// before the trial settles. It must return at once. nil ends the calls.
	NotifySent(sent func())
}

// Logger is a Driver whose frames are made by a program of its own, which says
// things that only its log tells.
type Logger interface {
	// Log is the last lines that the program wrote, the oldest first.
	Log() []string
}

// Description names the driver and what it found out about the ports.
type Description struct {
	// Driver is the name that it is registered by; "Simulated" in tests.
	Driver string `json:"driver"`
	// TransmitPath names the way out that the port supports, in the driver's words.
	TransmitPath string `json:"transmitPath,omitempty"`
	// ReceiveMode names how frames are taken in, in the driver's words.
	ReceiveMode string `json:"receiveMode,omitempty"`
	// Threads is how many cores send.
	Threads int `json:"threads,omitempty"`
	// Scheduling is how the kernel schedules what sends, "Fair" or "RealTime".
	Scheduling string `json:"scheduling,omitempty"`
	// RealTimeLimited says that what sends is scheduled in real time and that
	// the kernel limits how long it may run.
	RealTimeLimited bool `json:"realTimeLimited,omitempty"`
	// Fallbacks are sentences, one for each thing that the port or the node did
	// not support and what was used in its place.
	Fallbacks []string `json:"fallbacks,omitempty"`
}

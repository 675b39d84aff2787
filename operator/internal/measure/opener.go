package measure

import (
	"context"
	"fmt"
	"log/slog"
)

// Opening says what a driver is opened for: exactly one of Path, Endpoints and
// Stateful is set.
type Opening struct {
	// Driver chooses and configures the driver.
	Driver DriverSettings
	// Path is where frames are sent.
	Path *Path
	// Endpoints are the pods between which TCP connections are made, in Directions between
	// the addresses of TCPPath.
	Endpoints  *Endpoints
	TCPPath    TCPPath
	Directions []Direction
	// Stateful is set for a generator that makes connections with its own TCP.
	Stateful *Stateful
}

// Opener opens drivers of one kind, one at a time: a driver is closed before the
// next one is opened.
type Opener interface {
	// Open opens a driver, or returns a Failure for what the kind does not support.
	Open(ctx context.Context, opening Opening) (Driver, error)
	// Close releases what the opener keeps from one driver to the next.
	Close() error
}

// OpenerConfig is the configuration of an Opener.
type OpenerConfig struct {
	Log *slog.Logger
	// Node receives what only the driver knows about the ports; nil if the node is
	// unknown.
	Node *NodeFacts
	// AgentToken is the file with the token for the run's agents; empty if they ask for none.
	AgentToken string
}

// EndpointDriver is the name of the driver that makes TCP connections between the
// pods of Endpoints.
const EndpointDriver = "iperf3"

// NotOpened returns the Failure of a driver that is asked for what it does not support.
func NotOpened(name, does string) error {
	return &Failure{
		Reason: reasonNotOfferedByDriver, Remedy: "use an operator and a measurer of the same version",
		Err: fmt.Errorf("driver %q makes %s, and the instructions ask it for something else", name, does),
	}
}

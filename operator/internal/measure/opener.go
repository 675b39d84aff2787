package measure

import (
	"context"
	"fmt"
	"log/slog"
)

// Opening says what a driver is opened for: exactly one of Path, Endpoints and
// Stateful is set.
type Opening struct {
	// Driver chooses the driver and sets it.
	Driver DriverSettings
	// Path is where frames are sent.
	Path *Path
	// Endpoints are the machines between which TCP connections are made, as TCP says.
	Endpoints *Endpoints
	TCP       TCPInstructions
	// Stateful is where a generator makes connections by a TCP of its own.
	Stateful *Stateful
}

// Opener opens drivers of one kind, one at a time: a driver is closed before the
// next one is opened.
type Opener interface {
	// Open opens a driver, or refuses with a Failure what the kind does not do.
	Open(ctx context.Context, opening Opening) (Driver, error)
	// Close ends what the opener keeps from one driver to the next.
	Close() error
}

// OpenerConfig is what an Opener is made with.
type OpenerConfig struct {
	Log *slog.Logger
	// Machine takes what only the driver knows of the ports; nil where the machine
	// is not known.
	Machine *Machine
}

// EndpointDriver is the name of the driver that makes TCP connections between the
// machines of Endpoints.
const EndpointDriver = "iperf3"

// NotOpened is the Failure of a driver that is asked to open what it does not do.
func NotOpened(name, does string) error {
	return &Failure{
		Reason: reasonNotOfferedByDriver, Remedy: "use an operator and a measurer of the same version",
		Err: fmt.Errorf("driver %q makes %s, and the instructions ask it for something else", name, does),
	}
}

// Package connection connects the drivers of TRex to a server, in either of its modes. It
// takes a server that the caller watches, and gives a client of it, repairs the
// connection or the server if one fails, and reads what the server itself loses.
package connection

import (
	"context"
	"errors"
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// Server is what a driver needs of TRex's server, which the caller watches and ends.
type Server interface {
	// Address is host:port of the server's API.
	Address() string
	// Alive returns why the server is not running, with a reason of the API, nil while it
	// is.
	Alive() error
	// Restart ends what is left of the server and starts it again; it returns when the
	// server answers.
	Restart(ctx context.Context) error
}

// Client is what the drivers need of an rpc.Client.
type Client interface {
	Call(ctx context.Context, method string, params, result any) error
	CallPort(ctx context.Context, port int, method string, params, result any) error
	Batch(ctx context.Context, requests []*rpc.Request) error
	Acquire(ctx context.Context, port int, force bool) error
	Release(ctx context.Context, port int) error
	Events(ctx context.Context) ([]rpc.Event, error)
	SessionID() uint32
	Close() error
}

var (
	// ErrCountersReset means that a trial's counters are not those that it began with.
	ErrCountersReset = errors.New("the counters of TRex were set back in a trial")
	// ErrStuck means that the server answers, but does not stop sending.
	ErrStuck = errors.New("TRex does not stop sending")
)

// maxRepairs is how often Try repairs.
const maxRepairs = 2

// Connection is a driver's connection to a server. Server, Options and Begin have no
// default.
type Connection struct {
	// Client is nil before Connect, after Close, and if Connect found no server.
	Client
	Server Server
	// Options are the client's. All clients of a connection are of one session.
	Options rpc.Options
	// Begin acquires the server over a new client.
	Begin func(context.Context) error
	// Dial makes a client; nil means rpc.Dial.
	Dial func(ctx context.Context, address string, o rpc.Options) (Client, error)
}

// Connect makes a new client instead of an earlier one, and begins with it.
func (c *Connection) Connect(ctx context.Context) error {
	// A failure of the earlier client is why there is another.
	_ = c.Close()
	dial := c.Dial
	if dial == nil {
		dial = func(ctx context.Context, address string, o rpc.Options) (Client, error) {
			return rpc.Dial(ctx, address, o)
		}
	}
	client, err := dial(ctx, c.Server.Address(), c.Options)
	if err != nil {
		return err
	}
	c.Client, c.Options.SessionID = client, client.SessionID()
	return c.Begin(ctx)
}

// Close closes the client, if there is one.
func (c *Connection) Close() error {
	if c.Client == nil {
		return nil
	}
	err := c.Client.Close()
	c.Client = nil
	return err
}

// Try calls do, and repairs and repeats it if the connection or the server failed in it.
func (c *Connection) Try(ctx context.Context, do func() error) error {
	for repairs := 0; ; repairs++ {
		err := fmt.Errorf("%w: none was there after it failed", rpc.ErrConnection)
		if c.Client != nil {
			err = do()
		}
		if err == nil || ctx.Err() != nil || repairs == maxRepairs || !c.repairable(err) {
			return err
		}
		if failed := c.repair(ctx, err); failed != nil {
			return fmt.Errorf("%w, and could not continue: %w", err, failed)
		}
	}
}

// repairable reports whether another attempt may succeed.
func (c *Connection) repairable(err error) bool {
	return rpc.Interrupted(err) || errors.Is(err, ErrCountersReset) || errors.Is(err, ErrStuck) || c.Server.Alive() != nil
}

// repair restarts the server if it is dead or no longer answers, and connects.
func (c *Connection) repair(ctx context.Context, cause error) error {
	if c.Server.Alive() == nil && !errors.Is(cause, ErrStuck) {
		if err := c.Connect(ctx); err == nil || !rpc.Hangs(err) {
			return err
		}
	}
	if err := c.Server.Restart(ctx); err != nil {
		return err
	}
	return c.Connect(ctx)
}

// Explain gives an error a reason: that of a server that is dead comes first.
func (c *Connection) Explain(err error) error {
	remedy := "look at the traffic pod's log, which has the last lines of the TRex server"
	switch {
	case err == nil || measure.ReasonOf(err) != "":
		return err
	case errors.Is(err, rpc.ErrVersion):
		return &measure.Failure{
			Reason: v1alpha1.ReasonTRexVersion, Err: err,
			Remedy: fmt.Sprintf("build the generator's image with TRex v3.08, or another of the API %s %d.%d", c.Options.API.Name, c.Options.API.Major, c.Options.API.Minor),
		}
	case errors.Is(err, rpc.ErrMode):
		remedy = "start the server with --astf for TCP, and without it for frames"
	}
	if dead := c.Server.Alive(); dead != nil {
		err = fmt.Errorf("the server: %w; %w", dead, err)
		if measure.ReasonOf(dead) != "" {
			return err
		}
	}
	return &measure.Failure{Reason: v1alpha1.ReasonTRexServerFailed, Err: err, Remedy: remedy}
}

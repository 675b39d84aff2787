package iperf

import (
	"context"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/measure"
)

// Opener opens the driver for the measurer.
type Opener struct {
	// TokenFile has the token for the agents; empty if they ask for none.
	TokenFile string
}

var _ measure.Opener = Opener{}

// Open implements measure.Opener.
func (o Opener) Open(ctx context.Context, opening measure.Opening) (measure.Driver, error) {
	if opening.Endpoints == nil {
		return nil, measure.NotOpened(measure.EndpointDriver, "TCP connections between two machines")
	}
	path := opening.TCPPath
	ends := *opening.Endpoints
	driver, err := Open(ctx, Config{
		Endpoints: ends, West: path.West, East: path.East,
		HTTP: caller.Client(o.TokenFile, ends.West.String(), ends.East.String()),
	}, opening.Directions)
	if err != nil {
		return nil, err
	}
	return driver, nil
}

// Close implements measure.Opener; the opener keeps nothing.
func (Opener) Close() error { return nil }

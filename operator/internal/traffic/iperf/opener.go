package iperf

import (
	"context"

	"vnfbench.io/operator/internal/measure"
)

// Opener opens the driver for the measurer.
type Opener struct{}

var _ measure.Opener = Opener{}

// Open implements measure.Opener.
func (Opener) Open(ctx context.Context, opening measure.Opening) (measure.Driver, error) {
	if opening.Endpoints == nil {
		return nil, measure.NotOpened(measure.EndpointDriver, "TCP connections between two machines")
	}
	path := opening.TCPPath
	driver, err := Open(ctx, Config{Endpoints: *opening.Endpoints, West: path.West, East: path.East}, opening.Directions)
	if err != nil {
		return nil, err
	}
	return driver, nil
}

// Close implements measure.Opener; the opener keeps nothing.
func (Opener) Close() error { return nil }

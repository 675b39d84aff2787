package xdp

import (
	"context"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

// Opener opens the driver for the measurer.
type Opener struct{}

var _ measure.Opener = Opener{}

// Open implements measure.Opener.
func (Opener) Open(ctx context.Context, opening measure.Opening) (measure.Driver, error) {
	if opening.Path == nil {
		return nil, measure.NotOpened(string(planning.Name), "frames on a path")
	}
	var settings planning.Settings
	if err := opening.Driver.Decode(&settings); err != nil {
		return nil, err
	}
	driver, err := Open(ctx, Config{
		Path: *opening.Path, Threads: settings.Threads, TransmitPath: settings.TransmitPath, Scheduling: settings.Scheduling,
		RingFrames: settings.RingFrames, InterruptMicroseconds: settings.InterruptMicroseconds,
	})
	if err != nil {
		// A nil *Driver must not become a measure.Driver that is not nil.
		return nil, err
	}
	return driver, nil
}

// Close implements measure.Opener; the opener keeps nothing.
func (Opener) Close() error { return nil }

//go:build linux

// Package opener opens the drivers of TRex for the measurer: it takes what to open, and
// returns a driver, stateless or stateful, with a server that runs.
package opener

import (
	"context"
	"errors"
	"reflect"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex"
	"vnfbench.io/operator/internal/traffic/trex/astf"
	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/trex/server"
)

// runningServer is a server that runs.
type runningServer interface {
	connection.Server
	Configuration() server.Configuration
	Ports() []measure.PortDriver
	Log() []string
	Close() error
}

// driver is what is opened on one, stateless or stateful.
type driver interface {
	measure.Driver
	measure.Notifier
}

// Opener opens TRex path by path. There is one server at a time: it owns the ports, and
// each path has its own. A server outlives an attempt to find a way through a chain that
// is still starting: a restart for each attempt would cost seconds, and take the ports'
// links down.
type Opener struct {
	// config's Node receives the ports' drivers, which a driver of the kernel's does
	// not report.
	config measure.OpenerConfig
	start  func(context.Context, server.Config) (runningServer, error)
	open   func(context.Context, trex.Config) (driver, error)
	// openStateful opens the driver of TCP connections.
	openStateful func(context.Context, astf.Config) (driver, error)

	// running has the configuration serves; nil before the first.
	running runningServer
	serves  server.Config
}

var _ measure.Opener = (*Opener)(nil)

// New makes an Opener that starts TRex's own server.
func New(config measure.OpenerConfig) *Opener {
	return &Opener{
		config: config,
		start: func(ctx context.Context, c server.Config) (runningServer, error) {
			s, err := server.Start(ctx, c)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		open: func(ctx context.Context, c trex.Config) (driver, error) {
			d, err := trex.Open(ctx, c)
			if err != nil {
				return nil, err
			}
			return d, nil
		},
		openStateful: func(ctx context.Context, c astf.Config) (driver, error) {
			d, err := astf.Open(ctx, c)
			if err != nil {
				return nil, err
			}
			return d, nil
		},
	}
}

// Open implements measure.Opener. It starts a server, or takes the one that runs, and
// opens a driver that closes both.
func (o *Opener) Open(ctx context.Context, opening measure.Opening) (measure.Driver, error) {
	var settings planning.Settings
	if err := opening.Driver.Decode(&settings); err != nil {
		return nil, err
	}
	var opened driver
	var err error
	switch {
	case opening.Path != nil:
		opened, err = o.openFrames(ctx, settings, *opening.Path)
	case opening.Stateful != nil:
		opened, err = o.openTCP(ctx, settings, *opening.Stateful)
	default:
		err = measure.NotOpened(string(planning.Name), "frames on a path, and TCP connections by itself")
	}
	if err != nil {
		return nil, err
	}
	return &servedDriver{driver: opened, opener: o}, nil
}

func (o *Opener) openFrames(ctx context.Context, settings planning.Settings, path measure.Path) (driver, error) {
	running, err := o.serve(ctx, server.Config{Settings: settings, Path: path, Log: o.config.Log})
	if err != nil {
		return nil, err
	}
	made := running.Configuration()
	return o.open(ctx, trex.Config{
		Path: path, Settings: settings, Server: running,
		Addresses: made.Addresses, WholeNICs: made.WholeNICs, Software: made.Software, Notes: made.Notes,
	})
}

func (o *Opener) openTCP(ctx context.Context, settings planning.Settings, between measure.Stateful) (driver, error) {
	running, err := o.serve(ctx, server.Config{Settings: settings, Path: between.Path, Stateful: true, Log: o.config.Log})
	if err != nil {
		return nil, err
	}
	return o.openStateful(ctx, astf.Config{Server: running, Between: between})
}

// serve makes sure that a server runs with a configuration.
func (o *Opener) serve(ctx context.Context, c server.Config) (runningServer, error) {
	if o.running != nil && reflect.DeepEqual(o.serves, c) {
		if o.running.Alive() == nil {
			return o.running, nil
		}
		// The bound of restarts still applies.
		return o.running, o.running.Restart(ctx)
	}
	if err := o.Close(); err != nil {
		return nil, err
	}
	running, err := o.start(ctx, c)
	if err != nil {
		return nil, err
	}
	o.running, o.serves = running, c
	if o.config.Node != nil {
		o.config.Node.Ports = running.Ports()
	}
	return running, nil
}

// Close implements measure.Opener. It ends the server that runs, if one does.
func (o *Opener) Close() error {
	if o.running == nil {
		return nil
	}
	err := o.running.Close()
	o.running = nil
	return err
}

// servedDriver is a driver with the server that it was opened on.
type servedDriver struct {
	driver
	opener *Opener
}

// Log implements measure.Logger.
func (d *servedDriver) Log() []string {
	if d.opener.running == nil {
		return nil
	}
	return d.opener.running.Log()
}

// Close releases the ports, and then ends the server.
func (d *servedDriver) Close() error {
	return errors.Join(d.driver.Close(), d.opener.Close())
}

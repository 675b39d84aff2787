//go:build linux

package main

import (
	"context"
	"errors"
	"log/slog"
	"reflect"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex"
	"vnfbench.io/operator/internal/traffic/trex/astf"
	"vnfbench.io/operator/internal/traffic/trex/server"
)

// trexServer is a server that runs.
type trexServer interface {
	trex.Server
	Configuration() server.Configuration
	Ports() []measure.PortDriver
	Log() []string
	Close() error
}

// trexDriver is what is opened on one, stateless or stateful.
type trexDriver interface {
	measure.Driver
	measure.Notifier
}

// trexPaths opens driver TRex, path by path. There is one server at a time: it
// owns the ports, and each path has its own. A server outlives an attempt to find
// a way through a chain that is still starting: starting it again for each would
// cost seconds, and the ports' links.
type trexPaths struct {
	log *slog.Logger
	// machine is told what the ports are, where a driver of the kernel's does not; may be nil.
	machine *measure.Machine
	start   func(context.Context, server.Config) (trexServer, error)
	open    func(context.Context, trex.Config) (trexDriver, error)
	// openStateful opens the driver of TCP connections.
	openStateful func(context.Context, astf.Config) (trexDriver, error)

	// running serves config; nil before the first.
	running trexServer
	config  server.Config
}

func newTRexPaths(log *slog.Logger, machine *measure.Machine) *trexPaths {
	return &trexPaths{
		log: log, machine: machine,
		start: func(ctx context.Context, c server.Config) (trexServer, error) {
			s, err := server.Start(ctx, c)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		open: func(ctx context.Context, c trex.Config) (trexDriver, error) {
			d, err := trex.Open(ctx, c)
			if err != nil {
				return nil, err
			}
			return d, nil
		},
		openStateful: func(ctx context.Context, c astf.Config) (trexDriver, error) {
			d, err := astf.Open(ctx, c)
			if err != nil {
				return nil, err
			}
			return d, nil
		},
	}
}

// Open starts a server for the path, or takes the one that is there, and opens a
// driver that closes both.
func (t *trexPaths) Open(ctx context.Context, path measure.Path, settings measure.TRexSettings) (measure.Driver, error) {
	running, err := t.serve(ctx, server.Config{Settings: settings, Path: path, Log: t.log})
	if err != nil {
		return nil, err
	}
	driver, err := t.open(ctx, trex.Config{Path: path, Settings: settings, Server: running, Notes: running.Configuration().Notes})
	if err != nil {
		return nil, err
	}
	return &servedDriver{trexDriver: driver, paths: t}, nil
}

// OpenStateful implements measurer.StatefulOpener.
func (t *trexPaths) OpenStateful(ctx context.Context, instructions measure.Instructions) (measure.Driver, error) {
	settings, between := instructions.Driver.TRex, instructions.Stateful
	if settings == nil || between == nil {
		return nil, errors.New("the instructions do not say between which addresses TRex makes TCP connections")
	}
	running, err := t.serve(ctx, server.Config{Settings: *settings, Path: between.Path, Stateful: true, Log: t.log})
	if err != nil {
		return nil, err
	}
	driver, err := t.openStateful(ctx, astf.Config{Server: lent{running}, Between: *between})
	if err != nil {
		return nil, err
	}
	return &servedDriver{trexDriver: driver, paths: t}, nil
}

// lent is a server that its driver closes, and that is kept nevertheless.
type lent struct{ trexServer }

func (lent) Close() error { return nil }

// serve makes sure that a server runs with a configuration.
func (t *trexPaths) serve(ctx context.Context, c server.Config) (trexServer, error) {
	if t.running != nil && reflect.DeepEqual(t.config, c) {
		if t.running.Alive() == nil {
			return t.running, nil
		}
		// The bound of restarts goes on.
		return t.running, t.running.Restart(ctx)
	}
	if err := t.close(); err != nil {
		return nil, err
	}
	running, err := t.start(ctx, c)
	if err != nil {
		return nil, err
	}
	t.running, t.config = running, c
	if t.machine != nil && t.machine.Fingerprint != nil {
		t.machine.Fingerprint.Ports = running.Ports()
	}
	return running, nil
}

// close ends the server that runs, if one does.
func (t *trexPaths) close() error {
	if t == nil || t.running == nil {
		return nil
	}
	err := t.running.Close()
	t.running = nil
	return err
}

// servedDriver is a driver with the server that it was opened on.
type servedDriver struct {
	trexDriver
	paths *trexPaths
}

// Log implements measure.Logger.
func (d *servedDriver) Log() []string {
	if d.paths.running == nil {
		return nil
	}
	return d.paths.running.Log()
}

// Close gives the ports back, and then ends the server.
func (d *servedDriver) Close() error {
	return errors.Join(d.trexDriver.Close(), d.paths.close())
}

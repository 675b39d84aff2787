// Package trex makes and measures traffic with the stateless mode of TRex. It takes a
// measure.Path, a running server and, trial by trial, a load, and returns a
// measure.Outcome. It calls the server through package rpc and does not touch the ports
// itself.
//
// docs/concepts/trex-driver.md explains how it measures, and where this differs from
// drivers that make frames themselves.
package trex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/trex/connection"
	"vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

const (
	// defaultLatencyFramesPerSecond is low enough for the thread that receives these
	// frames in software, and makes 60,000 in RFC 2544's trial of 60 s.
	defaultLatencyFramesPerSecond = 1000
	// callTimeout is far above the longest call observed, 20 ms.
	callTimeout = 5 * time.Second
)

// Config is what Open needs. Path, Settings and Server have no default.
type Config struct {
	Path     measure.Path
	Settings planning.Settings
	// Server already runs. The driver restarts it when it fails, and never closes it.
	Server connection.Server
	// LatencyFramesPerSecond is how many frames of each stream are timed, by default
	// 1,000. They are a part of its load.
	LatencyFramesPerSecond uint64
	// ProbeTimeout is how long Open looks for a way through the chain, by default 5 s. It
	// must outlast the time that a device needs before it forwards.
	ProbeTimeout time.Duration
	// Addresses are the PCI addresses of the path's ports, west first; empty for packet sockets.
	Addresses [2]string
	// WholeNICs says that the ports keep their own MAC addresses, which are not the streams'.
	WholeNICs bool
	// Software says that the server sorts and counts by software, whatever the NICs are.
	Software bool
	// Notes are sentences about the server that go into the description's fallbacks.
	Notes []string
}

// Driver is a measure.Driver.
type Driver struct {
	config      Config
	connection  *connection.Connection
	streams     frames.Streams
	description measure.Description
	// ports are the server's numbers of the path's ports.
	ports [2]int
	info  systemInfo
	// forced are the ports that belonged to another client.
	forced map[string]bool
	// lineRateBitsPerSecond is the lower rate of the two ports.
	lineRateBitsPerSecond uint64
	largestFrameBytes     int
	// coarse says that the server's delays are in TRex's own buckets.
	coarse bool
	closed bool
	// onSent is called after a trial's last frame; nil means no call.
	onSent func()
}

var (
	_ measure.Driver   = (*Driver)(nil)
	_ measure.Notifier = (*Driver)(nil)
)

// Open finds the path's ports at the server, acquires them and looks for a way through
// the chain.
func Open(ctx context.Context, config Config) (_ *Driver, err error) {
	if config.LatencyFramesPerSecond == 0 {
		config.LatencyFramesPerSecond = defaultLatencyFramesPerSecond
	}
	if config.ProbeTimeout <= 0 {
		config.ProbeTimeout = frames.DefaultProbeTimeout
	}
	d := &Driver{config: config, forced: map[string]bool{}}
	d.connection = &connection.Connection{
		Server: config.Server, Options: rpc.Options{API: rpc.STL, Timeout: callTimeout}, Begin: d.begin,
	}
	if err := d.checkConfig(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := d.connection.Connect(ctx); err != nil {
		return nil, d.connection.Explain(err)
	}
	if err := d.findPath(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Driver) checkConfig() error {
	if d.config.Server == nil {
		return errors.New("there is no TRex server")
	}
	streams, err := frames.Of(d.config.Path)
	if err != nil {
		return err
	}
	for _, s := range streams {
		if s == nil {
			continue
		}
		if err := checkFlows(*s); err != nil {
			return &measure.Failure{
				Reason: v1alpha1.ReasonInvalidPath, Err: err,
				Remedy: fmt.Sprintf("ask for at most %d random flows of these fields, or for sequential ones", flowsAlike(*s.Flows)),
			}
		}
	}
	d.streams = streams
	return nil
}

// Description reports how TRex drives the ports.
func (d *Driver) Description() measure.Description { return d.description }

// NotifySent implements measure.Notifier.
func (d *Driver) NotifySent(sent func()) { d.onSent = sent }

// Close stops the traffic and releases the ports. It may be called twice. A server that
// no longer answers has nothing to release.
func (d *Driver) Close() error {
	d.closed = true
	if d.connection.Client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := errors.Join(d.clear(ctx), d.release(ctx))
	if lost(err) {
		err = nil
	}
	return errors.Join(err, d.connection.Close())
}

// lost reports whether the server is not there, or does not know this client.
func lost(err error) bool {
	for _, gone := range []error{rpc.ErrConnection, rpc.ErrProtocol, rpc.ErrServerRestarted, rpc.ErrOwned, rpc.ErrNotAcquired, context.DeadlineExceeded} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

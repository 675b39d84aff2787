//go:build linux

// Package server runs TRex's own server next to the measurer. It takes the settings of a
// driver and a path, and returns a process that answers on loopback, or a measure.Failure
// that says what the pod lacks. It writes the server's configuration, checks the pod
// before it starts anything, closes the server's ports to all others, watches the
// process, and keeps the last lines of its output.
//
// Every option and key is that of TRex v3.08. docs/concepts/trex-server.md explains them
// line by line.
package server

import (
	"log/slog"
	"path/filepath"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/trex/planning"
)

const (
	// DefaultDirectory has TRex's release in the traffic pod's image.
	DefaultDirectory = "/opt/trex"
	// DefaultStateDirectory is for the configuration and DPDK's runtime files. It is
	// DPDK's own directory, so one volume is enough for both.
	DefaultStateDirectory = "/var/run/dpdk"
	// DefaultNetworkStatus is the pod's annotation k8s.v1.cni.cncf.io/network-status
	// as the downward API writes it.
	DefaultNetworkStatus = "/etc/vnfbench/pod/network-status"

	// TRex answers after about 2 s, and after 17 s if a default gateway of an extra
	// configuration does not answer ARP. Zeroing many hugepages and negotiating a link
	// again take more time.
	defaultStartTimeout = 60 * time.Second
	// The server waits up to 2 s for its threads (wait_for_all_cores in
	// main_dpdk.cpp), then gives its ports back.
	defaultCloseTimeout = 10 * time.Second
	// defaultMaximumRestarts bounds the restarts on one path.
	defaultMaximumRestarts = 3

	programName = "_t-rex-64"
	// plainProgramName is the build for processors without AVX.
	plainProgramName  = "_t-rex-64-o"
	configurationName = "trex_cfg.yaml"
)

// Config is what Start needs. Only Settings and Path have no default.
type Config struct {
	Settings planning.Settings
	// Path gives the ports by their interfaces' names, and the MACs of both.
	Path measure.Path
	// Stateful starts the server in its advanced stateful mode (ASTF).
	Stateful bool
	// Directory is the directory of TRex's release, by default DefaultDirectory.
	Directory string
	// Program is the server's file, by default the one in Directory that this processor
	// can run.
	Program string
	// StateDirectory is writable, by default DefaultStateDirectory.
	StateDirectory string
	// NetworkStatus is a file, by default DefaultNetworkStatus. It may be absent.
	NetworkStatus string
	// Log gets a line for each line of the server; nil keeps none.
	Log *slog.Logger
	// StartTimeout is how long the server may take until it answers, by default 60 s.
	StartTimeout time.Duration
	// CloseTimeout is how long it may take to end before it is killed, by default 10 s.
	CloseTimeout time.Duration
	// MaximumRestarts bounds the restarts; 0 is 3, below 0 allows none.
	MaximumRestarts int
}

func (c Config) withDefaults() Config {
	setDefault(&c.Directory, DefaultDirectory)
	setDefault(&c.StateDirectory, DefaultStateDirectory)
	setDefault(&c.NetworkStatus, DefaultNetworkStatus)
	setDefault(&c.StartTimeout, defaultStartTimeout)
	setDefault(&c.CloseTimeout, defaultCloseTimeout)
	setDefault(&c.MaximumRestarts, defaultMaximumRestarts)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// configurationPath returns the path of the server's configuration.
func (c Config) configurationPath() string {
	return filepath.Join(c.StateDirectory, configurationName)
}

// dpdk reports whether TRex drives the ports with DPDK.
func (c Config) dpdk() bool { return c.Settings.Mode == planning.DPDK }

//go:build linux

package kernel

import (
	"log/slog"

	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/filter"
	"vnfbench.io/operator/internal/vnf/tunnel"
)

// parts is the registry of what each function does in the kernel in addition to
// forwarding, by the API's names. A router has no part. Key files are in the
// folder keys.
var parts = map[string]func(config *vnf.Config, keys string, log *slog.Logger) Part{
	vnf.FunctionFirewall: func(config *vnf.Config, _ string, log *slog.Logger) Part { return filter.New(config.Firewall, log) },
	vnf.FunctionEncryptionGateway: func(config *vnf.Config, keys string, log *slog.Logger) Part {
		return tunnel.New(config.Gateway, keys, log)
	},
}

// Part is what a function does in the kernel in addition to forwarding. Making
// one changes nothing.
type Part interface {
	// Prepare runs before the ports are up, so that nothing passes unfiltered or in
	// the clear; Apply runs when they are up. Both may run again.
	Prepare() error
	Apply() error
	// Check returns why the part does not work as configured, or nil. It is cheap.
	Check() error
	// Status returns the part's state and counters.
	Status() vnf.FunctionStatus
	// Interface returns the name of an interface that Apply makes, which forwards
	// with the same kernel parameters as the ports; "" where there is none.
	Interface() string
}

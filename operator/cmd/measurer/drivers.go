//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/iperf"
	trex "vnfbench.io/operator/internal/traffic/trex/opener"
	trexplanning "vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/xdp"
	xdpplanning "vnfbench.io/operator/internal/traffic/xdp/planning"
)

// registry has every driver of this measurer, by the name in the instructions.
var registry = map[string]func(measure.OpenerConfig) measure.Opener{
	string(xdpplanning.Name):  func(measure.OpenerConfig) measure.Opener { return xdp.Opener{} },
	string(trexplanning.Name): func(c measure.OpenerConfig) measure.Opener { return trex.New(c) },
	measure.EndpointDriver:    func(c measure.OpenerConfig) measure.Opener { return iperf.Opener{TokenFile: c.AgentToken} },
}

// drivers opens the drivers of the registry.
type drivers struct {
	config measure.OpenerConfig
	// openers are those that were needed so far.
	openers map[string]measure.Opener
}

func newDrivers(config measure.OpenerConfig) *drivers {
	return &drivers{config: config, openers: map[string]measure.Opener{}}
}

// Open implements measurer.Opener.
func (d *drivers) Open(ctx context.Context, opening measure.Opening) (measure.Driver, error) {
	name := opening.Driver.Name
	if d.openers[name] == nil {
		make, found := registry[name]
		if !found {
			return nil, fmt.Errorf("there is no driver %q in this measurer", name)
		}
		d.openers[name] = make(d.config)
	}
	return d.openers[name].Open(ctx, opening)
}

// Close releases what the openers keep.
func (d *drivers) Close() error {
	var failed []error
	for _, opener := range d.openers {
		failed = append(failed, opener.Close())
	}
	return errors.Join(failed...)
}

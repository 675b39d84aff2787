package trex

import (
	"context"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

// findPath sends probes until frames of every stream arrive.
func (d *Driver) findPath(ctx context.Context) error {
	shared := d.streams
	d.streams = shared.WithoutShares()
	defer func() { d.streams = shared }()
	for deadline := time.Now().Add(d.config.ProbeTimeout); ; {
		outcome, err := d.Measure(ctx, d.streams.Probe(signatureBytes))
		if err != nil {
			return err
		}
		missing := frames.Missing(outcome)
		if len(missing) == 0 {
			d.describe() // with the results of the probes
			return nil
		}
		if time.Now().After(deadline) {
			return measure.Failf(v1alpha1.ReasonNoPathThroughChain,
				"check the chain's addresses, routes and firewall rules, and that it leaves the IPv4 identification (IPv6: the flow label) as it is",
				"in %v no probe frame of %v came through from %q and %q",
				d.config.ProbeTimeout, missing, d.config.Path.Ports[0].Interface, d.config.Path.Ports[1].Interface)
		}
	}
}

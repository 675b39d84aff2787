package trex

import (
	"context"
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

// One probe is a few frames in every direction. A device that is still learning may lose
// them, so probes continue until the time is up.
const (
	probeFrames     = 10
	probeRate       = 1000
	probeSettle     = 150 * time.Millisecond
	probeFrameBytes = 128
)

// findPath sends probes until frames of every stream arrive.
func (d *Driver) findPath(ctx context.Context) error {
	d.config.probing = true
	defer func() { d.config.probing = false }()
	for deadline := time.Now().Add(d.config.ProbeTimeout); ; {
		outcome, err := d.Measure(ctx, measure.Trial{
			FrameBytes:              max(probeFrameBytes, headers.MinimumFrameBytes(d.config.Path.Streams[0], signatureBytes)),
			IntendedFramesPerSecond: probeRate,
			DurationNanoseconds:     int64(probeFrames) * int64(time.Second) / probeRate,
			SettleNanoseconds:       int64(probeSettle),
		})
		if err != nil {
			return err
		}
		var missing []measure.Direction
		for _, direction := range outcome.Directions {
			if direction.ReceivedFrames == 0 {
				missing = append(missing, direction.Direction)
			}
		}
		if len(missing) == 0 {
			d.describe() // with the results of the probes
			return nil
		}
		if time.Now().After(deadline) {
			return &measure.Failure{
				Reason: v1alpha1.ReasonNoPathThroughChain,
				Err:    fmt.Errorf("in %v no probe frame of %v came through from %q and %q", d.config.ProbeTimeout, missing, d.config.Path.Ports[0].Interface, d.config.Path.Ports[1].Interface),
				Remedy: "check the chain's addresses, routes and firewall rules, and that it leaves the IPv4 identification (IPv6: the flow label) as it is",
			}
		}
	}
}

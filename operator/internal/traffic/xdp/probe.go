package xdp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

const (
	// carrierTimeout is how long Open waits for the ports' carriers. The drivers of some network cards start the card again to
	// take an XDP program, and both ends of its link then need seconds to agree on a speed.
	carrierTimeout = 10 * time.Second
	carrierStep    = 50 * time.Millisecond
)

// awaitCarriers waits until both ports have a carrier.
func (d *Driver) awaitCarriers(ctx context.Context) error {
	p := newPause()
	for deadline := time.Now().Add(d.config.carrierTimeout); ; {
		err := d.checkCarriers()
		if measure.ReasonOf(err) != v1alpha1.ReasonPortDown || time.Now().After(deadline) {
			return err
		}
		if err := p.wait(ctx, carrierStep); err != nil {
			return err
		}
	}
}

// checkCarriers refuses ports without a carrier, on every path: at its begin the device has a link too.
func (d *Driver) checkCarriers() error {
	for _, p := range d.ports {
		attrs, err := readPort(d.handle, p)
		if err != nil {
			return err
		}
		if err := checkCarrier(attrs); err != nil {
			return err
		}
	}
	return nil
}

// findPath finds the way out that delivers frames to the other port, through anything
// between them. Both directions take the same way, so that their figures are comparable.
func (d *Driver) findPath(ctx context.Context) error {
	ways := []string{d.config.TransmitPath}
	if d.config.TransmitPath == Auto {
		ways = []string{Direct, InnerVeth}
	}
	var before [2]counters
	for i, p := range d.ports {
		var err error
		if before[i], err = readCounters(d.handle, p); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(d.config.ProbeTimeout)
	for {
		for _, way := range ways {
			delivered, err := d.probe(ctx, way)
			if err != nil {
				return err
			}
			if delivered {
				return d.settleOn(ctx, way)
			}
		}
		if time.Now().After(deadline) {
			return d.noPath(before)
		}
	}
}

// settleOn keeps a way that delivers. If a device began to forward just between the two
// probes, the direct way gets another probe.
func (d *Driver) settleOn(ctx context.Context, way string) error {
	if way == InnerVeth && d.config.TransmitPath == Auto {
		delivered, err := d.probe(ctx, Direct)
		if err != nil {
			return err
		}
		if delivered {
			way = Direct
		} else if _, err := d.takeWay(InnerVeth); err != nil {
			return err
		} else {
			d.description.Fallbacks = append(d.description.Fallbacks,
				"frames that were redirected to a port did not arrive (a veth whose peer has no NAPI drops them, and so does a NIC whose driver sends none): an inner veth pair carries them")
		}
	}
	d.description.TransmitPath = way
	if way == Direct {
		return d.dropInner()
	}
	return nil
}

func (d *Driver) dropInner() error {
	var failed []error
	for i := range d.inner {
		failed = append(failed, d.inner[i].close())
		d.inner[i] = nil
	}
	return errors.Join(failed...)
}

// probe reports whether every stream's frames arrive that way.
func (d *Driver) probe(ctx context.Context, way string) (bool, error) {
	fallback, err := d.takeWay(way)
	if err != nil {
		return false, err
	}
	if fallback != "" {
		d.description.Fallbacks = append(d.description.Fallbacks, fallback)
	}
	d.description.TransmitPath = way
	outcome, err := d.sendProbe(ctx, d.streams.Probe(signatureBytes))
	if err != nil {
		return false, err
	}
	return len(frames.Missing(outcome)) == 0, nil
}

// sendProbe repeats a probe if a busy machine let nothing be sent: it says nothing about
// the path.
func (d *Driver) sendProbe(ctx context.Context, trial measure.Trial) (outcome measure.Outcome, err error) {
	shared := d.streams
	d.streams = shared.WithoutShares()
	defer func() { d.streams = shared }()
	for deadline := time.Now().Add(d.config.ProbeTimeout); ; {
		outcome, err = d.Measure(ctx, trial)
		if err != nil || time.Now().After(deadline) {
			return outcome, err
		}
		made := true
		for i, s := range d.streams {
			made = made && (s == nil || d.state.Transmitters[i].Made > 0)
		}
		if made {
			return outcome, nil
		}
	}
}

// takeWay points the programs at a way out. It makes the inner pairs at first use.
func (d *Driver) takeWay(way string) (fallback string, err error) {
	for i, p := range d.ports {
		to := p.index
		if way == InnerVeth && d.streams[i] != nil {
			if d.inner[i] == nil {
				program := d.collection.Programs[trafficProgPassOn]
				if d.inner[i], fallback, err = newInnerVeth(d.handle, p, program, d.config.withoutTCX); err != nil {
					return "", &measure.Failure{
						Reason: v1alpha1.ReasonCannotTransmit,
						Remedy: "give the container the capability NET_ADMIN on a kernel with veth and tcx or clsact",
						Err:    err,
					}
				}
			}
			to = d.inner[i].near.Attrs().Index
		}
		d.state.Transmitters[i].RedirectIfindex = uint32(to)
	}
	return fallback, nil
}

// noPath reports what was tried and where the frames were last seen.
func (d *Driver) noPath(before [2]counters) error {
	if err := d.checkCarriers(); err != nil {
		return err
	}
	text := ""
	for i, p := range d.ports {
		now, err := readCounters(d.handle, p)
		if err != nil {
			return err
		}
		text += fmt.Sprintf("; %s: %v", p.name, now.since(before[i]))
	}
	tried := "Direct and InnerVeth"
	if d.config.TransmitPath != Auto {
		tried = d.config.TransmitPath
	}
	return measure.Failf(v1alpha1.ReasonNoPathThroughChain, d.remedyForNoPath(),
		"no probe frame came through in each of %v within %v (%s tried)%s", d.directions(), d.config.ProbeTimeout, tried, text)
}

// remedyForNoPath says what a device needs where nothing comes through.
func (d *Driver) remedyForNoPath() string {
	for _, p := range d.config.Path.Ports {
		if !p.NextHop.IsValid() {
			return "check that every device of the chain forwards between the two ports and has a static neighbor for each of the path's addresses"
		}
	}
	return "check that every device of the chain forwards between the two ports and has a route to each of the path's addresses"
}

func (d *Driver) directions() []measure.Direction {
	var all []measure.Direction
	for _, s := range d.streams {
		if s != nil {
			all = append(all, s.Direction)
		}
	}
	return all
}

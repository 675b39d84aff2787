package xdp

import (
	"context"
	"time"

	"vnfbench.io/operator/internal/measure"
)

const (
	// counterTimeout is how long a port's counters may take to include what left: the drivers of
	// some network cards read them once in one or two seconds.
	counterTimeout = 2500 * time.Millisecond
	counterStep    = 20 * time.Millisecond
	// countedProbes is how many times as many frames as a probe show whether a port counts them: a
	// few frames of the kernel itself must not look like them.
	countedProbes = 10
	// ownFrames is how many frames the kernel itself may send on a port in a trial, such as router
	// solicitations. Each hides a refused one in the port's counter.
	ownFrames = 16
)

// findRefusals finds out whether the counters of the sending ports show each frame that they
// refuse. A driver that does not take a redirected frame makes the kernel drop it, and most count
// nothing then: a frame was taken where the port's counter of sent frames includes it. Whether it
// does depends on the driver and on the way out, so frames show it.
func (d *Driver) findRefusals(ctx context.Context) error {
	trial := d.streams.Probe(signatureBytes)
	trial.IntendedFramesPerSecond *= countedProbes
	before, err := d.watch()
	if err != nil {
		return err
	}
	if _, err := d.sendProbe(ctx, trial); err != nil {
		return err
	}
	for i := range d.refusals {
		d.refusals[i] = measure.RefusedCounted
	}
	// What arrived has left. The rest may have been refused.
	shown := func(i int, seen counters) bool {
		arrived := d.state.Receivers[i].Received
		return arrived > ownFrames && seen.sent >= arrived
	}
	after, err := d.awaitCounters(ctx, before, shown)
	if err != nil {
		return err
	}
	for i, s := range d.streams {
		if s == nil {
			continue
		}
		if !shown(i, after[i].since(before.ports[i])) {
			d.refusals[i] = measure.RefusedUnproven
		}
		d.description.Ports[i].RefusedFrames = d.refusals[i]
	}
	return nil
}

// counts reports whether a sending port's counters show every frame that it refuses.
func (d *Driver) counts(i int) bool { return d.refusals[i] == measure.RefusedCounted }

// uncounted returns how many of a trial's frames a port has neither sent nor dropped, by its own
// counters.
func (d *Driver) uncounted(i int, trial measure.Trial, seen counters) uint64 {
	handed := d.handedOver(i, trial)
	return handed - min(handed, seen.sent+seen.sendDrops)
}

// hidden returns how many of a trial's frames a port that counts may have refused although its counters do
// not show it: each frame of others that it sent is one more in the counter.
func (d *Driver) hidden(i int, trial measure.Trial, o measure.DirectionOutcome, seen counters) uint64 {
	counted, handed := seen.sent+seen.sendDrops, d.handedOver(i, trial)
	others := counted - min(counted, handed)
	if o.RefusedFrames > 0 {
		others += ownFrames
	}
	return others
}

// awaitCounters reads the sending ports' counters until enough is true of each that counts, or for
// counterTimeout. That time is part of the trial's settling.
func (d *Driver) awaitCounters(ctx context.Context, before watched, enough func(i int, seen counters) bool) (now [2]counters, err error) {
	p := newPause()
	for waited := time.Duration(0); ; {
		if now, err = d.readPorts(); err != nil {
			return now, err
		}
		complete := true
		for i := range now {
			complete = complete && (!d.counts(i) || d.streams[i] == nil || enough(i, now[i].since(before.ports[i])))
		}
		if complete || waited > counterTimeout {
			return now, nil
		}
		began := time.Now()
		if err := p.wait(ctx, counterStep); err != nil {
			return now, err
		}
		last := time.Since(began)
		waited, d.extended = waited+last, d.extended+last
	}
}

// watchBefore reads what is read before a trial. A counter that is late may lack frames of the
// trial before: those are known.
func (d *Driver) watchBefore() (watched, error) {
	w, err := d.watch()
	for i := range w.ports {
		w.ports[i].sent = max(w.ports[i].sent, d.counted[i])
	}
	return w, err
}

// watchAfter reads the same after a trial. Where frames are missing, it waits until the ports'
// counters account for all frames.
func (d *Driver) watchAfter(ctx context.Context, trial measure.Trial, before watched) (watched, error) {
	w := watched{steal: readSteal(d.cpus), softnet: readSoftnet(d.cpus)}
	var err error
	if w.ports, err = d.awaitCounters(ctx, before, func(i int, seen counters) bool {
		return d.state.Receivers[i].Received >= d.state.Transmitters[i].Made || d.uncounted(i, trial, seen) == 0
	}); err != nil {
		return w, err
	}
	for i := range d.ports {
		if d.counts(i) && d.streams[i] != nil {
			handed := d.handedOver(i, trial)
			refused := d.account(i, trial, w.since(before)).refused
			d.counted[i] = before.ports[i].sent + handed - min(handed, refused)
		}
	}
	return w, nil
}

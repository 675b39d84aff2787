package xdp

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// settleStep is how often a trial that settles looks for arrivals.
	settleStep = 20 * time.Millisecond
	// settleQuiet is the time in which no frame may arrive before a trial that misses some ends, or its
	// settling time where that is shorter: a device that other work interrupts stops for tens of milliseconds.
	settleQuiet = 80 * time.Millisecond
	// maxExtension is how much longer than its settling time a trial waits for frames that
	// still arrive: what RFC 2544 section 23 asks for.
	maxExtension = 2 * time.Second
)

// settle waits for frames that are still under way: as long as the trial asks for, and then as
// long as frames are missing and some have arrived within settleQuiet.
func (d *Driver) settle(ctx context.Context, asked time.Duration) error {
	p, quiet := newPause(), min(asked, settleQuiet)
	settled, still := asked-quiet, time.Duration(0)
	if err := p.wait(ctx, settled); err != nil {
		return err
	}
	before, _ := d.arrivals()
	for {
		step := settleStep
		if settled < asked {
			step = min(step, asked-settled)
		}
		if err := p.wait(ctx, step); err != nil {
			return err
		}
		settled, still = settled+step, still+step
		received, missing := d.arrivals()
		if received != before {
			before, still = received, 0
		}
		d.extended = max(0, settled-asked)
		if settled >= asked && (!missing || still >= quiet || d.extended >= maxExtension) {
			return nil
		}
	}
}

// arrivals returns how many frames and fragments have arrived, and whether frames are missing.
func (d *Driver) arrivals() (received uint64, missing bool) {
	for i, s := range d.streams {
		if s == nil {
			continue
		}
		r := &d.state.Receivers[i]
		whole := atomic.LoadUint64(&r.Received)
		received += whole + atomic.LoadUint64(&r.Fragments)
		missing = missing || whole < d.state.Transmitters[i].Made
	}
	return received, missing
}

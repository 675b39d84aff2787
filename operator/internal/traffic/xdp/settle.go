package xdp

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// settleStep is the time in which no frame may arrive before a trial that misses some ends.
	settleStep = 20 * time.Millisecond
	// maxExtension is how much longer than its settling time a trial waits for frames that
	// still arrive: what RFC 2544 section 23 asks for.
	maxExtension = 2 * time.Second
)

// settle waits for frames that are still under way: as long as the trial asks for, and then as
// long as frames are missing and some arrive in each step.
func (d *Driver) settle(ctx context.Context, asked time.Duration) error {
	p := newPause()
	d.extended = 0
	last := min(asked, settleStep)
	if err := p.wait(ctx, asked-last); err != nil {
		return err
	}
	before, _ := d.arrivals()
	if err := p.wait(ctx, last); err != nil {
		return err
	}
	for d.extended < maxExtension {
		received, missing := d.arrivals()
		if !missing || received == before {
			return nil
		}
		before = received
		if err := p.wait(ctx, settleStep); err != nil {
			return err
		}
		d.extended += settleStep
	}
	return nil
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

package xdp

import (
	"errors"
	"runtime"
)

// The driver's own work is measured in this many runs of this many frames; the minimum
// counts, because other work on the core can only add to it.
const (
	costRuns   = 3
	costFrames = 20_000
)

// findCost measures what the driver itself takes of a core for each frame of a probe's size: it
// makes frames, sends them on the way out that was found and has them dropped before the port.
func (d *Driver) findCost() error {
	trial := d.streams.Probe(signatureBytes)
	trial.IntendedFramesPerSecond = 0
	templates, err := d.prepare(trial)
	if err != nil {
		return err
	}
	s := d.senders(trial, templates)[0]
	ports := [2]uint32{d.state.Transmitters[0].PortIfindex, d.state.Transmitters[1].PortIfindex}
	for i := range d.state.Transmitters {
		t := &d.state.Transmitters[i]
		if d.streams[i] != nil {
			t.Eligible, t.EndAt = 0, never
			t.TimedEvery = 0 // as at a load
		}
		if d.description.TransmitPath == Direct {
			t.RedirectIfindex = 0
		}
		t.PortIfindex = 0
	}
	took, err := s.cost()
	for i, p := range ports {
		d.state.Transmitters[i].PortIfindex = p
	}
	d.description.FrameCostNanoseconds = took
	_, failed := d.takeWay(d.description.TransmitPath)
	return errors.Join(err, failed)
}

// cost returns the nanoseconds of each frame, by the kernel's own clock around the runs.
func (s *sender) cost() (minNanoseconds int64, err error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&s.frame[0])
	runtime.LockOSThread()
	restore, err := s.settle()
	if err != nil {
		return 0, err
	}
	for range costRuns {
		request := s.request(costFrames)
		if err = request.run(); err != nil {
			break
		}
		if took := int64(request.duration); minNanoseconds == 0 || took < minNanoseconds {
			minNanoseconds = took
		}
	}
	if failed := restore(); failed != nil {
		return minNanoseconds, errors.Join(err, failed)
	}
	runtime.UnlockOSThread()
	return minNanoseconds, err
}

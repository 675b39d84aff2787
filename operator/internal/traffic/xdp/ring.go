package xdp

import (
	"time"

	"vnfbench.io/operator/internal/measure"
)

// On paths that are not Inline the ring represents none of the device's: what waits there is the
// generator's arrears, and would leave as a burst. So no more may wait than is due in maxArrears, which
// adds a twentieth to the frames of a millisecond, or minPlaces frames, which are no burst. A packet
// in more fragments than that waits alone.
const (
	maxArrears = 50 * time.Microsecond
	minPlaces  = 4
)

// places returns how many frames, or packets of so many fragments, of a direction may wait at a rate, which
// is that share of the load or with 0 all of it. One thread empties full rings in proportion to their
// places, so an overload keeps the shares.
func (d *Driver) places(perSecond uint64, loadPercent int, fragments uint64) uint64 {
	places := uint64(d.config.RingFrames)
	if d.inline() {
		return places
	}
	if loadPercent > 0 {
		places = max(1, places*uint64(loadPercent)/100)
	}
	return min(places, max(1, minPlaces/fragments, perSecond*uint64(maxArrears)/uint64(time.Second)))
}

// inline reports whether the device's kernel works on the sending core.
func (d *Driver) inline() bool { return d.config.Path.Hop == measure.HopInline }

// left returns how many frames a trial left in the ring, with a packet that had begun to leave.
func left(t *trafficTransmitter) uint64 {
	if t.Fragment > 0 {
		return t.Waiting + 1
	}
	return t.Waiting
}

// drained returns how long after the trial's end frames of a direction left that had waited in the ring.
func (d *Driver) drained(i int, trial measure.Trial) time.Duration {
	t := &d.state.Transmitters[i]
	end := t.Schedule.Start + uint64(trial.Duration())
	if t.Schedule.FramesPerSecond == 0 || t.LastDeparture <= end {
		return 0
	}
	return time.Duration(t.LastDeparture - end)
}

package xdp

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
)

const (
	// minLearned is how many frames of a thread show how many packets the kernel takes in for each: fewer
	// would take a few packets of others for their own.
	minLearned = 10_000
	// maxOthers is how many packets of others there may be for each frame of a trial that shows it, by the
	// highest rate at which packets came while nothing was sent.
	maxOthers = 0.02
	// asked is how many packets an idle time may have that say nothing: the measurer's own questions to the
	// device and the observer, and frames that were still under way.
	asked = 500
	// learned is how many trials of about one rate show it. A median leaves out those that others met.
	learned = 9
	// minSpread is how many times as high the rate of one trial is as that of another if the two show
	// which packets follow the frames, and which the time.
	minSpread = 1.5
	// minSlopes is how many such pairs there must be.
	minSlopes = 3
	// minScatter is how many trials show by how much the packets for each frame differ from trial to trial, and
	// scatters how many times that difference is no packet of others.
	minScatter = 3
	scatters   = 3
	// maxPacketTime is the longest time that a packet of others is taken to have had a core, several times
	// what a kernel needs that forwards it by 200 rules. It bounds only times in which the thread did not
	// run.
	maxPacketTime = 10 * time.Microsecond
)

// intake is what the kernel has taken in on the core of each thread, of all network namespaces, modulo 2^32.
type intake struct {
	at      time.Time
	packets [2]uint32
}

// readIntake reads the column of processed packets of /proc/net/softnet_stat. The kernel counts a packet
// each time that its stack takes it from a device, a bridge's port and a packet steered from another core
// among them. It does not count what an XDP program of a driver takes.
func readIntake(cpus []int) (all intake) {
	all.at = time.Now()
	for _, stat := range readProc(procfs.FS.NetSoftnetStat) {
		if thread := slices.Index(cpus, int(stat.Index)); thread >= 0 {
			all.packets[thread] = stat.Processed
		}
	}
	return all
}

// taken is what the kernel took in on a thread's core in a trial.
type taken struct {
	// packets are all of them while the thread sent, in so many seconds.
	packets, seconds float64
	// others are those that came meanwhile at the rate at which packets come while nothing is sent, and
	// loudest those at the higher one of two such rates.
	others, loudest float64
	// left are the thread's frames, a fragment being one, and whole is true if each packet arrived.
	left  float64
	whole bool
}

// intakes are read before a trial, when its threads run and before they send, when they have ended, and when the trial
// has settled.
type intakes struct{ before, armed, sent, settled intake }

// rate returns the packets per second on a thread's core between two reads, without the first few.
func rate(from, to intake, thread int, few float64) float64 {
	if took := to.at.Sub(from.at); took > 0 {
		return max(0, float64(to.packets[thread]-from.packets[thread])-few) / took.Seconds()
	}
	return 0
}

// of returns what was taken in on a thread's core. Of the two times in which nothing is sent the quieter one counts for
// what others had all the time: the first is short, and in the second the measurer asks the device for its counters.
func (in intakes) of(thread int) (t taken) {
	t.packets, t.seconds = float64(in.sent.packets[thread]-in.armed.packets[thread]), in.sent.at.Sub(in.armed.at).Seconds()
	t.others = min(t.packets, t.seconds*min(rate(in.before, in.armed, thread, 0), rate(in.sent, in.settled, thread, 0)))
	t.loudest = t.seconds * max(rate(in.before, in.armed, thread, asked), rate(in.sent, in.settled, thread, asked))
	return t
}

// shows reports whether a trial shows for others how many packets the kernel takes in for each frame.
func (t taken) shows() bool {
	return t.whole && t.left >= minLearned && max(t.others, t.loudest) <= maxOthers*t.left
}

// takenIn returns what was taken in on each thread's core.
func (d *Driver) takenIn(in intakes) (all [2]taken) {
	for thread := range d.cpus {
		all[thread] = in.of(thread)
		all[thread].whole = true
	}
	for i, s := range d.streams {
		if s != nil {
			made, t := &d.state.Transmitters[i], &all[d.threadOf(i)]
			t.left, t.whole = t.left+float64(max(made.Made, made.FragmentsMade)), t.whole && d.state.Receivers[i].Received >= made.Made
		}
	}
	return all
}

// sample is a trial that shows how many packets the kernel takes in for its frames.
type sample struct{ packets, frames, seconds float64 }

// differs reports whether one of two trials had a rate that is minSpread times the other's.
func (s sample) differs(other sample) bool {
	one, two := s.frames*other.seconds, other.frames*s.seconds
	return max(one, two) >= minSpread*min(one, two)
}

// learn keeps what trials of a size show, the last ones of each rate.
func (d *Driver) learn(trial measure.Trial, all [2]taken) {
	if d.samples == nil {
		d.samples = map[frameSize][2][]sample{}
	}
	known := d.samples[sizeOf(trial)]
	for thread, t := range all {
		if !t.shows() {
			continue
		}
		now := sample{t.packets - t.others, t.left, t.seconds}
		alike := func(s sample) bool { return !s.differs(now) }
		var same int
		for _, s := range known[thread] {
			if alike(s) {
				same++
			}
		}
		if same >= learned {
			oldest := slices.IndexFunc(known[thread], alike)
			known[thread] = slices.Delete(known[thread], oldest, oldest+1)
		}
		known[thread] = append(known[thread], now)
	}
	d.samples[sizeOf(trial)] = known
}

// own is how many packets the kernel takes in for each frame of the trial's own.
type own struct {
	perFrame float64
	// scatter is by how many a trial usually differs from that; infinite where too few trials show it.
	scatter float64
}

// fit returns what trials show: their packets are so many for each frame, and so many for each second. The latter are of
// others. The slope is the median of the slopes between all trials whose rates differ, as Theil and Sen have it, so that
// bursts that some trials met and others did not change neither figure.
func fit(trials []sample) own {
	var slopes, each, off []float64
	for i, s := range trials {
		for _, other := range trials[:i] {
			if s.differs(other) {
				slopes = append(slopes, (s.packets/s.frames-other.packets/other.frames)/(s.seconds/s.frames-other.seconds/other.frames))
			}
		}
	}
	perSecond := 0.0
	if len(slopes) >= minSlopes {
		perSecond = max(0, median(slopes))
	}
	for _, s := range trials {
		each = append(each, max(0, s.packets-perSecond*s.seconds)/s.frames)
	}
	out := own{perFrame: median(each), scatter: math.Inf(1)}
	if len(trials) < minScatter {
		return out
	}
	for _, perFrame := range each {
		off = append(off, math.Abs(perFrame-out.perFrame))
	}
	out.scatter = median(off)
	return out
}

// median returns the middle of some values, the higher one of two; 0 for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// ownOf returns how many packets the kernel takes in for each frame on a thread's core: as many as in trials before, or
// where none shows it, all of this trial's beyond those that come while nothing is sent.
func (d *Driver) ownOf(trial measure.Trial, thread int, t taken) own {
	if known := d.samples[sizeOf(trial)][thread]; len(known) > 0 {
		return fit(known)
	}
	return own{perFrame: (t.packets - t.others) / max(1, t.left), scatter: math.Inf(1)}
}

// othersIn returns how many packets of others the kernel took in on a thread's core: those beyond what it takes in
// for each frame on this path. What it took in is the trial's own where the path is not Inline: there the device
// works elsewhere, and what comes back from it may be taken in on any core.
func (d *Driver) othersIn(trial measure.Trial, thread int, t taken) float64 {
	if !d.inline() {
		return 0
	}
	return max(0, t.packets-d.ownOf(trial, thread, t).perFrame*t.left)
}

// shared returns for how long packets of others had a thread's core: each for as long as one of the thread's
// own at the highest rate that the thread has carried. They came one by one, or the thread would not have run
// meanwhile, so the trial has its share of the time in which they were counted.
//
// Up to awayShare of the trial counts as none, unless frames are missing: there, what came beyond the rate at which packets
// come while nothing is sent may have come in one piece, and counts where that is longer than the ring lasts.
func (d *Driver) shared(trial measure.Trial, thread int, t taken, o measure.Outcome) time.Duration {
	others, mine := d.othersIn(trial, thread, t), d.ownOf(trial, thread, t)
	if all := d.tookFrom(trial, thread, t, others); float64(all) > awayShare*float64(trial.Duration()) {
		return all
	}
	if piece := d.tookFrom(trial, thread, t, max(0, others-t.others-scatters*mine.scatter*t.left)); piece > d.bridged(trial, thread, o) {
		return piece
	}
	return 0
}

// tookFrom returns for how long so many packets of others had a thread's core in a trial; 0 where the thread's rate is not known.
func (d *Driver) tookFrom(trial measure.Trial, thread int, t taken, packets float64) time.Duration {
	fastest := d.fastest[sizeOf(trial)][thread]
	if !(fastest > 0) || !(t.seconds > 0) || !(t.left > 0) || !(packets > 0) {
		return 0
	}
	inTrial := min(1, trial.Duration().Seconds()/t.seconds)
	return min(time.Duration(inTrial*packets/max(1, d.ownOf(trial, thread, t).perFrame)/fastest*float64(time.Second)), trial.Duration())
}

// heldIn returns for how long others had the core of a thread in a trial, of the thread with the longest: what it waited, what the hypervisor took of all
// of them, and packets of others. It returns false where one of these is not known of a thread: the kernel does not say how long it waited, it had no
// stopwatch, or there are packets of others and no rate says how long they take.
func (d *Driver) heldIn(trial measure.Trial, senders []*sender, steal time.Duration, all [2]taken) (longest time.Duration, known bool) {
	for thread, s := range senders {
		if !s.held.known || !s.timed || s.others > 0 && !(d.fastest[sizeOf(trial)][thread] > 0) {
			return 0, false
		}
		longest = max(longest, s.held.waited+steal+d.tookFrom(trial, thread, all[thread], s.others))
	}
	return min(longest, trial.Duration()), true
}

// bridged returns for how long the ring of a direction lasts in which frames are missing, of those of a thread the
// shortest time.
func (d *Driver) bridged(trial measure.Trial, thread int, o measure.Outcome) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for _, direction := range o.Directions {
		i := frames.Index(direction.Direction)
		if rate := d.streams[i].FramesPerSecond(trial); d.threadOf(i) == thread && direction.LostFrames() > 0 && rate > 0 {
			shortest = min(shortest, time.Duration(float64(d.config.RingFrames)/float64(rate)*float64(time.Second)))
		}
	}
	return shortest
}

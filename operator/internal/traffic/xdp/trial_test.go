package xdp

import (
	"slices"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

// ended is what the programs and the machine counted in a trial of 1,000 frames in a second.
type ended struct {
	hop                     measure.Hop
	arrived, made, overflow uint64
	received, late          uint64
	lateArrivals            uint64
	beyond, foreign, stray  uint64
	seen                    watched
	total, waited, gaps     time.Duration
	framesInASecond         int64
	others                  float64
	shared                  time.Duration
	starves                 bool
	longestDelay            time.Duration
	most                    uint64
}

func (c ended) trial() measure.Trial {
	trial := measure.Trial{FrameBytes: 64, IntendedFramesPerSecond: 1000, DurationNanoseconds: int64(time.Second)}
	if c.framesInASecond > 0 {
		trial.IntendedFramesPerSecond = uint64(c.framesInASecond)
	}
	return trial
}

func (c ended) driver() *Driver {
	stream := streamIPv4()
	d := &Driver{cpus: []int{0}, state: &state{trafficState: &trafficState{}}, held: held{times: 7, waited: c.waited}}
	d.config.RingFrames, d.config.Path.Hop = planning.DefaultRingFrames, c.hop
	d.streams[0], d.starves = &stream, c.starves
	d.description.TransmitPath = Direct
	t := &d.state.Transmitters[0]
	t.Schedule.FramesPerSecond = c.trial().IntendedFramesPerSecond
	t.Arrived, t.Made, t.Overflow = c.arrived, c.made, c.overflow
	t.MostInWindow = c.most
	t.Away, t.LongestAway = uint64(c.gaps), uint64(c.gaps)
	d.state.Histograms[0][histogramLateness][bucketOf(20_000)] = c.late
	d.state.Receivers[0].Received, d.state.Receivers[0].LateArrivals = c.received, c.lateArrivals
	r := &d.state.Receivers[0]
	r.BeyondWindow, r.Foreign, r.Stray = c.beyond, c.foreign, c.stray
	r.Delay = trafficSpread{Samples: c.received, Sum: c.received, Min: 1, Max: uint64(c.longestDelay)}
	return d
}

func TestDoubts(t *testing.T) {
	whole := func(change func(*ended)) ended {
		c := ended{arrived: 1000, made: 1000, received: 1000}
		change(&c)
		return c
	}
	inline := func(change func(*ended)) ended {
		return whole(func(c *ended) {
			c.hop = measure.HopInline
			change(c)
		})
	}
	// At this load the ring is full after a little more than 10 ms.
	const fast = 100_000
	shortOf := func(missing uint64, away time.Duration) func(*ended) {
		return func(c *ended) {
			c.framesInASecond, c.arrived, c.made, c.received = fast, fast, fast-missing, fast-missing
			c.overflow, c.waited, c.gaps = missing, away, away
		}
	}
	// The device loses frames that the ring gave it, and up to "most" of them left in a millisecond, which has 100 at this load.
	lostOf := func(lost, most uint64, away time.Duration) func(*ended) {
		return func(c *ended) {
			shortOf(0, away)(c)
			c.received, c.most = fast-lost, most
		}
	}
	for name, c := range map[string]struct {
		ended
		code    string
		invalid bool
	}{
		"none":                          {ended: whole(func(*ended) {})},
		"loss alone":                    {ended: whole(func(c *ended) { c.received = 10 })},
		"receive drops with loss":       {whole(func(c *ended) { c.received, c.seen.ports[1].receiveDrops = 990, 5 }), measure.DoubtReceiveDrops, true},
		"receive drops without loss":    {whole(func(c *ended) { c.seen.ports[1].receiveDrops = 5 }), measure.DoubtReceiveDrops, false},
		"drops on the sending port":     {ended: whole(func(c *ended) { c.received, c.seen.ports[0].receiveDrops = 990, 5 })},
		"refused by the sending port":   {whole(func(c *ended) { c.received, c.seen.ports[0].sendDrops = 990, 10 }), measure.DoubtTransmitDrops, false},
		"refused, inline":               {ended: inline(func(c *ended) { c.received, c.seen.ports[0].sendDrops = 990, 10 })},
		"a few late frames":             {ended: whole(func(c *ended) { c.late = 10 })},
		"many late frames":              {whole(func(c *ended) { c.late = 11 }), measure.DoubtMissedDeadlines, false},
		"many wait, inline":             {ended: inline(func(c *ended) { c.late = 1000 })},
		"unsent":                        {whole(func(c *ended) { c.arrived, c.made, c.received = 999, 999, 999 }), measure.DoubtUnsent, false},
		"little steal":                  {ended: whole(func(c *ended) { c.seen.steal = 5 * time.Millisecond })},
		"steal":                         {whole(func(c *ended) { c.seen.steal = 10 * time.Millisecond }), measure.DoubtSteal, false},
		"a little preempted":            {ended: whole(func(c *ended) { c.waited = 5 * time.Millisecond })},
		"preempted":                     {whole(func(c *ended) { c.waited = 6 * time.Millisecond }), measure.DoubtPreempted, false},
		"overflow":                      {ended: inline(shortOf(1000, 0))},
		"overflow in little time away":  {ended: inline(shortOf(100, 4*time.Millisecond))},
		"overflow in much time away":    {inline(shortOf(1000, 12*time.Millisecond)), measure.DoubtPreempted, true},
		"overflow beyond the time away": {inline(shortOf(20_000, 12*time.Millisecond)), measure.DoubtPreempted, false},
		"more than the ring leaves":     {inline(shortOf(1500, 12*time.Millisecond)), measure.DoubtPreempted, false},
		"half of it beyond the time":    {inline(shortOf(3000, 12*time.Millisecond)), measure.DoubtPreempted, false},
		"away, and nothing missing":     {inline(shortOf(0, 12*time.Millisecond)), measure.DoubtPreempted, false},
		"overflow while others' packets came": {inline(func(c *ended) {
			shortOf(1000, 0)(c)
			c.gaps, c.others = 12*time.Millisecond, 1200
		}), measure.DoubtSoftirq, true},
		"too few of them for the gaps": {ended: inline(func(c *ended) {
			shortOf(1000, 0)(c)
			c.gaps, c.others = 12*time.Millisecond, 300
		})},
		"overflow while they came one by one": {inline(func(c *ended) {
			shortOf(1000, 0)(c)
			c.shared = 12 * time.Millisecond
		}), measure.DoubtSoftirq, true},
		"more overflow than that": {inline(func(c *ended) {
			shortOf(3000, 0)(c)
			c.shared = 12 * time.Millisecond
		}), measure.DoubtSoftirq, false},
		"others' packets, and nothing missing": {inline(func(c *ended) { c.shared = 12 * time.Millisecond }), measure.DoubtSoftirq, false},
		"loss, and starved softirqs":           {whole(func(c *ended) { c.received, c.starves = 990, true }), measure.DoubtStarved, false},
		"starved softirqs and no loss":         {ended: whole(func(c *ended) { c.starves, c.longestDelay = true, time.Millisecond })},
		"starved softirqs and late frames":     {whole(func(c *ended) { c.starves, c.longestDelay = true, time.Millisecond+1 }), measure.DoubtStarved, false},
		"late frames":                          {ended: whole(func(c *ended) { c.longestDelay = time.Second })},
		"others' packets of less than 0.5 %": {inline(func(c *ended) {
			c.framesInASecond, c.arrived, c.made, c.received = 1_000_000, 1_000_000, 999_000, 999_000
			c.overflow, c.shared = 1000, 2*time.Millisecond
		}), measure.DoubtSoftirq, true},
		"of them fewer than the ring holds": {ended: inline(func(c *ended) {
			c.framesInASecond, c.arrived, c.made, c.received = 500_000, 500_000, 499_000, 499_000
			c.overflow, c.shared = 1000, 2*time.Millisecond
		})},
		"overflow in stolen time": {inline(func(c *ended) {
			shortOf(1000, 0)(c)
			c.gaps, c.seen.steal = 20*time.Millisecond, 20*time.Millisecond
		}), measure.DoubtSteal, true},
		"long work of the device": {ended: inline(func(c *ended) {
			shortOf(1000, 0)(c)
			c.gaps = time.Second
		})},
		"loss next to a stall": {ended: whole(func(c *ended) {
			shortOf(0, 3*time.Millisecond)(c)
			c.received -= 10
		})},
		"loss next to a long stall": {whole(func(c *ended) {
			shortOf(0, 12*time.Millisecond)(c)
			c.received -= 10
		}), measure.DoubtPreempted, false},
		"loss after a burst":                      {inline(lostOf(300, 200, 4*time.Millisecond)), measure.DoubtPreempted, false},
		"more loss than the burst had":            {ended: inline(lostOf(500, 200, 4*time.Millisecond))},
		"a burst of less than twice the load":     {ended: inline(lostOf(300, 199, 4*time.Millisecond))},
		"loss next to a short stall":              {ended: inline(lostOf(50, 200, time.Millisecond))},
		"loss where the ring is not the device's": {ended: whole(lostOf(300, 200, 4*time.Millisecond))},
		"loss after a burst of stolen time": {inline(func(c *ended) {
			lostOf(300, 200, 4*time.Millisecond)(c)
			c.waited, c.seen.steal = 0, 5*time.Millisecond
		}), measure.DoubtSteal, false},
		"late arrivals":          {whole(func(c *ended) { c.lateArrivals = 3 }), measure.DoubtLateArrivals, false},
		"frames without a trace": {inline(func(c *ended) { c.made, c.received = 990, 990 }), measure.DoubtUnaccounted, true},
		"too late to be known":   {whole(func(c *ended) { c.beyond = 1 }), measure.DoubtUnaccounted, false},
		"a few frames of others": {ended: whole(func(c *ended) { c.foreign, c.stray = 60, 40 })},
		"many frames of others":  {whole(func(c *ended) { c.foreign, c.stray = 61, 40 }), measure.DoubtUnaccounted, false},
		"others among many": {ended: whole(func(c *ended) {
			c.framesInASecond, c.arrived, c.made, c.received, c.foreign = 200_000, 200_000, 200_000, 200_000, 150
		})},
		"packets dropped in between": {whole(func(c *ended) { c.seen.softnet.dropped = 1 }), measure.DoubtKernelQueue, false},
		"a few turns left":           {ended: whole(func(c *ended) { c.seen.softnet.squeezed = squeezesASecond })},
		"many turns left":            {whole(func(c *ended) { c.seen.softnet.squeezed = squeezesASecond + 1 }), measure.DoubtKernelQueue, false},
		"stretched":                  {whole(func(c *ended) { c.total = 2 * time.Second }), measure.DoubtStretched, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, trial := c.driver(), c.trial()
			o := d.outcome(trial, 0, c.seen)
			o.TotalNanoseconds = int64(max(c.total, time.Second))
			away := awayFrom([]*sender{{kept: &d.state.Transmitters[0], waited: d.held.waited, others: c.others}}, c.seen.steal)
			away.shared = c.shared
			away.all = max(away.all, away.shared)
			got := d.doubts(trial, o, away, c.seen)
			if c.code != measure.DoubtUnsent { // it comes with others
				got = slices.DeleteFunc(got, func(d measure.Doubt) bool { return d.Code == measure.DoubtUnsent })
			}
			if c.code == "" {
				if len(got) != 0 {
					t.Errorf("unwanted doubts: %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Code != c.code || got[0].Invalid != c.invalid {
				t.Errorf("got %+v, want one of %s, invalid %v", got, c.code, c.invalid)
			}
		})
	}
}

// TestWhatCountsAsSent: 1,000 frames are due, 100 find the ring full, 60 are refused by
// the port, 10 are lost in the inner veth pair, 700 arrive.
func TestWhatCountsAsSent(t *testing.T) {
	for name, c := range map[string]struct {
		hop                 measure.Hop
		way                 string
		flatOut             bool
		sent, lost, refused uint64
	}{
		"inline":                   {hop: measure.HopInline, way: Direct, sent: 1000, lost: 300, refused: 60},
		"inline, inner veth":       {hop: measure.HopInline, way: InnerVeth, sent: 990, lost: 290, refused: 60},
		"inline, flat out":         {hop: measure.HopInline, way: Direct, flatOut: true, sent: 840, lost: 140, refused: 60},
		"tap":                      {hop: measure.HopTap, way: Direct, sent: 840, lost: 140, refused: 60},
		"separate":                 {hop: measure.HopSeparate, way: Direct, sent: 840, lost: 140, refused: 60},
		"a path that does not say": {way: InnerVeth, sent: 830, lost: 130, refused: 60},
	} {
		t.Run(name, func(t *testing.T) {
			e := ended{hop: c.hop, arrived: 1000, overflow: 100, made: 900, received: 700}
			e.seen.ports[0].sendDrops = 60
			d, trial := e.driver(), e.trial()
			if c.flatOut {
				trial.IntendedFramesPerSecond = 0
				d.state.Transmitters[0].Overflow = 0
			}
			d.description.TransmitPath, d.state.Transmitters[0].LeftInner = c.way, 890
			o := d.outcome(trial, 0, e.seen).Directions[0]
			if o.SentFrames != c.sent || o.LostFrames() != c.lost || o.RefusedFrames != c.refused {
				t.Errorf("sent %d, lost %d, refused %d, want %d, %d and %d", o.SentFrames, o.LostFrames(), o.RefusedFrames, c.sent, c.lost, c.refused)
			}
		})
	}
	// The port's counter includes other frames: what arrived was not refused.
	e := ended{arrived: 1000, made: 1000, received: 900}
	e.seen.ports[0].sendDrops = 200
	if got := e.driver().outcome(e.trial(), 0, e.seen).Directions[0]; got.SentFrames != 900 || got.RefusedFrames != 100 {
		t.Errorf("sent %d, refused %d, want 900 and 100", got.SentFrames, got.RefusedFrames)
	}
}

// TestLatencyOfSentOfAPart: as fast as possible, lost frames that were not timed took no time, and of
// those that the port refused it is not known whether they were timed.
func TestLatencyOfSentOfAPart(t *testing.T) {
	for name, c := range map[string]struct {
		timed, delays, received, refused, want uint64
	}{
		"all came":                      {timed: 100, delays: 100, received: 1000, want: 100},
		"frames without time were lost": {timed: 100, delays: 100, received: 900, want: 100},
		"some with time were lost":      {timed: 100, delays: 90, received: 900, want: 100},
		"refused":                       {timed: 100, delays: 90, received: 900, refused: 95, want: 95},
		"all that miss were refused":    {timed: 100, delays: 90, received: 900, refused: 100, want: 90},
	} {
		e := ended{arrived: 1000, made: 1000, received: c.received}
		d, trial := e.driver(), e.trial()
		trial.IntendedFramesPerSecond = 0
		d.state.Transmitters[0].Timed, d.state.Receivers[0].Delay.Samples = c.timed, c.delays
		if got := d.sentTimed(0, trial, 1000-c.refused); got != c.want {
			t.Errorf("%s: %d frames were sent to be timed, want %d", name, got, c.want)
		}
	}
	e := ended{arrived: 1000, made: 1000, received: 900}
	if got := e.driver().sentTimed(0, e.trial(), 1000); got != 1000 {
		t.Errorf("at a load %d frames were sent to be timed, want all", got)
	}
}

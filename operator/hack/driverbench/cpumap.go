package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/proc"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp"
)

const (
	// cpumapPlaces are as many as the driver's ring has by default.
	cpumapPlaces = 1024
	// coldNanoseconds is the most that a frame may take longer on a second core: the frame is cold in its
	// cache, which costs about the same for each device.
	coldNanoseconds = 350
	// leastMovedShare is how much of the router's time, without the generator's, must leave the core that
	// sends where bridges before the device's port stay on it.
	leastMovedShare = 0.75
	// mostTried is the highest load of the search, of the rate as fast as possible.
	mostTried = 1.5
)

// way is how the limit of a device was found, and what its trials were like.
type way struct {
	where string
	limit float64
	// own is what the generator takes of the core for each frame, in nanoseconds.
	own float64
	// idle is the trial at a tenth of the limit, over the one at overShare of it.
	idle, over measure.Outcome
}

// crossCheck finds the limit of each device in two ways: on the core that sends, where frames wait in the
// driver's ring, and on a second core, where they wait in the queue of a cpumap.
func crossCheck(ctx context.Context, rounds int) error {
	if runtime.NumCPU() < 2 {
		fmt.Println("a second core for the device not run: there is one CPU")
		return nil
	}
	rounds = min(rounds, mostRingRounds)
	var router way
	for n, device := range ringDevices {
		inline, flatOut, err := limitOf(ctx, device, rounds, 0, false)
		if err != nil {
			return err
		}
		second, _, err := limitOf(ctx, device, rounds, flatOut, true)
		if err != nil {
			return err
		}
		if n == 0 {
			router = inline
		}
		passed, gate := agree(inline, second.limit)
		if device.split {
			passed, gate = agreeInPart(inline.limit, second.limit, router)
		}
		fmt.Printf("CPUMAP %s %s: limit %.0f frames/s on the core that sends, %.0f on a second one by a cpumap, ratio %.2f; %s; load average %s\n",
			verdictOf(passed), device.name, inline.limit, second.limit, second.limit/inline.limit, gate, loadAverage())
		inline.print()
		second.print()
	}
	return nil
}

// agree compares the limits of a device of which all is on the second core. A frame is cold there, and
// the generator's work is not on it. Both limits are the lower end of a step of the search.
func agree(inline way, second float64) (passed bool, gate string) {
	longer := 1e9/second - 1e9/inline.limit
	least := -inline.own - (limitStep-1)*1e9/inline.limit
	most := coldNanoseconds + (limitStep-1)*1e9/second
	return longer >= least && longer <= most, fmt.Sprintf("a frame takes %+.0f ns there, want %.0f to %+.0f", longer, least, most)
}

// agreeInPart compares the limits of a device of which only the part after its port is on the second
// core. The core that sends is the limit in both, so what it takes less for each frame is that part's
// time. The part has all that a router does, and a bridge: an overstated limit leaves it too little.
func agreeInPart(inline, second float64, router way) (passed bool, gate string) {
	moved, least := 1e9/inline-1e9/second, leastMovedShare*(1e9/router.limit-router.own)
	return moved >= least, fmt.Sprintf("the second core takes over %.0f ns of each frame, want %.0f at least", moved, least)
}

// limitOf finds a device's limit. The highest load tried follows from the rate as fast as possible: on a
// second core that is lower than the limit, so it is the one on the core that sends.
func limitOf(ctx context.Context, device device, rounds int, flatOut float64, second bool) (w way, most float64, err error) {
	p, err := device.path()
	if err != nil {
		return w, 0, err
	}
	defer p.Close()
	d, err := open(ctx, p, xdp.Config{Path: p.IPv4(measure.Forward), Scheduling: xdp.RealTime, Threads: 1})
	if err != nil {
		return w, 0, err
	}
	defer func() { _ = d.Close() }()
	w.where = fmt.Sprintf("core %d, which sends (%s)", d.CPUs()[0], d.Description().Scheduling)
	if second {
		other := otherThan(d.CPUs()[0])
		scheduling, err := giveCore(p, other, cpumapPlaces)
		if err != nil {
			return w, 0, err
		}
		w.where = fmt.Sprintf("core %d by a cpumap (%s)", other, scheduling)
	}
	w.own = float64(d.Description().FrameCostNanoseconds)
	b := bench{ctx: ctx, d: d, rounds: rounds, name: device.name}
	if flatOut == 0 {
		if _, flatOut, err = b.flatOut(); err != nil {
			return w, 0, err
		}
	}
	if w.limit, err = limitBetween(flatOut*0.1, flatOut*mostTried, func(load float64) (float64, error) { return b.passes(load, b.try) }); err != nil {
		return w, 0, err
	}
	if w.idle, err = b.calmest(w.limit * idleShare); err != nil {
		return w, 0, err
	}
	w.over, err = b.calmest(w.limit * overShare)
	return w, flatOut, err
}

// calmest measures several trials and returns the one that was disturbed least.
func (b bench) calmest(framesPerSecond float64) (best measure.Outcome, err error) {
	outcomes := make([]measure.Outcome, b.rounds)
	for n := range outcomes {
		if outcomes[n], err = b.trial(framesPerSecond); err != nil {
			return best, err
		}
	}
	return slices.MinFunc(outcomes, func(x, y measure.Outcome) int { return cmp.Compare(disturbance(x), disturbance(y)) }), nil
}

// disturbance orders trials of one load: by the time away, and where that is 0 by their delays.
func disturbance(o measure.Outcome) float64 {
	return float64(o.LongestAwayNanoseconds)*1e3 + float64(o.Directions[0].Latency.P99Nanoseconds)
}

// print prints the delay of an idle device, and where the frames of an overloaded one are missing.
func (w way) print() {
	idle, over := w.idle.Directions[0], w.over.Directions[0]
	fmt.Printf("  on %s: delay from due at %.0f %% of the limit p50 %d, p99 %d ns; at %.1f x limit lost %.1f %%, of them %d found the ring full, %d were refused, %d the device lost\n",
		w.where, 100*idleShare, idle.Latency.P50Nanoseconds, idle.Latency.P99Nanoseconds, overShare, 100*over.LossRatio(),
		over.OverflowFrames, over.RefusedFrames, int64(over.LostFrames())-int64(over.OverflowFrames+over.LeftFrames+over.RefusedFrames))
}

// otherThan returns another core.
func otherThan(core int) int {
	if core == 0 {
		return 1
	}
	return 0
}

// giveCore makes the device work on a core, and returns how its thread there is scheduled: in real time
// as the one that sends, because it is an ordinary thread of the kernel, which other work holds up.
func giveCore(p *testpath.Path, core, places int) (scheduling string, err error) {
	before, err := cpumapThreads(core)
	if err != nil {
		return "", err
	}
	if err := p.OnCore(uint32(core), uint32(places), testpath.DeviceWest); err != nil {
		return "", err
	}
	after, err := cpumapThreads(core)
	if err != nil {
		return "", err
	}
	for _, thread := range after {
		if slices.Contains(before, thread) {
			continue
		}
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
		if unix.SchedSetAttr(thread, &attr, 0) == nil {
			return xdp.RealTime, nil
		}
	}
	return xdp.Fair, nil
}

// cpumapThreads returns the kernel's threads that empty the queues of a core.
func cpumapThreads(core int) (threads []int, err error) {
	kernel, err := proc.Open("/")
	if err != nil {
		return nil, err
	}
	processes, err := kernel.AllProcs()
	if err != nil {
		return nil, err
	}
	for _, process := range processes {
		// One that has ended meanwhile is none.
		if name, err := process.Comm(); err == nil && strings.HasPrefix(name, fmt.Sprintf("cpumap/%d/", core)) {
			threads = append(threads, process.PID)
		}
	}
	return threads, nil
}

package xdp

import (
	"cmp"
	"maps"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/proc"
	"vnfbench.io/operator/internal/traffic/frames"
)

// What the machine did to a trial. All readers return 0 if a figure cannot be read: they
// only raise doubts.

// readSteal returns how long the hypervisor held back the CPUs.
func readSteal(cpus []int) (sum time.Duration) {
	for number, times := range readCPUs() {
		if slices.Contains(cpus, number) {
			sum += times.Steal
		}
	}
	return sum
}

// openProc opens /proc once for all trials.
var openProc = sync.OnceValues(func() (procfs.FS, error) { return proc.Open("/") })

// readProc returns what a reader finds in /proc.
func readProc[T any](reader func(procfs.FS) (T, error)) (found T) {
	kernel, err := openProc()
	if err != nil {
		return found
	}
	read, err := reader(kernel)
	if err != nil {
		return found
	}
	return read
}

// readCPUs returns the time of each CPU that is online, on the whole machine and not only
// of those that this process may use.
func readCPUs() map[int]proc.Times {
	return readProc(func(kernel procfs.FS) (map[int]proc.Times, error) {
		_, online, err := proc.ReadCPUs(kernel)
		return online, err
	})
}

// quietest sorts CPUs by their interrupts. Within a factor of two the last ones come
// first, because other work uses the first by default; so the choice is the same in every
// run on a node.
func quietest(cpus []int, interrupts map[int]uint64) []int {
	return slices.SortedFunc(slices.Values(cpus), func(a, b int) int {
		return cmp.Or(cmp.Compare(bits.Len64(interrupts[a]), bits.Len64(interrupts[b])), cmp.Compare(b, a))
	})
}

func readInterrupts() map[int]uint64 {
	return sumInterrupts(readProc(interruptsIn), slices.Sorted(maps.Keys(readCPUs())))
}

func interruptsIn(kernel procfs.FS) (procfs.Interrupts, error) {
	self, err := kernel.Self()
	if err != nil {
		return nil, err
	}
	return self.Interrupts()
}

// sumInterrupts adds up the interrupts of devices, which have numbers; the others are the
// kernel's own and depend on what a CPU runs. A line has a value for each CPU that is
// online, in their order.
func sumInterrupts(interrupts procfs.Interrupts, online []int) map[int]uint64 {
	sums := map[int]uint64{}
	for name, line := range interrupts {
		if _, err := strconv.Atoi(name); err != nil || len(line.Values) != len(online) {
			continue
		}
		for i, value := range line.Values {
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				sums[online[i]] += n
			}
		}
	}
	return sums
}

// softnet holds the kernel's counters of receiving packets on some CPUs.
type softnet struct {
	// dropped packets found a CPU's backlog full.
	dropped uint64
	// squeezed counts how often the kernel left the work to the next turn.
	squeezed uint64
}

// readSoftnet adds them up. The kernel says which CPU a line is about since 5.10.
func readSoftnet(cpus []int) (s softnet) {
	for _, stat := range readProc(procfs.FS.NetSoftnetStat) {
		if slices.Contains(cpus, int(stat.Index)) {
			s.dropped += uint64(stat.Dropped)
			s.squeezed += uint64(stat.TimeSqueezed)
		}
	}
	return s
}

// held is how often others took the CPU from a thread, and how long the thread waited for
// one though it could have run.
type held struct {
	times  int64
	waited time.Duration
}

// readHeld reads those of the calling thread.
func readHeld() (h held) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err == nil {
		h.times = usage.Nivcsw
	}
	h.waited = time.Duration(readProc(schedstatIn).WaitingNanoseconds)
	return h
}

// schedstatIn returns the calling thread's.
func schedstatIn(kernel procfs.FS) (stat procfs.ProcSchedstat, err error) {
	thread, err := kernel.Thread(os.Getpid(), unix.Gettid())
	if err != nil {
		return stat, err
	}
	return thread.Schedstat()
}

// away is how long a sending thread was kept off its core in a trial, of the threads the longest, and
// the longest time of it. Each direction has one thread at most, and two do not add up for either.
type away struct{ all, longest time.Duration }

const (
	// minAway is the shortest time without a look at the clock that counts as time away, maxAway one
	// that always does.
	minAway, maxAway = 100 * time.Microsecond, time.Millisecond
	// awayBatches is how many batches of a device's work on that core count as none.
	awayBatches = 2
)

// awayAfter returns after which time without a look at the clock a thread was kept off its core. On an
// Inline path the device works for a whole batch between two looks, so that is more than awayBatches
// batches take at the highest rate that one core has carried on this path.
func (d *Driver) awayAfter() time.Duration {
	if !d.inline() || d.fastest == 0 {
		return minAway
	}
	return min(max(minAway, time.Duration(awayBatches*ratedBatch*float64(time.Second)/d.fastest)), maxAway)
}

// noteRate keeps the highest rate of departures on a core, in frames per second.
func (d *Driver) noteRate(o measure.Outcome) {
	left := uint64(0)
	for _, direction := range o.Directions {
		t := &d.state.Transmitters[frames.Index(direction.Direction)]
		left += max(t.Made, t.FragmentsMade)
	}
	if took := time.Duration(o.SendingNanoseconds) + o.Drain(); took > 0 {
		d.fastest = max(d.fastest, float64(left)/took.Seconds()/float64(len(d.cpus)))
	}
}

// awayFrom takes the lesser of two figures: the gaps in which a program did not run, which
// include very long work of the device on that core, and what the kernel says that threads and
// the hypervisor took, which includes short turns that the ring makes up for.
func awayFrom(senders []*sender, steal time.Duration) (a away) {
	for _, s := range senders {
		taken := s.held.waited + steal
		a.all = max(a.all, min(time.Duration(s.kept.Away), taken))
		a.longest = max(a.longest, min(time.Duration(s.kept.LongestAway), taken))
	}
	return a
}

// stolenFrom returns how long the hypervisor held the cores of the threads, by their stopwatches.
func stolenFrom(senders []*sender) (all time.Duration) {
	for _, s := range senders {
		all += s.stolen
	}
	return all
}

// heldUp returns the sum over the threads.
func heldUp(senders []*sender) (all held) {
	for _, s := range senders {
		all.times += s.held.times
		all.waited += s.held.waited
	}
	return all
}

// Preemptions returns how often other work took the CPU from the transmit threads in the
// last trial, with its begin and end, and how long they waited for it: a trial without
// preemptions shows the generator's own pacing error.
func (d *Driver) Preemptions() (times int64, waited time.Duration) {
	return d.held.times, d.held.waited
}

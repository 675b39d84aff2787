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

// softnet holds the kernel's counters of receiving packets on some CPUs, modulo 2^32.
type softnet struct {
	// dropped packets found a CPU's backlog full.
	dropped uint32
	// squeezed counts how often the kernel left the work to the next turn.
	squeezed uint32
}

// readSoftnet adds them up. The kernel says which CPU a line is about since 5.10.
func readSoftnet(cpus []int) (s softnet) {
	for _, stat := range readProc(procfs.FS.NetSoftnetStat) {
		if slices.Contains(cpus, int(stat.Index)) {
			s.dropped += stat.Dropped
			s.squeezed += stat.TimeSqueezed
		}
	}
	return s
}

// held is how often others took the CPU from a thread, and how long the thread waited for
// one though it could have run.
type held struct {
	times  int64
	waited time.Duration
	// known is false where the kernel does not say how long the thread waited.
	known bool
}

// readHeld reads those of the calling thread. A kernel without these statistics says that it never ran.
func readHeld() (h held) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err == nil {
		h.times = usage.Nivcsw
	}
	stat := readProc(schedstatIn)
	h.waited, h.known = time.Duration(stat.WaitingNanoseconds), stat.RunningNanoseconds > 0
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
type away struct {
	all, longest time.Duration
	// shared is for how long packets of others had the core by their number, and others for how long they
	// may have been what the thread waited for.
	shared, others time.Duration
}

const (
	// minAway is the shortest time without a look at the clock that counts as time away.
	minAway = 100 * time.Microsecond
	// awayBatches is how many batches of a device's work on that core count as none.
	awayBatches = 2
	// maxBatchTime is the longest time that a device on that core may take for a batch of more than one frame. The
	// kernel does not take the core from a thread meanwhile, and its statistics of threads may be as old as that.
	maxBatchTime = 100 * time.Microsecond
)

// awayAfter returns after which time without a look at the clock the thread of a direction was kept off its
// core. On an Inline path the device works for a whole batch between two looks, so that is more than
// awayBatches batches take.
func (d *Driver) awayAfter(trial measure.Trial, direction int) time.Duration {
	return max(minAway, awayBatches*d.batchTime(trial, d.threadOf(direction)))
}

// batchOf returns how many frames of a trial leave a thread together. It is the same at all loads, except the first ones, at which
// the device may turn out to be slow.
func (d *Driver) batchOf(trial measure.Trial, thread int) int {
	if trial.IntendedFramesPerSecond == 0 {
		return flatOutBatch
	}
	if d.config.BatchFrames > 0 {
		return d.config.BatchFrames
	}
	if took := d.frameTime(trial, thread); took > 0 {
		return min(max(1, int(maxBatchTime/took)), ratedBatch)
	}
	return ratedBatch
}

// batchTime returns how long a device on a thread's core works for a batch; 0 where that is not known or it works elsewhere.
func (d *Driver) batchTime(trial measure.Trial, thread int) time.Duration {
	return time.Duration(d.batchOf(trial, thread)) * d.frameTime(trial, thread)
}

// frameTime returns the same for a frame, at the highest rate that the thread has carried of frames of that size on this path.
func (d *Driver) frameTime(trial measure.Trial, thread int) time.Duration {
	fastest := d.fastest[sizeOf(trial)][thread]
	if !d.inline() || fastest == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / fastest)
}

// waited returns how long a thread certainly waited for its core. When another thread is woken in a batch, the kernel takes the
// time of that for the time at which the sending thread stops, and not the end of the batch. So its figure is up to a batch
// too high for each time that the core was taken. Gaps in which the program did not run are no part of a batch. A bound takes the
// kernel's figure.
func (d *Driver) waited(trial measure.Trial, thread int, s *sender) time.Duration {
	return max(min(s.held.waited, time.Duration(s.kept.Away)), s.held.waited-time.Duration(s.held.times)*d.batchTime(trial, thread))
}

// threadOf returns which thread sends a direction's frames.
func (d *Driver) threadOf(direction int) int {
	if len(d.cpus) > 1 {
		return direction
	}
	return 0
}

// frameSize is of what a trial sends: a device may take longer for more bytes.
type frameSize struct {
	name  string
	bytes int
}

func sizeOf(trial measure.Trial) frameSize { return frameSize{trial.Size, trial.FrameBytes} }

// noteRate keeps each thread's highest rate of departures, in frames per second, of trials whose frames had to
// wait at the end or found the ring full, for longer and more often than time away explains: the rate of any other is
// that of its load, and not of the device.
func (d *Driver) noteRate(trial measure.Trial, o measure.Outcome) {
	var left [2]uint64
	var usedUp [2]bool
	away := measure.ExplainedTimes * o.AwayNanoseconds
	for _, direction := range o.Directions {
		i := frames.Index(direction.Direction)
		t, thread := &d.state.Transmitters[i], d.threadOf(i)
		left[thread] += max(t.Made, t.FragmentsMade)
		explained := float64(direction.IntendedFrames) * float64(away) / float64(max(o.SendingNanoseconds, 1))
		usedUp[thread] = usedUp[thread] || trial.IntendedFramesPerSecond == 0 ||
			float64(direction.OverflowFrames) > explained || direction.DrainNanoseconds > away
	}
	took := time.Duration(o.SendingNanoseconds) + o.Drain()
	if took <= 0 {
		return
	}
	if d.fastest == nil {
		d.fastest = map[frameSize][2]float64{}
	}
	rates := d.fastest[sizeOf(trial)]
	for thread := range rates {
		if usedUp[thread] {
			rates[thread] = max(rates[thread], float64(left[thread])/took.Seconds())
		}
	}
	d.fastest[sizeOf(trial)] = rates
}

// awayFrom takes the lesser of two figures: the gaps in which a program did not run, which
// include very long work of the device on that core, and what the kernel says that threads,
// packets of others and the hypervisor took, which includes short turns that the ring makes up for.
func awayFrom(senders []*sender, steal time.Duration) (a away) {
	for _, s := range senders {
		others := time.Duration(s.others * float64(maxPacketTime))
		taken := s.waited + steal + others
		a.others = max(a.others, min(time.Duration(s.kept.Away), others))
		a.all = max(a.all, min(time.Duration(s.kept.Away), taken))
		a.longest = max(a.longest, min(time.Duration(s.kept.LongestAway), taken))
	}
	return a
}

// stolenFrom returns how long the hypervisor held the cores of the threads. Their stopwatches say so exactly, and only of the time in
// which frames were sent, where the kernel shows it. Its figure of the same cores counts in steps, and holds where it is more than
// they can explain.
func (d *Driver) stolenFrom(senders []*sender, counted time.Duration) time.Duration {
	exact, known := time.Duration(0), d.steals
	for _, s := range senders {
		exact += s.stolen
		known = known && s.timed
	}
	if known && counted <= exact+time.Duration(len(senders))*proc.Tick {
		return exact
	}
	return max(exact, counted)
}

// heldUp returns the sum over the threads, of what they certainly waited.
func heldUp(senders []*sender) (all held) {
	for _, s := range senders {
		all.times += s.held.times
		all.waited += s.waited
	}
	return all
}

// Preemptions returns how often other work took the CPU from the transmit threads in the
// last trial, with its begin and end, and how long they waited for it: a trial without
// preemptions shows the generator's own pacing error.
func (d *Driver) Preemptions() (times int64, waited time.Duration) {
	return d.held.times, d.held.waited
}

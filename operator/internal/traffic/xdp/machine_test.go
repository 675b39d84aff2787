package xdp

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/proc"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/xdp/planning"
)

func TestQuietestCPUs(t *testing.T) {
	const text = `           CPU0       CPU1       CPU3
 24:          1        900         10  IO-APIC   5-edge      ACPI:Ged
 31:       2000        951          0  PCI-MSIX-0000:00:01.0   3-edge      disk
NMI:      90000      90000      90000  Non-maskable interrupts
ERR:          0
`
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc", "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("1", filepath.Join(root, "proc", "self")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc", "interrupts"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kernel, err := proc.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	read, err := interruptsIn(kernel)
	if err != nil {
		t.Fatal(err)
	}
	interrupts := sumInterrupts(read, []int{0, 1, 3})
	if want := map[int]uint64{0: 2001, 1: 1851, 3: 10}; !maps.Equal(interrupts, want) {
		t.Errorf("interrupts %v, want %v", interrupts, want)
	}
	if sums := sumInterrupts(read, []int{0, 1}); len(sums) != 0 {
		t.Errorf("a CPU went offline between two reads: %v, want none", sums)
	}
	for name, c := range map[string]struct {
		cpus       []int
		interrupts map[int]uint64
		want       []int
	}{
		"by interrupts":          {[]int{0, 1, 3}, interrupts, []int{3, 1, 0}},
		"unknown: the last ones": {[]int{4, 5, 6}, nil, []int{6, 5, 4}},
		"about equal":            {[]int{1, 2}, map[int]uint64{1: 1025, 2: 2047}, []int{2, 1}},
		"clearly different":      {[]int{1, 2}, map[int]uint64{1: 500, 2: 2047}, []int{1, 2}},
	} {
		if got := quietest(c.cpus, c.interrupts); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestMachineIsRead compares with other sources: the sum over all CPUs with the kernel's
// text, and a thread that slept and worked with its clock.
func TestMachineIsRead(t *testing.T) {
	if cpus := readCPUs(); len(cpus) == 0 || len(readInterrupts()) != len(cpus) {
		t.Errorf("%d CPUs, interrupts %v", len(cpus), readInterrupts())
	}
	var rows int
	for _, stat := range readProc(procfs.FS.NetSoftnetStat) {
		if _, found := readCPUs()[int(stat.Index)]; !found {
			t.Errorf("softnet_stat has a row of CPU %d, which is not online", stat.Index)
		}
		rows++
	}
	if rows != len(readCPUs()) {
		t.Errorf("%d rows of softnet_stat and %d CPUs", rows, len(readCPUs()))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if h := readHeld(); !h.known {
		t.Error("the kernel has schedstat, and how long a thread waited is not known")
	}
	before := readProc(schedstatIn)
	spinUntil := time.Now().Add(20 * time.Millisecond)
	for time.Now().Before(spinUntil) {
	}
	after := readProc(schedstatIn)
	ran := time.Duration(after.RunningNanoseconds - before.RunningNanoseconds)
	waited := time.Duration(after.WaitingNanoseconds - before.WaitingNanoseconds)
	if both := ran + waited; both < 15*time.Millisecond {
		t.Errorf("in 20 ms of work the thread ran %v and waited %v", ran, waited)
	}
}

func BenchmarkReadHeld(b *testing.B) {
	for range b.N {
		readHeld()
	}
}

// TestBusyMachineIsMarked has another process spin on the CPU that sends: what it costs
// is never the device's loss.
func TestBusyMachineIsMarked(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward), Scheduling: Fair})
	spinOn(t, d.cpus[0])
	// The ring lasts longer than any turn of the process.
	d.config.RingFrames = planning.MaxRingFrames
	o := run(t, d, trialOf(64, 20_000, time.Second))
	if !slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtPreempted }) || o.LongestAwayNanoseconds == 0 {
		t.Errorf("a process span on CPU %d, and the doubts are %+v, the longest time away %v", d.cpus[0], o.Doubts, time.Duration(o.LongestAwayNanoseconds))
	}
	// The stopwatch may find no time at which the thread runs, and then this is not known.
	if held := o.HeldNanoseconds; held != nil && time.Duration(*held) < min(d.held.waited, time.Second) {
		t.Errorf("the thread waited for %v, and others are said to have had its core for %v", d.held.waited, time.Duration(*held))
	}
	// A turn of the process is longer than this ring.
	d.config.RingFrames = 64
	marked := 0
	for range 5 {
		o, err := d.Measure(t.Context(), trialOf(64, 100_000, 300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if lost := o.Directions[0].LostFrames(); lost > 0 && o.Valid() {
			t.Errorf("a process span on CPU %d, and the device is said to have lost %d frames", d.cpus[0], lost)
		} else if lost > 0 {
			marked++
		}
	}
	if marked == 0 {
		t.Errorf("a process span on CPU %d, and no trial lost frames", d.cpus[0])
	}
}

// TestBusyMachineOnASeparatePath: there, frames that wait are late.
func TestBusyMachineOnASeparatePath(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	path := p.IPv4(measure.Forward)
	path.Hop = measure.HopSeparate
	d := open(t, p, Config{Path: path, Scheduling: Fair})
	spinOn(t, d.cpus[0])
	o := run(t, d, trialOf(64, 20_000, time.Second))
	if !slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == measure.DoubtMissedDeadlines }) {
		t.Errorf("a process span on CPU %d, and the doubts are %+v", d.cpus[0], o.Doubts)
	}
}

// TestNoBurstAfterAStall has another process take the CPU that sends for milliseconds at a time.
// What was due in such a time leaves only where the ring is the device's.
func TestNoBurstAfterAStall(t *testing.T) {
	const rate, aMillisecond = 100_000, 100
	for _, c := range []struct {
		hop   measure.Hop
		burst bool
	}{{measure.HopSeparate, false}, {measure.HopTap, false}, {measure.HopInline, true}} {
		p := buildPath(t, routedWithNAPI)
		path := p.IPv4(measure.Forward)
		path.Hop = c.hop
		d := open(t, p, Config{Path: path, Scheduling: Fair})
		stop := spinOn(t, d.cpus[0])
		o, err := d.Measure(t.Context(), trialOf(64, rate, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got := o.Directions[0]
		// A frame at either end of the millisecond may be one more.
		if most := got.MostInMillisecond; most < aMillisecond/2 || (most > aMillisecond*105/100+2) != c.burst {
			t.Errorf("%s: %d frames left in a millisecond at %d frames/s, and a burst: want %t", c.hop, most, rate, c.burst)
		}
		if stalled := time.Duration(d.state.Transmitters[0].LongestAway); stalled < time.Millisecond {
			t.Errorf("%s: the longest stall is %v", c.hop, stalled)
		}
		if !c.burst && (got.OverflowFrames == 0 || got.UnsentFrames() != got.OverflowFrames+got.RefusedFrames) {
			t.Errorf("%s: %+v", c.hop, got)
		}
		stop()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMillisecondsOverlap checks that the driver counts halves of milliseconds, and that two of them have the load of
// one: a burst in the middle of a millisecond is then whole in one of two.
func TestMillisecondsOverlap(t *testing.T) {
	const rate, aMillisecond = 100_000, 100
	p := buildPath(t, testpath.Direct)
	path := p.IPv4(measure.Forward)
	path.Hop = measure.HopSeparate
	d := open(t, p, Config{Path: path})
	var seen []string
	// A trial that other work on the machine held up at its end has halves with less.
	for range 20 {
		o, err := d.Measure(t.Context(), trialOf(64, rate, 50*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		s := &d.state.Transmitters[0]
		most, half := o.Directions[0].MostInMillisecond, s.WindowEarlier
		if since := s.LastDeparture - s.WindowStart; since >= uint64(time.Millisecond/2) {
			t.Errorf("the last half lasted %d ns", since)
		}
		if s.WindowFrames < half || s.WindowFrames > most {
			t.Errorf("%d frames in a millisecond, %d in its first half, at most %d in any", s.WindowFrames, half, most)
		}
		if half >= aMillisecond*45/100 && half <= aMillisecond*55/100+1 && most >= aMillisecond && most <= aMillisecond*105/100+2 {
			return
		}
		seen = append(seen, fmt.Sprintf("%d in half a millisecond and at most %d in one", half, most))
	}
	t.Errorf("at %d frames/s: %s", rate, strings.Join(seen, "; "))
}

// spinOn has another process spin on a CPU until the test ends, or until it is stopped.
func spinOn(t *testing.T, cpu int) (stop func()) {
	t.Helper()
	spinner := exec.Command("taskset", "-c", strconv.Itoa(cpu), "sh", "-c", "while :; do :; done")
	// It must not spin permanently if the tests are killed.
	runtime.LockOSThread()
	spinner.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := spinner.Start(); err != nil {
		t.Fatalf("%v (test/scripts/prerequisites.sh debian installs taskset)", err)
	}
	stop = sync.OnceFunc(func() {
		_ = spinner.Process.Kill()
		_ = spinner.Wait()
		runtime.UnlockOSThread()
	})
	t.Cleanup(stop)
	return stop
}

// TestAwayOfTwoThreads: two threads that were kept off their cores at the same time cost neither
// direction more than one of them does.
func TestStolen(t *testing.T) {
	const ms = time.Millisecond
	timed, untimed := sender{stolen: 4 * ms, timed: true}, sender{}
	for name, c := range map[string]struct {
		senders []*sender
		counted time.Duration
		want    time.Duration
	}{
		"a step of the kernel's figure":       {[]*sender{&timed}, 10 * ms, 4 * ms},
		"before the kernel's next step":       {[]*sender{&timed}, 0, 4 * ms},
		"more than the stopwatch can explain": {[]*sender{&timed}, 20 * ms, 20 * ms},
		"a step of each of two cores":         {[]*sender{&timed, &timed}, 20 * ms, 8 * ms},
		"more than two stopwatches can":       {[]*sender{&timed, &timed}, 30 * ms, 30 * ms},
		"a stopwatch that could not be read":  {[]*sender{&untimed}, 10 * ms, 10 * ms},
		"one of two that could not be read":   {[]*sender{&timed, &untimed}, 10 * ms, 10 * ms},
		"the same, with less by the kernel":   {[]*sender{&timed, &untimed}, 0, 4 * ms},
	} {
		d := Driver{steals: true}
		if got := d.stolenFrom(c.senders, c.counted); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		d.steals = false
		if got := d.stolenFrom(c.senders, c.counted); got < c.counted {
			t.Errorf("%s: %v, and a kernel that does not show a hypervisor's turns counted %v", name, got, c.counted)
		}
	}
}

func TestAwayOfTwoThreads(t *testing.T) {
	one := &sender{kept: &trafficTransmitter{Away: 10e6, LongestAway: 4e6}, waited: 20 * time.Millisecond}
	other := &sender{kept: &trafficTransmitter{Away: 8e6, LongestAway: 6e6}, waited: 20 * time.Millisecond}
	if got := awayFrom([]*sender{one, other}, 0); got != (away{all: 10 * time.Millisecond, longest: 6 * time.Millisecond}) {
		t.Errorf("%+v", got)
	}
}

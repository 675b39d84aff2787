package xdp

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

func TestMissingTime(t *testing.T) {
	before := schedule{at: time.Second, ran: 300 * time.Millisecond, waited: 100 * time.Millisecond}
	for name, c := range map[string]struct {
		now  schedule
		want time.Duration
	}{
		"it ran all the time":  {schedule{1500 * time.Millisecond, 800 * time.Millisecond, 100 * time.Millisecond}, 0},
		"others ran":           {schedule{1500 * time.Millisecond, 500 * time.Millisecond, 400 * time.Millisecond}, 0},
		"the hypervisor":       {schedule{1500 * time.Millisecond, 796 * time.Millisecond, 100 * time.Millisecond}, 4 * time.Millisecond},
		"clocks that disagree": {schedule{1500 * time.Millisecond, 801 * time.Millisecond, 100 * time.Millisecond}, 0},
	} {
		if got := c.now.since(before).missing(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for text, want := range map[string]int64{"123 456 7\n": 456, "1 0 0\n": 0, "1": 0} {
		if got, ok := secondNumber([]byte(text)); got != want || ok != (text != "1") {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}

// TestStopwatchOfASleepingThread: a thread that sleeps is not measured, and neither is one that waits.
func TestStopwatchOfASleepingThread(t *testing.T) {
	threads, stop := make(chan int), make(chan bool)
	go func() {
		runtime.LockOSThread()
		threads <- unix.Gettid()
		<-stop
	}()
	w, err := newStopwatch(<-threads)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	defer close(stop)
	w.start(t.Context(), newPause())
	time.Sleep(30 * time.Millisecond)
	if got, known := w.stop(t.Context(), newPause()); got != 0 || known || w.started {
		t.Errorf("%v of a thread that slept were stolen", got)
	}
	var none *stopwatch
	none.start(t.Context(), newPause())
	if got, known := none.stop(t.Context(), newPause()); got != 0 || known {
		t.Errorf("%v without a stopwatch", got)
	}
	none.close()
}

// TestStopwatchOnASharedCore has a thread spin on the only core that the one which reads may use, as in a container with one CPU.
func TestStopwatchOnASharedCore(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	settle := func() {
		runtime.LockOSThread()
		var only unix.CPUSet
		only.Set(cpu)
		if err := unix.SchedSetaffinity(0, &only); err != nil {
			t.Error(err)
		}
	}
	threads, stop, done := make(chan int), atomic.Bool{}, make(chan struct{})
	go func() { // The thread ends with the goroutine, which stays locked.
		defer close(done)
		settle()
		threads <- unix.Gettid()
		for !stop.Load() {
		}
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		settle()
		w, err := newStopwatch(<-threads)
		if err != nil {
			t.Error(err)
			return
		}
		defer w.close()
		before := readSteal([]int{cpu})
		w.start(t.Context(), newPause())
		time.Sleep(200 * time.Millisecond)
		stolen, known := w.stop(t.Context(), newPause())
		if steal := readSteal([]int{cpu}) - before; !known || stolen > steal+20*time.Millisecond {
			t.Errorf("%v were stolen, known: %v; the kernel says %v", stolen, known, steal)
		}
	}()
	<-read
	stop.Store(true)
	<-done
}

// TestStolenTime has a device work on the sending core for most of a trial: none of that is the
// hypervisor's, as far as the kernel's own figure does not say so.
func TestStolenTime(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward)})
	if !d.exact {
		t.Fatal("the kernel accounts for the time of interrupts: stopwatches are off, and this test needs one without CONFIG_IRQ_TIME_ACCOUNTING")
	}
	slow(t, p, testpath.DeviceWest)
	known := 0
	for range 10 {
		trial := trialOf(64, 600_000, 300*time.Millisecond)
		templates, err := d.prepare(trial)
		if err != nil {
			t.Fatal(err)
		}
		before := readSteal(d.cpus)
		senders := d.senders(trial, templates)
		if _, _, err := d.send(t.Context(), senders, trial); err != nil {
			t.Fatal(err)
		}
		s := senders[0]
		if _, all := d.heldIn(trial, senders, s.stolen, [2]taken{}); all != s.timed {
			t.Errorf("the stopwatch knows what the hypervisor took: %v, and for how long others had the core is known: %v", s.timed, all)
		}
		if s.timed {
			known++
		}
		// Both ends of the kernel's figure are in steps of 10 ms.
		if stolen, steal := s.stolen, readSteal(d.cpus)-before; stolen > steal+20*time.Millisecond {
			t.Errorf("%v of 300 ms were stolen; the kernel says %v, and the thread waited %v", stolen, steal, s.held.waited)
		} else {
			t.Logf("stolen %v, the kernel says %v, waited %v", stolen, steal, s.held.waited)
		}
	}
	if known == 0 {
		t.Error("no trial had a stopwatch that ran to its end")
	}
}

// TestKernelsAccounting compares what only some kernels have with the kernel's configuration, where that can be read.
func TestKernelsAccounting(t *testing.T) {
	packed, err := os.ReadFile("/proc/config.gz")
	if err != nil {
		t.Logf("the kernel does not show its configuration: %v", err)
		return
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	config, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]bool{"IRQ_TIME_ACCOUNTING": accountsForInterrupts(), "PARAVIRT_TIME_ACCOUNTING": showsSteal()} {
		if want := bytes.Contains(config, []byte("\nCONFIG_"+name+"=y")); got != want {
			t.Errorf("%s: got %v, the configuration says %v", name, got, want)
		}
	}
}

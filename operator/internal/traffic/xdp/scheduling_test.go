package xdp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/testing/testpath/recorder"
)

func TestUnaskedScheduling(t *testing.T) {
	for name, c := range map[string]struct {
		threads, allowed, online int
		throttled                bool
		want                     string
	}{
		"CPUs set aside":              {threads: 1, allowed: 2, online: 8, want: RealTime},
		"two threads of three CPUs":   {threads: 2, allowed: 3, online: 8, want: RealTime},
		"the kernel's limit":          {threads: 1, allowed: 2, online: 8, throttled: true, want: Fair},
		"all CPUs":                    {threads: 1, allowed: 8, online: 8, want: Fair},
		"no CPU to spare":             {threads: 1, allowed: 1, online: 8, want: Fair},
		"unknown how many are online": {threads: 1, allowed: 4, online: 0, want: Fair},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unaskedScheduling(c.threads, c.allowed, c.online, c.throttled); got != c.want {
				t.Errorf("the threads are scheduled %q, want %q", got, c.want)
			}
		})
	}
}

// TestRealTime may run in a container without SYS_NICE: then the driver reports it.
func TestRealTime(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(), Scheduling: RealTime})
	checkWhole(t, run(t, d, trialOf(64, 3000, 200*time.Millisecond)))
	checkThreads(t)
	switch got := d.Description(); got.Scheduling {
	case RealTime:
		checkFair(t)
		if got.RealTimeLimited != realTimeThrottled() {
			t.Errorf("limited: %v", got.RealTimeLimited)
		}
	case Fair:
		if len(got.Fallbacks) != 1 {
			t.Errorf("no real-time scheduling and no word of it: %v", got.Fallbacks)
		}
	default:
		t.Errorf("the threads are scheduled %q", got.Scheduling)
	}
}

// TestRealTimeOnTheLastCPU: the thread that ends a trial needs a CPU too.
func TestRealTimeOnTheLastCPU(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; only.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			only.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(0, &all); err != nil {
			t.Error(err)
		}
	}()
	got := open(t, p, Config{Path: p.IPv4(measure.Forward), Scheduling: RealTime}).Description()
	if got.Scheduling != Fair || len(got.Fallbacks) != 1 || !strings.Contains(got.Fallbacks[0], "no CPU is left") {
		t.Errorf("scheduled %q, fallbacks %q", got.Scheduling, got.Fallbacks)
	}
}

// checkFair verifies that no thread is left with a real-time policy: proc(5), field 41 of
// stat.
func checkFair(t *testing.T) {
	t.Helper()
	stats, err := filepath.Glob("/proc/self/task/*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 38 && fields[38] != "0" {
			t.Errorf("a thread is left with policy %s: %s", fields[38], text)
		}
	}
}

// TestRecorder verifies that the benchmark's recorder sees every departure of a trial, on
// average at its due time.
func TestRecorder(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward)})
	var r *recorder.Recorder
	if err := testpath.Do(p.Device, func() error {
		l, err := netlink.LinkByName(testpath.DeviceWest)
		if err == nil {
			r, err = recorder.Attach(l.Attrs().Index)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	var sent uint64
	for range 30 { // see run
		r.Clear()
		o, err := d.Measure(t.Context(), trialOf(64, 10_000, 300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if sent = o.Directions[0].SentFrames; sent > 1 {
			checkWhole(t, o)
			break
		}
	}
	got := r.Pacing(10_000)
	if gaps := uint64(got.Stamped.Gaps); gaps != sent-1 || got.Arrived.Gaps != got.Stamped.Gaps || got.Missed != 0 {
		t.Errorf("%d and %d gaps of %d frames, %d not recorded", gaps, got.Arrived.Gaps, sent, got.Missed)
	}
	t.Logf("%+v", got)
}

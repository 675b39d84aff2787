//go:build linux

package cycles

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// clock is nanoseconds of each CPU: every kernel has it, also where a processor has no counters.
var clock = Event{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK}

const (
	envRole   = "VNFBENCH_CYCLES_TEST"
	roleDrop  = "drop"
	nobodyUID = 65532
)

// answers are what the program of the test finds as another user.
type answers struct {
	User                  int
	Opened, Read, Another string
	Count                 int64
}

// TestMain lets the test's program run as the observer does: it opens the counters and becomes another user.
func TestMain(m *testing.M) {
	if os.Getenv(envRole) != roleDrop {
		os.Exit(m.Run())
	}
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	var out answers
	c, err := Open(clock, []int{0})
	out.Opened = text(err)
	if err == nil {
		err = syscall.Setresuid(nobodyUID, nobodyUID, nobodyUID)
	}
	if err == nil {
		time.Sleep(10 * time.Millisecond)
		out.Count, err = c.Read()
		out.Read = text(err)
		_, err = Open(clock, []int{0})
		out.Another = text(err)
	}
	out.User = os.Getuid()
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(1)
	}
}

func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("counting on a CPU needs CAP_PERFMON")
	}
}

// TestRead counts with a counter of the kernel's own what is known: the time of two CPUs.
func TestRead(t *testing.T) {
	onlyRoot(t)
	cpus := []int{0}
	if runtime.NumCPU() > 1 {
		cpus = append(cpus, 1)
	}
	c, err := Open(clock, cpus)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	first, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	second, err := c.Read()
	elapsed := time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	counted := time.Duration(second-first) / time.Duration(len(cpus))
	if counted < 195*time.Millisecond || counted > elapsed+5*time.Millisecond {
		t.Errorf("each of %d CPUs counted %v in %v", len(cpus), counted, elapsed)
	}
	file := c.cpus[0].file
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := unix.FcntlInt(uintptr(file), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("a closed counter is still open: %v", err)
	}
}

// TestDidNotCount checks that a counter which did not count all the time gives no number.
func TestDidNotCount(t *testing.T) {
	onlyRoot(t)
	c, err := Open(clock, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Read(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	// As if it had counted 1 ms more before the last read than it did: 1 ms less since.
	c.cpus[0].running += uint64(time.Millisecond)
	if n, err := c.Read(); err == nil || !strings.Contains(err.Error(), "did not count") {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := c.Read(); err != nil {
		t.Errorf("a stop before the last read counts again: %v", err)
	}
}

// TestHardware checks that this machine's processors count cycles, or that the kernel says that they cannot.
func TestHardware(t *testing.T) {
	onlyRoot(t)
	devices, err := filepath.Glob("/sys/bus/event_source/devices/cpu*")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(Hardware, []int{0})
	if len(devices) == 0 {
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENODEV) {
			t.Errorf("a machine without counters: %v", err)
		}
		t.Logf("no counter of cycles here: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	first, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	if second, err := c.Read(); err != nil || second < first {
		t.Errorf("from %d to %d, %v", first, second, err)
	}
}

// TestAllOrNone checks that no counter stays open where one of the CPUs is not there.
func TestAllOrNone(t *testing.T) {
	onlyRoot(t)
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := files()
	if _, err := Open(clock, []int{0, 100_000}); err == nil || !strings.Contains(err.Error(), "CPU 100000") {
		t.Errorf("%v", err)
	}
	if after := files(); after != before {
		t.Errorf("%d files are open, before %d", after, before)
	}
}

// TestAnotherUser checks that a program which becomes a user without rights still reads its counters, and
// opens no other.
func TestAnotherUser(t *testing.T) {
	onlyRoot(t)
	limit, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.TrimSpace(string(limit)); text == "0" || text == "-1" {
		t.Skip("kernel.perf_event_paranoid lets every user count on CPUs here")
	}
	program := exec.Command("/proc/self/exe")
	program.Env = []string{envRole + "=" + roleDrop}
	text, err := program.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got answers
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if got.User != nobodyUID || got.Opened != "" || got.Read != "" || got.Count < int64(10*time.Millisecond) {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(got.Another, unix.EACCES.Error()) && !strings.Contains(got.Another, unix.EPERM.Error()) {
		t.Errorf("another user opened a counter: %q", got.Another)
	}
}

//go:build linux

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/traffic/trex/planning"
)

// soon is more than any wait takes on a busy machine.
const soon = 20 * time.Second

// fakeConfig puts all of a server's files in one directory.
func fakeConfig(directory string) Config {
	c := config(planning.AFPacket)
	c.Directory, c.StateDirectory, c.StartTimeout = directory, directory, soon
	c.Program = filepath.Join(directory, programName)
	return c
}

// install makes a directory with a fake server.
func install(t *testing.T, behavior string) string {
	t.Helper()
	directory := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{programName, supervisorName} {
		if err := os.Symlink(own, filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(directory, behaviorFile), []byte(behavior), 0o644); err != nil {
		t.Fatal(err)
	}
	return directory
}

// newPod makes a network namespace with both traffic ports.
func newPod(t *testing.T) *netnstest.Namespace {
	t.Helper()
	pod := netnstest.New(t, "pod")
	netnstest.Cable(t,
		netnstest.End{Namespace: pod, Interface: "west", MAC: "02:00:00:00:00:01"},
		netnstest.End{Namespace: pod, Interface: "east", MAC: "02:00:00:00:00:02"})
	return pod
}

// startIn starts a server in a namespace and closes it with the test.
func startIn(t *testing.T, pod *netnstest.Namespace, ctx context.Context, c Config) (s *Server, err error) {
	t.Helper()
	_ = pod.Run(func() error {
		s, err = Start(ctx, c)
		return err
	})
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

func mustStart(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := startIn(t, newPod(t), t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// started returns the lines that a server wrote at its starts.
func started(t *testing.T, directory string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(directory, startedFile))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func pidOf(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.Fields(line)[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// runs reports whether a process exists and is not a dead one that was not reaped.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > soon {
			t.Fatalf("%s: not within %s", what, soon)
		}
	}
}

func TestServer(t *testing.T) {
	t.Setenv("SECRET", "a secret")
	directory := install(t, answersLate)
	s := mustStart(t, fakeConfig(directory))
	if err := s.Alive(); err != nil {
		t.Error(err)
	}
	if s.Address() != "127.0.0.1:4501" || len(s.Configuration().File) == 0 {
		t.Errorf("got %q, %+v", s.Address(), s.Configuration())
	}
	if ports := s.Ports(); len(ports) != 2 || ports[1].Interface != "east" || ports[1].Driver != "veth" {
		t.Errorf("got %+v", ports)
	}
	// The colors are gone.
	if diff := cmp.Diff([]string{"Starting  TRex v3.08 please wait  ...", "port : 0"}, s.Log()); diff != "" {
		t.Error(diff)
	}
	written, err := os.ReadFile(filepath.Join(directory, configurationName))
	if err != nil || string(written) != string(s.Configuration().File) {
		t.Errorf("got %s, %v", written, err)
	}
	line := started(t, directory)[0]
	if !strings.Contains(line, "-i --cfg "+filepath.Join(directory, configurationName)) || !strings.Contains(line, "LD_LIBRARY_PATH="+directory) {
		t.Errorf("started with %q", line)
	}
	if strings.Contains(line, "SECRET") {
		t.Errorf("the pod's environment was passed on: %q", line)
	}
	pid := pidOf(t, line)
	if group, err := unix.Getpgid(pid); err != nil || group != pid {
		t.Errorf("its process group is %d, %v", group, err)
	}
	if err := s.Close(); err != nil || runs(pid) {
		t.Errorf("got %v, and it runs: %v", err, runs(pid))
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if err := s.Restart(t.Context()); err == nil {
		t.Error("a closed server was started again")
	}
	if !slices.Contains(s.Log(), "All cores stopped !!") {
		t.Errorf("it was not asked to end: %q", s.Log())
	}
}

func TestFailedStarts(t *testing.T) {
	for behavior, test := range map[string]struct {
		change func(*Config)
		reason string
		words  []string
	}{
		diesAtOnce: {reason: v1alpha1.ReasonHugepagesMissing, words: []string{"exit status 1", "not enough huge-pages memory", "ended before it answered"}},
		lacksLib:   {reason: v1alpha1.ReasonTRexMissing, words: []string{"libzmq", "folder so"}},
		isSilent: {change: func(c *Config) { c.StartTimeout = 3 * time.Second },
			reason: v1alpha1.ReasonTRexServerFailed, words: []string{"does not answer", "3s", "port : 0"}},
		hangs: {change: func(c *Config) {
			c.StartTimeout, c.Settings.ExtraConfiguration = 3*time.Second, "rx_desc: 1024"
		}, reason: v1alpha1.ReasonTRexServerFailed, words: []string{"does not answer", "extraConfiguration"}},
	} {
		t.Run(behavior, func(t *testing.T) {
			directory := install(t, behavior)
			c := fakeConfig(directory)
			if test.change != nil {
				test.change(&c)
			}
			_, err := startIn(t, newPod(t), t.Context(), c)
			if measure.ReasonOf(err) != test.reason {
				t.Fatalf("got %v", err)
			}
			for _, words := range test.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
			if pid := pidOf(t, started(t, directory)[0]); runs(pid) {
				t.Errorf("process %d was left", pid)
			}
		})
	}
}

// Nothing starts if something is missing.
func TestPreflightStartsNothing(t *testing.T) {
	directory := install(t, answers)
	for name, test := range map[string]struct {
		change func(*Config)
		reason string
	}{
		"no port":            {func(c *Config) { c.Path.Ports[0].Interface = "gone" }, v1alpha1.ReasonPortMissing},
		"no such file":       {func(c *Config) { c.Program = filepath.Join(directory, "gone") }, v1alpha1.ReasonTRexMissing},
		"a text":             {func(c *Config) { c.Program = filepath.Join(directory, behaviorFile) }, v1alpha1.ReasonTRexMissing},
		"a folder":           {func(c *Config) { c.Program = directory }, v1alpha1.ReasonTRexMissing},
		"no schema":          {func(c *Config) { c.Stateful = true }, v1alpha1.ReasonTRexMissing},
		"extraConfiguration": {func(c *Config) { c.Settings.ExtraConfiguration = "interfaces: []" }, v1alpha1.ReasonInvalidGeneratorConfiguration},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakeConfig(directory)
			test.change(&c)
			if _, err := startIn(t, newPod(t), t.Context(), c); measure.ReasonOf(err) != test.reason {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(filepath.Join(directory, startedFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it was started: %v", err)
			}
		})
	}
}

func TestDeathIsNoticedAndHealed(t *testing.T) {
	directory := install(t, diesLater)
	c := fakeConfig(directory)
	c.MaximumRestarts = 1
	s := mustStart(t, c)
	for restart := range 2 {
		starts := started(t, directory)
		if err := unix.Kill(pidOf(t, starts[len(starts)-1]), unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "its death", func() bool { return s.Alive() != nil })
		err := s.Alive()
		if measure.ReasonOf(err) != v1alpha1.ReasonTRexServerFailed || !strings.Contains(err.Error(), "signal 11") || !strings.Contains(err.Error(), "exit status 134") {
			t.Errorf("got %v", err)
		}
		err = s.Restart(t.Context())
		if restart == 0 && (err != nil || s.Alive() != nil) {
			t.Fatalf("it was not started again: %v", err)
		}
		if restart == 1 && (measure.ReasonOf(err) != v1alpha1.ReasonTRexServerFailed || !strings.Contains(err.Error(), "started again 1 times")) {
			t.Errorf("beyond its bound: %v", err)
		}
	}
	if starts := started(t, directory); len(starts) != 2 {
		t.Errorf("it was started %d times", len(starts))
	}
}

// A server that runs but no longer answers is also replaced.
func TestRestartOfOneThatRuns(t *testing.T) {
	directory := install(t, answers)
	s := mustStart(t, fakeConfig(directory))
	if err := s.Restart(t.Context()); err != nil || s.Alive() != nil {
		t.Fatal(err)
	}
	starts := started(t, directory)
	if len(starts) != 2 || runs(pidOf(t, starts[0])) || !runs(pidOf(t, starts[1])) {
		t.Errorf("started: %q", starts)
	}
}

func TestCancelledStart(t *testing.T) {
	directory := install(t, isSilent)
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		// The start is under way when the process exists.
		for begun := time.Now(); time.Since(begun) < soon; time.Sleep(10 * time.Millisecond) {
			if text, err := os.ReadFile(filepath.Join(directory, startedFile)); err == nil && strings.HasSuffix(string(text), "\n") {
				break
			}
		}
		cancel(stopped)
	}()
	if _, err := startIn(t, newPod(t), ctx, fakeConfig(directory)); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	if pid := pidOf(t, started(t, directory)[0]); runs(pid) {
		t.Errorf("process %d was left", pid)
	}
}

// What does not end by SIGINT ends by SIGKILL, with what it started.
func TestKill(t *testing.T) {
	for _, behavior := range []string{ignores, hasChild} {
		t.Run(behavior, func(t *testing.T) {
			directory := install(t, behavior)
			c := fakeConfig(directory)
			c.CloseTimeout = 200 * time.Millisecond
			s := mustStart(t, c)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, line := range started(t, directory) {
				if pid := pidOf(t, line); runs(pid) {
					t.Errorf("process %d was left: %s", pid, line)
				}
			}
		})
	}
}

// The server dies with its supervisor, however that ends.
func TestSupervisorsDeath(t *testing.T) {
	directory := install(t, ignores)
	supervisor := exec.Command(filepath.Join(directory, supervisorName), directory)
	supervisor.Stderr = os.Stderr
	output, err := supervisor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	newPod(t).Must(t, supervisor.Start)
	defer func() { _ = supervisor.Wait() }()
	defer func() { _ = supervisor.Process.Kill() }()
	if lines := bufio.NewScanner(output); !lines.Scan() || lines.Text() != "started" {
		t.Fatalf("the supervisor says %q, %v", lines.Text(), lines.Err())
	}
	pid := pidOf(t, started(t, directory)[0])
	if !runs(pid) {
		t.Fatal("it does not run")
	}
	if err := supervisor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its death", func() bool { return !runs(pid) })
}

// Multus writes the pod's network status after the pod has started.
func TestWaitForNetworkStatus(t *testing.T) {
	before := statusPause
	statusPause = time.Millisecond
	defer func() { statusPause = before }()
	c := config(planning.DPDK).withDefaults()
	c.NetworkStatus = filepath.Join(t.TempDir(), "network-status")
	onThread, err := newThread()
	if err != nil {
		t.Fatal(err)
	}
	defer onThread.end()
	reads := 0
	s := &Server{config: c, thread: onThread, read: func(Config) (Host, error) {
		host := dpdkHost()
		if reads++; reads < 3 {
			host.Attachments = nil
		}
		return host, nil
	}}
	if _, _, err := s.look(t.Context()); measure.ReasonOf(err) != v1alpha1.ReasonPortMissing || reads != 1 {
		t.Errorf("without the file: %d reads, %v", reads, err)
	}
	if err := os.WriteFile(c.NetworkStatus, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	reads = 0
	if _, ports, err := s.look(t.Context()); err != nil || reads != 3 || ports[1].address != eastAddress {
		t.Errorf("%d reads, %+v, %v", reads, ports, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reads = 0
	if _, _, err := s.look(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A device that the kernel has released has no interface to ask.
func TestPortDrivers(t *testing.T) {
	got := portDrivers([2]trexPort{
		{name: "no-such-west", address: westAddress, device: Device{Driver: driverVFIO, PCI: &measure.PCIDevice{Function: v1alpha1.PCIFunctionVirtual}}},
		{name: "no-such-east", address: eastAddress, device: Device{Driver: driverVFIO}},
	})
	want := []measure.PortDriver{
		{Interface: "no-such-west", Driver: driverVFIO, Bus: westAddress, PCI: &measure.PCIDevice{Function: v1alpha1.PCIFunctionVirtual}},
		{Interface: "no-such-east", Driver: driverVFIO, Bus: eastAddress},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChooseProgram(t *testing.T) {
	c := Config{Directory: "/opt/trex"}
	for _, test := range []struct {
		processors []procfs.CPUInfo
		want       string
	}{
		{[]procfs.CPUInfo{{Flags: []string{"fpu", "sse2", "avx", "avx2", "evtstrm"}}}, "/opt/trex/_t-rex-64"},
		{[]procfs.CPUInfo{{Flags: []string{"fpu", "sse2", "avxish"}}}, "/opt/trex/_t-rex-64-o"},
		{nil, "/opt/trex/_t-rex-64"},
	} {
		if got := chooseProgram(c, test.processors); got != test.want {
			t.Errorf("%v: got %q", test.processors, got)
		}
	}
	c.Program = "/elsewhere"
	if got := chooseProgram(c, nil); got != "/elsewhere" {
		t.Errorf("got %q", got)
	}
}

package xdp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

func TestCancelStopsARunningTrial(t *testing.T) {
	for name, rate := range map[string]uint64{"at a set load": 1000, "flat out": 0} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, testpath.Bridged)
			d := open(t, p, Config{Path: p.IPv4(), Threads: 2})
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := d.Measure(ctx, trialOf(64, rate, time.Minute))
			took := time.Since(began)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Measure: %v, want %v", err, context.DeadlineExceeded)
			}
			// It takes 100 ms on a quiet machine; the trial would continue for a minute.
			if took > 10*time.Second {
				t.Errorf("the trial ended %v after its context", took-200*time.Millisecond)
			}
			t.Logf("ended %v after its context", took-200*time.Millisecond)
			checkThreads(t)
			checkWhole(t, run(t, d, trialOf(64, 1000, 100*time.Millisecond)))
		})
	}
}

// checkThreads fails if a thread is pinned to a CPU or in another namespace than this
// process began in.
func checkThreads(t *testing.T) {
	t.Helper()
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		t.Fatal(err)
	}
	home, err := os.Readlink(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		var id int
		if _, err := fmt.Sscan(filepath.Base(task), &id); err != nil {
			t.Fatal(err)
		}
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(id, &set); err == nil && set != own {
			t.Errorf("thread %d is left with CPUs %v", id, set)
		}
		if ns, err := os.Readlink(task + "/ns/net"); err == nil && ns != home {
			t.Errorf("thread %d is left in namespace %s", id, ns)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	for name, build := range map[string]builder{"direct": testpath.Direct, "inner veth": testpath.Bridged} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, build)
			before := linkNames(t, p.Generator)
			d := open(t, p, Config{Path: p.IPv4()})
			var programs []ebpf.ProgramID
			for _, program := range d.collection.Programs {
				info, err := program.Info()
				if err != nil {
					t.Fatal(err)
				}
				if id, ok := info.ID(); ok {
					programs = append(programs, id)
				}
			}
			if len(programs) != 23 {
				t.Fatalf("%d programs are loaded, want 23", len(programs))
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if after := linkNames(t, p.Generator); !slices.Equal(before, after) {
				t.Errorf("links %v, before %v", after, before)
			}
			checkNoXDP(t, p)
			// The kernel frees programs after a grace period.
			deadline := time.Now().Add(time.Minute)
			for _, id := range programs {
				for {
					program, err := ebpf.NewProgramFromID(id)
					if errors.Is(err, os.ErrNotExist) {
						break
					}
					if err == nil {
						_ = program.Close()
					}
					if time.Now().After(deadline) {
						t.Fatalf("program %d is still loaded: %v", id, err)
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
}

func checkNoXDP(t *testing.T, p *testpath.Path) {
	t.Helper()
	if err := testpath.Do(p.Generator, func() error {
		for _, name := range []string{testpath.West, testpath.East} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if x := l.Attrs().Xdp; x != nil && x.Attached {
				t.Errorf("%s still has an XDP program", name)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestOpenAfterACrash(t *testing.T) {
	p := buildPath(t, testpath.Bridged)
	crashed := open(t, p, Config{Path: p.IPv4(), withoutTCX: true})
	// The kernel removes some things with a process; the veth pairs stay.
	for _, l := range crashed.receivers {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	crashed.receivers = nil
	if links := linkNames(t, p.Generator); len(links) != 7 {
		t.Fatalf("links %v: the inner veths are missing", links)
	}
	d := open(t, p, Config{Path: p.IPv4()})
	checkWhole(t, run(t, d, trialOf(64, 1000, 100*time.Millisecond)))
	if links := linkNames(t, p.Generator); len(links) != 7 {
		t.Errorf("links %v: the crashed driver's are still there", links)
	}
}

// A container of the traffic pod has these and no others; with real time, one more.
var (
	podCapabilities      = []int{unix.CAP_BPF, unix.CAP_NET_ADMIN}
	realTimeCapabilities = []int{unix.CAP_BPF, unix.CAP_NET_ADMIN, unix.CAP_SYS_NICE}
)

const (
	inPod = "VNFBENCH_TEST_IN_POD"
	// inRealTime is set if the process has SYS_NICE too.
	inRealTime = "VNFBENCH_TEST_IN_REAL_TIME"
)

// TestCapabilities runs TestInPod again in a process that has no other
// capabilities.
func TestCapabilities(t *testing.T) {
	p := buildPath(t, testpath.Bridged)
	t.Run("a pod's", func(t *testing.T) { runInPod(t, p, podCapabilities) })
	t.Run("a pod's in real time", func(t *testing.T) { runInPod(t, p, realTimeCapabilities, inRealTime+"=1") })
}

func runInPod(t *testing.T, p *testpath.Path, capabilities []int, environment ...string) {
	failed := make(chan error)
	go func() {
		// The thread loses capabilities, so it must end with this goroutine.
		runtime.LockOSThread()
		failed <- testpath.Do(p.Generator, func() error {
			runtime.LockOSThread()
			for capability := range unix.CAP_LAST_CAP + 1 {
				if slices.Contains(capabilities, capability) {
					continue
				}
				if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(capability), 0, 0, 0); err != nil && err != unix.EINVAL {
					return fmt.Errorf("dropping capability %d: %w", capability, err)
				}
			}
			path := p.IPv4()
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInPod$", "-test.v")
			command.Env = append(os.Environ(), inPod+"="+path.Streams[0].SourceMAC+","+path.Streams[0].DestinationMAC+
				","+path.Streams[1].SourceMAC+","+path.Streams[1].DestinationMAC)
			command.Env = append(command.Env, environment...)
			out, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestInPod") {
				return fmt.Errorf("%w\n%s", err, out)
			}
			return nil
		})
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

func TestInPod(t *testing.T) {
	macs := strings.Split(os.Getenv(inPod), ",")
	if len(macs) != 4 {
		t.Skip("TestCapabilities runs this")
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	capabilities, scheduling := podCapabilities, Fair
	if os.Getenv(inRealTime) != "" {
		capabilities = realTimeCapabilities
		// With one CPU there is none left for the rest of the process.
		if runtime.NumCPU() > 1 {
			scheduling = RealTime
		}
	}
	want := uint64(0)
	for _, capability := range capabilities {
		want |= 1 << capability
	}
	if line := fmt.Sprintf("CapEff:\t%016x", want); !strings.Contains(string(status), line) {
		t.Fatalf("the process has other capabilities than %q:\n%s", line, status)
	}
	path := (&testpath.Path{}).IPv4()
	path.Streams[0].SourceMAC, path.Streams[0].DestinationMAC = macs[0], macs[1]
	path.Streams[1].SourceMAC, path.Streams[1].DestinationMAC = macs[2], macs[3]
	// Nothing answers to this tag, so this tests only the way to it.
	_, err = Open(t.Context(), Config{Path: inVLANs(path, testVLAN, testVLAN), ProbeTimeout: time.Millisecond})
	if measure.ReasonOf(err) != v1alpha1.ReasonNoPathThroughChain {
		t.Errorf("with a VLAN tag: %v, want reason %q", err, v1alpha1.ReasonNoPathThroughChain)
	}
	for _, config := range []Config{{Path: path}, {Path: path, withoutTCX: true}, {Path: path, ReceiveMode: Generic, Scheduling: RealTime}} {
		config.ProbeTimeout = busyTimeout
		d, err := Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		wanted := Fair
		if config.Scheduling == RealTime {
			wanted = scheduling
		}
		if got := d.Description().Scheduling; got != wanted {
			t.Errorf("the threads are scheduled %q, want %q", got, wanted)
		}
		checkWhole(t, run(t, d, measure.Trial{
			FrameBytes: 64, IntendedFramesPerSecond: 1000,
			DurationNanoseconds: int64(100 * time.Millisecond), SettleNanoseconds: int64(50 * time.Millisecond),
		}))
		checkWhole(t, run(t, d, packetTrial(8192, 4, 1500, 100, 100*time.Millisecond)))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

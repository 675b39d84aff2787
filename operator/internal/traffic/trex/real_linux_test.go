package trex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/contract"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/trex/server"
)

// realServer is a real TRex, in the network namespace of a path's generator, if the
// environment variable TREX names its program.
type realServer struct {
	*server.Server
	path *testpath.Path
}

func startReal(t *testing.T, p *testpath.Path, path measure.Path) *realServer {
	t.Helper()
	program := os.Getenv("TREX")
	r := &realServer{path: p}
	err := testpath.Do(p.Generator, func() (err error) {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(lo); err != nil {
			return err
		}
		r.Server, err = server.Start(context.Background(), server.Config{
			Settings: realSettings(), Path: path, Program: program, Directory: filepath.Dir(program), StateDirectory: t.TempDir(),
			Log: slog.New(slog.DiscardHandler),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
	})
	return r
}

func realSettings() planning.Settings {
	return planning.Settings{Mode: planning.AFPacket, CoresPerPort: 1}
}

// Restart implements Server in the path's namespace.
func (r *realServer) Restart(ctx context.Context) error {
	return testpath.Do(r.path.Generator, func() error { return r.Server.Restart(ctx) })
}

// namespaced is a driver whose connections start in a path's namespace.
type namespaced struct {
	*Driver
	path *testpath.Path
}

func (n namespaced) Measure(ctx context.Context, trial measure.Trial) (outcome measure.Outcome, err error) {
	failed := testpath.Do(n.path.Generator, func() error {
		outcome, err = n.Driver.Measure(ctx, trial)
		return nil
	})
	return outcome, errors.Join(err, failed)
}

func (n namespaced) Close() (err error) {
	return testpath.Do(n.path.Generator, n.Driver.Close)
}

func openReal(t *testing.T, r *realServer, path measure.Path) namespaced {
	t.Helper()
	d := namespaced{path: r.path}
	err := testpath.Do(r.path.Generator, func() (err error) {
		d.Driver, err = Open(t.Context(), Config{Path: path, Settings: realSettings(), Server: r, Notes: r.Configuration().Notes})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func needTRex(t *testing.T) {
	t.Helper()
	if os.Getenv("TREX") == "" {
		t.Skip("NOT RUN: TREX names no TRex server (its program _t-rex-64)")
	}
}

func realPath(t *testing.T, build func() (*testpath.Path, error)) *testpath.Path {
	t.Helper()
	needTRex(t)
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func routed() (*testpath.Path, error) { return testpath.Routed(true) }

func TestRealServerContract(t *testing.T) {
	p := realPath(t, routed)
	r := startReal(t, p, p.IPv4())
	for name, rate := range map[string]uint64{"all timed": 1000, "a part timed": 5000} {
		t.Run(name, func(t *testing.T) {
			contract.Run(t, func(t *testing.T) measure.Driver { return openReal(t, r, p.IPv4()) }, contract.Capabilities{Frames: &contract.Frames{
				Directions:           []measure.Direction{measure.Forward, measure.Reverse},
				FramesPerSecond:      rate,
				TimedFramesPerSecond: defaultLatencyFramesPerSecond,
			}})
		})
	}
}

// Through a forwarding kernel, everything that was sent arrives and a part is timed.
func TestRealServerTrials(t *testing.T) {
	p := realPath(t, routed)
	r := startReal(t, p, p.IPv4())
	mix := simpleIMIX()
	both := func(path measure.Path, flows measure.Flows) measure.Path {
		for i := range path.Streams {
			path.Streams[i].Flows = &flows
			path.Streams[i].SourcePort, path.Streams[i].DestinationPort = 1024, 1
		}
		return path
	}
	ports := []measure.FlowField{measure.FlowSourcePort, measure.FlowDestinationPort}
	for name, c := range map[string]struct {
		path  measure.Path
		trial measure.Trial
	}{
		"64 bytes":      {p.IPv4(), trialOf(64, 3000, time.Second)},
		"3000 bytes":    {p.IPv4(), trialOf(3000, 3000, time.Second)},
		"1518 bytes":    {p.IPv4(), trialOf(1518, 3000, time.Second)},
		"one direction": {p.IPv4(measure.Reverse), trialOf(128, 3000, time.Second)},
		"a mix":         {p.IPv4(), func() measure.Trial { x := trialOf(mix.MeanFrameBytes(), 3000, time.Second); x.Mix = mix; return x }()},
		"a mix over IPv6": {p.IPv6(), func() measure.Trial {
			x := trialOf(0, 3000, time.Second)
			x.Mix = &measure.Mix{Frames: []measure.MixFrame{{FrameBytes: 82, Weight: 3}, {FrameBytes: 1400, Weight: 1}}}
			return x
		}()},
		"flows":           {both(p.IPv4(), measure.Flows{Count: 1000, Fields: ports}), trialOf(128, 3000, time.Second)},
		"paired flows":    {both(p.IPv4(), measure.Flows{Count: 100_000, Fields: ports}), trialOf(128, 3000, time.Second)},
		"random flows":    {both(p.IPv4(), measure.Flows{Count: 1000, Fields: ports, Random: true, Seed: 7}), trialOf(128, 3000, time.Second)},
		"flows over IPv6": {both(p.IPv6(), measure.Flows{Count: 1000, Fields: ports}), trialOf(128, 3000, time.Second)},
		"a tagged frame":  {p.IPv4(), func() measure.Trial { x := trialOf(128, 3000, time.Second); x.TaggedFrameNanoseconds = 5e8; return x }()},
	} {
		t.Run(name, func(t *testing.T) {
			d := openReal(t, r, c.path)
			defer func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}()
			c.trial.SettleNanoseconds = int64(300 * time.Millisecond)
			o, err := d.Measure(t.Context(), c.trial)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("sent for %v, in all %v, doubts %+v", time.Duration(o.SendingNanoseconds), time.Duration(o.TotalNanoseconds), o.Doubts)
			for _, direction := range o.Directions {
				t.Logf("%+v", direction)
				if direction.IntendedFrames != 3000 || direction.LostFrames() != 0 || direction.SentFrames > direction.IntendedFrames || direction.DuplicateFrames+direction.ReorderedFrames != 0 {
					t.Errorf("%+v", direction)
				}
				if direction.UnsentFrames() == 0 && direction.Latency.Samples < 1000 {
					t.Errorf("%s: %d delays", direction.Direction, direction.Latency.Samples)
				}
				if direction.FirstFrameNanoseconds == 0 {
					t.Errorf("%s: no first frame: %+v", direction.Direction, direction)
				}
				if (c.trial.TaggedFrameNanoseconds > 0) != (direction.TaggedFrame != nil) {
					t.Errorf("%s: tagged %+v", direction.Direction, direction.TaggedFrame)
				}
			}
		})
	}
}

// coarseServer is TRex without --hdrh, started by hand.
type coarseServer struct{ process *exec.Cmd }

func (c coarseServer) Address() string { return "127.0.0.1:4501" }

func (c coarseServer) Alive() error { return c.process.Process.Signal(syscall.Signal(0)) }

func (c coarseServer) Restart(context.Context) error { return errNoStart }

// startCoarse takes the arguments of a complete server.
func startCoarse(t *testing.T, p *testpath.Path) coarseServer {
	t.Helper()
	whole := startReal(t, p, p.IPv4())
	arguments := slices.Clone(whole.Configuration().Arguments)
	at := slices.Index(arguments, "--hdrh")
	if at < 0 {
		t.Fatalf("the server's arguments are %q", arguments)
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "trex_cfg.yaml")
	if err := os.WriteFile(file, whole.Configuration().File, 0o600); err != nil {
		t.Fatal(err)
	}
	arguments = slices.Delete(arguments, at, at+1)
	if at = slices.Index(arguments, "--cfg"); at < 0 {
		t.Fatalf("the server's arguments are %q", arguments)
	}
	arguments[at+1] = file
	folder := filepath.Dir(os.Getenv("TREX"))
	// It ends by itself if the test cannot end it.
	c := coarseServer{exec.Command("timeout", append([]string{"--kill-after=5", "60", os.Getenv("TREX")}, arguments...)...)}
	c.process.Dir, c.process.Env = folder, append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(folder, "so", "x86_64"), "RUNTIME_DIRECTORY="+t.TempDir())
	if err := testpath.Do(p.Generator, c.process.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.process.Process.Signal(syscall.SIGTERM) // timeout forwards it
		_ = c.process.Wait()
	})
	for range 100 {
		err := testpath.Do(p.Generator, func() error {
			connection, err := net.Dial("tcp", c.Address())
			if err == nil {
				err = connection.Close()
			}
			return err
		})
		if err == nil {
			return c
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatal("the server does not answer")
	return c
}

// A server without HdrHistograms has the same delays, more coarsely, and reports it.
func TestRealServerCoarse(t *testing.T) {
	p := realPath(t, routed)
	r := startCoarse(t, p)
	d := namespaced{path: p}
	err := testpath.Do(p.Generator, func() (err error) {
		d.Driver, err = Open(t.Context(), Config{Path: p.IPv4(), Settings: realSettings(), Server: r})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if !d.coarse || !slices.ContainsFunc(d.Description().Fallbacks, func(s string) bool { return strings.Contains(s, "HdrHistogram") }) {
		t.Errorf("%q", d.Description().Fallbacks)
	}
	trial := trialOf(128, 1000, time.Second)
	trial.SettleNanoseconds, trial.TaggedFrameNanoseconds = int64(300*time.Millisecond), 5e8
	o, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	for _, direction := range o.Directions {
		t.Logf("%+v, tagged %+v", direction, direction.TaggedFrame)
		if direction.LostFrames() != 0 || direction.Latency.Samples != direction.ReceivedFrames || direction.TaggedFrame == nil || direction.TaggedFrame.DelayNanoseconds == 0 || direction.FirstFrameNanoseconds == 0 {
			t.Errorf("%+v", direction)
		}
	}
}

// TRex adds tags, and a path that removes and adds them carries them.
func TestRealServerVLAN(t *testing.T) {
	p := realPath(t, func() (*testpath.Path, error) { return testpath.Switched(100) })
	path := p.IPv4()
	path.Ports[0].VLAN = 100
	r := startReal(t, p, path)
	d := openReal(t, r, path)
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	o, err := d.Measure(t.Context(), trialOf(128, 2000, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, direction := range o.Directions {
		t.Logf("%+v", direction)
		if direction.LostFrames() != 0 || direction.ReceivedFrames == 0 || direction.Latency.Samples == 0 {
			t.Errorf("%+v", direction)
		}
	}
}

// The maximum rate, and a load far above it: both end in time.
func TestRealServerOverload(t *testing.T) {
	p := realPath(t, routed)
	r := startReal(t, p, p.IPv4())
	d := openReal(t, r, p.IPv4(measure.Forward))
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, rate := range []uint64{0, 5_000_000} {
		trial := trialOf(64, rate, time.Second)
		trial.SettleNanoseconds = int64(500 * time.Millisecond)
		o, err := d.Measure(t.Context(), trial)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d/s: sent for %v, in all %v: %+v, doubts %+v", rate, time.Duration(o.SendingNanoseconds), time.Duration(o.TotalNanoseconds), o.Directions[0], o.Doubts)
		if took := time.Duration(o.TotalNanoseconds); took > 4*time.Second {
			t.Errorf("%d/s: a trial of 1 s took %v", rate, took)
		}
		if rate > 0 && (o.Directions[0].UnsentFrames() == 0 || doubtOf(o, measure.DoubtUnsent) == nil) {
			t.Errorf("%+v", o)
		}
	}
}

// After a server is killed in a trial, the driver restarts it and repeats the trial.
func TestRealServerKilled(t *testing.T) {
	p := realPath(t, routed)
	r := startReal(t, p, p.IPv4())
	d := openReal(t, r, p.IPv4())
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	time.AfterFunc(500*time.Millisecond, func() { killChild(t, os.Getenv("TREX")) })
	trial := trialOf(128, 1000, 2*time.Second)
	trial.SettleNanoseconds = int64(300 * time.Millisecond)
	o, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	for _, direction := range o.Directions {
		t.Logf("%+v", direction)
		if direction.LostFrames() != 0 || direction.ReceivedFrames == 0 {
			t.Errorf("%+v", direction)
		}
	}
}

// killChild ends this process's own child that runs a program.
func killChild(t *testing.T, program string) {
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Error(err)
		return
	}
	for _, path := range processes {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid: the name may have spaces.
		var state string
		var parent int
		_, afterName, _ := strings.Cut(string(text), ") ")
		if _, err := fmt.Sscan(afterName, &state, &parent); err != nil || parent != os.Getpid() {
			continue
		}
		if running, err := os.Readlink(filepath.Join(filepath.Dir(path), "exe")); err != nil || running != program {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

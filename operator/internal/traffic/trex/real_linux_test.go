package trex

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/contract"
	"vnfbench.io/operator/internal/traffic/headers"
	"vnfbench.io/operator/internal/traffic/trex/server"
	"vnfbench.io/operator/internal/traffic/xdp/testpath"
)

// realServer is TRex itself, in the network namespace of a path's generator,
// where the environment variable TREX names its program.
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

func realSettings() measure.TRexSettings {
	return measure.TRexSettings{Mode: measure.TRexAFPacket, CoresPerPort: 1}
}

// Restart implements Server in the path's namespace.
func (r *realServer) Restart(ctx context.Context) error {
	return testpath.Do(r.path.Generator, func() error { return r.Server.Restart(ctx) })
}

// namespaced is a driver whose connections are made in a path's namespace.
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
			contract.Run(t, func(t *testing.T) measure.Driver { return openReal(t, r, p.IPv4()) }, contract.Options{
				Directions:           []measure.Direction{measure.Forward, measure.Reverse},
				FramesPerSecond:      rate,
				TimedFramesPerSecond: defaultLatencyFramesPerSecond, NoFragments: true,
			})
		})
	}
}

// Through a forwarding kernel, all that was sent arrives and is timed in part.
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
		"1518 bytes":    {p.IPv4(), trialOf(1518, 3000, time.Second)},
		"one direction": {p.IPv4(measure.Reverse), trialOf(128, 3000, time.Second)},
		"a mix":         {p.IPv4(), func() measure.Trial { x := trialOf(mix.MeanFrameBytes(), 3000, time.Second); x.Mix = mix; return x }()},
		"a mix over IPv6": {p.IPv6(), func() measure.Trial {
			x := trialOf(0, 3000, time.Second)
			x.Mix = &measure.Mix{Name: "6", Frames: []measure.MixFrame{{FrameBytes: 82, Weight: 3}, {FrameBytes: 1400, Weight: 1}}}
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
				if direction.FirstFrameNanoseconds == 0 || direction.JitterNanoseconds == 0 {
					t.Errorf("%s: no first frame or jitter: %+v", direction.Direction, direction)
				}
				if (c.trial.TaggedFrameNanoseconds > 0) != (direction.TaggedFrame != nil) {
					t.Errorf("%s: tagged %+v", direction.Direction, direction.TaggedFrame)
				}
			}
		})
	}
}

// A device in user space sees the frames as they are on the wire, and drops every
// tenth: what TRex sent and what is missing is known exactly.
func TestRealServerFrames(t *testing.T) {
	p := realPath(t, testpath.Wired)
	r := startReal(t, p, p.IPv4())
	ports := []measure.FlowField{measure.FlowSourceAddress, measure.FlowSourcePort}
	for name, c := range map[string]struct {
		path  measure.Path
		flows measure.Flows
		// alike flows have every field count up at once.
		alike bool
		bytes int
	}{
		"counting":           {p.IPv4(measure.Forward), measure.Flows{Count: 100, Fields: ports}, true, 64},
		"counting over IPv6": {p.IPv6(measure.Forward), measure.Flows{Count: 100, Fields: ports}, true, 128},
		"random":             {p.IPv4(measure.Forward), measure.Flows{Count: 100, Fields: ports, Random: true, Seed: 3}, true, 64},
		"paired":             {p.IPv4(measure.Forward), measure.Flows{Count: 40_000, Fields: ports}, false, 64},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path
			s := &path.Streams[0]
			s.Flows, s.SourcePort = &c.flows, 1024
			var mutex sync.Mutex
			flows := map[[4]uint16]int{}
			var wrong []string
			seen, dropped := uint64(0), uint64(0)
			f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
				if len(frame) < headers.Bytes(*s) || frame[0] == 0xff || frame[0]&1 == 1 {
					return
				}
				mutex.Lock()
				defer mutex.Unlock()
				seen++
				found := words(*s, frame, 0)
				flows[found]++
				timedFrame := frame[len(frame)-signatureBytes] == 0xab // TRex's FLOW_STAT_PAYLOAD_MAGIC
				if problem := checksumsAreRight(*s, frame, 0); problem != "" && (!timedFrame || headers.IsIPv4(*s)) {
					wrong = append(wrong, problem)
				}
				if len(frame) != c.bytes-measure.FrameCheckSequenceBytes && len(frame) != probeFrameBytes-measure.FrameCheckSequenceBytes {
					wrong = append(wrong, fmt.Sprintf("%d bytes", len(frame)))
				}
				if seen%10 == 0 {
					dropped++
					return
				}
				send(frame)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Stop()
			d := openReal(t, r, path)
			defer func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}()
			mutex.Lock()
			seen, dropped = 0, 0
			clear(flows)
			mutex.Unlock()
			trial := trialOf(c.bytes, 2000, 2*time.Second)
			trial.SettleNanoseconds = int64(300 * time.Millisecond)
			o, err := d.Measure(t.Context(), trial)
			if err != nil {
				t.Fatal(err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			got := o.Directions[0]
			t.Logf("%+v, doubts %+v, %d flows", got, o.Doubts, len(flows))
			if got.SentFrames != seen || got.LostFrames() != dropped {
				t.Errorf("sent %d and lost %d, the device saw %d and dropped %d", got.SentFrames, got.LostFrames(), seen, dropped)
			}
			if len(wrong) > 0 {
				t.Errorf("%d frames are wrong: %s", len(wrong), slices.Compact(wrong))
			}
			if c.alike {
				known := map[[4]uint16]bool{}
				for n := range c.flows.Count {
					known[wantedWords(*s, n)] = true
				}
				for found := range flows {
					if !known[found] {
						t.Errorf("%v is none of the flows", found)
					}
				}
				if len(flows) != c.flows.Count {
					t.Errorf("%d flows, want %d", len(flows), c.flows.Count)
				}
			}
		})
	}
}

// Copies and frames out of order are told where TRex times frames.
func TestRealServerDisorder(t *testing.T) {
	p := realPath(t, testpath.Wired)
	path := p.IPv4(measure.Forward)
	r := startReal(t, p, p.IPv4())
	var mutex sync.Mutex
	var held []byte
	on := false
	seen, copied, late := 0, uint64(0), uint64(0)
	f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		mutex.Lock()
		defer mutex.Unlock()
		seen++
		switch {
		// The first frame of a trial is of a stream of its own.
		case !on || seen < 5 || frame[0]&1 == 1:
			send(frame)
		case held == nil && seen%31 == 0:
			held = slices.Clone(frame)
			late++
			return
		case seen%20 == 0 && held == nil:
			send(frame)
			send(frame)
			copied++
		default:
			send(frame)
		}
		if held != nil {
			send(held)
			held = nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	d := openReal(t, r, path)
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	mutex.Lock()
	on, seen = true, 0
	mutex.Unlock()
	trial := trialOf(64, 500, 2*time.Second)
	trial.SettleNanoseconds = int64(300 * time.Millisecond)
	o, err := d.Measure(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	got := o.Directions[0]
	t.Logf("%d copied, %d late: %+v", copied, late, got)
	if got.DuplicateFrames != copied || got.ReorderedFrames != late || got.LostFrames() != 0 || copied == 0 || late == 0 {
		t.Errorf("%d copied and %d late: %+v", copied, late, got)
	}
}

// A device that changes the IPv4 identification is not taken for one that loses
// everything.
func TestRealServerMarks(t *testing.T) {
	p := realPath(t, testpath.Wired)
	r := startReal(t, p, p.IPv4())
	path := p.IPv4(measure.Forward)
	number := uint16(0)
	f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		if len(frame) < headers.Bytes(path.Streams[0]) || frame[0]&1 == 1 {
			return
		}
		number++
		ip := frame[headers.EthernetBytes:]
		binary.BigEndian.PutUint16(ip[4:], number&0x7fff)
		ip[10], ip[11] = 0, 0
		headers.PutIPv4Checksum(ip)
		send(frame)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	var d *Driver
	err = testpath.Do(p.Generator, func() (err error) {
		d, err = Open(t.Context(), Config{Path: path, Settings: realSettings(), Server: r})
		return err
	})
	t.Logf("opening: %v", err)
	if err != nil {
		wantFailure(t, err, ReasonNoPathThroughChain, "identification")
		return
	}
	n := namespaced{Driver: d, path: p}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	o, err := n.Measure(t.Context(), trialOf(64, 3000, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, doubts %+v", o.Directions[0], o.Doubts)
	if o.Valid() {
		t.Errorf("a valid trial: %+v", o.Doubts)
	}
}

// Tags are put on and a path that takes them off and puts them on carries them.
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

// As fast as possible, and far more than that: both end in time.
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

// A server that is killed in a trial is started again, and the trial made again.
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
		_, behind, _ := strings.Cut(string(text), ") ")
		if _, err := fmt.Sscan(behind, &state, &parent); err != nil || parent != os.Getpid() {
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

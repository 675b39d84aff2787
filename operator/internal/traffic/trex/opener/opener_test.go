//go:build linux

package opener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/traffic/trex"
	"vnfbench.io/operator/internal/traffic/trex/astf"
	"vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/trex/server"
)

// diary is what happened, in order.
type diary struct{ events []string }

func (d *diary) note(format string, args ...any) {
	d.events = append(d.events, fmt.Sprintf(format, args...))
}

type fakeServer struct {
	runningServer
	diary *diary
	name  string
	dead  bool
}

func (s *fakeServer) Alive() error {
	if s.dead {
		return errors.New("dead")
	}
	return nil
}

func (s *fakeServer) Restart(context.Context) error {
	s.dead = false
	s.diary.note("restart %s", s.name)
	return nil
}

func (s *fakeServer) Configuration() server.Configuration {
	return server.Configuration{Addresses: [2]string{"0000:07:00.0", "0000:08:00.0"}, WholeNICs: true, Software: true, Notes: []string{"a note"}}
}

func (s *fakeServer) Ports() []measure.PortDriver {
	return []measure.PortDriver{{Interface: s.name, Driver: "vfio-pci"}}
}

func (s *fakeServer) Log() []string { return []string{s.name + " says so"} }

func (s *fakeServer) Close() error { s.diary.note("close server %s", s.name); return nil }

type fakeDriver struct {
	driver
	diary *diary
	name  string
}

func (d *fakeDriver) NotifySent(func()) { d.diary.note("notify %s", d.name) }
func (d *fakeDriver) Close() error      { d.diary.note("close driver %s", d.name); return nil }

func pathOf(west string) measure.Path {
	return measure.Path{Ports: [2]measure.Port{{Interface: west}, {Interface: "east"}}}
}

func settings(t *testing.T) measure.DriverSettings {
	t.Helper()
	settings, err := measure.NewDriverSettings("TRex", planning.Settings{Mode: planning.AFPacket, CoresPerPort: 1})
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func frames(t *testing.T, path measure.Path) measure.Opening {
	t.Helper()
	return measure.Opening{Driver: settings(t), Path: &path}
}

func TestOneServerAtATime(t *testing.T) {
	var d diary
	var last *fakeServer
	noWay := errors.New("no way through")
	ways := []error{nil, noWay, noWay, nil}
	facts := &measure.NodeFacts{}
	paths := &Opener{
		config: measure.OpenerConfig{Node: facts},
		start: func(_ context.Context, c server.Config) (runningServer, error) {
			last = &fakeServer{diary: &d, name: c.Path.Ports[0].Interface}
			d.note("start %s", last.name)
			return last, nil
		},
		open: func(_ context.Context, c trex.Config) (driver, error) {
			name := c.Path.Ports[0].Interface
			if want := last.Configuration(); c.Addresses != want.Addresses || c.WholeNICs != want.WholeNICs || c.Software != want.Software {
				t.Errorf("%s is opened with %+v, want %+v", name, c, want)
			}
			d.note("open %s with %s", name, strings.Join(c.Notes, ","))
			way := ways[0]
			ways = ways[1:]
			if way != nil {
				return nil, way
			}
			return &fakeDriver{diary: &d, name: name}, nil
		},
	}
	calibration, err := paths.Open(t.Context(), frames(t, pathOf("calibration")))
	if err != nil {
		t.Fatal(err)
	}
	calibration.(measure.Notifier).NotifySent(nil)
	if err := calibration.Close(); err != nil {
		t.Fatal(err)
	}
	// The chain is still starting: the server stays, and is restarted if it died.
	for attempt := range 2 {
		driver, err := paths.Open(t.Context(), frames(t, pathOf("chain")))
		if driver != nil || !errors.Is(err, noWay) {
			t.Fatalf("got %v, %v", driver, err)
		}
		last.dead = attempt == 1
	}
	chain, err := paths.Open(t.Context(), frames(t, pathOf("chain")))
	if err != nil {
		t.Fatal(err)
	}
	if got := chain.(measure.Logger).Log(); len(got) != 1 || got[0] != "chain says so" {
		t.Errorf("the log is %q", got)
	}
	if got := facts.Ports; len(got) != 1 || got[0].Interface != "chain" {
		t.Errorf("the node has ports %+v", got)
	}
	if err := errors.Join(chain.Close(), paths.Close()); err != nil {
		t.Fatal(err)
	}
	if got := chain.(measure.Logger).Log(); got != nil {
		t.Errorf("a server that has ended still says %q", got)
	}
	want := []string{
		"start calibration", "open calibration with a note", "notify calibration", "close driver calibration", "close server calibration",
		"start chain", "open chain with a note", "open chain with a note", "restart chain", "open chain with a note",
		"close driver chain", "close server chain",
	}
	if diff := cmp.Diff(want, d.events); diff != "" {
		t.Error(diff)
	}
}

// TCP connections have a separate server, which stays while the chain starts.
func TestStatefulServer(t *testing.T) {
	var d diary
	ways := []error{errors.New("no way through"), nil}
	paths := &Opener{
		start: func(_ context.Context, c server.Config) (runningServer, error) {
			d.note("start %s, stateful %t", c.Path.Ports[0].Interface, c.Stateful)
			return &fakeServer{diary: &d, name: c.Path.Ports[0].Interface}, nil
		},
		openStateful: func(context.Context, astf.Config) (driver, error) {
			way := ways[0]
			ways = ways[1:]
			if way != nil {
				return nil, way
			}
			return &fakeDriver{diary: &d, name: "tcp"}, nil
		},
	}
	opening := measure.Opening{Driver: settings(t), Stateful: &measure.Stateful{Path: pathOf("chain")}}
	if _, err := paths.Open(t.Context(), opening); err == nil {
		t.Error("there was a way")
	}
	driver, err := paths.Open(t.Context(), opening)
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start chain, stateful true", "close driver tcp", "close server chain"}; !slices.Equal(d.events, want) {
		t.Errorf("got %q", d.events)
	}
	if _, err := paths.Open(t.Context(), measure.Opening{Driver: settings(t)}); err == nil {
		t.Error("instructions that say nothing were taken")
	}
}

// Another path ends the server of the one before, even if its driver was not closed.
func TestServerOfAnotherPath(t *testing.T) {
	var d diary
	paths := &Opener{start: func(_ context.Context, c server.Config) (runningServer, error) {
		if c.Stateful {
			return nil, errors.New("no")
		}
		return &fakeServer{diary: &d, name: c.Path.Ports[0].Interface}, nil
	}}
	for _, c := range []server.Config{{Path: pathOf("a")}, {Path: pathOf("b")}, {Path: pathOf("b"), Stateful: true}} {
		if _, err := paths.serve(t.Context(), c); (err != nil) != c.Stateful {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if !slices.Equal(d.events, []string{"close server a", "close server b"}) || paths.running != nil {
		t.Errorf("got %q", d.events)
	}
}

// The test opens TRex as the measurer does it, port to port, if the environment variable
// TREX names a release, or its program.
func TestRealTRex(t *testing.T) {
	directory := strings.TrimSuffix(os.Getenv("TREX"), "/_t-rex-64")
	if directory == "" {
		t.Skip("TREX names no TRex: the folder of a release of v3.08, or the program in it")
	}
	pod := netnstest.New(t, "pod")
	netnstest.Cable(t,
		netnstest.End{Namespace: pod, Interface: "west", MAC: "02:00:00:00:00:01"},
		netnstest.End{Namespace: pod, Interface: "east", MAC: "02:00:00:00:00:02"})
	path := pathOf("west")
	path.Streams = []measure.Stream{
		{Direction: measure.Forward, SourceMAC: "02:00:00:00:00:01", DestinationMAC: "02:00:00:00:00:02",
			SourceAddress: netip.MustParseAddr("198.18.0.10"), DestinationAddress: netip.MustParseAddr("198.19.0.10"), SourcePort: 1024, DestinationPort: 1},
		{Direction: measure.Reverse, SourceMAC: "02:00:00:00:00:02", DestinationMAC: "02:00:00:00:00:01",
			SourceAddress: netip.MustParseAddr("198.19.0.10"), DestinationAddress: netip.MustParseAddr("198.18.0.10"), SourcePort: 1024, DestinationPort: 1},
	}
	paths := New(measure.OpenerConfig{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	start := paths.start
	paths.start = func(ctx context.Context, c server.Config) (runningServer, error) {
		c.Directory, c.StateDirectory = directory, t.TempDir()
		return start(ctx, c)
	}
	pod.Must(t, func() (err error) {
		driver, err := paths.Open(t.Context(), frames(t, path))
		if err != nil {
			return errors.Join(err, paths.Close())
		}
		defer func() { err = errors.Join(err, driver.Close()) }()
		if notes := driver.Description().Fallbacks; !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, "CPU") }) {
			t.Logf("the pod has CPUs enough: %q", notes)
		}
		outcome, err := driver.Measure(t.Context(), measure.Trial{
			FrameBytes: 64, IntendedFramesPerSecond: 2000, DurationNanoseconds: 1e9, SettleNanoseconds: 2e8,
		})
		if err != nil {
			return err
		}
		for _, d := range outcome.Directions {
			if d.SentFrames != 2000 || d.ReceivedFrames != d.SentFrames {
				t.Errorf("%+v", d)
			}
		}
		t.Logf("%+v", outcome)
		return nil
	})
	if paths.running != nil {
		t.Error("the server was left")
	}
	// A few exchanges through the path are a part of the opening.
	pod.Must(t, func() error {
		driver, err := paths.Open(t.Context(), measure.Opening{
			Driver: settings(t),
			Stateful: &measure.Stateful{
				Path:    path,
				Clients: measure.Hosts{First: netip.MustParseAddr("198.18.0.10"), Count: 1},
				Servers: measure.Hosts{First: netip.MustParseAddr("198.19.0.10"), Count: 1}, MSSBytes: 1460,
			},
		})
		if err != nil {
			return errors.Join(err, paths.Close())
		}
		return driver.Close()
	})
	if paths.running != nil {
		t.Error("the stateful server was left")
	}
}

package xdp

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// card answers ethtool for one network card. It takes no time of 7 microseconds.
type card struct {
	microseconds, adaptive uint32
	others                 [8]uint32
}

func (c *card) ask(name string, request *ethtoolCoalesce) error {
	switch {
	case name == "veth":
		return unix.EOPNOTSUPP
	case name == "gone":
		return unix.ENODEV
	case request.command == ethtoolGetCoalesce:
		request.rxMicroseconds, request.adaptiveRx = c.microseconds, c.adaptive
	case request.rxMicroseconds == 7:
		return unix.EINVAL
	default:
		c.microseconds, c.adaptive = request.rxMicroseconds, request.adaptiveRx
	}
	return nil
}

func TestModeration(t *testing.T) {
	of := func(n int64, adaptive bool) measure.PortState {
		return measure.PortState{Interface: "nic", InterruptMicroseconds: &n, AdaptiveInterrupts: adaptive}
	}
	for name, c := range map[string]struct {
		port     string
		wanted   *int
		want     measure.PortState
		during   card
		fallback string
	}{
		"read":                   {port: "nic", want: of(50, true), during: card{microseconds: 50, adaptive: 1}},
		"off":                    {port: "nic", wanted: new(0), want: of(0, false)},
		"a time":                 {port: "nic", wanted: new(20), want: of(20, false), during: card{microseconds: 20}},
		"a time that it has not": {port: "nic", wanted: new(7), want: of(50, true), during: card{microseconds: 50, adaptive: 1}, fallback: "stays as it is: invalid argument"},
		"a veth":                 {port: "veth", want: measure.PortState{Interface: "veth"}, during: card{microseconds: 50, adaptive: 1}},
		"off at a veth":          {port: "veth", wanted: new(0), want: measure.PortState{Interface: "veth"}, during: card{microseconds: 50, adaptive: 1}},
		"a time at a veth": {port: "veth", wanted: new(20), want: measure.PortState{Interface: "veth"}, during: card{microseconds: 50, adaptive: 1},
			fallback: "veth cannot be delayed"},
	} {
		t.Run(name, func(t *testing.T) {
			nic := card{microseconds: 50, adaptive: 1}
			d := &Driver{config: Config{InterruptMicroseconds: c.wanted}, ports: [2]port{{name: c.port}}}
			got, err := d.moderatePort(nic.ask, c.port)
			if err != nil {
				t.Fatal(err)
			}
			if got.Interface != c.want.Interface || got.AdaptiveInterrupts != c.want.AdaptiveInterrupts ||
				(got.InterruptMicroseconds == nil) != (c.want.InterruptMicroseconds == nil) ||
				got.InterruptMicroseconds != nil && *got.InterruptMicroseconds != *c.want.InterruptMicroseconds {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if nic != c.during {
				t.Errorf("the card has %+v, want %+v", nic, c.during)
			}
			if f := d.description.Fallbacks; (len(f) > 0) != (c.fallback != "") || len(f) > 0 && !strings.Contains(f[0], c.fallback) {
				t.Errorf("fallbacks %q, want %q", f, c.fallback)
			}
			if err := d.restoreModeration(nic.ask); err != nil {
				t.Fatal(err)
			}
			if want := (card{microseconds: 50, adaptive: 1}); nic != want {
				t.Errorf("afterwards the card has %+v, want %+v", nic, want)
			}
		})
	}
	gone := &Driver{moderated: []moderation{{name: "gone"}}}
	if err := gone.restoreModeration((&card{}).ask); err != nil {
		t.Errorf("a port that is gone: %v", err)
	}
	if _, err := gone.moderatePort((&card{}).ask, "gone"); err == nil {
		t.Error("no error of a port that cannot be read")
	}
}

// TestModerationOfKernelPorts reads that of a veth, which has none, and of a tap, which answers the
// kernel's request and cannot be set.
func TestModerationOfKernelPorts(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward), InterruptMicroseconds: new(5)})
	about := d.Description()
	if len(about.Fallbacks) != 2 || !strings.Contains(about.Fallbacks[0], "cannot be delayed") ||
		slices.ContainsFunc(about.Ports, func(s measure.PortState) bool { return s.InterruptMicroseconds != nil }) {
		t.Errorf("a veth pair: %+v", about)
	}
	tapped := buildPath(t, func() (*testpath.Path, error) { return testpath.Tapped(0) })
	if err := testpath.Do(tapped.Node, func() error {
		socket, err := ethtoolSocket()
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(socket) }()
		tap := &Driver{config: Config{InterruptMicroseconds: new(5)}, moderationSocket: socket}
		state, err := tap.moderatePort(tap.askModeration, testpath.TapWest)
		if err != nil || state.InterruptMicroseconds == nil || *state.InterruptMicroseconds != 0 || len(tap.description.Fallbacks) != 1 {
			t.Errorf("a tap: %+v, %v, fallbacks %q", state, err, tap.description.Fallbacks)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

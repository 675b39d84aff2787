//go:build linux

package server

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/traffic/trex/planning"
)

// realConfig is for TRex itself, if the environment variable TREX names its release, or
// the program in it.
func realConfig(t *testing.T) Config {
	t.Helper()
	directory := os.Getenv("TREX")
	if directory == "" {
		t.Skip("TREX names no TRex: the folder of a release of v3.08, or the program in it")
	}
	c := config(planning.AFPacket)
	c.Directory, c.StateDirectory = strings.TrimSuffix(directory, "/"+programName), t.TempDir()
	c.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	return c
}

func TestRealServer(t *testing.T) {
	for name, change := range map[string]func(*Config, *netnstest.Namespace){
		"stateless": func(*Config, *netnstest.Namespace) {},
		"stateful":  func(c *Config, _ *netnstest.Namespace) { c.Stateful = true },
		"jumbo frames": func(c *Config, pod *netnstest.Namespace) {
			pod.Must(t, func() error {
				for _, port := range c.Path.Ports {
					link, err := netlink.LinkByName(port.Interface)
					if err != nil {
						return err
					}
					if err := netlink.LinkSetMTU(link, 9000); err != nil {
						return err
					}
				}
				return nil
			})
		},
		"tags and one direction": func(c *Config, _ *netnstest.Namespace) {
			c.Path.Ports[0].VLAN = 100
			c.Path.Streams = streams(measure.Forward)
		},
		"an extra configuration": func(c *Config, _ *netnstest.Namespace) {
			c.Settings.ExtraConfiguration = "memory: {dp_flows: 20000}\nport_bandwidth_gb: 10"
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, pod := realConfig(t), newPod(t)
			change(&c, pod)
			s, err := startIn(t, pod, t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.Alive(), s.Restart(t.Context()), s.Close()); err != nil {
				t.Error(err)
			}
			for _, line := range s.Log() {
				if strings.Contains(strings.ToLower(line), "error") {
					t.Errorf("it says %q", line)
				}
			}
		})
	}
}

// A TRex that was killed can start again: what it left in its folder is not in the way.
func TestRealServerKilled(t *testing.T) {
	s, err := startIn(t, newPod(t), t.Context(), realConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.current().signal(unix.SIGKILL)
		eventually(t, "its death", func() bool { return s.Alive() != nil })
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TRex listens only on IPv4.
func TestRealPortsAreClosed(t *testing.T) {
	portsAreClosed(t, realConfig(t), []string{"192.0.2.1"})
}

// explain understands what TRex itself writes at its end.
func TestRealLastWords(t *testing.T) {
	for name, test := range map[string]struct{ extra, reason string }{
		"a stack that there is not": {"stack: no-such", v1alpha1.ReasonTRexServerFailed},
		"too little memory":         {"limit_memory: 20", v1alpha1.ReasonTRexServerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			c := realConfig(t)
			c.Settings.ExtraConfiguration = test.extra
			_, err := startIn(t, newPod(t), t.Context(), c)
			if measure.ReasonOf(err) != test.reason {
				t.Errorf("got %v", err)
			}
			t.Log(err)
		})
	}
}

package xdp

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

func unresolved(build builder) builder {
	return func() (*testpath.Path, error) { return testpath.Unresolved(build) }
}

func bridgedTagged() (*testpath.Path, error) { return testpath.BridgedTagged(testVLAN) }

// whileForgetting has the device forget its neighbors again and again during a call.
func whileForgetting(t *testing.T, p *testpath.Path, do func()) {
	t.Helper()
	stop, failed := make(chan struct{}), error(nil)
	var forgetting sync.WaitGroup
	forgetting.Go(func() {
		for ticker := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-ticker.C:
				failed = errors.Join(failed, p.Forget())
			}
		}
	})
	do()
	close(stop)
	forgetting.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
}

// answers returns how many requests each port has answered.
func answers(d *Driver) (all [2]uint64) {
	for i := range all {
		all[i] = d.resolver(i).Answers
	}
	return all
}

func TestDeviceWithoutStaticNeighbors(t *testing.T) {
	for name, c := range map[string]struct {
		build  builder
		config Config
		tag    int
	}{
		"native":                 {build: routedWithNAPI},
		"native, two threads":    {build: routedWithNAPI, config: Config{Threads: 2}},
		"generic":                {build: routedWithNAPI, config: Config{ReceiveMode: Generic}},
		"inner veth":             {build: testpath.Bridged},
		"clsact":                 {build: testpath.Bridged, config: Config{withoutTCX: true}},
		"direct alone, no inner": {build: routedWithNAPI, config: Config{TransmitPath: Direct}},
		"tagged":                 {build: bridgedTagged, tag: testVLAN},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, unresolved(c.build))
			for family, path := range map[string]measure.Path{"IPv4": p.IPv4(), "IPv6": p.IPv6()} {
				t.Run(family, func(t *testing.T) {
					c.config.Path = inVLANs(testpath.Resolving(path), c.tag, c.tag)
					d := open(t, p, c.config)
					checkNextHops(t, d, path)
					before := answers(d)
					whileForgetting(t, p, func() {
						checkWhole(t, run(t, d, trialOf(128, 2000, 500*time.Millisecond)))
					})
					after := answers(d)
					for i := range after {
						answered := after[i] - before[i]
						if answered == 0 {
							t.Errorf("port %d answered nothing during the trial", i)
						}
						// The device itself reports its groups (MLD).
						if foreign := d.state.Receivers[1-i].Foreign; foreign > 2 && foreign >= answered {
							t.Errorf("port %d answered %d requests and counted %d frames as foreign", i, answered, foreign)
						}
					}
					if c.config.withoutTCX && !slices.ContainsFunc(d.Description().Fallbacks, func(f string) bool { return strings.Contains(f, "vbi") }) {
						t.Errorf("the fallbacks %q do not have the inner pair's", d.Description().Fallbacks)
					}
					if err := d.Close(); err != nil {
						t.Fatal(err)
					}
					checkIngressFree(t, p)
				})
			}
		})
	}
}

// checkNextHops verifies that the driver found the device's own hardware addresses, which the path has.
func checkNextHops(t *testing.T, d *Driver, path measure.Path) {
	t.Helper()
	for i, s := range path.Streams {
		got := d.Description().Ports[i]
		if got.NextHopMAC != s.DestinationMAC || got.NextHop != d.config.Path.Ports[i].NextHop || d.streams[i].DestinationMAC != s.DestinationMAC {
			t.Errorf("port %d resolved %s as %q and sends to %q, want %q", i, got.NextHop, got.NextHopMAC, d.streams[i].DestinationMAC, s.DestinationMAC)
		}
	}
}

// TestResolutionOneWay has the port that only receives answer too: the device sends to it.
func TestResolutionOneWay(t *testing.T) {
	p := buildPath(t, unresolved(routedWithNAPI))
	d := open(t, p, Config{Path: testpath.Resolving(p.IPv4(measure.Forward))})
	checkWhole(t, run(t, d, trialOf(64, 1000, 50*time.Millisecond)))
	if got := answers(d); got[1] == 0 {
		t.Errorf("answers %v: the receiving port answered nothing", got)
	}
}

// TestResolutionInFragments has a device ask during a trial of packets in fragments.
func TestResolutionInFragments(t *testing.T) {
	p := buildPath(t, unresolved(routedWithNAPI))
	d := open(t, p, Config{Path: testpath.Resolving(p.IPv4())})
	before := answers(d)
	whileForgetting(t, p, func() {
		checkWhole(t, run(t, d, packetTrial(4096, 4, 1500, 300, 300*time.Millisecond)))
	})
	if after := answers(d); after[0] == before[0] || after[1] == before[1] {
		t.Errorf("answers %v before and %v after", before, after)
	}
}

func TestNextHopUnresolved(t *testing.T) {
	p := buildPath(t, unresolved(testpath.Bridged))
	for family, path := range map[string]measure.Path{"ARP": p.IPv4(), "neighbor discovery": p.IPv6()} {
		path = testpath.Resolving(path)
		missing := netip.MustParseAddr("198.18.0.77")
		if family != "ARP" {
			missing = netip.MustParseAddr("2001:2:0:1::77")
		}
		path.Ports[0].NextHop = missing
		_, err := tryOpen(p, Config{Path: path, ProbeTimeout: 10 * time.Millisecond})
		if got := measure.ReasonOf(err); got != v1alpha1.ReasonNextHopUnresolved {
			t.Fatalf("%s: reason %q (%v), want %s", family, got, err, v1alpha1.ReasonNextHopUnresolved)
		}
		for _, want := range []string{missing.String(), `"west"`, family} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v names no %s", err, want)
			}
		}
		checkIngressFree(t, p)
	}
}

func TestResolutionNeedsAnAddress(t *testing.T) {
	path := measure.Path{Ports: [2]measure.Port{
		{Interface: "west", Addresses: []netip.Addr{netip.MustParseAddr("2001:2::1")}, NextHop: netip.MustParseAddr("198.18.0.2")},
	}}
	if err := checkResolution(path); err == nil || !strings.Contains(err.Error(), "no address of that family") {
		t.Errorf("checkResolution: %v", err)
	}
}

package main

import (
	"fmt"
	"log/slog"
	"strings"

	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/filter"
)

// device is what the driver sends through.
type device struct {
	name  string
	build func() (*testpath.Path, error)
	// slow is how often it reads the clock for each frame.
	slow int32
	// rules is how many rules of iptables each frame passes.
	rules      int
	leastLimit float64
	// split says that a part of its work is before the port at which frames go to another core.
	split bool
}

// ringDevices are what the ring is measured with. The first is the one that others add to.
var ringDevices = []device{
	{name: "router", build: routed, leastLimit: leastLimitShare},
	{name: "slow router", build: routed, slow: 100, leastLimit: leastSlowLimitShare},
	{name: "router with 200 iptables rules", build: routed, rules: 200, leastLimit: leastSlowLimitShare},
	{name: "two bridges and a router", build: testpath.Bridged, leastLimit: leastSlowLimitShare, split: true},
}

// devicesNamed returns those whose name has a text in it, and an error where there is none.
func devicesNamed(text string) (found []device, err error) {
	var names []string
	for _, d := range ringDevices {
		names = append(names, fmt.Sprintf("%q", d.name))
		if strings.Contains(d.name, text) {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("-device: no device has %q in its name; they are %s", text, strings.Join(names, ", "))
	}
	return found, nil
}

func routed() (*testpath.Path, error) { return testpath.Routed(true) }

// path builds the device and the path through it.
func (d device) path() (*testpath.Path, error) {
	p, err := d.build()
	if err != nil {
		return nil, err
	}
	if d.slow > 0 {
		err = p.Slow(d.slow, testpath.DeviceWest, testpath.DeviceEast)
	}
	if err == nil && d.rules > 0 {
		err = testpath.Do(p.Device, walkedBy(d.rules).Prepare)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// walkedBy returns a firewall whose rules match no frame, so that each frame passes all of them.
func walkedBy(rules int) *filter.Filter {
	return filter.New(&vnf.Firewall{
		Backend: vnf.BackendIptables, Mode: vnf.ModeStateless, Forwarding: vnf.ForwardingRouted, Rules: rules,
		MatchBy: vnf.MatchByAddress, MatchPosition: vnf.PositionNone, Verdict: vnf.VerdictAccept, DefaultPolicy: vnf.VerdictAccept,
	}, slog.New(slog.DiscardHandler))
}

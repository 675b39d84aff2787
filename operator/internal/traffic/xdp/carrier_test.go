package xdp

import (
	"context"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
)

// wantNoCarrier wants an error that says that a port has no carrier.
func wantNoCarrier(t *testing.T, port string, err error) {
	t.Helper()
	if measure.ReasonOf(err) != v1alpha1.ReasonPortDown {
		t.Fatalf("got %v, want reason %s", err, v1alpha1.ReasonPortDown)
	}
	for _, word := range []string{`"` + port + `"`, "no carrier", "cable"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("no %s in %q", word, err)
		}
	}
}

func TestOpenWithoutACarrier(t *testing.T) {
	for name, test := range map[string]struct {
		down, port string
		hop        measure.Hop
	}{
		"west, Separate": {testpath.DeviceWest, testpath.West, measure.HopSeparate},
		"east, Separate": {testpath.DeviceEast, testpath.East, measure.HopSeparate},
		"west, Inline":   {testpath.DeviceWest, testpath.West, measure.HopInline},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, routedWithNAPI)
			if err := setLink(p.Device, test.down, false); err != nil {
				t.Fatal(err)
			}
			path := p.IPv4()
			path.Hop = test.hop
			_, err := tryOpen(p, Config{Path: path, carrierTimeout: time.Millisecond})
			wantNoCarrier(t, test.port, err)
			checkNoXDP(t, p)
		})
	}
}

// TestCarrierThatComesLate has the cable plugged in while the driver opens.
func TestCarrierThatComesLate(t *testing.T) {
	p := buildPath(t, testpath.Bridged)
	if err := setLink(p.Node, "nwest", false); err != nil {
		t.Fatal(err)
	}
	plugged := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { plugged <- setLink(p.Node, "nwest", true) })
	d := open(t, p, Config{Path: separate(p), carrierTimeout: busyTimeout})
	if err := <-plugged; err != nil {
		t.Fatal(err)
	}
	checkWhole(t, run(t, d, trialOf(64, 1000, 100*time.Millisecond)))
}

// TestCarrierLostInATrial pulls the cable of a port: no frame is the loss of a device that cannot be reached.
func TestCarrierLostInATrial(t *testing.T) {
	for name, test := range map[string]struct {
		far, port string
		hop       measure.Hop
	}{
		"west, Separate": {"nwest", testpath.West, measure.HopSeparate},
		"east, Separate": {"neast", testpath.East, measure.HopSeparate},
		"west, Tap":      {"nwest", testpath.West, measure.HopTap},
		"east, empty":    {"neast", testpath.East, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, testpath.Bridged)
			path := p.IPv4(measure.Forward)
			path.Hop = test.hop
			d := open(t, p, Config{Path: path})
			pulled := make(chan error, 1)
			stop, before := make(chan struct{}), uint32(d.trial)
			go func() {
				pulled <- changeInTrial(d, before, stop, func() error { return setLink(p.Node, test.far, false) })
			}()
			_, err := d.Measure(t.Context(), trialOf(64, 5000, time.Second))
			close(stop)
			if failed := <-pulled; failed != nil {
				t.Fatal(failed)
			}
			wantNoCarrier(t, test.port, err)
			// The next trial does not begin.
			ctx, cancel := context.WithTimeout(t.Context(), busyTimeout)
			defer cancel()
			_, err = d.Measure(ctx, trialOf(64, 5000, time.Hour))
			wantNoCarrier(t, test.port, err)
			if err := d.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			checkThreads(t)
		})
	}
}

// TestCarrierLostWhileOpening loses the link after the driver has waited for it, as a card that restarts late does: probes
// continue until it is back.
func TestCarrierLostWhileOpening(t *testing.T) {
	p := buildPath(t, testpath.Bridged)
	path := testpath.Resolving(p.IPv4(measure.Forward))
	path.Hop = measure.HopSeparate
	d := open(t, p, Config{Path: path})
	if err := setLink(p.Node, "nwest", false); err != nil {
		t.Fatal(err)
	}
	d.opened, d.config.ProbeTimeout = false, time.Millisecond
	d.putAddresses() // forgets the answer
	_, err := d.nextHop(t.Context(), 0)
	wantNoCarrier(t, testpath.West, err)
	wantNoCarrier(t, testpath.West, d.findPath(t.Context()))

	d.config.ProbeTimeout = busyTimeout
	plugged := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { plugged <- setLink(p.Node, "nwest", true) })
	if err := d.findPath(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-plugged; err != nil {
		t.Fatal(err)
	}
}

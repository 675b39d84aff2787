package main

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/testing/testpath"
)

// TestLoopBetweenPorts sends over a loop that a testbed names, as a run's calibration does. A veth pair
// represents two network cards and their cable; its ends have what Multus would give them.
func TestLoopBetweenPorts(t *testing.T) {
	if os.Getenv("VNFBENCH_NO_KERNEL_TESTS") == "1" {
		t.Skip("SKIP: VNFBENCH_NO_KERNEL_TESTS=1 turns the tests off that need root and BPF")
	}
	p, err := plan.Make(plantest.ExistingNetworks())
	if err != nil {
		t.Fatal(err)
	}
	cable, err := testpath.Direct()
	if err != nil {
		t.Fatal(err)
	}
	defer cable.Close()
	plugged := func(name string, end plan.End) error {
		port, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		mac, err := net.ParseMAC(end.MAC)
		if err != nil {
			return err
		}
		for _, set := range []func() error{
			func() error { return netlink.LinkSetDown(port) },
			func() error { return netlink.LinkSetName(port, end.Interface) },
			func() error { return netlink.LinkSetHardwareAddr(port, mac) },
			func() error { return netlink.LinkSetUp(port) },
		} {
			if err := set(); err != nil {
				return err
			}
		}
		return nil
	}
	open := func() (driver measure.Driver, err error) {
		err = testpath.Do(cable.Generator, func() error {
			driver, err = newDrivers(measure.OpenerConfig{}).Open(t.Context(), measure.Opening{Driver: p.Instructions.Driver, Path: p.Instructions.Calibration})
			return err
		})
		return driver, err
	}
	if _, err := open(); err == nil {
		t.Error("a path opened before its ports were there")
	}
	if err := testpath.Do(cable.Generator, func() error {
		if err := plugged(testpath.West, p.Calibration.West); err != nil {
			return err
		}
		return plugged(testpath.East, p.Calibration.East)
	}); err != nil {
		t.Fatal(err)
	}
	driver, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = driver.Close() }()
	o, err := driver.Measure(t.Context(), measure.Trial{
		Size: "64", FrameBytes: 64, IntendedFramesPerSecond: 1000,
		DurationNanoseconds: int64(300 * time.Millisecond), SettleNanoseconds: int64(100 * time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range o.Directions {
		// On a busy machine some are not sent.
		if d.ReceivedFrames == 0 || d.ReceivedFrames != d.SentFrames || d.Latency.P50Nanoseconds == 0 {
			t.Errorf("%s: %+v", d.Direction, d)
		}
	}
	if len(o.Directions) != 2 {
		t.Errorf("%d directions", len(o.Directions))
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/xdp"
)

// portRates are the loads of measurePorts, in frames per second of each direction; 0 is as fast as
// possible.
var portRates = []uint64{1_000, 10_000, 100_000, 1_000_000, 0}

// measurePorts sends from one port of this machine to another that a cable joins it to. A cable
// loses nothing: what is missing was refused by a port, and has to be counted there.
func measurePorts(ctx context.Context, names string, interrupts int, window time.Duration) (err error) {
	pair := strings.Split(names, ",")
	if len(pair) != 2 {
		return fmt.Errorf("-ports %q: name two ports that a cable joins", names)
	}
	path, err := cablePath(pair[0], pair[1])
	if err != nil {
		return err
	}
	config := xdp.Config{Path: path}
	if interrupts >= 0 {
		config.InterruptMicroseconds = &interrupts
	}
	d, err := xdp.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	about := d.Description()
	fmt.Printf("PORTS %s, received %s, %d ns a frame; fallbacks %q\n", about.TransmitPath, about.ReceiveMode, about.FrameCostNanoseconds, about.Fallbacks)
	for _, port := range about.Ports {
		delay := "not known"
		if n := port.InterruptMicroseconds; n != nil {
			delay = fmt.Sprint(time.Duration(*n)*time.Microsecond, ", adaptive ", port.AdaptiveInterrupts)
		}
		fmt.Printf("PORTS %s: refused frames %s, delay of interrupts %s\n", port.Interface, port.RefusedFrames, delay)
	}
	for _, rate := range portRates {
		o, err := d.Measure(ctx, trialOf(64, rate, window))
		if err != nil {
			return err
		}
		for _, direction := range o.Directions {
			fmt.Printf("PORTS rate=%d %s: %d intended, %d overflow, %d refused, %d sent, %d received, %d lost, p50 %d ns, verdict %s\n", rate, direction.Direction,
				direction.IntendedFrames, direction.OverflowFrames, direction.RefusedFrames, direction.SentFrames, direction.ReceivedFrames,
				direction.LostFrames(), direction.Latency.P50Nanoseconds, verdict(direction.LostFrames() == 0))
		}
		for _, doubt := range o.Doubts {
			fmt.Printf("  doubt %+v\n", doubt)
		}
	}
	return nil
}

func verdict(ok bool) string {
	if ok {
		return "PASS"
	}
	return "FAIL"
}

// cablePath returns a path between two ports that nothing but a cable joins.
func cablePath(west, east string) (path measure.Path, err error) {
	var macs [2]string
	for i, name := range []string{west, east} {
		port, err := netlink.LinkByName(name)
		if err != nil {
			return path, fmt.Errorf("port %q: %w", name, err)
		}
		path.Ports[i].Interface, macs[i] = name, port.Attrs().HardwareAddr.String()
	}
	path.Hop = measure.HopSeparate
	addresses := [2]netip.Addr{netip.AddrFrom4([4]byte{198, 18, 0, 2}), netip.AddrFrom4([4]byte{198, 19, 0, 2})}
	for i, direction := range []measure.Direction{measure.Forward, measure.Reverse} {
		path.Streams = append(path.Streams, measure.Stream{
			Direction: direction, SourceMAC: macs[i], DestinationMAC: macs[1-i],
			SourceAddress: addresses[i], DestinationAddress: addresses[1-i], SourcePort: 1024, DestinationPort: 2048,
		})
	}
	return path, nil
}

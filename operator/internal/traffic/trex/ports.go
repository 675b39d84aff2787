package trex

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/headers"
	"vnfbench.io/operator/internal/traffic/trex/planning"
	"vnfbench.io/operator/internal/traffic/trex/rpc"
)

// defaultProfile is the one that a port always has. "*" means all of them, and removes
// nothing.
const defaultProfile = "_"

// systemInfo is the used part of the answer to get_system_info.
type systemInfo struct {
	Cores int `json:"dp_core_count"`
	Ports []struct {
		Index int    `json:"index"`
		MAC   string `json:"hw_mac"`
		// PCI is "N/A" for packet sockets.
		PCI      string `json:"pci_addr"`
		Driver   string `json:"driver"`
		Software bool   `json:"is_virtual"`
	} `json:"ports"`
}

// portStatus is the used part of the answer to get_port_status.
type portStatus struct {
	State string `json:"state"`
	Attr  struct {
		// GigabitsPerSecond is 0 if the port does not know its speed.
		GigabitsPerSecond float64 `json:"speed"`
		Link              struct {
			Up bool `json:"up"`
		} `json:"link"`
	} `json:"attr"`
}

// sending reports whether a port's job has not ended.
func (s portStatus) sending() bool { return s.State == "TX" || s.State == "PAUSE" }

// defaultLineRate applies to a port that does not know its speed.
const defaultLineRate = 10_000_000_000

// begin finds the ports and acquires them over a new connection.
func (d *Driver) begin(ctx context.Context) (err error) {
	if err := d.connection.Call(ctx, "get_system_info", nil, &d.info); err != nil {
		return err
	}
	if d.ports, err = findPorts(d.config, d.streams, d.info); err != nil {
		return err
	}
	if err := d.acquire(ctx); err != nil {
		return err
	}
	if err := d.clear(ctx); err != nil {
		return err
	}
	statuses, err := d.status(ctx)
	if err != nil {
		return err
	}
	if err := d.checkLinks(statuses); err != nil {
		return err
	}
	d.lineRateBitsPerSecond = lineRate(statuses)
	d.largestFrameBytes = d.maxFrameBytes()
	d.describe()
	return nil
}

// findPorts finds each end's port by its PCI address, and packet sockets, which have none, by the source address of the
// end's stream; an end that sends nothing has the other port. The order may differ from that of the path. A whole NIC
// keeps its own MAC address, so the source address says nothing about it.
func findPorts(c Config, streams frames.Streams, info systemInfo) (ports [2]int, err error) {
	missing := func(remedy, format string, args ...any) error {
		return &measure.Failure{Reason: v1alpha1.ReasonPortMissing, Remedy: remedy, Err: fmt.Errorf(format, args...)}
	}
	byPCI := c.Addresses[0] != ""
	var seen []string
	for _, p := range info.Ports {
		if byPCI {
			seen = append(seen, p.PCI)
		} else {
			seen = append(seen, p.MAC)
		}
	}
	if len(info.Ports) != 2 {
		return ports, missing("configure two ports", "TRex has %d ports with the addresses %s", len(info.Ports), strings.Join(seen, ", "))
	}
	found := [2]int{-1, -1} // indexes in info.Ports
	for end, s := range streams {
		address := c.Addresses[end]
		if !byPCI {
			if s == nil {
				continue
			}
			address = s.SourceMAC
		}
		for n := range seen {
			if strings.EqualFold(seen[n], address) {
				found[end] = n
			}
		}
		if found[end] < 0 {
			return ports, missing("attach the port with that address to the traffic pod, or correct the ports of TRex's configuration",
				"port %q: TRex has no port with the address %s, but %s", c.Path.Ports[end].Interface, address, strings.Join(seen, " and "))
		}
		if p := info.Ports[found[end]]; byPCI && !c.WholeNICs && s != nil && !strings.EqualFold(p.MAC, s.SourceMAC) {
			return ports, missing("let the network plugin give the virtual function the MAC address of the plan",
				"port %q: TRex's port %s has the MAC address %s, want %s", c.Path.Ports[end].Interface, p.PCI, p.MAC, s.SourceMAC)
		}
	}
	for end := range found {
		if found[end] < 0 {
			found[end] = 1 - found[1-end]
		}
	}
	if found[0] == found[1] {
		return ports, missing("give each port its own address", "both ports have the address %s", seen[found[0]])
	}
	return [2]int{info.Ports[found[0]].Index, info.Ports[found[1]].Index}, nil
}

// acquire acquires both ports, by force if another client holds one.
func (d *Driver) acquire(ctx context.Context) error {
	for end, port := range d.ports {
		err := d.connection.Acquire(ctx, port, false)
		if errors.Is(err, rpc.ErrOwned) {
			d.forced[d.config.Path.Ports[end].Interface] = true
			err = d.connection.Acquire(ctx, port, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clear stops what the ports send, and removes all streams. Both can remain after an
// earlier client.
func (d *Driver) clear(ctx context.Context) error {
	var requests []*rpc.Request
	for _, method := range []string{"stop_traffic", "remove_all_streams"} {
		for _, port := range d.ports {
			requests = append(requests, &rpc.Request{Method: method, Port: port, Params: profile})
		}
	}
	return d.connection.Batch(ctx, requests)
}

var profile = map[string]any{"profile_id": defaultProfile}

func (d *Driver) release(ctx context.Context) error {
	return errors.Join(d.connection.Release(ctx, d.ports[0]), d.connection.Release(ctx, d.ports[1]))
}

func (d *Driver) status(ctx context.Context) (statuses [2]portStatus, err error) {
	requests := make([]*rpc.Request, len(d.ports))
	for i, port := range d.ports {
		requests[i] = &rpc.Request{
			Method: "get_port_status", Port: rpc.NoPort, Params: map[string]any{"port_id": port}, Result: &statuses[i],
		}
	}
	err = d.connection.Batch(ctx, requests)
	return statuses, err
}

// checkLinks verifies that both links are up: with one down, TRex still sends.
func (d *Driver) checkLinks(statuses [2]portStatus) error {
	for end, s := range statuses {
		if !s.Attr.Link.Up {
			return measure.Failf(v1alpha1.ReasonPortDown, "check the cable, or the other end of the port",
				"port %q: TRex says that its link is down", d.config.Path.Ports[end].Interface)
		}
	}
	return nil
}

func lineRate(statuses [2]portStatus) uint64 {
	rate := uint64(0)
	for _, s := range statuses {
		speed := uint64(s.Attr.GigabitsPerSecond * 1e9)
		if speed == 0 {
			speed = defaultLineRate
		}
		if rate == 0 || speed < rate {
			rate = speed
		}
	}
	return rate
}

// maxFrameBytes returns the size of the largest frame, check sequence included. Packet sockets
// send what the interface's MTU allows; only the server knows what a DPDK port carries.
func (d *Driver) maxFrameBytes() int {
	size := maximumFrameBytes
	for end, port := range d.config.Path.Ports {
		tag := 0
		if port.VLAN != 0 {
			tag = measure.VLANTagBytes
		}
		size = min(size, maximumFrameBytes-tag)
		if d.config.Settings.Mode != planning.AFPacket {
			continue
		}
		if link, err := net.InterfaceByName(d.config.Path.Ports[end].Interface); err == nil {
			size = min(size, link.MTU+headers.EthernetBytes+measure.FrameCheckSequenceBytes)
		}
	}
	return size
}

// describe describes how TRex drives the ports, and what a reader needs to know with
// every figure.
func (d *Driver) describe() {
	note := func(format string, args ...any) {
		d.description.Fallbacks = append(d.description.Fallbacks, fmt.Sprintf(format, args...))
	}
	d.description = measure.Description{
		Driver: "TRex", TransmitPath: d.config.Settings.Mode, ReceiveMode: hardwareReceive, Threads: d.info.Cores,
		Fallbacks: append([]string(nil), d.config.Notes...),
	}
	if d.config.Software {
		d.description.ReceiveMode = softwareReceive
	}
	for _, name := range slices.Sorted(maps.Keys(d.forced)) {
		note("port %q belonged to another session of TRex and was taken from it by force", name)
	}
	drivers := map[string]bool{}
	for _, p := range d.info.Ports {
		if p.Software && !drivers[p.Driver] {
			drivers[p.Driver] = true
			d.description.ReceiveMode = softwareReceive
			note("TRex receives in software with the driver %s, so delays have the polling of its receiving thread in them", p.Driver)
		}
	}
	note("delays are those of up to %d frames/s of each stream, the only ones that TRex times", d.config.LatencyFramesPerSecond)
	if d.coarse {
		note("TRex gives no HdrHistogram (--hdrh), so percentiles are the upper ends of its buckets, which hold one digit of a delay")
	}
	for _, s := range d.config.Path.Streams {
		if !headers.IsIPv4(s) {
			note("over IPv6, frames that TRex times have no UDP checksum, since it writes into them last")
			break
		}
	}
	for _, s := range d.config.Path.Streams {
		f := s.Flows
		if f == nil || f.Count < 2 {
			continue
		}
		if f.Random && !headers.IsIPv4(s) {
			note("%s: random flows over IPv6 have no UDP checksum", s.Direction)
		}
		if !f.Random && f.Count > flowsAlike(*f) {
			note("%s: flow n of %d does not have n added to every field, since one has %d values: when that field wraps, another field is increased by one",
				s.Direction, f.Count, flowsAlike(*f))
		}
	}
}

// How the ports receive frames.
const (
	// hardwareReceive lets the card select what is timed.
	hardwareReceive = "Hardware"
	// softwareReceive passes every frame to a thread.
	softwareReceive = "Software"
)

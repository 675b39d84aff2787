package xdp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/testpath"
	"vnfbench.io/operator/internal/traffic/headers"
)

// Offsets in frames, and the ICMPv6 type of an advertisement.
const (
	arpOperation, arpSenderMAC             = 20, 22
	ipv6Length, ipv6HopLimit, ipv6Source   = 18, 21, 22
	icmpType, icmpCode, icmpChecksum       = 54, 55, 56
	icmpFlags, icmpTarget, icmpOption      = 58, 62, 78
	advertisementBytes, advertisementOfMAC = 86, 136
)

var (
	machineMAC  = net.HardwareAddr{2, 0, 0, 0, 0, 0xaa}
	machineIPv4 = netip.MustParseAddr("198.18.0.9")
	machineIPv6 = netip.MustParseAddr("fe80::9")
)

// device forwards test frames from west to east, and gives the others to a test.
func device(t *testing.T, p *testpath.Path, others func(frame []byte)) *testpath.Raw {
	t.Helper()
	f, err := p.Forward(func(_ uint64, _ time.Time, frame []byte, send func([]byte)) {
		switch binary.BigEndian.Uint16(frame[12:]) {
		case etherTypeARP:
			others(frame)
		case headers.EtherTypeIPv6:
			if frame[20] == 58 {
				others(frame)
				return
			}
			send(frame)
		default:
			send(frame)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	raw, err := p.Raw(testpath.DeviceWest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

func changed(frame []byte, at int, octets ...byte) []byte {
	out := bytes.Clone(frame)
	copy(out[at:], octets)
	return out
}

// answersOf returns the next answers to a machine, until there is a last one.
func answersOf(t *testing.T, raw *testpath.Raw, isLast func(frame []byte) bool) (all [][]byte) {
	t.Helper()
	for deadline := time.Now().Add(busyTimeout); time.Now().Before(deadline); {
		frame, err := raw.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if len(frame) < arpSenderMAC || !bytes.Equal(frame[:6], machineMAC) {
			continue
		}
		all = append(all, frame)
		if isLast(frame) {
			return all
		}
	}
	t.Fatalf("no answer came after %d", len(all))
	return nil
}

// TestAnswersOnTheWire reads whole answers where they reach the device, and sends requests that get none.
func TestAnswersOnTheWire(t *testing.T) {
	own4, own6 := netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("2001:2:0:1::2")
	arp, solicited := arpRequest(machineMAC, machineIPv4, own4), solicitation(machineMAC, machineIPv6, own6)
	ignored := map[string][]byte{
		"ARP for another address":       arpRequest(machineMAC, machineIPv4, netip.MustParseAddr("198.18.0.3")),
		"ARP of a group":                changed(arp, arpSenderMAC, 3),
		"ARP of address 0":              changed(arp, arpSenderMAC, 0, 0, 0, 0, 0, 0),
		"ARP on another hardware":       changed(arp, 14, 0, 6),
		"ARP of another length":         changed(arp, 18, 8),
		"ARP with another operation":    changed(arp, arpOperation, 0, 3),
		"a solicitation for another":    solicitation(machineMAC, machineIPv6, netip.MustParseAddr("2001:2:0:1::3")),
		"a routed solicitation":         changed(solicited, ipv6HopLimit, 254),
		"a solicitation with a code":    changed(solicited, icmpCode, 1),
		"a short solicitation":          changed(solicited, ipv6Length, 0, 20),
		"duplicate address detection":   changed(solicited, ipv6Source, make([]byte, 16)...),
		"a solicitation of a group":     changed(solicited, 6, 3),
		"a tag, where the port has one": nil, // another one
	}
	for name, c := range map[string]struct {
		config Config
		tag    int
	}{
		"native":  {},
		"generic": {config: Config{ReceiveMode: Generic}},
		"tagged":  {tag: testVLAN},
	} {
		t.Run(name, func(t *testing.T) {
			p := buildPath(t, testpath.Wired)
			raw := device(t, p, func([]byte) {})
			path := p.IPv4(measure.Forward)
			path.Ports[0].Addresses = []netip.Addr{own4, own6}
			c.config.Path, c.config.TransmitPath = inVLANs(path, c.tag, 0), Direct
			d := open(t, p, c.config)
			mac := d.ports[0].mac
			send := func(frame []byte, tag int) {
				if tag != 0 {
					frame = withTag(frame, 0x8100_a000|uint32(tag))
				}
				if err := raw.Send(frame); err != nil {
					t.Fatal(err)
				}
			}
			foreign, before := d.state.Receivers[1].Foreign, answers(d)
			for _, frame := range ignored {
				if frame == nil {
					send(arp, c.tag+1)
				} else {
					send(frame, c.tag)
				}
			}
			send(arp, c.tag)
			send(solicited, c.tag)
			got := answersOf(t, raw, func(frame []byte) bool { return len(frame) >= advertisementBytes })
			if len(got) != 2 {
				t.Fatalf("%d answers: %x", len(got), got)
			}
			want := slices.Concat(machineMAC, mac, []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 2}, mac, own4.AsSlice(), machineMAC, machineIPv4.AsSlice())
			if !bytes.HasPrefix(got[0], want) {
				t.Errorf("the ARP reply is %x, want %x", got[0], want)
			}
			checkAdvertisement(t, got[1], mac, own6)
			if after := answers(d); after[0] != before[0]+2 || after[1] != before[1] {
				t.Errorf("answered %v after %v", after, before)
			}
			if n := d.state.Receivers[1].Foreign - foreign; n < uint64(len(ignored)) {
				t.Errorf("%d foreign frames, want %d at least", n, len(ignored))
			}
		})
	}
}

func checkAdvertisement(t *testing.T, frame []byte, mac net.HardwareAddr, own netip.Addr) {
	t.Helper()
	want := slices.Concat(machineMAC, mac, []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255}, own.AsSlice(), machineIPv6.AsSlice(), []byte{136, 0})
	if !bytes.HasPrefix(frame, want) {
		t.Errorf("the advertisement begins %x, want %x", frame, want)
	}
	// Router, solicited, override; then the target and its hardware address.
	rest := slices.Concat([]byte{0xe0, 0, 0, 0}, own.AsSlice(), []byte{2, 1}, mac)
	if !bytes.Equal(frame[icmpFlags:], rest) {
		t.Errorf("the advertisement ends %x, want %x", frame[icmpFlags:], rest)
	}
	if sum := icmpSum(frame); sum != 0xffff {
		t.Errorf("the checksum is wrong: all words add up to %#x", sum)
	}
}

// icmpSum adds up an ICMPv6 packet with its pseudo-header (RFC 8200 section 8.1).
func icmpSum(frame []byte) uint16 {
	sum := headers.Sum(0, frame[ipv6Source:icmpType])
	sum = headers.Sum(sum, []byte{0, 0, frame[ipv6Length], frame[ipv6Length+1], 0, 0, 0, 58})
	return headers.Fold(headers.Sum(sum, frame[icmpType:]))
}

// arpReply returns a reply to the port with an address.
func arpReply(mac net.HardwareAddr, from, to netip.Addr) []byte {
	return changed(arpRequest(mac, from, to), arpOperation, 0, 2)
}

// advertisement returns a neighbor advertisement.
func advertisement(mac net.HardwareAddr, flags byte, target, to netip.Addr) []byte {
	frame := solicitation(mac, target, target)
	copy(frame[ipv6Source+16:], to.AsSlice())
	frame[icmpType], frame[icmpFlags], frame[icmpOption] = advertisementOfMAC, flags, 2
	frame[icmpChecksum], frame[icmpChecksum+1] = 0, 0
	binary.NativeEndian.PutUint16(frame[icmpChecksum:], ^icmpSum(frame))
	return frame
}

// TestHostileAnswers has a device send wrong answers before the right one, another machine's after it, and a new
// address in the middle of a trial.
func TestHostileAnswers(t *testing.T) {
	right, other, late := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 3}
	group, zero := net.HardwareAddr{3, 0, 0, 0, 0, 1}, make(net.HardwareAddr, 6)
	own4, next4 := netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.1")
	own6, next6 := netip.MustParseAddr("2001:2:0:1::2"), netip.MustParseAddr("2001:2:0:1::1")
	all := netip.MustParseAddr("ff02::1")
	const solicited = 0x60
	for family, c := range map[string]struct {
		path    func(p *testpath.Path) measure.Path
		wrong   [][]byte
		answers [2][]byte
		late    []byte
	}{
		"IPv4": {
			path: ipv4Forward,
			wrong: [][]byte{
				arpReply(group, next4, own4), arpReply(zero, next4, own4), arpReply(other, machineIPv4, own4),
				arpReply(other, next4, next4), arpRequest(other, next4, next4),
			},
			answers: [2][]byte{arpReply(right, next4, own4), arpReply(other, next4, own4)},
			late:    arpRequest(late, next4, next4),
		},
		"IPv6": {
			path: ipv6Forward,
			wrong: [][]byte{
				advertisement(group, solicited, next6, own6), advertisement(zero, solicited, next6, own6),
				advertisement(other, solicited, machineIPv6, own6), advertisement(other, 0x20, next6, all),
				changed(advertisement(other, solicited, next6, own6), ipv6HopLimit, 254),
				changed(advertisement(other, solicited, next6, own6), icmpOption, 1),
				changed(advertisement(other, solicited, next6, own6), ipv6Length, 0, 24),
			},
			answers: [2][]byte{advertisement(right, solicited, next6, own6), advertisement(other, solicited, next6, own6)},
			late:    advertisement(late, 0x20, next6, all),
		},
	} {
		t.Run(family, func(t *testing.T) {
			p := buildPath(t, testpath.Wired)
			var raw atomic.Pointer[testpath.Raw]
			raw.Store(device(t, p, func(request []byte) {
				isRequest := binary.BigEndian.Uint16(request[12:]) == etherTypeARP || request[icmpType] == 135
				if to := raw.Load(); to != nil && isRequest {
					for _, frame := range slices.Concat(c.wrong, c.answers[:]) {
						if err := to.Send(frame); err != nil {
							t.Error(err)
						}
					}
				}
			}))
			path := testpath.Resolving(c.path(p))
			path.Ports[1].NextHop = netip.Addr{}
			d := open(t, p, Config{Path: path, TransmitPath: Direct})
			if got := d.Description().Ports[0].NextHopMAC; got != right.String() {
				t.Errorf("frames go to %s, want %s", got, right)
			}
			if fallbacks := strings.Join(d.Description().Fallbacks, "; "); !strings.Contains(fallbacks, fmt.Sprintf("%s and %s both answer", right, other)) {
				t.Errorf("the fallbacks do not name both: %s", fallbacks)
			}
			trial := throughProgram(trialOf(128, 1000, 100*time.Millisecond))
			o := run(t, d, trial)
			checkWhole(t, o)
			if doubt := hasDoubt(o, measure.DoubtUnaccounted); doubt != nil {
				t.Errorf("what was known before the trial is a doubt: %+v", doubt)
			}
			if err := raw.Load().Send(c.late); err != nil {
				t.Fatal(err)
			}
			o = run(t, d, trial)
			checkWhole(t, o)
			if doubt := hasDoubt(o, measure.DoubtUnaccounted); doubt == nil || doubt.Invalid || !strings.Contains(doubt.Detail, late.String()) {
				t.Errorf("the change is not a doubt: %+v", o.Doubts)
			}
		})
	}
}

// TestAnswersAreNotSentFrames checks that answers do not hide frames that the port refused.
func TestAnswersAreNotSentFrames(t *testing.T) {
	const requests = 100
	own := netip.MustParseAddr("198.18.0.2")
	p := buildPath(t, testpath.Wired)
	raw := device(t, p, func([]byte) {})
	path := p.IPv4(measure.Forward)
	path.Ports[0].Addresses = []netip.Addr{own}
	d := open(t, p, Config{Path: path, TransmitPath: Direct})
	before, err := readCounters(d.handle, d.ports[0])
	if err != nil {
		t.Fatal(err)
	}
	known, answered := answers(d)[0], uint64(0)
	for range requests {
		if err := raw.Send(arpRequest(machineMAC, machineIPv4, own)); err != nil {
			t.Fatal(err)
		}
		answersOf(t, raw, func([]byte) bool { return true })
		answered++
	}
	after, err := readCounters(d.handle, d.ports[0])
	if err != nil {
		t.Fatal(err)
	}
	seen, err := d.readPorts()
	if err != nil {
		t.Fatal(err)
	}
	if sent := after.sent - before.sent; sent < answered || answers(d)[0]-known != answered {
		t.Fatalf("the port sent %d frames and answered %d, want %d", sent, answers(d)[0]-known, answered)
	}
	if others := seen[0].sent - (before.sent - known); others > ownFrames {
		t.Errorf("%d frames look like a trial's after %d answers", others, answered)
	}
}

// TestPortsReceiveSolicitations reads the kernel's list of groups: a network card's filter is made of it.
func TestPortsReceiveSolicitations(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	joined := func() (list string) {
		t.Helper()
		if err := testpath.Do(p.Generator, func() error {
			text, err := os.ReadFile("/proc/thread-self/net/dev_mcast")
			list = string(text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	path := p.IPv6()
	path.Ports[0].Addresses = []netip.Addr{netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("2001:2::12:3456")}
	const group = "3333ff123456"
	d := open(t, p, Config{Path: path})
	if got := strings.Count(joined(), group); got != 1 {
		t.Errorf("%d ports are in the group, want 1", got)
	}
	if len(d.Description().Fallbacks) > 0 {
		t.Errorf("fallbacks: %q", d.Description().Fallbacks)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(joined(), group) {
		t.Error("the port is in the group after Close")
	}
}

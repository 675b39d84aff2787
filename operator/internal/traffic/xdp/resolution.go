package xdp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/headers"
)

const (
	// askEvery is how often a port asks for its next hop, RetransTimer of RFC 4861 section 10;
	// answerStep is how often the driver looks for the answer.
	askEvery   = time.Second
	answerStep = time.Millisecond
	// nextMACKnown is layout.h's NEXT_MAC_KNOWN.
	nextMACKnown = 1 << 63

	etherTypeARP = 0x0806
	minFrame     = headers.MinFrameBytes - measure.FrameCheckSequenceBytes
)

// resolver returns what the programs know of the addresses at a port. A port's place there is that of
// the direction which arrives at it.
func (d *Driver) resolver(port int) *trafficResolver { return &d.state.Resolvers[1-port] }

// checkResolution verifies that a port which asks has an address to ask from.
func checkResolution(path measure.Path) error {
	for _, p := range path.Ports {
		if p.NextHop.IsValid() && !p.Address(p.NextHop.Is4()).IsValid() {
			return fmt.Errorf("port %q resolves %s and has no address of that family", p.Interface, p.NextHop)
		}
	}
	return nil
}

// putAddresses gives the programs what the ports answer for, and whose answers they keep.
func (d *Driver) putAddresses() {
	for i, p := range d.config.Path.Ports {
		r := d.resolver(i)
		*r = trafficResolver{}
		putWords(r.Mac[:], d.ports[i].mac)
		for _, address := range p.Addresses {
			if address.Is4() {
				putWords(r.Ipv4[:], address.AsSlice())
			} else {
				putWords(r.Ipv6[:], address.AsSlice())
			}
		}
		switch {
		case p.NextHop.Is4():
			putWords(r.NextIpv4[:], p.NextHop.AsSlice())
		case p.NextHop.Is6():
			putWords(r.NextIpv6[:], p.NextHop.AsSlice())
		}
	}
}

// putWords keeps octets in their order.
func putWords(words []uint16, octets []byte) {
	for i := range words {
		words[i] = binary.NativeEndian.Uint16(octets[2*i:])
	}
}

// attachAnswerers puts the program that answers on the ports with addresses, and lets them receive what it answers.
// The program that receives tagged frames answers by itself.
func (d *Driver) attachAnswerers() error {
	d.joinGroups()
	if d.config.Path.HasVLAN() {
		return nil
	}
	for i, p := range d.ports {
		if len(d.config.Path.Ports[i].Addresses) == 0 {
			continue
		}
		found, err := d.handle.LinkByIndex(p.index)
		if err != nil {
			return cannotAttach(fmt.Errorf("interface %q: %w", p.name, err))
		}
		program, fallback, err := attachIngress(d.handle, found, d.collection.Programs[trafficProgAnswerRequest], d.config.withoutTCX)
		if err != nil {
			return cannotAttach(err)
		}
		d.receivers = append(d.receivers, program)
		if fallback != "" {
			d.description.Fallbacks = append(d.description.Fallbacks, fallback)
		}
	}
	return nil
}

// membership is a multicast group on Ethernet that a port was joined to.
type membership struct {
	port  string
	group net.HardwareAddr
}

// joinGroups lets the ports receive solicitations for their own addresses, which go to a multicast group: a network
// card passes on only those that it knows. No report (MLD) says so to a switch.
func (d *Driver) joinGroups() {
	for _, p := range d.config.Path.Ports {
		address := p.Address(false)
		if !address.IsValid() {
			continue
		}
		joined := membership{p.Interface, solicitedMAC(address)}
		if err := joined.set(d.moderationSocket, unix.SIOCADDMULTI); err != nil {
			d.fallBack("%s may not see that a device asks for %s over IPv6, as it cannot be joined to the group %s: %v", p.Interface, address, joined.group, err)
			continue
		}
		d.groups = append(d.groups, joined)
	}
}

// leaveGroups undoes it; the ports may be gone.
func (d *Driver) leaveGroups() (err error) {
	for _, joined := range d.groups {
		if failed := joined.set(d.moderationSocket, unix.SIOCDELMULTI); failed != nil && !isMissing(failed) {
			err = errors.Join(err, fmt.Errorf("taking %q out of the group %s: %w", joined.port, joined.group, failed))
		}
	}
	d.groups = nil
	return err
}

// set joins the group or leaves it. The socket is of the port's network namespace.
func (m membership) set(socket int, request uintptr) error {
	var ifreq struct {
		name    [unix.IFNAMSIZ]byte
		family  uint16
		address [14]byte
		_       [8]byte
	}
	copy(ifreq.name[:unix.IFNAMSIZ-1], m.port)
	copy(ifreq.address[:], m.group)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), request, uintptr(unsafe.Pointer(&ifreq))); errno != 0 {
		return errno
	}
	return nil
}

// resolve asks for the hardware addresses of the next hops and lets the streams send to them.
func (d *Driver) resolve(ctx context.Context) error {
	for i, s := range d.streams {
		p := d.config.Path.Ports[i]
		if s == nil || !p.NextHop.IsValid() {
			continue
		}
		mac, err := d.nextHop(ctx, i)
		if err != nil {
			return err
		}
		resolved := *s
		resolved.DestinationMAC = mac.String()
		d.streams[i] = &resolved
		d.description.Ports[i].NextHop, d.description.Ports[i].NextHopMAC = p.NextHop, resolved.DestinationMAC
	}
	return nil
}

// nextHop returns the hardware address that answers for a port's next hop. It asks by each way out, since it is not
// known yet which one delivers.
func (d *Driver) nextHop(ctx context.Context, port int) (net.HardwareAddr, error) {
	p, frame := d.config.Path.Ports[port], d.request(port)
	ways := []string{d.config.TransmitPath}
	if d.config.TransmitPath == Auto {
		ways = []string{Direct, InnerVeth}
	}
	pause := newPause()
	for deadline := time.Now().Add(d.config.ProbeTimeout); ; {
		for _, way := range ways {
			if err := d.ask(port, way, frame); err != nil {
				return nil, err
			}
		}
		for asked := time.Now(); time.Since(asked) < askEvery; {
			if mac := d.answered(port); mac != nil {
				return mac, nil
			}
			if err := pause.wait(ctx, answerStep); err != nil {
				return nil, err
			}
		}
		if time.Now().After(deadline) {
			if err := d.checkCarriers(); err != nil {
				return nil, err
			}
			return nil, measure.Failf(v1alpha1.ReasonNextHopUnresolved,
				fmt.Sprintf("give the device's port at %s the address %s, and let it answer %s; or set addressResolution of the function there to Static, which sends to the planned hardware address", p.Interface, p.NextHop, protocolOf(p.NextHop)),
				"no machine answered for %s at port %q within %v (%s)", p.NextHop, p.Interface, d.config.ProbeTimeout, protocolOf(p.NextHop))
		}
	}
}

func protocolOf(address netip.Addr) string {
	if address.Is4() {
		return "ARP"
	}
	return "neighbor discovery"
}

// answered returns the hardware address of a port's next hop, and nil before there is an answer.
func (d *Driver) answered(port int) net.HardwareAddr {
	return hardwareAddress(&d.resolver(port).NextMac)
}

// announced returns the last other hardware address that a port's next hop announced after its answer, and nil for none.
func (d *Driver) announced(port int) net.HardwareAddr {
	return hardwareAddress(&d.resolver(port).OtherMac)
}

// noteOthers reports next hops that two machines, or two ports of one, claim to be. It is known when probe frames have
// come back: other answers arrive until then.
func (d *Driver) noteOthers() {
	for i, s := range d.streams {
		if d.others[i] = d.announced(i); s != nil && d.others[i] != nil {
			d.fallBack("%s and %s both answer for %s at %s: frames go to the first",
				s.DestinationMAC, d.others[i], d.config.Path.Ports[i].NextHop, d.ports[i].name)
		}
	}
}

// doubtNextHop doubts a direction whose next hop has announced another hardware address since the path was opened.
func (d *Driver) doubtNextHop(all *frames.Doubts, o measure.DirectionOutcome) {
	i := frames.Index(o.Direction)
	if other := d.announced(i); !bytes.Equal(other, d.others[i]) {
		all.Add(measure.DoubtUnaccounted, false, "%s: %s says now that it has the hardware address %s; frames go to %s, which it had when the path was opened",
			o.Direction, d.config.Path.Ports[i].NextHop, other, d.streams[i].DestinationMAC)
	}
}

func hardwareAddress(kept *uint64) net.HardwareAddr {
	word := atomic.LoadUint64(kept)
	if word&nextMACKnown == 0 {
		return nil
	}
	return net.HardwareAddr(binary.LittleEndian.AppendUint64(nil, word)[:6])
}

// ask sends a request once.
func (d *Driver) ask(port int, way string, frame []byte) error {
	fallback, err := d.takeWay(way)
	if err != nil {
		return err
	}
	if fallback != "" {
		d.description.Fallbacks = append(d.description.Fallbacks, fallback)
	}
	d.state.AskIfindex = d.state.Transmitters[port].RedirectIfindex
	s := sender{program: d.collection.Programs[trafficProgAsk].FD(), frame: frame}
	if err := s.once(); err != nil {
		return measure.Failf(v1alpha1.ReasonCannotTransmit, "use Linux 5.18 or later", "asking for %s: %w", d.config.Path.Ports[port].NextHop, err)
	}
	return nil
}

// request returns the frame by which a port asks for its next hop.
func (d *Driver) request(port int) []byte {
	p := d.config.Path.Ports[port]
	own, next, mac := p.Address(p.NextHop.Is4()), p.NextHop, d.ports[port].mac
	ask := arpRequest
	if next.Is6() {
		ask = solicitation
	}
	frame := ask(mac, own, next)
	if p.VLAN != 0 {
		frame = headers.InVLAN(frame, p.VLAN)
	}
	return frame
}

// arpRequest returns an ARP request (RFC 826).
func arpRequest(mac net.HardwareAddr, own, next netip.Addr) []byte {
	frame := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, mac...)
	frame = binary.BigEndian.AppendUint16(frame, etherTypeARP)
	// Ethernet, IPv4, both lengths, request.
	frame = append(frame, 0, 1, 0x08, 0, 6, 4, 0, 1)
	frame = append(append(frame, mac...), own.AsSlice()...)
	frame = append(append(frame, make([]byte, len(mac))...), next.AsSlice()...)
	return append(frame, make([]byte, minFrame-len(frame))...)
}

// solicitedMAC returns the group on Ethernet to which solicitations for an address go (RFC 2464 section 7).
func solicitedMAC(address netip.Addr) net.HardwareAddr {
	a := address.As16()
	return net.HardwareAddr{0x33, 0x33, 0xff, a[13], a[14], a[15]}
}

// solicitation returns a neighbor solicitation (RFC 4861 section 4.3), sent to the multicast address of its target.
func solicitation(mac net.HardwareAddr, own, next netip.Addr) []byte {
	const hopLimit, icmpBytes, protocolICMPv6, kind, sourceOption = 255, 32, 58, 135, 1
	target := next.As16()
	group := [16]byte{0xff, 0x02, 11: 1, 12: 0xff, 13: target[13], 14: target[14], 15: target[15]}
	frame := append(solicitedMAC(next), mac...)
	frame = binary.BigEndian.AppendUint16(frame, headers.EtherTypeIPv6)
	ip := append([]byte{0x60, 0, 0, 0, 0, icmpBytes, protocolICMPv6, hopLimit}, own.AsSlice()...)
	ip = append(ip, group[:]...)
	icmp := append([]byte{kind, 0, 0, 0, 0, 0, 0, 0}, target[:]...)
	icmp = append(append(icmp, sourceOption, 1), mac...)
	// The pseudo-header has the addresses, the length and the protocol.
	sum := headers.Sum(headers.Sum(0, ip[8:]), []byte{0, 0, 0, icmpBytes, 0, 0, 0, protocolICMPv6})
	binary.NativeEndian.PutUint16(icmp[2:], ^headers.Fold(headers.Sum(sum, icmp)))
	return append(append(frame, ip...), icmp...)
}

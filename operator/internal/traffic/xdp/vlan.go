package xdp

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/headers"
)

// inVLAN returns a template with a tag of priority 0.
func (t template) inVLAN(number int) template {
	t.frame = headers.InVLAN(t.frame, number)
	t.payloadOffset += measure.VLANTagBytes
	if t.checksumOffset > 0 {
		t.checksumOffset += measure.VLANTagBytes
	}
	return t
}

// tagBytes returns what frames of a direction have in addition to their size.
func (d *Driver) tagBytes(direction int) int {
	if d.config.Path.Ports[direction].VLAN == 0 {
		return 0
	}
	return measure.VLANTagBytes
}

// attachVLANReceivers receives frames after the place where the kernel has taken the tag
// out of every frame. An XDP program would see only the tags that no NIC, bridge or peer
// has taken out before, and count all other frames as untagged. Both ports receive in one
// way, so that their delays are comparable.
func (d *Driver) attachVLANReceivers() error {
	for _, p := range d.ports {
		if err := d.attachVLANReceiver(p); err != nil {
			return cannotAttach(errors.Join(fmt.Errorf("interface %q: %w", p.name, err), d.detachReceivers()))
		}
	}
	d.description.ReceiveMode = TrafficControl
	return nil
}

func (d *Driver) attachVLANReceiver(p port) error {
	found, err := d.handle.LinkByIndex(p.index)
	if err != nil {
		return err
	}
	if x := found.Attrs().Xdp; x != nil && x.Attached {
		return fmt.Errorf("an XDP program is there: %w", unix.EBUSY)
	}
	others, err := link.QueryPrograms(link.QueryOptions{Target: p.index, Attach: ebpf.AttachTCXIngress})
	if err == nil && len(others.Programs) > 0 {
		return fmt.Errorf("a tcx program is there: %w", unix.EBUSY)
	}
	// EINVAL: a kernel that has no tcx.
	if err != nil && !errors.Is(err, ebpf.ErrNotSupported) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("asking for tcx programs: %w", err)
	}
	if found.Type() == "veth" {
		gro, err := takeRedirects(p.name)
		if err != nil {
			return fmt.Errorf("turning GRO on: %w", err)
		}
		d.receivers = append(d.receivers, gro)
	}
	program, fallback, err := attachIngress(d.handle, found, d.collection.Programs[trafficProgReceiveVlan], d.config.withoutTCX)
	if err != nil {
		return err
	}
	d.receivers = append(d.receivers, program)
	if fallback != "" {
		d.description.Fallbacks = append(d.description.Fallbacks, fallback)
	}
	return nil
}

// redirectTarget is a veth port that takes frames which a program redirects at its peer.
// An XDP program there would have the same effect.
type redirectTarget struct {
	name string
	// socket is of the port's network namespace, for a Close elsewhere; -1 if there is
	// nothing to restore.
	socket int
}

// takeRedirects gives a veth port NAPI, with GRO, which does not merge UDP.
func takeRedirects(name string) (*redirectTarget, error) {
	on, err := hasGRO(name)
	if err != nil || on {
		return &redirectTarget{socket: -1}, err
	}
	if err := enableGRO(name); err != nil {
		return nil, err
	}
	socket, err := ethtoolSocket()
	return &redirectTarget{name: name, socket: socket}, err
}

// Close turns GRO off again; the port may be gone.
func (t *redirectTarget) Close() error {
	if t.socket < 0 {
		return nil
	}
	request := ethtoolValue{command: ethtoolSetGRO}
	err := ethtoolBy(t.socket, t.name, unsafe.Pointer(&request))
	if isMissing(err) {
		err = nil
	}
	return errors.Join(err, unix.Close(t.socket))
}

package xdp

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
)

// innerVeth is the way out of a port whose peer takes no XDP frames: the program
// redirects into near; far makes ordinary packets of them (GRO gives it the NAPI that
// this needs) and its tc program sends them out of the port.
type innerVeth struct {
	handle  *netlink.Handle
	near    netlink.Link
	program io.Closer
}

// innerNames returns names that are derived from the port: a later process finds what a
// crashed one left, and two drivers in one namespace do not collide.
func innerNames(p port) (near, far string) {
	return fmt.Sprintf("vbi%da", p.index), fmt.Sprintf("vbi%db", p.index)
}

// removeInner deletes what an earlier process left on the port.
func removeInner(h *netlink.Handle, p port) error {
	near, far := innerNames(p)
	for _, name := range []string{near, far} {
		found, err := h.LinkByName(name)
		if isMissing(err) {
			continue
		}
		if err == nil {
			err = h.LinkDel(found)
		}
		if err != nil && !isMissing(err) {
			return fmt.Errorf("removing the inner veth %q of an earlier run: %w", name, err)
		}
	}
	return nil
}

// newInnerVeth makes the pair. withoutTCX omits the newer way to attach a tc program, for
// kernels before 6.6.
func newInnerVeth(h *netlink.Handle, p port, program *ebpf.Program, withoutTCX bool) (_ *innerVeth, fallback string, err error) {
	if err := removeInner(h, p); err != nil {
		return nil, "", err
	}
	near, far := innerNames(p)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = near, p.mtu
	attrs.NumTxQueues, attrs.NumRxQueues = 1, 1
	pair := netlink.NewVeth(attrs)
	pair.PeerName, pair.PeerMTU = far, uint32(p.mtu)
	pair.PeerNumTxQueues, pair.PeerNumRxQueues = 1, 1
	if err := h.LinkAdd(pair); err != nil {
		return nil, "", fmt.Errorf("adding the inner veth pair %q: %w", near, err)
	}
	inner := &innerVeth{handle: h, near: pair}
	defer func() {
		if err != nil {
			err = errors.Join(err, inner.close())
		}
	}()
	farLink, err := h.LinkByName(far)
	if err != nil {
		return nil, "", err
	}
	// Before the links go up: far comes up with NAPI, and near, opened after it, sees
	// that it may be a target of redirects.
	if err := enableGRO(far); err != nil {
		return nil, "", fmt.Errorf("turning GRO on at %q: %w", far, err)
	}
	for _, l := range []netlink.Link{farLink, pair} {
		if err := h.LinkSetUp(l); err != nil {
			return nil, "", fmt.Errorf("bringing up %q: %w", l.Attrs().Name, err)
		}
	}
	inner.program, fallback, err = attachIngress(h, farLink, program, withoutTCX)
	if err != nil {
		return nil, "", err
	}
	return inner, fallback, nil
}

// close removes the pair.
func (v *innerVeth) close() error {
	if v == nil {
		return nil
	}
	var failed []error
	if v.program != nil {
		failed = append(failed, v.program.Close())
	}
	if err := v.handle.LinkDel(v.near); err != nil && !isMissing(err) {
		failed = append(failed, fmt.Errorf("removing %q: %w", v.near.Attrs().Name, err))
	}
	return errors.Join(failed...)
}

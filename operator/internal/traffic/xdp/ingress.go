package xdp

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// attachIngress attaches a tc program where frames come in at a port. Closing removes it.
// withoutTCX omits the newer way, for kernels before 6.6.
func attachIngress(h *netlink.Handle, port netlink.Link, program *ebpf.Program, withoutTCX bool) (_ io.Closer, fallback string, err error) {
	attrs := port.Attrs()
	if !withoutTCX {
		tcx, err := link.AttachTCX(link.TCXOptions{Interface: attrs.Index, Program: program, Attach: ebpf.AttachTCXIngress})
		if err == nil {
			return tcx, "", nil
		}
		if !errors.Is(err, ebpf.ErrNotSupported) {
			return nil, "", fmt.Errorf("attaching the tc program to %q: %w", attrs.Name, err)
		}
	}
	filter, err := newIngressFilter(h, port, program)
	if err != nil {
		return nil, "", err
	}
	return filter, fmt.Sprintf("the kernel has no tcx: the program at %q hangs on a clsact queueing discipline", attrs.Name), nil
}

// ingressFilter is a tc program on a clsact queueing discipline.
type ingressFilter struct {
	handle *netlink.Handle
	filter *netlink.BpfFilter
	// made is the queueing discipline, nil if it was there before.
	made *netlink.Clsact
}

func newIngressFilter(h *netlink.Handle, port netlink.Link, program *ebpf.Program) (*ingressFilter, error) {
	attrs := port.Attrs()
	added := &ingressFilter{handle: h}
	disciplines, err := h.QdiscList(port)
	if err != nil {
		return nil, fmt.Errorf("listing queueing disciplines of %q: %w", attrs.Name, err)
	}
	if !slices.ContainsFunc(disciplines, func(q netlink.Qdisc) bool { return q.Type() == "clsact" }) {
		added.made = &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: attrs.Index,
			Handle:    netlink.MakeHandle(0xffff, 0),
			Parent:    netlink.HANDLE_CLSACT,
		}}
		if err := h.QdiscAdd(added.made); err != nil {
			return nil, fmt.Errorf("adding clsact to %q: %w", attrs.Name, err)
		}
	}
	added.filter = &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: attrs.Index,
			Parent:    netlink.HANDLE_MIN_INGRESS,
			Handle:    1, Protocol: unix.ETH_P_ALL, Priority: 1,
		},
		Fd: program.FD(), Name: "vnfbench", DirectAction: true,
	}
	if err := h.FilterReplace(added.filter); err != nil {
		return nil, errors.Join(fmt.Errorf("adding the tc program to %q: %w", attrs.Name, err), added.Close())
	}
	return added, nil
}

// Close removes both; they may have gone with their port.
func (f *ingressFilter) Close() error {
	var err error
	if f.made != nil {
		err = f.handle.QdiscDel(f.made) // the filter goes with it
	} else {
		err = f.handle.FilterDel(f.filter)
	}
	if err != nil && !isMissing(err) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("taking the tc program off: %w", err)
	}
	return nil
}

package xdp

import (
	"errors"
	"fmt"
	"net"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// port is one traffic port. The driver finds it by its name once and then by its index.
type port struct {
	name  string
	index int
	mtu   int
	mac   net.HardwareAddr
}

func findPort(h *netlink.Handle, name string) (port, error) {
	found, err := h.LinkByName(name)
	if err != nil {
		return port{}, measure.Failf(v1alpha1.ReasonPortMissing, "attach both traffic ports to the pod, under the names that the path gives",
			"interface %q: %w", name, err)
	}
	attrs := found.Attrs()
	if err := checkUp(attrs, "bring the interface up"); err != nil {
		return port{}, err
	}
	return port{name: name, index: attrs.Index, mtu: attrs.MTU, mac: attrs.HardwareAddr}, nil
}

// checkUp refuses a port that is down. In a trial, the kernel would drop what is
// redirected there without a count, and it would be the device's loss.
func checkUp(attrs *netlink.LinkAttrs, remedy string) error {
	if attrs.Flags&net.FlagUp != 0 {
		return nil
	}
	return measure.Failf(v1alpha1.ReasonPortDown, remedy, "interface %q is administratively down", attrs.Name)
}

// checkCarrier refuses a port whose link is lost: nothing that leaves there arrives anywhere.
func checkCarrier(attrs *netlink.LinkAttrs) error {
	if attrs.RawFlags&unix.IFF_LOWER_UP != 0 {
		return nil
	}
	return measure.Failf(v1alpha1.ReasonPortDown,
		"check the cable, what is at its other end and, for a virtual function, that its NIC is up on the node",
		"interface %q is up but has no carrier", attrs.Name)
}

// counters are what the kernel counted on a port.
type counters struct {
	sent, received           uint64
	sendDrops, receiveDrops  uint64
	sendErrors, receiveError uint64
}

func (c counters) String() string {
	return fmt.Sprintf("%d sent (%d dropped, %d errors), %d received (%d dropped, %d errors)",
		c.sent, c.sendDrops, c.sendErrors, c.received, c.receiveDrops, c.receiveError)
}

func (c counters) since(before counters) counters {
	return counters{
		// What is known of the trial before may be more than a late counter shows.
		sent: c.sent - min(c.sent, before.sent), received: c.received - before.received,
		sendDrops: c.sendDrops - before.sendDrops, receiveDrops: c.receiveDrops - before.receiveDrops,
		sendErrors: c.sendErrors - before.sendErrors, receiveError: c.receiveError - before.receiveError,
	}
}

// readPort returns what the kernel knows about a port, which must not have been set down.
func readPort(h *netlink.Handle, p port) (*netlink.LinkAttrs, error) {
	found, err := h.LinkByIndex(p.index)
	if err != nil {
		return nil, measure.Failf(v1alpha1.ReasonPortMissing, "keep both traffic ports in place while a run lasts",
			"interface %q: %w", p.name, err)
	}
	return found.Attrs(), checkUp(found.Attrs(), "leave both traffic ports as they are while a run lasts")
}

func readCounters(h *netlink.Handle, p port) (counters, error) {
	attrs, err := readPort(h, p)
	if err != nil {
		return counters{}, err
	}
	return countersOf(attrs)
}

func countersOf(attrs *netlink.LinkAttrs) (counters, error) {
	s := attrs.Statistics
	if s == nil {
		return counters{}, fmt.Errorf("interface %q has no counters", attrs.Name)
	}
	return counters{
		sent: s.TxPackets, received: s.RxPackets,
		sendDrops: s.TxDropped, sendErrors: s.TxErrors,
		// What a network card with a full ring lost is under one of these names.
		receiveDrops: s.RxDropped + s.RxMissedErrors + s.RxFifoErrors,
		receiveError: s.RxErrors,
	}, nil
}

// ethtoolValue and ethtoolChannels are the kernel's ethtool_value and
// ethtool_channels.
type ethtoolValue struct{ command, data uint32 }

type ethtoolChannels struct {
	command                                uint32
	maxRx, maxTx, maxOther, maxCombined    uint32
	rxCount, txCount, otherCount, combined uint32
}

const (
	ethtoolGetGRO      = 0x2b
	ethtoolSetGRO      = 0x2c
	ethtoolGetChannels = 0x3c
)

// ethtool makes requests that rtnetlink does not carry.
func ethtool(name string, request unsafe.Pointer) error {
	fd, err := ethtoolSocket()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return ethtoolBy(fd, name, request)
}

// ethtoolSocket reaches the interfaces of the network namespace that opens it.
func ethtoolSocket() (int, error) {
	return unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
}

func ethtoolBy(fd int, name string, request unsafe.Pointer) error {
	var ifreq struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(ifreq.name[:unix.IFNAMSIZ-1], name)
	ifreq.data = request
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifreq))); errno != 0 {
		return errno
	}
	return nil
}

func enableGRO(name string) error {
	request := ethtoolValue{command: ethtoolSetGRO, data: 1}
	return ethtool(name, unsafe.Pointer(&request))
}

func hasGRO(name string) (bool, error) {
	request := ethtoolValue{command: ethtoolGetGRO}
	err := ethtool(name, unsafe.Pointer(&request))
	return request.data != 0, err
}

// oneReceiveQueue reports whether a port certainly has a single receive queue.
func oneReceiveQueue(name string) bool {
	request := ethtoolChannels{command: ethtoolGetChannels}
	if err := ethtool(name, unsafe.Pointer(&request)); err != nil {
		return false
	}
	return request.rxCount+request.combined == 1
}

func isMissing(err error) bool {
	return errors.As(err, new(netlink.LinkNotFoundError)) || errors.Is(err, unix.ENODEV)
}

package testpath

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// TapWest is the tap from which the program of Tapped reads.
const TapWest = "tapwest"

// Tapped joins the ports as a virtual machine does: each by a bridge with a tap. A program copies
// frames from the western tap to the eastern one, and takes a time for each.
func Tapped(each time.Duration) (*Path, error) {
	return build(func(p *Path) (err error) {
		if p.Node, err = newNamespace(); err != nil {
			return err
		}
		west, err := openTap(p.Node, TapWest)
		if err != nil {
			return err
		}
		p.programs = append(p.programs, west)
		east, err := openTap(p.Node, "tapeast")
		if err != nil {
			return err
		}
		p.programs = append(p.programs, east)
		if err := errors.Join(
			p.veth(p.Generator, West, p.Node, "nwest", false),
			p.veth(p.Generator, East, p.Node, "neast", false),
			p.bridge("brwest", "nwest", TapWest),
			p.bridge("breast", "neast", "tapeast"),
		); err != nil {
			return err
		}
		go copyFrames(west, east, each)
		return p.facing()
	})
}

// openTap returns the end of a new tap at which a program reads and writes frames.
func openTap(ns netns.NsHandle, name string) (tap *os.File, err error) {
	err = Do(ns, func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("opening /dev/net/tun: %w", err)
		}
		request, err := unix.NewIfreq(name)
		if err == nil {
			request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("making tap %s: %w", name, err), unix.Close(fd))
		}
		tap = os.NewFile(uintptr(fd), name)
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		return errors.Join(netlink.LinkSetMTU(l, mtu), netlink.LinkSetUp(l))
	})
	return tap, err
}

// copyFrames ends when a tap is closed.
func copyFrames(from, to *os.File, each time.Duration) {
	frame := make([]byte, 1<<16)
	for {
		n, err := from.Read(frame)
		if err != nil {
			return
		}
		for began := time.Now(); time.Since(began) < each; {
		}
		if _, err := to.Write(frame[:n]); err != nil {
			return
		}
	}
}

// DroppedAt returns how many frames a port of the node dropped that it should have sent.
func (p *Path) DroppedAt(port string) (frames uint64, err error) {
	err = Do(p.Node, func() error {
		l, err := netlink.LinkByName(port)
		if err == nil {
			frames = l.Attrs().Statistics.TxDropped
		}
		return err
	})
	return frames, err
}

package testpath

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Forwarder is a device in user space whose faults are known exactly: it sees every frame that
// arrives at DeviceWest and decides what leaves at DeviceEast.
type Forwarder struct {
	in, out int
	outName unix.SockaddrLinklayer
	stopped atomic.Bool
	done    chan struct{}
	// Seen counts the frames that arrived.
	Seen atomic.Uint64
}

// Forward starts a forwarder from west to east. each gets the frame's number from 0 on, the time it
// arrived, the frame, valid during the call only, and a function that sends one.
func (p *Path) Forward(each func(number uint64, at time.Time, frame []byte, send func([]byte))) (*Forwarder, error) {
	f := &Forwarder{in: -1, out: -1, done: make(chan struct{})}
	err := Do(p.Device, func() (err error) {
		if f.in, _, err = packetSocket(DeviceWest, unix.ETH_P_ALL); err != nil {
			return err
		}
		// Protocol 0 receives nothing.
		f.out, f.outName, err = packetSocket(DeviceEast, 0)
		return err
	})
	if err != nil {
		f.close()
		return nil, err
	}
	go f.run(each)
	return f, nil
}

// Stop ends the forwarder.
func (f *Forwarder) Stop() {
	f.stopped.Store(true)
	<-f.done
}

// Send sends a frame at DeviceEast.
func (f *Forwarder) Send(frame []byte) {
	for unix.Sendto(f.out, frame, 0, &f.outName) == unix.ENOBUFS {
		runtime.Gosched()
	}
}

func (f *Forwarder) run(each func(uint64, time.Time, []byte, func([]byte))) {
	defer close(f.done)
	defer f.close()
	buffer := make([]byte, 1<<16)
	for !f.stopped.Load() {
		n, from, err := unix.Recvfrom(f.in, buffer, 0)
		if err != nil {
			continue
		}
		at := time.Now()
		if ll, ok := from.(*unix.SockaddrLinklayer); ok && ll.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		each(f.Seen.Add(1)-1, at, buffer[:n], f.Send)
	}
}

func (f *Forwarder) close() {
	for _, fd := range []int{f.in, f.out} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// Raw is a port of the device in a test's own hands.
type Raw struct {
	fd   int
	name unix.SockaddrLinklayer
}

// Raw opens a port of the device, such as DeviceWest.
func (p *Path) Raw(port string) (*Raw, error) {
	r := &Raw{fd: -1}
	err := Do(p.Device, func() (err error) {
		r.fd, r.name, err = packetSocket(port, unix.ETH_P_ALL)
		return err
	})
	return r, err
}

// Send sends a frame to the generator's port.
func (r *Raw) Send(frame []byte) error { return unix.Sendto(r.fd, frame, 0, &r.name) }

// Receive returns the next frame of the generator's port, and none after 20 ms.
func (r *Raw) Receive() ([]byte, error) {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := unix.Recvfrom(r.fd, buffer, 0)
		if errors.Is(err, unix.EAGAIN) {
			return nil, nil
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("recvfrom", err)
		}
		if ll, ok := from.(*unix.SockaddrLinklayer); !ok || ll.Pkttype != unix.PACKET_OUTGOING {
			return buffer[:n], nil
		}
	}
}

// Close closes it.
func (r *Raw) Close() error { return unix.Close(r.fd) }

func packetSocket(name string, protocol uint16) (int, unix.SockaddrLinklayer, error) {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return -1, unix.SockaddrLinklayer{}, err
	}
	address := unix.SockaddrLinklayer{Protocol: protocol<<8 | protocol>>8, Ifindex: l.Attrs().Index}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, address, os.NewSyscallError("socket", err)
	}
	timeout := unix.NsecToTimeval(int64(20 * time.Millisecond))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return fd, address, os.NewSyscallError("setsockopt", err)
	}
	// FORCE: a stall of this process must not be mistaken for loss in the device.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
		return fd, address, os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(fd, &address); err != nil {
		return fd, address, fmt.Errorf("binding to %s: %w", name, err)
	}
	return fd, address, nil
}

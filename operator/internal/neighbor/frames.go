//go:build linux

package neighbor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
)

const (
	// etherType is IEEE 802's for local experiments (RFC 9542 section 3). No
	// protocol of the kernel takes such frames, so the kernel drops them at once
	// where they arrive, and nothing can route them out of the bridge.
	etherType = 0x88b5
	// burst is how many frames one system call sends.
	burst = 64
	// maxLag is how much a sender may lag before it gives frames up: frames
	// that it could not send are then missing in the achieved load.
	maxLag = 10 * time.Millisecond
	// pause is the wait for the next frames that are due.
	pause               = 100 * time.Microsecond
	ethernetHeaderBytes = 14
	minFrameBytes       = 64
	maxFrameBytes       = 9018
	maxFramesPerSend    = 10_000_000
)

// stream sends in one direction.
type stream struct {
	socket int
	sent   atomic.Uint64
	broken atomic.Pointer[string]
	done   chan struct{}
}

// frames is running traffic between two ports.
type frames struct {
	west, east string
	// start are the ports' counters of received frames.
	start   uint64
	streams []*stream
	halt    chan struct{}
	once    sync.Once
}

// startFrames sends between two interfaces that a bridge joins.
func startFrames(load measure.NeighborLoad, west, east string) (_ *frames, err error) {
	if load.FramesPerSecond < 1 || load.FramesPerSecond > maxFramesPerSend || load.FrameBytes < minFrameBytes || load.FrameBytes > maxFrameBytes {
		return nil, fmt.Errorf("neighbor %q: %d frames/s of %d bytes is not a load", load.Name, load.FramesPerSecond, load.FrameBytes)
	}
	ways := map[string][][2]string{
		"Both": {{west, east}, {east, west}}, "Forward": {{west, east}}, "Reverse": {{east, west}},
	}[load.Directions]
	if ways == nil {
		return nil, fmt.Errorf("neighbor %q: directions %q is not Both, Forward or Reverse", load.Name, load.Directions)
	}
	f := &frames{west: west, east: east, halt: make(chan struct{})}
	defer func() {
		if err != nil {
			for _, s := range f.streams {
				_ = unix.Close(s.socket)
			}
		}
	}()
	if f.start, err = f.counted(); err != nil {
		return nil, err
	}
	var sends [][]byte
	for _, way := range ways {
		socket, frame, err := openWay(way[0], way[1], load.FrameBytes)
		if err != nil {
			return nil, fmt.Errorf("opening port %q of neighbor %q: %w", way[0], load.Name, err)
		}
		f.streams = append(f.streams, &stream{socket: socket, done: make(chan struct{})})
		sends = append(sends, frame)
	}
	for i, s := range f.streams {
		go s.run(sends[i], load.FramesPerSecond, f.halt)
	}
	return f, nil
}

// openWay returns a socket bound to a port, and the frame to the other port. The
// socket receives nothing, because its protocol is 0.
func openWay(from, to string, frameBytes int) (int, []byte, error) {
	source, err := net.InterfaceByName(from)
	if err != nil {
		return 0, nil, err
	}
	destination, err := net.InterfaceByName(to)
	if err != nil {
		return 0, nil, fmt.Errorf("interface %q: %w", to, err)
	}
	if payload := frameBytes - measure.FrameCheckSequenceBytes - ethernetHeaderBytes; payload > source.MTU {
		return 0, nil, fmt.Errorf("frames of %d bytes exceed its MTU of %d bytes", frameBytes, source.MTU)
	}
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("opening a packet socket (it needs the capability NET_RAW): %w", err)
	}
	// Frames go to the port at once; the queueing discipline of a pod's port has no queue.
	err = errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1),
		unix.Bind(socket, &unix.SockaddrLinklayer{Ifindex: source.Index}),
	)
	if err != nil {
		_ = unix.Close(socket)
		return 0, nil, err
	}
	frame := make([]byte, frameBytes-measure.FrameCheckSequenceBytes)
	copy(frame, destination.HardwareAddr)
	copy(frame[6:], source.HardwareAddr)
	binary.BigEndian.PutUint16(frame[12:], etherType)
	return socket, frame, nil
}

// message is the kernel's struct mmsghdr (sendmmsg(2)).
type message struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

// run sends on a separate thread until halt closes: what is due since the start,
// in bursts, and it catches up on at most maxLag.
func (s *stream) run(frame []byte, framesPerSecond int64, halt <-chan struct{}) {
	defer close(s.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	part := unix.Iovec{Base: &frame[0]}
	part.SetLen(len(frame))
	var messages [burst]message
	for i := range messages {
		messages[i].header.Iov = &part
		messages[i].header.SetIovlen(1)
	}
	interval := time.Second / time.Duration(framesPerSecond)
	// passed counts the frames that were due: sent, refused and given up.
	start, passed := time.Now(), int64(0)
	most := int64(maxLag/max(1, interval)) + 1
	for {
		select {
		case <-halt:
			return
		default:
		}
		due := int64(time.Since(start).Seconds()*float64(framesPerSecond)) - passed
		if due > most {
			passed += due - most
			due = most
		}
		if due < 1 {
			time.Sleep(max(pause, min(interval, time.Millisecond)))
			continue
		}
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.socket), uintptr(unsafe.Pointer(&messages[0])), uintptr(min(due, burst)), 0, 0, 0)
		switch errno {
		case 0:
			s.sent.Add(uint64(n))
			passed += int64(n)
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOBUFS:
			// The port refused it: the load was not reached.
			passed++
		default:
			s.broken.Store(new(fmt.Sprintf("sending: %v", errno)))
			return
		}
	}
}

func (f *frames) running() bool { return f.problem() == "" }

func (f *frames) problem() string {
	for _, s := range f.streams {
		if broken := s.broken.Load(); broken != nil {
			return *broken
		}
	}
	return ""
}

func (f *frames) frames() (sent, received uint64) {
	for _, s := range f.streams {
		sent += s.sent.Load()
	}
	if now, err := f.counted(); err == nil && now > f.start {
		received = now - f.start
	}
	return sent, received
}

// counted returns the frames that both ports have received.
func (f *frames) counted() (uint64, error) {
	sum := uint64(0)
	for _, name := range []string{f.west, f.east} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return 0, fmt.Errorf("port %q: %w", name, err)
		}
		if statistics := link.Attrs().Statistics; statistics != nil {
			sum += statistics.RxPackets
		}
	}
	return sum, nil
}

func (f *frames) stop() ([]measure.Stressor, error) {
	f.once.Do(func() {
		close(f.halt)
		for _, s := range f.streams {
			<-s.done
			_ = unix.Close(s.socket)
		}
	})
	return nil, nil
}

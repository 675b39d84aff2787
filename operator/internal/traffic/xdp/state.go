package xdp

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// never is layout.h's NEVER: a direction that has ended.
const never = math.MaxUint64

// state is the memory that the programs and this process share.
type state struct {
	*trafficState
	mapped []byte
}

func mapState(m *ebpf.Map) (*state, error) {
	if want := uint32(unsafe.Sizeof(trafficState{})); m.ValueSize() < want {
		return nil, fmt.Errorf("the object's state has %d bytes, this program's %d", m.ValueSize(), want)
	}
	page := os.Getpagesize()
	size := (int(m.ValueSize()) + page - 1) / page * page
	mapped, err := unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the programs' state: %w", err)
	}
	return &state{trafficState: (*trafficState)(unsafe.Pointer(&mapped[0])), mapped: mapped}, nil
}

func (s *state) unmap() error {
	if s == nil || s.mapped == nil {
		return nil
	}
	mapped := s.mapped
	s.mapped, s.trafficState = nil, nil
	return unix.Munmap(mapped)
}

// clear prepares everything except the window for a trial; the window's cells name their
// trial.
func (s *state) clear() {
	clear(s.Histograms[:])
	clear(s.SlotDelays[:])
	for i := range s.Transmitters {
		t := &s.Transmitters[i]
		*t = trafficTransmitter{RedirectIfindex: t.RedirectIfindex, PortIfindex: t.PortIfindex, Eligible: never, TagAt: never, NextSlotAt: never}
		s.Rings[i][0] = trafficRun{}
	}
	for i := range s.Receivers {
		r := &s.Receivers[i]
		*r = trafficReceiver{PortIfindex: r.PortIfindex, Vlan: r.Vlan, Key: r.Key, EarlierKey: r.Key}
		r.Delay.Min, r.Variation.Min = math.MaxUint64, math.MaxUint64
		for n := range s.Slots[i] {
			s.Slots[i][n] = trafficSlot{DelayMin: math.MaxUint64, MadeBefore: never}
		}
	}
}

// stop lets no further frame leave. It moves the end and not the next departure, which
// the program writes too.
func (s *state) stop() {
	for i := range s.Transmitters {
		atomic.StoreUint64(&s.Transmitters[i].EndAt, 0)
	}
}

// ended reports whether no direction will send any more.
func (s *state) ended() bool {
	for i := range s.Transmitters {
		if atomic.LoadUint64(&s.Transmitters[i].Eligible) != never {
			return false
		}
	}
	return true
}

// monotonicNow reads the clock of bpf_ktime_get_ns.
func monotonicNow() uint64 {
	var ts unix.Timespec
	// CLOCK_MONOTONIC with a valid pointer cannot fail.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return uint64(ts.Nano())
}

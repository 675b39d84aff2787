// Package recorder notes when each frame left a generator: from the frames themselves, at the
// device's port that receives them. An interface goes in; the errors of the gaps between departures
// come out. Benchmarks and tests use it; the driver does not.
package recorder

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -no-global-types record ../../../../bpf/record.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I../../../../bpf -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include/aarch64-linux-gnu

// capacity is record.bpf.c's RECORDS.
const capacity = 1 << 20

// recording is the program's memory.
type recording struct {
	seen    uint64
	records [capacity]record
}

type record struct{ sentAt, cameAt uint64 }

// Recorder is a recording program on an interface.
type Recorder struct {
	collection *ebpf.Collection
	link       link.Link
	mapped     []byte
}

// Attach attaches a recorder to an interface of the calling thread's namespace.
func Attach(interfaceIndex int) (_ *Recorder, err error) {
	r := &Recorder{}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	spec, err := loadRecord()
	if err != nil {
		return nil, err
	}
	if r.collection, err = ebpf.NewCollection(spec); err != nil {
		return nil, fmt.Errorf("loading the recorder: %w", err)
	}
	page := os.Getpagesize()
	size := (int(unsafe.Sizeof(recording{})) + page - 1) / page * page
	if r.mapped, err = unix.Mmap(r.collection.Maps[".bss"].FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("mapping the recording: %w", err)
	}
	if r.link, err = link.AttachXDP(link.XDPOptions{
		Program: r.collection.Programs["record"], Interface: interfaceIndex, Flags: link.XDPDriverMode,
	}); err != nil {
		return nil, fmt.Errorf("attaching the recorder: %w", err)
	}
	return r, nil
}

// Close removes the program from the interface.
func (r *Recorder) Close() error {
	var err error
	if r.link != nil {
		err = r.link.Close()
	}
	if r.mapped != nil {
		_ = unix.Munmap(r.mapped)
		r.mapped = nil
	}
	if r.collection != nil {
		r.collection.Close()
	}
	return err
}

func (r *Recorder) recording() *recording { return (*recording)(unsafe.Pointer(&r.mapped[0])) }

// Clear discards what was recorded. No frame may be in transit.
func (r *Recorder) Clear() { r.recording().seen = 0 }

// Pacing is how far the gaps between departures were from the intended one.
type Pacing struct {
	// Stamped is by the departure times in the frames, Arrived by the times at which they reached
	// the device's port.
	Stamped, Arrived Errors
	// Missed counts the frames that did not fit into the recording.
	Missed uint64
}

// Errors are |gap - intended gap|. Percentiles are by nearest rank, exact.
type Errors struct {
	Gaps int
	// Above counts the gaps that are off by more than Microsecond.
	Above                                                           int
	P50Nanoseconds, P99Nanoseconds, P999Nanoseconds, MaxNanoseconds uint64
}

// Microsecond is the largest error of a gap that is not in Errors.Above.
const Microsecond = 1000

// AbovePercent returns which share of the gaps is off by more than Microsecond.
func (e Errors) AbovePercent() float64 { return 100 * float64(e.Above) / float64(max(1, e.Gaps)) }

// Pacing summarizes the recording.
func (r *Recorder) Pacing(framesPerSecond uint64) Pacing {
	seen := r.recording().seen
	kept := min(seen, capacity)
	records := r.recording().records[:kept]
	return Pacing{
		Stamped: gapErrors(records, framesPerSecond, func(r record) uint64 { return r.sentAt }),
		Arrived: gapErrors(records, framesPerSecond, func(r record) uint64 { return r.cameAt }),
		Missed:  seen - kept,
	}
}

func gapErrors(records []record, framesPerSecond uint64, at func(record) uint64) Errors {
	times := make([]uint64, len(records))
	for i, r := range records {
		times[i] = at(r)
	}
	return GapErrors(times, framesPerSecond)
}

// GapErrors returns those of any departures, in nanoseconds of one clock and in the order of time.
func GapErrors(times []uint64, framesPerSecond uint64) Errors {
	if len(times) < 2 {
		return Errors{}
	}
	gap := int64((1e9 + framesPerSecond/2) / framesPerSecond)
	all := make([]uint64, 0, len(times)-1)
	for i := 1; i < len(times); i++ {
		off := int64(times[i]) - int64(times[i-1]) - gap
		all = append(all, uint64(max(off, -off)))
	}
	slices.Sort(all)
	rank := func(perMille int) uint64 { return all[(len(all)*perMille+999)/1000-1] }
	within, _ := slices.BinarySearch(all, Microsecond+1)
	return Errors{
		Gaps: len(all), Above: len(all) - within,
		P50Nanoseconds: rank(500), P99Nanoseconds: rank(990), P999Nanoseconds: rank(999), MaxNanoseconds: all[len(all)-1],
	}
}

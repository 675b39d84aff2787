//go:build linux

// Package cycles counts what a machine's processors did, in cycles, with the counters that they have for it
// (perf_event_open(2)). The numbers of CPUs go in, and one sum comes out.
//
// A sum is exact or absent: none is estimated from a part of the time or from a frequency.
package cycles

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Event is what is counted, in the kernel's terms.
type Event struct {
	kind   uint32
	config uint64
}

// Hardware is the cycles in which a processor did not rest: in programs, in the kernel, for interrupts and in
// guests.
var Hardware = Event{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES}

// maxStoppedShare is the part of the time between two reads, as one in so many, in which a counter may
// not count: the kernel stops all counters of a CPU for microseconds when it arranges them.
const maxStoppedShare = 1000

// Counter counts on some CPUs. One goroutine uses it at a time.
type Counter struct{ cpus []cpu }

// cpu is the counter of one CPU.
type cpu struct {
	number, file int
	// enabled is how long the counter was wanted by the last read, and running how long it counted.
	enabled, running uint64
}

// Open begins to count on the CPUs, for which the kernel asks CAP_PERFMON. The error wraps the kernel's number.
func Open(event Event, cpus []int) (*Counter, error) {
	attributes := unix.PerfEventAttr{
		Type: event.kind, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: event.config,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		// Pinned: it counts all the time, or not at all.
		Bits: unix.PerfBitPinned,
	}
	c := &Counter{}
	for _, number := range cpus {
		file, err := unix.PerfEventOpen(&attributes, -1, number, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the counter of CPU %d: %w", number, err), c.Close())
		}
		c.cpus = append(c.cpus, cpu{number: number, file: file})
	}
	return c, nil
}

// Read returns the sum over all CPUs since Open. It fails where a counter did not always count since the last read.
func (c *Counter) Read() (int64, error) {
	sum, failures := uint64(0), []error(nil)
	for i := range c.cpus {
		count, err := c.cpus[i].read()
		sum, failures = sum+count, append(failures, err)
	}
	return int64(sum), errors.Join(failures...)
}

func (c *cpu) read() (count uint64, err error) {
	var answer [3 * 8]byte
	n, err := unix.Read(c.file, answer[:])
	switch {
	case err != nil:
		return 0, fmt.Errorf("reading the counter of CPU %d: %w", c.number, err)
	case n == 0:
		// read(2) returns 0 for a pinned counter that found no place on its processor.
		return 0, fmt.Errorf("another program uses the counter of CPU %d", c.number)
	case n < len(answer):
		return 0, fmt.Errorf("reading the counter of CPU %d: %w", c.number, io.ErrUnexpectedEOF)
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(answer[8*i:]) }
	enabled, running := word(1)-c.enabled, word(2)-c.running
	c.enabled, c.running = word(1), word(2)
	if running+enabled/maxStoppedShare < enabled {
		return 0, fmt.Errorf("the counter of CPU %d did not count for %d of %d ns: another program uses it", c.number, enabled-running, enabled)
	}
	return word(0), nil
}

// Close ends the count.
func (c *Counter) Close() error {
	var failures []error
	for _, cpu := range c.cpus {
		failures = append(failures, unix.Close(cpu.file))
	}
	c.cpus = nil
	return errors.Join(failures...)
}

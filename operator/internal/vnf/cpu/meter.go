// Package cpu reads what the kernel counts about processor time. The files of
// /proc and of the control groups go in; nanoseconds by kind since the start of
// the meter come out, for this container and for its node.
//
// The two answer different questions. Forwarding runs in softirq context, and
// the kernel charges that to whatever it interrupted or to ksoftirqd, never to
// the container whose ports the packets cross. So Container is what the
// function's own process used, and only Node shows the cost of forwarding,
// together with that of everything else on the node.
package cpu

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/internal/proc"
	"vnfbench.io/operator/internal/vnf"
)

// Meter remembers the counters at its start.
type Meter struct {
	files          fs.FS
	proc           procfs.FS
	inContainer    bool
	now            func() time.Time
	started        time.Time
	containerStart *vnf.ContainerTime
	nodeStart      map[int]vnf.ProcessorTime
}

// NewMeter starts counting. root is the machine's root, "/" outside of tests, and
// now the clock for the elapsed time.
func NewMeter(root string, now func() time.Time) (*Meter, error) {
	meter, err := NewGuestMeter(root, now)
	if err != nil {
		return nil, err
	}
	meter.inContainer = true
	// A container that cannot be read now reports its problem in every Usage.
	if container, err := readContainer(meter.files); err == nil {
		meter.containerStart = &container
	}
	return meter, nil
}

// NewGuestMeter starts counting in a machine that runs only the function, so
// that there is no container to distinguish.
func NewGuestMeter(root string, now func() time.Time) (*Meter, error) {
	kernel, err := proc.Open(root)
	if err != nil {
		return nil, err
	}
	meter := &Meter{files: os.DirFS(root), proc: kernel, now: now, started: now(), nodeStart: map[int]vnf.ProcessorTime{}}
	processors, err := readNode(kernel)
	if err != nil {
		return nil, err
	}
	for _, processor := range processors {
		meter.nodeStart[processor.Processor] = processor
	}
	return meter, nil
}

// Read returns the time used since the start of the meter.
func (m *Meter) Read() (vnf.CPUUsage, error) {
	usage := vnf.CPUUsage{ElapsedNanoseconds: m.now().Sub(m.started).Nanoseconds()}
	processors, err := readNode(m.proc)
	if err != nil {
		return vnf.CPUUsage{}, err
	}
	for _, processor := range processors {
		used := processor.Since(m.nodeStart[processor.Processor])
		usage.Node = append(usage.Node, used)
		usage.Total.Add(used.CPUTimes)
	}
	if !m.inContainer {
		return usage, nil
	}
	container, err := readContainer(m.files)
	switch {
	case err != nil:
		usage.ContainerProblem = err.Error()
	case m.containerStart == nil:
		usage.ContainerProblem = "the control group could not be read at start"
	default:
		usage.Container = new(container.Since(*m.containerStart))
	}
	return usage, nil
}

// readNode returns the online processors in their order.
func readNode(kernel procfs.FS) ([]vnf.ProcessorTime, error) {
	_, online, err := proc.ReadCPUs(kernel)
	if err != nil {
		return nil, err
	}
	var processors []vnf.ProcessorTime
	for _, number := range slices.Sorted(maps.Keys(online)) {
		t := online[number]
		processors = append(processors, vnf.ProcessorTime{Processor: number, CPUTimes: vnf.CPUTimes{
			UserNanoseconds:    uint64(t.User + t.Nice + t.Guest),
			SystemNanoseconds:  uint64(t.System),
			HardirqNanoseconds: uint64(t.IRQ),
			SoftirqNanoseconds: uint64(t.Softirq),
			StealNanoseconds:   uint64(t.Steal),
			IdleNanoseconds:    uint64(t.Idle + t.IOWait),
		}})
	}
	return processors, nil
}

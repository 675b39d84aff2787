// Package cpu reads what the kernel counts about processor time. The files of
// /proc and of the control groups go in; nanoseconds by kind since the meter
// was made come out, for this container and for its node.
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
)

// Usage is processor time since the meter was made.
type Usage struct {
	// ElapsedNanoseconds is the time on the clock in which the rest was used.
	ElapsedNanoseconds int64 `json:"elapsedNanoseconds"`
	// Container is the container's control group: the function's process and
	// probes that run in it. Absent in a guest, and when ContainerProblem says
	// why.
	Container        *Container `json:"container,omitempty"`
	ContainerProblem string     `json:"containerProblem,omitempty"`
	// Total is the sum over Node.
	Total Times `json:"total"`
	// Node is every processor of the machine (of the guest, in a VM), whoever
	// used it. Only here is softirq.
	Node []Processor `json:"node"`
}

// Container is a control group's processor time. It has no softirq and no
// steal: the kernel does not charge them to control groups.
type Container struct {
	UserNanoseconds   uint64 `json:"userNanoseconds"`
	SystemNanoseconds uint64 `json:"systemNanoseconds"`
}

// Processor is one logical processor's time, from /proc/stat, which counts in
// hundredths of a second.
type Processor struct {
	Processor int `json:"processor"`
	Times
}

// Times are processor time by what it was used for.
type Times struct {
	// UserNanoseconds has niced processes and guests in it.
	UserNanoseconds    uint64 `json:"userNanoseconds"`
	SystemNanoseconds  uint64 `json:"systemNanoseconds"`
	HardirqNanoseconds uint64 `json:"hardirqNanoseconds"`
	SoftirqNanoseconds uint64 `json:"softirqNanoseconds"`
	// StealNanoseconds is time that the hypervisor gave to somebody else.
	StealNanoseconds uint64 `json:"stealNanoseconds"`
	// IdleNanoseconds has the wait for disks in it.
	IdleNanoseconds uint64 `json:"idleNanoseconds"`
}

// Meter remembers where the counters stood.
type Meter struct {
	files          fs.FS
	proc           procfs.FS
	inContainer    bool
	now            func() time.Time
	started        time.Time
	containerStart *Container
	nodeStart      map[int]Processor
}

// NewMeter starts counting. root is the machine's, "/" outside of tests, and the
// clock that of the elapsed time.
func NewMeter(root string, now func() time.Time) (*Meter, error) {
	meter, err := NewGuestMeter(root, now)
	if err != nil {
		return nil, err
	}
	meter.inContainer = true
	// A container that cannot be read now will say so in every Usage.
	if container, err := readContainer(meter.files); err == nil {
		meter.containerStart = &container
	}
	return meter, nil
}

// NewGuestMeter starts counting in a machine that is the function's own: there
// is no container to be told from it.
func NewGuestMeter(root string, now func() time.Time) (*Meter, error) {
	kernel, err := proc.Open(root)
	if err != nil {
		return nil, err
	}
	meter := &Meter{files: os.DirFS(root), proc: kernel, now: now, started: now(), nodeStart: map[int]Processor{}}
	processors, err := readNode(kernel)
	if err != nil {
		return nil, err
	}
	for _, processor := range processors {
		meter.nodeStart[processor.Processor] = processor
	}
	return meter, nil
}

// Read is the time used since the meter was made.
func (m *Meter) Read() (Usage, error) {
	usage := Usage{ElapsedNanoseconds: m.now().Sub(m.started).Nanoseconds()}
	processors, err := readNode(m.proc)
	if err != nil {
		return Usage{}, err
	}
	for _, processor := range processors {
		used := processor.since(m.nodeStart[processor.Processor])
		usage.Node = append(usage.Node, used)
		usage.Total.add(used.Times)
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
		usage.Container = &Container{
			UserNanoseconds:   since(container.UserNanoseconds, m.containerStart.UserNanoseconds),
			SystemNanoseconds: since(container.SystemNanoseconds, m.containerStart.SystemNanoseconds),
		}
	}
	return usage, nil
}

func (p Processor) since(start Processor) Processor {
	return Processor{Processor: p.Processor, Times: Times{
		UserNanoseconds:    since(p.UserNanoseconds, start.UserNanoseconds),
		SystemNanoseconds:  since(p.SystemNanoseconds, start.SystemNanoseconds),
		HardirqNanoseconds: since(p.HardirqNanoseconds, start.HardirqNanoseconds),
		SoftirqNanoseconds: since(p.SoftirqNanoseconds, start.SoftirqNanoseconds),
		StealNanoseconds:   since(p.StealNanoseconds, start.StealNanoseconds),
		IdleNanoseconds:    since(p.IdleNanoseconds, start.IdleNanoseconds),
	}}
}

func (t *Times) add(other Times) {
	t.UserNanoseconds += other.UserNanoseconds
	t.SystemNanoseconds += other.SystemNanoseconds
	t.HardirqNanoseconds += other.HardirqNanoseconds
	t.SoftirqNanoseconds += other.SoftirqNanoseconds
	t.StealNanoseconds += other.StealNanoseconds
	t.IdleNanoseconds += other.IdleNanoseconds
}

// since guards against counters that go back: the idle time does so at times
// (proc_stat(5)), and a control group's split of user and system may.
func since(now, start uint64) uint64 {
	if now < start {
		return 0
	}
	return now - start
}

// readNode returns the online processors in their order.
func readNode(kernel procfs.FS) ([]Processor, error) {
	_, online, err := proc.ReadCPUs(kernel)
	if err != nil {
		return nil, err
	}
	var processors []Processor
	for _, number := range slices.Sorted(maps.Keys(online)) {
		t := online[number]
		processors = append(processors, Processor{Processor: number, Times: Times{
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

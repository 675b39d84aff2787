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
	"fmt"
	"io/fs"
	"time"
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
	root           fs.FS
	inContainer    bool
	now            func() time.Time
	started        time.Time
	containerStart *Container
	nodeStart      map[int]Processor
}

// NewMeter starts counting. The file system is the machine's root, and the
// clock that of the elapsed time.
func NewMeter(root fs.FS, now func() time.Time) (*Meter, error) {
	meter, err := NewGuestMeter(root, now)
	if err != nil {
		return nil, err
	}
	meter.inContainer = true
	// A container that cannot be read now will say so in every Usage.
	if container, err := readContainer(root); err == nil {
		meter.containerStart = &container
	}
	return meter, nil
}

// NewGuestMeter starts counting in a machine that is the function's own: there
// is no container to be told from it.
func NewGuestMeter(root fs.FS, now func() time.Time) (*Meter, error) {
	meter := &Meter{root: root, now: now, started: now(), nodeStart: map[int]Processor{}}
	processors, err := readNode(root)
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
	processors, err := readNode(m.root)
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
	container, err := readContainer(m.root)
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

func readNode(root fs.FS) ([]Processor, error) {
	data, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return nil, fmt.Errorf("reading processor times: %w", err)
	}
	processors, err := parseStat(string(data))
	if err != nil {
		return nil, fmt.Errorf("reading processor times: /proc/stat: %w", err)
	}
	return processors, nil
}

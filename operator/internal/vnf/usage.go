package vnf

// CPUUsage is processor time since the function started, as package vnf/cpu reads it.
type CPUUsage struct {
	// ElapsedNanoseconds is the time on the clock in which the rest was used.
	ElapsedNanoseconds int64 `json:"elapsedNanoseconds"`
	// Container is the container's control group: the function's process and
	// probes that run in it. Absent in a guest, and when ContainerProblem says
	// why.
	Container        *ContainerTime `json:"container,omitempty"`
	ContainerProblem string         `json:"containerProblem,omitempty"`
	// Total is the sum over Node.
	Total CPUTimes `json:"total"`
	// Node is every processor of the machine (of the guest, in a VM), for all
	// processes. Only this part includes softirq.
	Node []ProcessorTime `json:"node"`
}

// ContainerTime is a control group's processor time. It has no softirq and no
// steal: the kernel does not charge them to control groups.
type ContainerTime struct {
	UserNanoseconds   uint64 `json:"userNanoseconds"`
	SystemNanoseconds uint64 `json:"systemNanoseconds"`
}

// ProcessorTime is one logical processor's time, from /proc/stat, which counts in
// hundredths of a second.
type ProcessorTime struct {
	Processor int `json:"processor"`
	CPUTimes
}

// CPUTimes are processor time by what it was used for.
type CPUTimes struct {
	// UserNanoseconds includes niced processes and guests.
	UserNanoseconds    uint64 `json:"userNanoseconds"`
	SystemNanoseconds  uint64 `json:"systemNanoseconds"`
	HardirqNanoseconds uint64 `json:"hardirqNanoseconds"`
	SoftirqNanoseconds uint64 `json:"softirqNanoseconds"`
	// StealNanoseconds is time that the hypervisor gave to another machine.
	StealNanoseconds uint64 `json:"stealNanoseconds"`
	// IdleNanoseconds includes the wait for disks.
	IdleNanoseconds uint64 `json:"idleNanoseconds"`
}

// Since returns the time used since an earlier reading.
func (c ContainerTime) Since(start ContainerTime) ContainerTime {
	return ContainerTime{
		UserNanoseconds:   since(c.UserNanoseconds, start.UserNanoseconds),
		SystemNanoseconds: since(c.SystemNanoseconds, start.SystemNanoseconds),
	}
}

// Since returns the time used since an earlier reading.
func (p ProcessorTime) Since(start ProcessorTime) ProcessorTime {
	return ProcessorTime{Processor: p.Processor, CPUTimes: CPUTimes{
		UserNanoseconds:    since(p.UserNanoseconds, start.UserNanoseconds),
		SystemNanoseconds:  since(p.SystemNanoseconds, start.SystemNanoseconds),
		HardirqNanoseconds: since(p.HardirqNanoseconds, start.HardirqNanoseconds),
		SoftirqNanoseconds: since(p.SoftirqNanoseconds, start.SoftirqNanoseconds),
		StealNanoseconds:   since(p.StealNanoseconds, start.StealNanoseconds),
		IdleNanoseconds:    since(p.IdleNanoseconds, start.IdleNanoseconds),
	}}
}

// Add adds other to the times.
func (t *CPUTimes) Add(other CPUTimes) {
	t.UserNanoseconds += other.UserNanoseconds
	t.SystemNanoseconds += other.SystemNanoseconds
	t.HardirqNanoseconds += other.HardirqNanoseconds
	t.SoftirqNanoseconds += other.SoftirqNanoseconds
	t.StealNanoseconds += other.StealNanoseconds
	t.IdleNanoseconds += other.IdleNanoseconds
}

// since guards against decreasing counters: the idle time sometimes decreases
// (proc_stat(5)), and a control group's split of user and system may.
func since(now, start uint64) uint64 {
	if now < start {
		return 0
	}
	return now - start
}

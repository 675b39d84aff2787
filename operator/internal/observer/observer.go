// Package observer reads what a node's kernel shows to every process about the
// processor time of the node and of the virtual machines on it. The files of
// /proc go in, counters by kind and the machines' effective settings come out.
//
// It must see the node's processes, and needs no privilege: a count of cycles is opened by the program that makes
// the observer. What the kernel does not show is absent and named in a problem: never 0.
package observer

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/nodefacts"
	"vnfbench.io/operator/internal/proc"
)

// Port is the port that the observer listens on.
const Port = 8080

// Snapshot is the node's counters at one moment. Only differences of two
// snapshots of one observer have a meaning.
type Snapshot struct {
	// StartedAt is the observer's own start: another observer counts from 0 again.
	StartedAt time.Time `json:"startedAt"`
	// ElapsedNanoseconds since then.
	ElapsedNanoseconds int64 `json:"elapsedNanoseconds"`
	// Node is the time of all CPUs, since the node's start.
	Node measure.CPUTime `json:"node"`
	// CPUs is how many are online.
	CPUs int `json:"cpus"`
	// Cycles are those of all CPUs since the observer's start. Nil where they are not counted, with
	// CyclesProblem where they were before.
	Cycles        *int64 `json:"cycles,omitempty"`
	CyclesProblem string `json:"cyclesProblem,omitempty"`
	// SoftirqThreadsMilliseconds is the part of Node that ran in the kernel's ksoftirqd
	// threads: deferred softirq work. Nil where the node shows no kernel threads.
	SoftirqThreadsMilliseconds *int64 `json:"softirqThreadsMilliseconds,omitempty"`
	// Guests are the virtual machines that the observer looks for.
	Guests []GuestTime `json:"guests,omitempty"`
	// Problems say what is absent and why.
	Problems []string `json:"problems,omitempty"`
}

// GuestTime is a virtual machine's processor time by what its threads do.
type GuestTime struct {
	Name string `json:"name"`
	// Process and StartTicks name the process: another process counts from 0 again.
	Process    int    `json:"process"`
	StartTicks uint64 `json:"startTicks"`
	measure.DomainTime
}

// Node is what does not change during a run.
type Node struct {
	Facts   measure.NodeFacts `json:"facts"`
	Domains []measure.Domain  `json:"domains,omitempty"`
	// CycleCounter says whether cycles are counted, or why not; empty if the Testbed does not ask for it.
	CycleCounter v1alpha1.CycleCounter `json:"cycleCounter,omitempty"`
	// Problems say what is absent and why.
	Problems []string `json:"problems,omitempty"`
}

// Observer reads one node.
type Observer struct {
	// files are the node's, guests the names of the virtual machines to look for.
	files   fs.FS
	proc    procfs.FS
	guests  []string
	now     func() time.Time
	started time.Time

	mu sync.Mutex
	// looked reports whether the observer has searched the whole process table.
	looked bool
	// found are the processes of an earlier look, so that most looks need not
	// read every process of the node.
	found map[string]process
	// softirqThreads are the processes of ksoftirqd.
	softirqThreads []process
	cycles         cycleCount
}

// New returns the observer of the node with this root, "/" outside of tests. Its guests have
// libvirt's names, for KubeVirt "namespace_name".
func New(root string, guests []string, now func() time.Time) (*Observer, error) {
	kernel, err := proc.Open(root)
	if err != nil {
		return nil, err
	}
	return &Observer{files: os.DirFS(root), proc: kernel, guests: guests, now: now, started: now(), found: map[string]process{}}, nil
}

// Snapshot reads the counters. An error means that the node shows no counters.
func (o *Observer) Snapshot() (Snapshot, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := Snapshot{StartedAt: o.started, ElapsedNanoseconds: int64(o.now().Sub(o.started))}
	var err error
	if s.Node, s.CPUs, err = readNodeTime(o.proc); err != nil {
		return Snapshot{}, err
	}
	o.cycles.read(&s)
	if err := o.look(); err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
	if s.SoftirqThreadsMilliseconds = o.softirqTime(); s.SoftirqThreadsMilliseconds == nil {
		s.Problems = append(s.Problems, noKernelThreads)
	}
	for _, name := range o.guests {
		found, ok := o.found[name]
		if !ok {
			s.Problems = append(s.Problems, noProcess(name))
			continue
		}
		time, err := readDomainTime(o.proc, found)
		if err != nil {
			s.Problems = append(s.Problems, fmt.Sprintf("virtual machine %q: %v", name, err))
			continue
		}
		s.Guests = append(s.Guests, GuestTime{Name: name, Process: found.id, StartTicks: found.startTicks, DomainTime: time})
	}
	return s, nil
}

// Node reads what does not change during a run.
func (o *Observer) Node() Node {
	o.mu.Lock()
	defer o.mu.Unlock()
	node := Node{Facts: nodefacts.ReadNode(o.files), CycleCounter: o.cycles.state}
	if o.cycles.problem != "" {
		node.Problems = append(node.Problems, o.cycles.problem)
	}
	// vhost threads may have started since the last look.
	if err := o.lookAtAll(); err != nil {
		node.Problems = append(node.Problems, err.Error())
	}
	if len(o.softirqThreads) == 0 {
		node.Problems = append(node.Problems, noKernelThreads)
	}
	for _, name := range o.guests {
		found, ok := o.found[name]
		if !ok {
			node.Problems = append(node.Problems, noProcess(name))
			continue
		}
		domain, err := o.readDomain(name, found)
		if err != nil {
			node.Problems = append(node.Problems, fmt.Sprintf("virtual machine %q: %v", name, err))
			continue
		}
		node.Domains = append(node.Domains, domain)
	}
	return node
}

const noKernelThreads = "the node shows no kernel threads, so that neither ksoftirqd nor vhost threads outside QEMU can be counted"

func noProcess(name string) string {
	return fmt.Sprintf("virtual machine %q: no QEMU process of that name on the node", name)
}

package lab

import (
	"context"
	"fmt"
	"os"
	"strings"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/doctor"
	"vnfbench.io/test/lab/internal/enter"
	"vnfbench.io/test/lab/manifests"
)

// step is one of the steps of lab up, in order.
type step struct {
	name string
	work func(context.Context) error
}

// Up starts the lab: it makes whatever is missing and keeps whatever runs.
func (l Lab) Up(ctx context.Context) error {
	if err := l.Log.Step("checking this machine", func() error { return l.examine(ctx) }); err != nil {
		return err
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	made, err := l.make(ctx) // its parts report how long they take
	if err != nil {
		return err
	}
	l.Log.Printf("binaries, node tree and images are there")
	first := l.member(1)
	running, err := first.ensure(ctx, made, enter.Node{})
	if err != nil {
		return err
	}
	if err := l.follow(ctx, l.firstSteps(first, running, made)); err != nil {
		return err
	}
	if err := l.dismiss(ctx, running); err != nil {
		return err
	}
	workers, err := l.workers()
	if err == nil {
		workers, err = l.addMachine(workers)
	}
	if err != nil {
		return err
	}
	for _, worker := range workers {
		if err := worker.up(ctx, running, made); err != nil {
			return err
		}
	}
	if l.KubeVirt {
		if err := l.follow(ctx, l.kubeVirtSteps(running, made.kubeVirt)); err != nil {
			return err
		}
	}
	l.Log.Printf("the lab is up: https://127.0.0.1:%d, KUBECONFIG=%s", l.Port, l.KubeconfigPath())
	return nil
}

// up starts a worker, unless it runs, and makes a node of the cluster out of it.
func (m member) up(ctx context.Context, first record, made artifacts) error {
	r, err := m.ensure(ctx, made, first.Node)
	if !m.node.Machine() {
		if err != nil {
			return err
		}
		return m.lab.follow(ctx, m.steps(first, r, made))
	}
	if err == nil {
		err = m.lab.follow(ctx, m.machineSteps(first, r))
	}
	if err != nil {
		return m.giveUp(ctx, r, err)
	}
	return nil
}

// firstSteps returns what makes a cluster out of node 1 once that runs.
func (l Lab) firstSteps(first member, r record, made artifacts) []step {
	return []step{
		{"containerd answers", func(ctx context.Context) error { return first.waitForContainerd(ctx, r) }},
		{"images loaded", func(ctx context.Context) error { return first.loadArchives(ctx, r, made.archives()) }},
		{"API server ready", func(ctx context.Context) error { return l.waitForAPI(ctx, r) }},
		{"cluster objects applied", func(ctx context.Context) error { return l.applyManifests(ctx, r) }},
		{"node ready", func(ctx context.Context) error { return first.waitForNode(ctx, r, r) }},
		{"CoreDNS available", func(ctx context.Context) error { return l.waitForCoreDNS(ctx, r) }},
	}
}

// steps returns what makes a worker that runs a node of the cluster. Its kubelet registers it.
func (m member) steps(first, r record, made artifacts) []step {
	name := m.node.Name()
	return []step{
		{"containerd of " + name + " answers", func(ctx context.Context) error { return m.waitForContainerd(ctx, r) }},
		{"images loaded into " + name, func(ctx context.Context) error { return m.loadArchives(ctx, r, made.archives()) }},
		{name + " ready", func(ctx context.Context) error { return m.waitForNode(ctx, first, r) }},
	}
}

// follow takes steps one after the other.
func (l Lab) follow(ctx context.Context, steps []step) error {
	for _, step := range steps {
		if err := l.Log.Step(step.name, func() error { return step.work(ctx) }); err != nil {
			return fmt.Errorf("%w\nthe logs of the nodes are in %s", err, l.logDirs())
		}
	}
	return nil
}

// logDirs lists where the logs of the nodes are.
func (l Lab) logDirs() string {
	known, err := l.members()
	if err != nil {
		return l.member(1).logDir()
	}
	dirs := make([]string, 0, len(known))
	for _, m := range known {
		dirs = append(dirs, m.logDir())
	}
	return strings.Join(dirs, ", ")
}

func (l Lab) examine(ctx context.Context) error {
	wanted, err := l.wantsMachine()
	if err != nil {
		return err
	}
	before, err := l.member(config.MachineNumber).load()
	if err != nil {
		return err
	}
	machine := doctor.Machine{Dir: l.StateDir, KubeVirt: l.KubeVirt, Hardware: wanted}
	if err := machine.Install(ctx); err != nil {
		return err
	}
	machine.Hardware = wanted && !before.Alive() // one that runs has taken what it needs
	findings := doctor.Examine(ctx, machine)
	for _, f := range findings {
		if f.Verdict == doctor.Warning {
			l.Log.Printf("warning: %s: %s; %s", f.Subject, f.Detail, f.Remedy)
		}
	}
	return doctor.Worst(findings)
}

// workers returns the workers that are wanted: as many as the settings say, or those that were started
// before and not removed since.
func (l Lab) workers() ([]member, error) {
	if l.Nodes == 0 {
		known, err := l.members()
		if err != nil || len(known) == 0 {
			return nil, err
		}
		return known[1:], nil // the first is node 1
	}
	var wanted []member
	for number := 2; number <= l.Nodes; number++ {
		wanted = append(wanted, l.member(number))
	}
	return wanted, nil
}

// isSurplus reports whether the settings ask for a lab without a node.
func (l Lab) isSurplus(n config.Node) bool {
	if n.Machine() {
		return l.WithoutHardware
	}
	return l.Nodes > 0 && n.Number > l.Nodes
}

// dismiss removes the workers that are more than the settings ask for, and their nodes from the cluster.
func (l Lab) dismiss(ctx context.Context, first record) error {
	known, err := l.members()
	if err != nil {
		return err
	}
	for _, m := range known {
		if !l.isSurplus(m.node) {
			continue
		}
		err := l.Log.Step(m.node.Name()+" removed", func() error {
			r, err := m.load()
			if err != nil {
				return err
			}
			if err := m.end(ctx, r); err != nil {
				return err
			}
			if err := l.kubectl(first).command("delete", "node", m.node.Name(), "--ignore-not-found").Run(ctx); err != nil {
				return err
			}
			return os.RemoveAll(m.path())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ensure leaves a running node alone if it is made of the same things, and starts or restarts it otherwise.
// A worker is made of node 1 too, to whose network it is joined.
func (m member) ensure(ctx context.Context, made artifacts, first enter.Node) (record, error) {
	before, err := m.load()
	if err != nil {
		return before, err
	}
	wanted, err := m.fingerprint(made)
	if err != nil {
		return before, err
	}
	if before.Alive() && before.Fingerprint == wanted && before.First == first {
		m.lab.Log.Printf("%s runs already", m.subject())
		return before, nil
	}
	if before.Alive() {
		m.lab.Log.Printf("restarting %s: it is made of other things or settings", m.subject())
	}
	var started record
	err = m.lab.Log.Step(strings.TrimPrefix(m.subject(), "the ")+" started", func() error {
		if m.node.Machine() { // one that runs stays
			if err := checkCables(first); err != nil {
				return err
			}
		}
		if err := m.clear(ctx, before); err != nil {
			return err
		}
		started, err = m.start(made, wanted, first)
		return err
	})
	return started, err
}

func (l Lab) applyManifests(ctx context.Context, r record) error {
	return l.kubectl(r).apply(ctx, manifests.Multus, manifests.CoreDNS, manifests.Volume)
}

package lab

import (
	"context"
	"fmt"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/doctor"
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
	running, err := l.ensureNode(ctx, made)
	if err != nil {
		return err
	}
	steps := []step{
		{"containerd answers", func(ctx context.Context) error { return waitForContainerd(ctx, running) }},
		{"images loaded", func(ctx context.Context) error { return l.loadArchives(ctx, running, made.archives()) }},
		{"API server ready", func(ctx context.Context) error { return l.waitForAPI(ctx, running) }},
		{"cluster objects applied", func(ctx context.Context) error { return l.applyManifests(ctx, running) }},
		{"node ready", func(ctx context.Context) error { return l.waitForNode(ctx, running) }},
		{"CoreDNS available", func(ctx context.Context) error { return l.waitForCoreDNS(ctx, running) }},
	}
	if l.KubeVirt {
		steps = append(steps, l.kubeVirtSteps(running, made.kubeVirt)...)
	}
	for _, step := range steps {
		if err := l.Log.Step(step.name, func() error { return step.work(ctx) }); err != nil {
			return fmt.Errorf("%w\nthe node's logs are in %s", err, l.LogDir())
		}
	}
	l.Log.Printf("the lab is up: https://127.0.0.1:%d, KUBECONFIG=%s", l.Port, l.KubeconfigPath())
	return nil
}

func (l Lab) examine(ctx context.Context) error {
	machine := doctor.Machine{Dir: l.StateDir, KubeVirt: l.KubeVirt}
	if err := machine.Install(ctx); err != nil {
		return err
	}
	findings := doctor.Examine(ctx, machine)
	for _, f := range findings {
		if f.Verdict == doctor.Warning {
			l.Log.Printf("warning: %s: %s; %s", f.Subject, f.Detail, f.Remedy)
		}
	}
	return doctor.Worst(findings)
}

// ensureNode leaves a running node alone if it is made of the same things, and starts or restarts
// it otherwise.
func (l Lab) ensureNode(ctx context.Context, made artifacts) (record, error) {
	before, err := l.load()
	if err != nil {
		return before, err
	}
	wanted, err := l.fingerprint(made)
	if err != nil {
		return before, err
	}
	if before.Alive() && before.Fingerprint == wanted {
		l.Log.Printf("the node runs already")
		return before, nil
	}
	if before.Alive() {
		l.Log.Printf("restarting the node: it is made of other things or settings")
	}
	var started record
	err = l.Log.Step("node started", func() error {
		if err := l.clear(ctx, before); err != nil {
			return err
		}
		started, err = l.start(made, wanted)
		return err
	})
	return started, err
}

func (l Lab) applyManifests(ctx context.Context, r record) error {
	return l.kubectl(r).apply(ctx, manifests.Multus, manifests.CoreDNS, manifests.Volume)
}

func (l Lab) node() config.Node {
	return config.Node{Name: nodeName, CPUManager: l.CPUManager}
}

package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/enter"
	"vnfbench.io/test/lab/internal/image"
	"vnfbench.io/test/lab/internal/kvm"
	"vnfbench.io/test/lab/internal/machine"
	"vnfbench.io/test/lab/internal/node"
	"vnfbench.io/test/lab/manifests"
)

// madeMachine is what the machine is made from: the tree in which QEMU runs, the file of its disk, and the directory
// of the images that only it has.
type madeMachine struct {
	tree, disk, images string
}

// wantsMachine reports whether the lab is to have the machine: when it is asked for, and when there is one already.
func (l Lab) wantsMachine() (bool, error) {
	if l.Hardware || l.WithoutHardware {
		return l.Hardware, nil
	}
	_, err := os.Stat(l.member(config.MachineNumber).path(recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// addMachine adds the machine to the workers that are wanted, if it is.
func (l Lab) addMachine(workers []member) ([]member, error) {
	m := l.member(config.MachineNumber)
	wanted, err := l.wantsMachine()
	if err != nil || !wanted || slices.ContainsFunc(workers, func(w member) bool { return w.node.Machine() }) {
		return workers, err
	}
	return append(workers, m), nil
}

// sriovPlugins are the directories of the programs for virtual functions.
type sriovPlugins struct{ device, network string }

func (l Lab) compileSRIOV(ctx context.Context) (p sriovPlugins, err error) {
	if _, err = l.builder().Download(ctx, build.SRIOVDevicePlugin, sriovModule); err != nil {
		return p, err
	}
	if p.device, err = l.builder().Build(ctx, build.SRIOVDevicePlugin); err != nil {
		return p, err
	}
	p.network, err = l.builder().Build(ctx, build.SRIOVCNI)
	return p, err
}

// sriovModule is the module of the device plugin, and devicePluginImage its image.
const (
	sriovModule       = "github.com/k8snetworkplumbingwg/sriov-network-device-plugin"
	devicePluginImage = "localhost/sriov-device-plugin:lab"
)

// completeMachine makes the disk and the images of the machine, from what the nodes are made of too.
func (l Lab) completeMachine(ctx context.Context, a *artifacts, plugins sriovPlugins) (err error) {
	a.machine.disk, err = machine.Disk(ctx, l.cache(), l.Log, machine.Content{
		Node: a.rootfs, Machine: a.machine.tree, Kube: a.kube, CNI: []string{a.cni, plugins.network},
	})
	if err != nil {
		return err
	}
	fingerprint := cache.Fingerprint("1", plugins.device, a.machine.tree)
	a.machine.images, err = l.cache().Get(ctx, "sriov-images", fingerprint, func(_ context.Context, dir string) error {
		_, err := image.Build(image.Spec{
			Tag: devicePluginImage,
			Files: []image.File{
				{Source: filepath.Join(plugins.device, "sriovdp"), Destination: "/sriovdp"},
				// The names of devices; without them the plugin asks the Internet.
				{Source: filepath.Join(a.machine.tree, "usr/share/misc/pci.ids"), Destination: "/usr/share/misc/pci.ids"},
			},
			Entrypoint:   []string{"/sriovdp"},
			Architecture: runtime.GOARCH,
		}, filepath.Join(dir, "sriov-device-plugin.tar"))
		return err
	})
	return err
}

// machineSpec describes the machine for its node, nil for a node that is only namespaces.
func (m member) machineSpec(made artifacts) (*node.Machine, error) {
	if !m.node.Machine() {
		return nil, nil
	}
	release, err := machine.Release(made.machine.tree)
	if err != nil {
		return nil, err
	}
	return &node.Machine{
		Machine:   machine.Machine{KVM: kvm.Missing() == nil, Release: release},
		Disk:      made.machine.disk,
		ImageDirs: []string{made.images, made.machine.images},
		LoadDir:   m.path(loadName),
	}, nil
}

// machineTimeout is longer than a machine takes to start whose processor is emulated on a busy computer.
const machineTimeout = 20 * time.Minute

// machineSteps returns what makes a node with virtual functions out of a machine that starts. Its kubelet registers it.
// It has imported the images that every lab has by itself.
func (m member) machineSteps(first, r record) []step {
	name := m.node.Name()
	watch := m.watchBoot()
	return []step{
		{name + " ready", watch.waiting(func(ctx context.Context) error { return m.askForNode(ctx, first, r) })},
		{"shell in " + name, watch.waiting(func(context.Context) error { return m.askForShell(r) })},
		{"SR-IOV device plugin applied", func(ctx context.Context) error { return m.lab.kubectl(first).apply(ctx, manifests.SRIOV) }},
		{"virtual functions offered by " + name, watch.waiting(func(ctx context.Context) error { return m.askForPools(ctx, first) })},
	}
}

// askForShell returns an error unless programs can be run in the machine, and containerd answers there.
func (m member) askForShell(r record) error {
	_, err := m.ctr(r, nil, "version")
	return err
}

// giveUp adds to the error of a machine what to do about it. It ends one that does not start, which would take a processor
// for nothing.
func (m member) giveUp(ctx context.Context, r record, err error) error {
	if errors.Is(err, errCannotBoot) {
		err = errors.Join(err, m.end(ctx, r))
	}
	next := "starts it"
	if r.Alive() {
		next = "waits for it"
	}
	return fmt.Errorf("%w\n%s: lab up %s again; lab up --hardware=false brings the lab up without it", err, m.node.Name(), next)
}

// loadName is the directory that the machine sees, for archives that it is to import.
const loadName = "load"

// importShared has the machine import an archive from the directory that it sees: a stream through the kubelet is slower.
func (m member) importShared(ctx context.Context, r record, archive string) error {
	shared := m.path(loadName, filepath.Base(archive))
	if err := os.Remove(shared); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := (command.Command{Args: []string{"cp", "--reflink=auto", archive, shared}}).Run(ctx); err != nil {
		return err
	}
	_, err := m.ctr(r, nil, "images", "import", path.Join(node.LoadPlace, filepath.Base(archive)))
	return errors.Join(err, os.Remove(shared))
}

// askForPools returns an error that names a pool of virtual functions that the machine's kubelet does not offer.
func (m member) askForPools(ctx context.Context, first record) error {
	var n schedulableNode
	if err := m.lab.kubectl(first).get(ctx, &n, "node", m.node.Name()); err != nil {
		return err
	}
	for _, pool := range machine.Pools() {
		if got, want := n.Status.Allocatable[pool.Resource], fmt.Sprint(pool.Devices); got != want {
			return fmt.Errorf("%s offers %q of %s, want %s", m.node.Name(), got, pool.Resource, want)
		}
	}
	return nil
}

// run runs a program in the node. If the program itself fails, the error is an *exec.ExitError.
func (m member) run(r record, env []string, streams enter.Streams, args ...string) error {
	if !m.node.Machine() {
		return r.Run(env, streams, args...)
	}
	// The machine has a separate kernel: the way into it is the kubelet, and a pod that may enter the namespaces of
	// the first process.
	first, err := m.lab.Running()
	if err != nil {
		return err
	}
	flags := []string{"exec", "--quiet", "--namespace=" + config.ShellNamespace, config.ShellPod + "-" + m.node.Name()}
	if streams.In != nil {
		flags = append(flags, "--stdin")
	}
	if isTerminal(streams.In) && isTerminal(streams.Out) {
		flags = append(flags, "--tty")
	}
	flags = append(append(flags, "--", "nsenter", "-t", "1", "-m", "-u", "-i", "-n", "-p", "/usr/bin/env", "-i"), env...)
	command := m.lab.kubectl(first).command(append(flags, args...)...)
	cmd := exec.Command(command.Args[0], command.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.Err
	return cmd.Run()
}

func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	if !isFile {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// Package lab is the lab as this machine sees it. Settings go in; nodes that are started, loaded,
// examined or stopped come out.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/lockfile"
	"vnfbench.io/test/lab/internal/progress"
	"vnfbench.io/test/lab/internal/rootfs"
)

// Settings say where a lab lives and what differs between labs.
type Settings struct {
	// StateDir contains all files of this lab.
	StateDir string
	// CacheDir holds what labs share: binaries, images, the node's tree.
	CacheDir string
	// SourceDir is the directory of the lab's go.mod.
	SourceDir string
	// Port is the API server's on 127.0.0.1.
	Port int
	// CPUManager is the kubelet's CPU manager policy.
	CPUManager string
	// Nodes is how many nodes are wanted; 0 leaves as many as there are, and begins with one.
	Nodes int
	// KubeVirt asks for virtual machines.
	KubeVirt bool
	// Hardware asks for the emulated machine with network cards that have virtual functions. Without it one that is
	// there stays, unless WithoutHardware asks for none.
	Hardware, WithoutHardware bool
}

// Lab is one lab.
type Lab struct {
	Settings
	Log *progress.Log
}

// ErrNotUp is the error of what needs a running node.
var ErrNotUp = errors.New("the lab is not up: run lab up")

func (l Lab) path(elements ...string) string {
	return filepath.Join(append([]string{l.StateDir}, elements...)...)
}

// KubeconfigPath returns the path of the administrator's kubeconfig.
func (l Lab) KubeconfigPath() string { return l.path("kubeconfig") }

func (l Lab) cache() cache.Cache {
	return cache.Cache{Dir: l.CacheDir, Waiting: func(kind string) {
		l.Log.Printf("waiting for another lab program that makes %s", kind)
	}}
}

func (l Lab) builder() build.Builder {
	return build.Builder{SourceDir: l.SourceDir, Cache: l.cache(), Log: l.Log}
}

func (l Lab) rootfs() rootfs.Builder {
	return rootfs.Builder{Cache: l.cache(), Log: l.Log}
}

// lockName is the file that makes a directory a lab's.
const lockName = "lab.lock"

// lock keeps other lab programs from changing this lab. It refuses a directory
// that holds other things, since lab down removes it.
func (l Lab) lock(ctx context.Context) (*lockfile.Lock, error) {
	entries, err := os.ReadDir(l.StateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the state directory: %w", err)
	}
	ours := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == lockName })
	if len(entries) > 0 && !ours {
		return nil, fmt.Errorf("the state directory %q holds other things than a lab", l.StateDir)
	}
	return lockfile.Acquire(ctx, l.path(lockName), func() {
		l.Log.Printf("waiting for another lab program that works on %s", l.StateDir)
	})
}

func replaceFile(path string, data []byte, mode fs.FileMode) error {
	temp := path + ".tmp"
	if err := os.WriteFile(temp, data, mode); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return os.Rename(temp, path)
}

// Running returns the record of the running node 1, or ErrNotUp.
func (l Lab) Running() (record, error) { return l.member(1).running() }

// bootID identifies the machine's current boot.
func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return string(data[:len(data)-1]), nil
}

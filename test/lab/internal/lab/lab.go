// Package lab is the lab as this machine sees it. Settings go in; a node that is started, loaded,
// examined or stopped comes out.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/enter"
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
	// KubeVirt asks for virtual machines.
	KubeVirt bool
}

// Lab is one lab.
type Lab struct {
	Settings
	Log *progress.Log
}

// ErrNotUp is the error of what needs a running node.
var ErrNotUp = errors.New("the lab is not up: run lab up")

// nodeName is the node's name in the cluster.
const nodeName = config.NodeName

func (l Lab) path(elements ...string) string {
	return filepath.Join(append([]string{l.StateDir}, elements...)...)
}

// KubeconfigPath returns the path of the administrator's kubeconfig.
func (l Lab) KubeconfigPath() string { return l.path("kubeconfig") }

// LogDir returns the directory of the node's and its daemons' logs.
func (l Lab) LogDir() string { return l.path("log") }

// group returns the name of the node's control groups. It differs between labs.
func (l Lab) group() string { return "vnfbench-lab-" + cache.Fingerprint(l.StateDir)[:8] }

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

// record is what is known about the node, kept in the state directory.
type record struct {
	enter.Node
	// BootID is the machine's boot in which the node's data was written.
	BootID string `json:"bootID"`
	// Port is the API server's on this machine.
	Port int `json:"port"`
	// Fingerprint hashes everything that the node was started with.
	Fingerprint string `json:"fingerprint"`
	// KubeDir is where the node's binaries are on this machine.
	KubeDir string `json:"kubeDir"`
}

// load reads the record; without one, it is empty.
func (l Lab) load() (record, error) {
	var r record
	data, err := os.ReadFile(l.path("record.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("reading the lab's record: %w", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("reading the lab's record: %w", err)
	}
	return r, nil
}

func (l Lab) save(r record) error {
	return l.writeJSON("record.json", r)
}

// writeJSON replaces a file of the state directory atomically, so that no file is half written.
func (l Lab) writeJSON(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return replaceFile(l.path(name), data, 0o644)
}

func replaceFile(path string, data []byte, mode fs.FileMode) error {
	temp := path + ".tmp"
	if err := os.WriteFile(temp, data, mode); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return os.Rename(temp, path)
}

// Running returns the record of the running node, or ErrNotUp.
func (l Lab) Running() (record, error) {
	r, err := l.load()
	if err != nil {
		return r, err
	}
	if !r.Alive() {
		return r, ErrNotUp
	}
	return r, nil
}

// bootID identifies the machine's current boot.
func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return string(data[:len(data)-1]), nil
}

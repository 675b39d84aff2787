package machine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/progress"
	"vnfbench.io/test/lab/internal/rootfs"
)

// Tree is the Debian tree with QEMU, the kernel, and the names of PCI devices, which the device plugin reads.
var Tree = rootfs.Tree{Kind: "machine-rootfs", Suite: "trixie", Packages: []string{"linux-image-amd64", "pci.ids", "qemu-system-x86"}}

// Release returns the release of the tree's kernel.
func Release(tree string) (string, error) {
	kernels, err := filepath.Glob(filepath.Join(tree, "boot/vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return "", errors.Join(fmt.Errorf("%d kernels in %s, want 1", len(kernels), tree), err)
	}
	return strings.TrimPrefix(filepath.Base(kernels[0]), "vmlinuz-"), nil
}

// Content are the directories of what is on the disk.
type Content struct {
	// Node is the tree of the lab's nodes, Machine the one that has the kernel's modules.
	Node, Machine string
	// Kube holds the binaries; CNI are directories of network plugins.
	Kube string
	CNI  []string
}

// initScript mounts what the lab shares with the machine and starts the lab's program from there. The
// disk thus depends on nothing that differs between labs.
//
//go:embed init.sh
var initScript []byte

const (
	diskFile = "disk.img"
	// diskBytes is the size that the machine sees. The file has holes.
	diskBytes = "16G"
)

// Disk makes the machine's disk, and returns its path.
func Disk(ctx context.Context, c cache.Cache, log *progress.Log, content Content) (string, error) {
	parts := append([]string{"1", string(initScript), diskBytes, content.Node, content.Machine, content.Kube}, content.CNI...)
	dir, err := c.Get(ctx, "machine-disk", cache.Fingerprint(parts...), func(ctx context.Context, dir string) error {
		return log.Step("making the machine's disk", func() error { return content.write(ctx, dir) })
	})
	return filepath.Join(dir, diskFile), err
}

// layout maps directories of the disk to what they are copies of.
func (c Content) layout(release string) map[string][]string {
	modules := filepath.Join("usr/lib/modules", release)
	return map[string][]string{
		modules:              {filepath.Join(c.Machine, modules)},
		config.KubeBinaryDir: {c.Kube},
		config.CNIBinaryDir:  c.CNI,
	}
}

func (c Content) write(ctx context.Context, dir string) error {
	release, err := Release(c.Machine)
	if err != nil {
		return err
	}
	own, merged := filepath.Join(dir, ".own"), filepath.Join(dir, ".merged")
	defer os.RemoveAll(own)
	defer os.RemoveAll(merged)
	for place, sources := range c.layout(release) {
		target := filepath.Join(own, place)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		for _, source := range sources {
			if err := (command.Command{Args: []string{"cp", "-a", source + "/.", target}}).Run(ctx); err != nil {
				return err
			}
		}
	}
	init := filepath.Join(own, "usr", InitPlace) // the tree's /sbin is a link
	for _, d := range []string{filepath.Dir(init), merged} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(init, initScript, 0o755); err != nil {
		return err
	}
	// The mount ends with the namespace of the program.
	const script = `mount -t overlay overlay -o "lowerdir=$1:$2" "$3" && exec mke2fs -q -t ext4 -d "$3" "$4" "$5"`
	return command.Command{
		Args:     []string{"sh", "-c", script, "sh", own, c.Node, merged, filepath.Join(dir, diskFile), diskBytes},
		Niceness: 5,
		Isolated: true,
	}.Run(ctx)
}

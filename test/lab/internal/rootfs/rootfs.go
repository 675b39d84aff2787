// Package rootfs makes file trees from Debian packages: the node's, and those of images. A
// description goes in; a directory in the cache with the tree comes out.
package rootfs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/progress"
)

// Suite is the Debian release that trees are made of when they name none. It is fixed, so that every
// machine tests with the same containerd and runc.
const Suite = "bookworm"

// Tree describes a tree.
type Tree struct {
	// Kind names the tree in the cache.
	Kind string
	// Suite is the Debian release, Suite when empty.
	Suite string
	// Packages are added to Debian's minimal base.
	Packages []string
	// Remove are unwanted files, as patterns below the tree's root; each must match something.
	Remove []string
}

// Node is the node's tree: the container runtime, what the kubelet and kube-proxy call, what a
// person in "lab shell" wants, and the busybox of the test image.
var Node = Tree{Kind: "rootfs", Packages: []string{
	"busybox-static", "conntrack", "containerd", "ethtool", "iproute2",
	"iptables", "iputils-ping", "kmod", "nftables", "procps", "runc", "tcpdump",
}}

// Builder makes trees.
type Builder struct {
	Cache cache.Cache
	Log   *progress.Log
}

// Build returns the directory that holds the tree.
func (b Builder) Build(ctx context.Context, t Tree) (string, error) {
	suite := cmp.Or(t.Suite, Suite)
	parts := append([]string{suite, "minbase"}, t.Packages...)
	fingerprint := cache.Fingerprint(append(parts, t.Remove...)...)
	return b.Cache.Get(ctx, t.Kind, fingerprint, func(ctx context.Context, dir string) error {
		return b.Log.Watch("installing the Debian tree "+t.Kind, lastLine(dir), func() error {
			if err := debootstrap(ctx, suite, dir, t.Packages); err != nil {
				return err
			}
			return remove(dir, t.Remove)
		})
	})
}

// remove removes the unwanted files of a tree.
func remove(dir string, patterns []string) error {
	for _, pattern := range patterns {
		matches, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(matches) == 0 {
			return errors.Join(fmt.Errorf("trimming the tree: nothing in it is %q", pattern), err)
		}
		for _, match := range matches {
			if err := os.RemoveAll(match); err != nil {
				return fmt.Errorf("trimming the tree: %w", err)
			}
		}
	}
	return nil
}

func debootstrap(ctx context.Context, suite, dir string, packages []string) error {
	mirror, err := findMirror(ctx, suite)
	if err != nil {
		return err
	}
	err = command.Command{
		Args: []string{
			"debootstrap", "--variant=minbase",
			"--include=" + strings.Join(packages, ","), suite, dir, mirror,
		},
		Niceness: 5,
		Isolated: true, // debootstrap mounts /proc in the tree
	}.Run(ctx)
	if err != nil {
		return errors.Join(err, quoteLog(dir))
	}
	for _, waste := range []string{"var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"} {
		if err := os.RemoveAll(filepath.Join(dir, waste)); err != nil {
			return fmt.Errorf("trimming the tree: %w", err)
		}
	}
	return nil
}

// findMirror asks apt where this machine gets its Debian packages from.
func findMirror(ctx context.Context, suite string) (string, error) {
	targets, err := command.Command{Args: []string{
		"apt-get", "indextargets", "--format", "$(CODENAME) $(COMPONENT) $(REPO_URI)", "Created-By: Packages",
	}}.Output(ctx)
	if err != nil {
		return "", fmt.Errorf("asking apt for its mirror: %w", err)
	}
	return chooseMirror(strings.NewReader(targets), suite)
}

// chooseMirror picks a mirror from lines of a release's name, a component and an address: the one
// that serves the release, or otherwise any that serves a whole release, since a mirror carries
// several.
func chooseMirror(targets io.Reader, suite string) (string, error) {
	var others []string
	lines := bufio.NewScanner(targets)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[1] != "main" {
			continue
		}
		if fields[0] == suite {
			return fields[2], nil
		}
		if !strings.Contains(fields[0], "-security") {
			others = append(others, fields[2])
		}
	}
	slices.Sort(others)
	if len(others) == 0 {
		return "", fmt.Errorf("apt on this machine names no Debian mirror with the component main")
	}
	return others[0], nil
}

// lastLine returns a function that returns debootstrap's last log line.
func lastLine(dir string) func() string {
	return func() string {
		data, err := os.ReadFile(filepath.Join(dir, "debootstrap", "debootstrap.log"))
		if err != nil {
			return ""
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		return "(" + shorten(lines[len(lines)-1]) + ")"
	}
}

// shorten keeps only a file's name of wget's "URL:... [size] -> file", and returns other lines
// unchanged.
func shorten(line string) string {
	if i := strings.Index(line, "] -> "); i >= 0 {
		line = line[:i]
		if j := strings.LastIndex(line, " ["); j >= 0 {
			line = line[:j]
		}
		return "downloaded " + filepath.Base(line)
	}
	return line
}

func quoteLog(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "debootstrap", "debootstrap.log"))
	if err != nil {
		return nil // it failed before it logged anything
	}
	const end = 1500
	return fmt.Errorf("end of debootstrap's log:\n%s", data[max(0, len(data)-end):])
}

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// PlanSelf calls Plan for the calling process.
func PlanSelf(group string) ([]Hierarchy, error) {
	memberships, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("reading the caller's control groups: %w", err)
	}
	defer memberships.Close()
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mounted control groups: %w", err)
	}
	defer mounts.Close()
	return Plan(memberships, mounts, group)
}

// Create makes the node's groups. It may be called again.
func Create(plan []Hierarchy) error {
	for _, h := range plan {
		if err := os.MkdirAll(h.Dir, 0o755); err != nil {
			return fmt.Errorf("creating a control group: %w", err)
		}
		if err := prepare(h); err != nil {
			return fmt.Errorf("preparing the control group %q: %w", h.Dir, err)
		}
	}
	return nil
}

func prepare(h Hierarchy) error {
	parent := filepath.Dir(h.Dir)
	if h.Unified() {
		return enableControllers(parent)
	}
	if !h.cpuset() {
		return nil
	}
	// A new version 1 cpuset is empty and accepts no process.
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(h.Dir, name), strings.TrimSpace(string(value))); err != nil {
			return err
		}
	}
	return write(filepath.Join(h.Dir, "cgroup.clone_children"), "1")
}

// enableControllers gives every controller of a version 2 group to its children, except those that
// the kernel refuses.
func enableControllers(dir string) error {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(controllers)) {
		_ = write(filepath.Join(dir, "cgroup.subtree_control"), "+"+c)
	}
	return nil
}

// Enter moves the calling process into the node's groups and gives the calling
// thread a control group namespace that begins there. The process, and what it starts, may use
// the named CPUs alone, such as "0": all of them where cpus is empty. Groups next to its own, such as
// those of pods, keep all CPUs. The caller has locked the thread and replaces the process afterwards.
func Enter(plan []Hierarchy, cpus string) error {
	for _, h := range plan {
		if err := write(filepath.Join(h.Dir, "cgroup.procs"), "0"); err != nil {
			return fmt.Errorf("joining a control group: %w", err)
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("creating a control group namespace: %w", err)
	}
	for _, h := range plan {
		if err := enterLeaf(h, cpus); err != nil {
			return fmt.Errorf("joining a control group: %w", err)
		}
	}
	return nil
}

// enterLeaf moves the calling process into a group below the node's where it must not be in that itself: on
// version 2, so that the kubelet can give controllers to the groups next to it, and where its CPUs are
// not the node's.
func enterLeaf(h Hierarchy, cpus string) error {
	confine := cpus != "" && h.cpuset()
	if !h.Unified() && !confine {
		return nil
	}
	leaf := filepath.Join(h.Dir, "init")
	if err := os.MkdirAll(leaf, 0o755); err != nil {
		return err
	}
	// On version 1 the leaf has the node's CPUs and memory (cgroup.clone_children). On version 2 its files are there
	// once the controller is given to it, which needs the process to have left the node's group.
	if h.Unified() {
		if err := errors.Join(write(filepath.Join(leaf, "cgroup.procs"), "0"), enableControllers(h.Dir)); err != nil {
			return err
		}
	}
	if confine {
		if err := write(filepath.Join(leaf, "cpuset.cpus"), cpus); err != nil {
			return err
		}
	}
	if !h.Unified() {
		return write(filepath.Join(leaf, "cgroup.procs"), "0")
	}
	return nil
}

// cpuset reports whether the hierarchy shares out CPUs.
func (h Hierarchy) cpuset() bool {
	return h.Unified() || slices.Contains(strings.Split(h.Options, ","), "cpuset")
}

// Mount mounts the hierarchies below dir, as the calling thread's control
// group namespace shows them.
func Mount(plan []Hierarchy, dir string) error {
	if plan[0].Unified() {
		return unix.Mount("cgroup2", dir, "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	for _, h := range plan {
		point := filepath.Join(dir, h.Name)
		if err := os.Mkdir(point, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("cgroup", point, "cgroup", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, h.Options); err != nil {
			return fmt.Errorf("mounting the hierarchy %q: %w", h.Options, err)
		}
		if err := linkControllers(dir, h); err != nil {
			return err
		}
	}
	return nil
}

// linkControllers makes "cpu" link to "cpu,cpuacct".
func linkControllers(dir string, h Hierarchy) error {
	names := strings.Split(h.Name, ",")
	if len(names) == 1 {
		return nil
	}
	for _, n := range names {
		if err := os.Symlink(h.Name, filepath.Join(dir, n)); err != nil {
			return err
		}
	}
	return nil
}

// Find returns every group of that name below the mounted hierarchies,
// whichever program's children they are.
func Find(group string) ([]string, error) {
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a group that was removed in the meantime
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == group:
			found = append(found, path)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for control groups: %w", err)
	}
	return found, nil
}

// Remove ends the processes in every group of that name and removes the
// groups.
func Remove(ctx context.Context, group string) error {
	var last error
	for range 100 {
		dirs, err := Find(group)
		if err != nil || len(dirs) == 0 {
			return err
		}
		for _, dir := range dirs {
			last = removeTree(dir)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("removing the control groups %q: %w", group, last)
}

// removeTree removes a group, its children first.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	killAll(dir)
	return os.Remove(dir)
}

func killAll(dir string) {
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, line := range strings.Fields(string(procs)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func write(path, value string) error {
	return os.WriteFile(path, []byte(value), 0o644)
}

package node

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/cgroup"
	"vnfbench.io/test/lab/internal/config"
)

// Enter runs the first stage. It only returns an error: the second stage replaces it.
func Enter(specPath string) error {
	// The control group namespace is the calling thread's alone until the
	// program is replaced.
	runtime.LockOSThread()
	err := enter(specPath)
	return errors.Join(err, report(err.Error()))
}

// enter returns only if it fails.
func enter(specPath string) error {
	spec, err := readSpec(specPath)
	if err != nil {
		return err
	}
	if err := cgroup.Enter(spec.Cgroups, spec.Node.DaemonCPUs()); err != nil {
		return err
	}
	if spec.Machine != nil { // its cables lead into node 1's network
		if err := unix.Setns(NetworkFD, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering node 1's network: %w", err)
		}
	}
	if err := buildTree(spec, specPath); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(spec.Node.Name())); err != nil {
		return fmt.Errorf("naming the node: %w", err)
	}
	env := []string{"PATH=" + config.Path(), "HOME=/root", "LANG=C.UTF-8"}
	return fmt.Errorf("starting the second stage: %w",
		unix.Exec(executablePlace, []string{"lab", "node", "supervise"}, env))
}

// pivot makes root the root of the mount namespace and detaches the machine's file tree.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// Both arguments the same: the old root is mounted over the new one.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the machine's file tree: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	// Pods with Bidirectional mount propagation rely on it.
	return unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, "")
}

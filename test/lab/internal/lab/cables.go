package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/enter"
	"vnfbench.io/test/lab/internal/machine"
)

// checkCables returns an error if a pod of node 1 has the end of a cable to the machine. A machine that starts would get
// a new end of that name, and the pod could not give its own back.
func checkCables(first enter.Node) error {
	// Where containerd keeps the network namespaces of pods.
	namespaces, err := filepath.Glob(fmt.Sprintf("/proc/%d/root/run/netns/*", first.PID))
	if err != nil {
		return err
	}
	for _, path := range namespaces {
		held, err := cableIn(path)
		if err != nil {
			return fmt.Errorf("looking for the machine's cables in pods: %w", err)
		}
		if held != "" {
			return fmt.Errorf("a pod of node1 has the interface %s, a cable to the machine: delete the pod and run lab up again "+
				"(lab kubectl -- get pods --all-namespaces --field-selector spec.nodeName=node1 lists its pods)", held)
		}
	}
	return nil
}

// cableIn returns which of the machine's cables ends in a network namespace, or "". The plugin host-device keeps the name
// that an interface had on the node as its alias.
func cableIn(path string) (string, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil // its pod has just ended
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &system); err != nil {
		return "", err
	}
	if system.Type != unix.NSFS_MAGIC {
		return "", nil // the file of a namespace that has ended
	}
	handle, err := netlink.NewHandleAt(netns.NsHandle(file.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return "", err
	}
	defer handle.Close()
	links, err := handle.LinkList()
	if err != nil {
		return "", err
	}
	for _, link := range links {
		for _, name := range []string{link.Attrs().Alias, link.Attrs().Name} {
			if slices.Contains(machine.Taps(), name) {
				return name, nil
			}
		}
	}
	return "", nil
}

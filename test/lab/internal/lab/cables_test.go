package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestCableIn looks for a cable in a network namespace, before and after the plugin host-device has moved one there. It
// needs root, as the lab does.
func TestCableIn(t *testing.T) {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the namespace ends with the thread
		result <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			here := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
			if got, err := cableIn(here); got != "" || err != nil {
				t.Errorf("a namespace without one: %q, %v", got, err)
			}
			attributes := netlink.NewLinkAttrs()
			attributes.Name = "net1"
			tap := &netlink.Tuntap{LinkAttrs: attributes, Mode: netlink.TUNTAP_MODE_TAP}
			if err := netlink.LinkAdd(tap); err != nil {
				return err
			}
			if err := netlink.LinkSetAlias(tap, "cable1"); err != nil {
				return err
			}
			if got, err := cableIn(here); got != "cable1" || err != nil {
				t.Errorf("the namespace of a pod that has cable1: %q, %v", got, err)
			}
			return nil
		}()
	}()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "cni-1")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{left, left + "-gone"} {
		if got, err := cableIn(path); got != "" || err != nil {
			t.Errorf("%s: %q, %v", filepath.Base(path), got, err)
		}
	}
}

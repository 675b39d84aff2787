package node

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// inNamespace calls do on a separate thread, in a new network namespace. It needs root, as the lab does.
func inNamespace(t *testing.T, do func() error) {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the namespace ends with the thread
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		result <- do()
	}()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

// TestTapStaysWithItsPod takes an interface into another namespace, as a pod does: a machine that starts again continues
// with it, no second one of its name is made, and it can be given back.
func TestTapStaysWithItsPod(t *testing.T) {
	const name = "cable0"
	inNamespace(t, func() error {
		here, err := netns.Get()
		if err != nil {
			return err
		}
		defer here.Close()
		tap, err := openTap(name)
		if err != nil {
			return err
		}
		pod, err := netns.New() // and enters it
		if err != nil {
			return err
		}
		defer pod.Close()
		if err := netns.Set(here); err != nil {
			return err
		}
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetNsFd(link, int(pod)); err != nil {
			return err
		}
		inPod, err := netlink.NewHandleAt(pod)
		if err != nil {
			return err
		}
		defer inPod.Close()
		if link, err = inPod.LinkByName(name); err != nil {
			return err
		}
		if err := inPod.LinkSetUp(link); err != nil {
			return err
		}
		frame := make([]byte, 10+60) // after the header of virtio
		copy(frame[10:], bytes.Repeat([]byte{0xff}, 6))
		if _, err := tap.Write(frame); err != nil {
			return err
		}
		if link, err = inPod.LinkByName(name); err != nil {
			return err
		}
		if got := link.Attrs().Statistics.RxPackets; got != 1 {
			t.Errorf("the pod got %d frames, want 1", got)
		}
		if _, err := netlink.LinkByName(name); err == nil {
			t.Errorf("there is a second %s", name)
		}
		if err := inPod.LinkSetNsFd(link, int(here)); err != nil {
			return err
		}
		// The machine ends, and the next one takes the interface by its name.
		if err := tap.Close(); err != nil {
			return err
		}
		if _, err := netlink.LinkByName(name); err != nil {
			t.Errorf("the interface ended with the machine: %v", err)
		}
		again, err := openTap(name)
		if err != nil {
			return err
		}
		return again.Close()
	})
}

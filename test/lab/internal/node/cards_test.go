package node

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// TestKeepUp takes interfaces down, and lets one come back from another namespace as from a pod.
func TestKeepUp(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	namespaces, result := make(chan [2]netns.NsHandle, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the namespace ends with the thread
		pod, err := netns.New()
		if err != nil {
			t.Error(err)
		}
		node, err := netns.New() // and enters it
		if err != nil {
			t.Error(err)
		}
		namespaces <- [2]netns.NsHandle{node, pod}
		result <- keepUp(ctx, []string{"gen0"})
	}()
	both := <-namespaces
	if t.Failed() {
		t.FailNow()
	}
	var handles [2]*netlink.Handle
	for i, namespace := range both {
		defer namespace.Close()
		handle, err := netlink.NewHandleAt(namespace)
		if err != nil {
			t.Fatal(err)
		}
		defer handle.Close()
		handles[i] = handle
	}
	node, pod := handles[0], handles[1]
	link := func(in *netlink.Handle, name string) netlink.Link {
		t.Helper()
		found, err := in.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	isUp := func(name string) bool { return link(node, name).Attrs().Flags&1 != 0 }
	comesUp := func(when string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !isUp("gen0"); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: it is not up", when)
			}
		}
	}
	for _, name := range []string{"other", "gen0"} {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = name
		must(node.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: name + "peer"}))
	}
	comesUp("made")
	must(node.LinkSetDown(link(node, "gen0")))
	comesUp("taken down")
	must(node.LinkSetNsFd(link(node, "gen0"), int(both[1])))
	if link(pod, "gen0").Attrs().Flags&1 != 0 {
		t.Error("it is up in the pod")
	}
	must(pod.LinkSetNsFd(link(pod, "gen0"), int(both[0])))
	comesUp("given back")
	if isUp("other") {
		t.Error("another interface is up")
	}
	stop()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

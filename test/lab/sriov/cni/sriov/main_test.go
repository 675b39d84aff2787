package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	sriovtypes "github.com/intel/sriov-cni/pkg/types"
	"github.com/intel/sriov-cni/pkg/utils"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestRequestedMAC(t *testing.T) {
	for configuration, want := range map[string]string{
		`{}`:                           "",
		`{"mac": "02:00:00:00:00:01"}`: "02:00:00:00:00:01",
		`{"mac": "02:00:00:00:00:01", "runtimeConfig": {"mac": "02:00:00:00:00:02"}}`: "02:00:00:00:00:02",
	} {
		got, err := requestedMAC([]byte(configuration))
		if err != nil || got.String() != want {
			t.Errorf("%s: got %q, %v, want %q", configuration, got, err, want)
		}
	}
	for _, configuration := range []string{`{"mac": "no"}`, `[`} {
		if _, err := requestedMAC([]byte(configuration)); err == nil {
			t.Errorf("%s: no error", configuration)
		}
	}
}

// TestStateIsKept checks that DEL finds all that ADD has kept, and that a second DEL finds nothing to do.
func TestStateIsKept(t *testing.T) {
	dir := t.TempDir()
	kept := state{true, "gen0", 100, 3, "gen0v3", "west"}
	if err := utils.SaveNetConf("pod", dir, "west", kept); err != nil {
		t.Fatal(err)
	}
	conf, found, err := load(filepath.Join(dir, "pod-west"))
	if err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
	if got := (state{conf.DPDKMode, conf.Master, conf.Vlan, conf.VFID, conf.HostIFNames, conf.ContIFNames}); got != kept {
		t.Errorf("got %+v, want %+v", got, kept)
	}
	if _, found, err := load(filepath.Join(dir, "pod-east")); err != nil || found {
		t.Errorf("what was never kept is found: %v, %v", found, err)
	}
}

// fakeHost counts what it is asked for, and fails where an error is set.
type fakeHost struct {
	released, resets         []string
	releaseFails, resetFails error
}

func (h *fakeHost) release(conf *sriovtypes.NetConf, netns, name string) error {
	h.released = append(h.released, netns+" "+name+" "+conf.HostIFNames)
	return h.releaseFails
}

func (h *fakeHost) reset(conf *sriovtypes.NetConf) error {
	h.resets = append(h.resets, fmt.Sprint(conf.Master, " ", conf.VFID))
	return h.resetFails
}

// TestDeleteAgain checks that DEL finishes after one that failed, wherever that was, and that there is nothing to do then.
func TestDeleteAgain(t *testing.T) {
	broken := errors.New("broken")
	args := &skel.CmdArgs{ContainerID: "pod", IfName: "west", Netns: "/pod"}
	for name, test := range map[string]struct {
		kept            state
		netns           string
		fails           fakeHost
		releases, reset int
	}{
		"nothing fails":               {state{Master: "gen0", VFID: 3, HostIFNames: "gen0v3"}, "/pod", fakeHost{}, 1, 1},
		"the interface stays":         {state{Master: "gen0", VFID: 3, HostIFNames: "gen0v3"}, "/pod", fakeHost{releaseFails: broken}, 2, 1},
		"the function keeps its tag":  {state{Master: "gen0", VFID: 3, HostIFNames: "gen0v3"}, "/pod", fakeHost{resetFails: broken}, 2, 2},
		"the pod has no network":      {state{Master: "gen0", VFID: 3, HostIFNames: "gen0v3"}, "", fakeHost{resetFails: broken}, 0, 2},
		"a function without a driver": {state{DPDKMode: true, Master: "gen0", VFID: 3}, "/pod", fakeHost{resetFails: broken}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir, h := t.TempDir(), test.fails
			args.Netns = test.netns
			if err := utils.SaveNetConf(args.ContainerID, dir, args.IfName, test.kept); err != nil {
				t.Fatal(err)
			}
			fails := h.releaseFails != nil || h.resetFails != nil
			if err := takeBack(&h, dir, args); (err != nil) != fails || err != nil && !errors.Is(err, broken) {
				t.Errorf("got the error %v", err)
			}
			if fails {
				h.releaseFails, h.resetFails = nil, nil
				if err := takeBack(&h, dir, args); err != nil {
					t.Errorf("a second time: %v", err)
				}
			}
			if err := takeBack(&h, dir, args); err != nil {
				t.Errorf("once all is done: %v", err)
			}
			if len(h.released) != test.releases || len(h.resets) != test.reset {
				t.Errorf("released %q, reset %q, want %d and %d times", h.released, h.resets, test.releases, test.reset)
			}
			for _, got := range h.resets {
				if got != "gen0 3" {
					t.Errorf("reset %s", got)
				}
			}
		})
	}
}

// inNamespace calls do on a separate thread, in a new network namespace, whose path it gets.
func inNamespace(do func(path string) error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the namespace ends with the thread
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		result <- do(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	}()
	return <-result
}

// inThread calls do on a separate thread, in the network namespace of a path.
func inThread(path string, do func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		file, err := os.Open(path)
		if err == nil {
			err = errors.Join(unix.Setns(int(file.Fd()), unix.CLONE_NEWNET), file.Close())
		}
		if err == nil {
			err = do()
		}
		result <- err
	}()
	return <-result
}

// TestReleaseAgain moves an interface from a pod's namespace to the node's, from each place where a DEL that failed may
// have left it. It needs root, as the lab does.
func TestReleaseAgain(t *testing.T) {
	conf := &sriovtypes.NetConf{HostIFNames: "gen0v3", ContIFNames: "west"}
	add := func(name string) error {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = name
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: "peer"})
	}
	for name, inPod := range map[string]string{"as ADD left it": "west", "renamed and not moved": "gen0v3", "moved": ""} {
		err := inNamespace(func(node string) error {
			if inPod == "" {
				if err := add("gen0v3"); err != nil {
					return err
				}
			}
			return inNamespace(func(pod string) error {
				if inPod != "" {
					if err := add(inPod); err != nil {
						return err
					}
				}
				return inThread(node, func() error {
					for range 2 {
						if err := (kernel{}).release(conf, pod, "west"); err != nil {
							return err
						}
						if _, err := netlink.LinkByName("gen0v3"); err != nil {
							return fmt.Errorf("it is not back: %w", err)
						}
					}
					return nil
				})
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	left := filepath.Join(t.TempDir(), "cni-1") // what an unmounted namespace leaves
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{left, left + "-gone"} {
		if err := (kernel{}).release(conf, path, "west"); err != nil {
			t.Errorf("a pod's namespace that is gone, %s: %v", filepath.Base(path), err)
		}
	}
	if err := (kernel{}).reset(&sriovtypes.NetConf{Master: "vnfbench-none", Vlan: 7}); err != nil {
		t.Errorf("a physical function that is gone: %v", err)
	}
	if err := clean(&sriovtypes.NetConf{Master: "vnfbench-none"}); err == nil || !strings.Contains(err.Error(), "vnfbench-none") || !isGone(err) {
		t.Errorf("ADD with a physical function that is gone: %v", err)
	}
}

//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/testing/netnstest"
	"vnfbench.io/operator/internal/vnf"
)

const testTimeout = time.Minute

// TestMain makes the test binary act as the vnf command of a pod.
func TestMain(m *testing.M) {
	if os.Getenv("VNF_TEST_COMMAND") == "1" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pod is a router's pod: its namespace, and its configuration in a file.
type pod struct {
	namespace *netnstest.Namespace
	config    string
}

func newPod(t *testing.T) *pod {
	t.Helper()
	west, east := netnstest.New(t, "gen-west"), netnstest.New(t, "gen-east")
	p := &pod{namespace: netnstest.New(t, "router"), config: filepath.Join(t.TempDir(), "config.json")}
	netnstest.Cable(t,
		netnstest.End{Namespace: west, Interface: "port0", MAC: "02:00:00:00:00:01"},
		netnstest.End{Namespace: p.namespace, Interface: "net1", MAC: "02:00:00:00:00:02"})
	netnstest.Cable(t,
		netnstest.End{Namespace: p.namespace, Interface: "net2", MAC: "02:00:00:00:01:01"},
		netnstest.End{Namespace: east, Interface: "port1", MAC: "02:00:00:00:01:02"})
	p.write(t, &vnf.Config{
		Function: vnf.FunctionRouter,
		Name:     "router-0",
		Ports: []vnf.Port{
			{Name: "west", MAC: "02:00:00:00:00:02", MTUBytes: 1500, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24"), netip.MustParsePrefix("2001:2::2/64")}},
			{Name: "east", MAC: "02:00:00:00:01:01", MTUBytes: 1500, Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.1.1/24"), netip.MustParsePrefix("2001:2:0:1::1/64")}},
		},
		Neighbors: []vnf.Neighbor{{Address: netip.MustParseAddr("198.18.1.2"), MAC: "02:00:00:00:01:02", Port: "east"}},
	})
	return p
}

func (p *pod) write(t *testing.T, config any) {
	t.Helper()
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.config, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tune sets what the tuning CNI plugin sets before a pod starts.
func (p *pod) tune(t *testing.T) {
	t.Helper()
	p.namespace.Must(t, func() error {
		for _, iface := range []string{"net1", "net2"} {
			for _, sysctl := range vnf.Sysctls(true, true) {
				if err := os.WriteFile("/proc/sys/"+sysctl.Path(iface), []byte(sysctl.Value), 0o644); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// start runs vnf as its container does: with NET_ADMIN alone, no new privileges, and a read-only
// file system.
func (p *pod) start(t *testing.T, output *lockedBuffer, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self, args...)
	command.Env = []string{"VNF_TEST_COMMAND=1"}
	command.Stdout, command.Stderr = output, output
	p.namespace.Must(t, func() error {
		if err := sealContainer(); err != nil {
			return fmt.Errorf("sealing the container: %w", err)
		}
		return command.Start()
	})
	return command
}

func (p *pod) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	output := &lockedBuffer{}
	err := p.start(t, output, args...).Wait()
	return output.String(), err
}

// sealContainer removes from the calling thread what a pod does not have.
func sealContainer() error {
	err := errors.Join(
		unix.Unshare(unix.CLONE_NEWNS),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}),
	)
	const lastCapability = 63
	for capability := range uintptr(lastCapability + 1) {
		if capability == unix.CAP_NET_ADMIN {
			continue
		}
		// The kernel may know fewer capabilities; unknown ones need no dropping.
		if dropErr := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); dropErr != nil && !errors.Is(dropErr, unix.EINVAL) {
			err = errors.Join(err, dropErr)
		}
	}
	return errors.Join(err, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}

// eventually runs `vnf ready` until it prints the wanted text; "" means ready.
func (p *pod) eventually(t *testing.T, want string) {
	t.Helper()
	deadline := time.Now().Add(testTimeout)
	for {
		output, err := p.run(t, "ready")
		if want == "" && err == nil || want != "" && err != nil && strings.Contains(output, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("vnf ready: %v %q, want %q", err, output, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestPod(t *testing.T) {
	p := newPod(t)
	p.tune(t)
	log := &lockedBuffer{}
	router := p.start(t, log, "run", "--config", p.config)
	ended := make(chan error, 1)
	go func() { ended <- router.Wait() }()
	t.Cleanup(func() { _ = router.Process.Kill() })

	p.eventually(t, "")
	requireOnlyNetAdmin(t, router.Process.Pid)
	p.requireStatus(t)
	p.requireARP(t, false)
	terminated := time.Now()
	if err := router.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("after SIGTERM: %v", err)
		}
		t.Logf("ended after %s", time.Since(terminated))
	case <-time.After(testTimeout):
		t.Fatal("SIGTERM did not end it")
	}
	p.requireARP(t, true)
	for line := range strings.Lines(log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not a line of JSON: %s", line)
		}
	}
}

// TestLostPort checks that a ready function that loses a port ends, that its last line says why,
// that its ports have ARP then, and that it repairs the port after a new start.
func TestLostPort(t *testing.T) {
	p := newPod(t)
	p.tune(t)
	log := &lockedBuffer{}
	router := p.start(t, log, "run", "--config", p.config)
	t.Cleanup(func() { _ = router.Process.Kill() })
	p.eventually(t, "")
	if output, err := p.run(t, "link", "--config", p.config, "--port", "east", "--state", "down"); err != nil {
		t.Fatalf("link down: %v %s", err, output)
	}
	// No request is sent: the kernel's message alone ends it.
	if err := router.Wait(); router.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit code 1", err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "no longer forwards") || !strings.Contains(last, `port "east": interface "net2" is down`) {
		t.Errorf("the last line is %q", last)
	}
	p.requireARP(t, true)
	router = p.start(t, &lockedBuffer{}, "run", "--config", p.config)
	p.eventually(t, "")
	if err := router.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = router.Wait() // returns that it was killed
}

// requireARP checks whether the pod's ports have ARP switched on.
func (p *pod) requireARP(t *testing.T, on bool) {
	t.Helper()
	p.namespace.Must(t, func() error {
		for _, name := range []string{"net1", "net2"} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if got := link.Attrs().RawFlags&unix.IFF_NOARP == 0; got != on {
				t.Errorf("%s has ARP switched on: %t, want %t", name, got, on)
			}
		}
		return nil
	})
}

// requireOnlyNetAdmin checks that the process has no more rights than in a pod.
func requireOnlyNetAdmin(t *testing.T, pid int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("CapEff:\t%016x\n", 1<<unix.CAP_NET_ADMIN); !strings.Contains(string(status), want) {
		t.Errorf("no %q in\n%s", want, status)
	}
}

// getStatus asks the pod for its status.
func (p *pod) getStatus(t *testing.T, into any) {
	t.Helper()
	var connection net.Conn
	p.namespace.Must(t, func() (err error) {
		connection, err = net.Dial("tcp", "127.0.0.1:8080")
		return err
	})
	client := http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return connection, nil },
		DisableKeepAlives: true,
	}}
	response, err := client.Get("http://router/status")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func (p *pod) requireStatus(t *testing.T) {
	t.Helper()
	var status vnf.Status
	p.getStatus(t, &status)
	config, err := vnf.Load(p.config)
	if err != nil {
		t.Fatal(err)
	}
	if !status.Ready || status.ConfigurationDigest != config.Digest() {
		t.Errorf("ready %t, digest %s", status.Ready, status.ConfigurationDigest)
	}
	if len(status.Ports) != 2 || status.Ports[1].Interface != "net2" || status.Ports[1].Counters == nil {
		t.Errorf("ports %+v", status.Ports)
	}
	if status.CPU == nil || len(status.CPU.Node) == 0 || (status.CPU.Container == nil) == (status.CPU.ContainerProblem == "") {
		t.Errorf("processor time %+v %s", status.CPU, status.CPUProblem)
	}
}

// TestRestart checks that a container that was killed finds its own state.
func TestRestart(t *testing.T) {
	p := newPod(t)
	p.tune(t)
	for range 2 {
		router := p.start(t, &lockedBuffer{}, "run", "--config", p.config)
		p.eventually(t, "")
		if err := router.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = router.Wait() // returns that it was killed
		p.eventually(t, "connection refused")
	}
}

func TestRefusals(t *testing.T) {
	t.Run("forwarding off and read only", func(t *testing.T) {
		p := newPod(t)
		p.namespace.Must(t, func() error {
			return os.WriteFile("/proc/sys/net/ipv4/conf/net1/forwarding", []byte("0"), 0o644)
		})
		output, err := p.run(t, "run", "--config", p.config)
		if err == nil || !strings.Contains(output, `sysctl net.ipv4.conf.net1.forwarding is "0", must be "1" and cannot be written here`) {
			t.Errorf("got %v %s", err, output)
		}
	})
	t.Run("unknown function", func(t *testing.T) {
		p := newPod(t)
		p.write(t, map[string]any{"function": "Switch"})
		output, err := p.run(t, "run", "--config", p.config)
		if err == nil || !strings.Contains(output, `function: "Switch" is unknown, want one of ["Router"`) {
			t.Errorf("got %v %s", err, output)
		}
	})
	t.Run("unknown state of a link", func(t *testing.T) {
		p := newPod(t)
		output, err := p.run(t, "link", "--config", p.config, "--port", "east", "--state", "sideways")
		if err == nil || !strings.Contains(output, `--state: "sideways" is unknown`) {
			t.Errorf("got %v %s", err, output)
		}
	})
}

// lockedBuffer is written by a process and read by the test.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

//go:build linux

package observer

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	envRole   = "VNFBENCH_OBSERVER_TEST"
	roleGuest = "guest"
	roleLook  = "look"
	nobodyUID = 65532
)

// TestMain lets the test binary run as a virtual machine's process, and as an
// observer of another user.
func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case roleGuest:
		// Ends with its parent, which holds the other end.
		_, _ = io.Copy(io.Discard, os.Stdin)
	case roleLook:
		o, err := New("/", []string{"benchmarks_real"}, time.Now)
		if err != nil {
			os.Exit(1)
		}
		snapshot, err := o.Snapshot()
		if err != nil {
			snapshot.Problems = append(snapshot.Problems, err.Error())
		}
		if err := json.NewEncoder(os.Stdout).Encode(both{snapshot, o.Node()}); err != nil {
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

type both struct {
	Snapshot Snapshot
	Node     Node
}

// TestUnprivileged checks that a user without a capability sees root's processes, with their command lines,
// times and placement. The observer's pod has no more than that.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("another user's process can be made by root alone")
	}
	text, err := os.ReadFile("testdata/libvirt9-tcg.txt")
	if err != nil {
		t.Fatal(err)
	}
	// Both are copies that every user may run, in any build folder of the tests.
	folder, err := os.MkdirTemp("", "observer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "qemu-system-x86_64")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	arguments := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	for i := range arguments {
		arguments[i] = strings.ReplaceAll(arguments[i], "benchmarks_routers-666ff6cc-fn-r1", "benchmarks_real")
	}
	guest := exec.Command(binary, arguments...)
	guest.Env = []string{envRole + "=" + roleGuest}
	hold, err := guest.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := guest.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = hold.Close()
		_ = guest.Wait()
	})

	var out bytes.Buffer
	look := exec.Command(binary)
	look.Env = []string{envRole + "=" + roleLook}
	look.Stdout = &out
	look.Dir = "/"
	look.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyUID, Gid: nobodyUID}}
	var got both
	// The process has its name and command line a moment after its start.
	for end := time.Now().Add(time.Minute); len(got.Node.Domains) == 0 && time.Now().Before(end); {
		out.Reset()
		look := *look
		if err := look.Run(); err != nil {
			t.Fatal(err)
		}
		got = both{}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%q: %v", out.String(), err)
		}
	}
	if got.Snapshot.CPUs == 0 || len(got.Node.Domains) != 1 {
		t.Fatalf("%s", out.String())
	}
	domain := got.Node.Domains[0]
	if domain.CPUModel != "EPYC" || len(domain.NICs) != 3 || len(domain.Threads) == 0 || len(domain.Threads[0].CPUs) == 0 || len(domain.Threads[0].Scheduling) == 0 {
		t.Errorf("%+v", domain)
	}
	if got.Node.Facts.Fingerprint == nil || got.Node.Facts.Fingerprint.Kernel == "" {
		t.Errorf("%+v", got.Node.Facts)
	}
}

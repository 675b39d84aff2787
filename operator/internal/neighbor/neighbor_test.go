//go:build linux

package neighbor

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/netnstest"
)

func TestArguments(t *testing.T) {
	common := "--timeout 0 --oomable --metrics --yaml /s/account.yaml --temp-path /s "
	for name, test := range map[string]struct {
		load measure.NeighborLoad
		want string
	}{
		"cpu":         {measure.NeighborLoad{Kind: "CPU", Workers: 2, LoadPercent: 70}, common + "--cpu 2 --cpu-load 70"},
		"memory":      {measure.NeighborLoad{Kind: "Memory", Workers: 1, Bytes: 1 << 30}, common + "--vm 1 --vm-bytes 1073741824 --vm-keep"},
		"disk":        {measure.NeighborLoad{Kind: "Disk", Workers: 3, Bytes: 1 << 20}, common + "--hdd 3 --hdd-bytes 1048576 --hdd-opts fsync"},
		"no workers":  {load: measure.NeighborLoad{Kind: "CPU", LoadPercent: 70}},
		"no percent":  {load: measure.NeighborLoad{Kind: "CPU", Workers: 1}},
		"no bytes":    {load: measure.NeighborLoad{Kind: "Disk", Workers: 1}},
		"no such one": {load: measure.NeighborLoad{Kind: "GPU", Workers: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := arguments(test.load, "/s")
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" || (err == nil) != (test.want != "") {
				t.Error(diff, err)
			}
		})
	}
}

// testTimeout is longer than the awaited events take on a busy machine.
const testTimeout = 30 * time.Second

// newAgent serves an agent with the real stress-ng, or another program instead.
func newAgent(t *testing.T, program string) (*Client, string) {
	t.Helper()
	if program == "" {
		var err error
		if program, err = exec.LookPath("stress-ng"); err != nil {
			t.Fatalf("%v: install Debian's package stress-ng, or run `make prerequisites`", err)
		}
	}
	agent, err := New(program, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(agent.Handler())
	address := strings.TrimPrefix(server.URL, "http://")
	client := NewClient("", address)
	t.Cleanup(func() { client.Close(); server.Close(); agent.Stop() })
	return client, address
}

// TestStress checks that the real stress-ng loads, is stopped, and writes its account.
func TestStress(t *testing.T) {
	for name, load := range map[string]measure.NeighborLoad{
		"cpu": {Name: "n", Kind: "CPU", Workers: 1, LoadPercent: 50},
		"vm":  {Name: "n", Kind: "Memory", Workers: 1, Bytes: 4 << 20},
		"hdd": {Name: "n", Kind: "Disk", Workers: 1, Bytes: 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			client, address := newAgent(t, "")
			before, err := client.Start(t.Context(), address, load)
			if err != nil || !before.Running || before.Problem != "" || before.NotReady != "" || before.Account != AccountContainer {
				t.Fatalf("%+v, %v", before, err)
			}
			// On a busy machine a second may be too short for any work.
			var during Status
			for end := time.Now().Add(testTimeout); ; {
				time.Sleep(time.Second)
				during, err = client.Status(t.Context(), address)
				if err != nil || !during.Running || during.ElapsedNanoseconds <= before.ElapsedNanoseconds {
					t.Fatalf("%+v, %v", during, err)
				}
				used := time.Duration(during.CPUNanoseconds - before.CPUNanoseconds)
				if during.CPUProblem != "" || used > 50*time.Millisecond || time.Now().After(end) {
					break
				}
			}
			if during.CPUProblem == "" && during.CPUNanoseconds <= before.CPUNanoseconds {
				t.Errorf("it took no processor time: %+v", during)
			}
			after, err := client.Stop(t.Context(), address)
			if err != nil || after.Running || after.Problem != "" {
				t.Fatalf("%+v, %v", after, err)
			}
			if len(after.Stressors) != 1 || after.Stressors[0].Name != name || after.Stressors[0].Operations == 0 || after.Stressors[0].OperationsPerSecond == 0 {
				t.Errorf("its account is %+v", after.Stressors)
			}
			// It stays stopped, and its account stays.
			again, err := client.Stop(t.Context(), address)
			if err != nil || !cmp.Equal(again.Stressors, after.Stressors) {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// TestStressFails checks that a load that ends by itself reports why, and one that cannot start is refused.
func TestStressFails(t *testing.T) {
	program := filepath.Join(t.TempDir(), "stress-ng")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no such thing >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	client, address := newAgent(t, program)
	load := measure.NeighborLoad{Name: "n", Kind: "CPU", Workers: 1, LoadPercent: 100}
	if _, err := client.Start(t.Context(), address, load); err != nil {
		t.Fatal(err)
	}
	var status Status
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if status, err = client.Status(t.Context(), address); err != nil {
			t.Fatal(err)
		}
		if !status.Running {
			break
		}
	}
	if status.Running || !strings.Contains(status.Problem, "exit status 3: no such thing") {
		t.Errorf("%+v", status)
	}
	if stopped, err := client.Stop(t.Context(), address); err != nil || !strings.Contains(stopped.Problem, "exit status 3") {
		t.Errorf("%+v, %v", stopped, err)
	}
	missing, at := newAgent(t, filepath.Join(t.TempDir(), "absent"))
	if _, err := missing.Start(t.Context(), at, load); err == nil || !strings.Contains(err.Error(), "HTTP 422: starting") {
		t.Errorf("got %v", err)
	}
	for body, want := range map[string]string{`{"kind":"GPU","workers":1}`: "422", `{`: "400", `{"turbo":true}`: "400"} {
		response, err := http.Post("http://"+at+PathStart, "application/json", bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if !strings.HasPrefix(response.Status, want) {
			t.Errorf("%s: %s, want %s", body, response.Status, want)
		}
	}
}

// TestInGuest checks that a machine's agent starts nothing before Ready, or after Fail, and reports
// that; its account is that of all processors.
func TestInGuest(t *testing.T) {
	agent, err := NewInGuest("/absent", t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(agent.Handler())
	address := strings.TrimPrefix(server.URL, "http://")
	client := NewClient("", address)
	t.Cleanup(func() { client.Close(); server.Close() })
	disk := measure.NeighborLoad{Name: "n", Kind: measure.NeighborDisk, Workers: 1, Bytes: 1 << 20}
	requireState := func(reason, refusal string) {
		t.Helper()
		response, err := http.Get(server.URL + PathReady)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		want := http.StatusOK
		if reason != "" {
			want = http.StatusServiceUnavailable
		}
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", PathReady, response.Status, want)
		}
		status, err := client.Status(t.Context(), address)
		if err != nil || status.NotReady != reason || status.Account != AccountMachine {
			t.Errorf("%+v, %v, want reason %q", status, err, reason)
		}
		if _, err := client.Start(t.Context(), address, disk); err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("started: %v, want %q", err, refusal)
		}
	}
	requireState(errNotConfigured.Error(), `neighbor "n" is not ready: `+errNotConfigured.Error())
	agent.Ready(errors.New("no disk"))
	requireState("", `neighbor "n" has nothing to write to: no disk`)
	agent.Ready(nil)
	requireState("", "starting /absent")
	agent.Fail(errors.New("a card is missing"))
	requireState("a card is missing", "a card is missing")

	// The test itself, and every other process here, takes processor time.
	for end := time.Now().Add(10 * time.Second); agent.Status().CPUNanoseconds == 0; {
		if time.Now().After(end) {
			t.Fatal("no processor time was counted")
		}
	}
}

func TestAccount(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no metrics": "---\nsystem-info:\n  cpus: 2\n...\n", "broken": "metrics: [",
	} {
		path := filepath.Join(t.TempDir(), accountFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readAccount(path); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if _, err := readAccount(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an account that is not there was read")
	}
}

// TestFrames checks that frames pass between two ports at their rate, and end with the load.
func TestFrames(t *testing.T) {
	for directions, ways := range map[string]float64{"Both": 2, "Forward": 1} {
		t.Run(directions, func(t *testing.T) {
			ns := netnstest.New(t, "neighbor")
			netnstest.Cable(t, netnstest.End{Namespace: ns, Interface: "west", MAC: "02:00:00:00:00:01"},
				netnstest.End{Namespace: ns, Interface: "east", MAC: "02:00:00:00:00:02"})
			ns.Must(t, func() error {
				load := measure.NeighborLoad{Name: "n", Kind: "Network", FramesPerSecond: 2000, FrameBytes: 512, Directions: directions}
				f, err := startFrames(load, InterfaceWest, InterfaceEast)
				if err != nil {
					return err
				}
				begun, wanted := time.Now(), uint64(100*ways)
				for sent := uint64(0); sent < wanted && f.running() && time.Since(begun) < testTimeout; sent, _ = f.frames() {
					time.Sleep(time.Second)
				}
				if !f.running() {
					t.Error(f.problem())
				}
				if _, err := f.stop(); err != nil {
					return err
				}
				sent, received := f.frames()
				// A busy machine may send fewer, but never more.
				if most := uint64(2000 * ways * 1.5 * time.Since(begun).Seconds()); sent < wanted || sent > most || received != sent {
					t.Errorf("sent %d, received %d", sent, received)
				}
				time.Sleep(50 * time.Millisecond)
				if later, _ := f.frames(); later != sent {
					t.Errorf("it continued: %d, then %d", sent, later)
				}
				return nil
			})
		})
	}
}

func TestFramesRefused(t *testing.T) {
	ns := netnstest.New(t, "neighbor")
	netnstest.Cable(t, netnstest.End{Namespace: ns, Interface: "west", MAC: "02:00:00:00:00:01"},
		netnstest.End{Namespace: ns, Interface: "east", MAC: "02:00:00:00:00:02"})
	good := measure.NeighborLoad{Name: "n", Kind: "Network", FramesPerSecond: 10, FrameBytes: 512, Directions: "Both"}
	for name, test := range map[string]struct {
		change func(*measure.NeighborLoad)
		east   string
		want   string
	}{
		"no rate":    {func(l *measure.NeighborLoad) { l.FramesPerSecond = 0 }, "east", "is not a load"},
		"too small":  {func(l *measure.NeighborLoad) { l.FrameBytes = 63 }, "east", "is not a load"},
		"too large":  {func(l *measure.NeighborLoad) { l.FrameBytes = 1519 }, "east", "exceed its MTU of 1500"},
		"no way":     {func(l *measure.NeighborLoad) { l.Directions = "Up" }, "east", "is not Both"},
		"no port":    {func(*measure.NeighborLoad) {}, "north", `port "north"`},
		"port is up": {func(*measure.NeighborLoad) {}, "east", ""},
	} {
		t.Run(name, func(t *testing.T) {
			load := good
			test.change(&load)
			ns.Must(t, func() error {
				f, err := startFrames(load, "west", test.east)
				if err == nil {
					_, err = f.stop()
				}
				if got := errorText(err); !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
					t.Errorf("got %q, want %q", got, test.want)
				}
				return nil
			})
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

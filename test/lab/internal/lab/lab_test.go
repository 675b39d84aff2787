package lab

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/enter"
	"vnfbench.io/test/lab/internal/progress"
)

func TestParseImages(t *testing.T) {
	const table = `REF                   TYPE                                       DIGEST      SIZE      PLATFORMS   LABELS
localhost/a:1         application/vnd.oci.image.manifest.v1+json sha256:0123 1.9 MiB   linux/amd64 io.cri-containerd.image=managed
localhost/new:1       application/vnd.oci.image.manifest.v1+json sha256:4567 1.9 MiB   linux/amd64 -
`
	got := parseImages(table)
	want := map[string]nodeImage{
		"localhost/a:1":   {digest: "sha256:0123", managed: true},
		"localhost/new:1": {digest: "sha256:4567"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(nodeImage{})); diff != "" {
		t.Errorf("unexpected images (-want +got):\n%s", diff)
	}
}

func TestNodeReadyIsFresh(t *testing.T) {
	start := time.Unix(1000, 0)
	tests := map[string]struct {
		condition condition
		want      bool
	}{
		"ready":                  {condition{"Ready", "True", start}, true},
		"ready before the start": {condition{"Ready", "True", start.Add(-time.Second)}, false},
		"not ready":              {condition{"Ready", "False", start}, false},
		"another condition":      {condition{"DiskPressure", "True", start}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var n nodeObject
			n.Status.Conditions = []condition{test.condition}
			if got := n.ready(start); got != test.want {
				t.Errorf("ready: %t, want %t", got, test.want)
			}
		})
	}
}

func TestRecordSurvives(t *testing.T) {
	m := Lab{Settings: Settings{StateDir: t.TempDir()}}.member(1)
	if got, err := m.load(); err != nil || got != (record{}) {
		t.Errorf("without a record: %+v, %v", got, err)
	}
	want := record{BootID: "b", Port: 1, Fingerprint: "f", KubeDir: "k"}
	want.PID, want.StartTicks = 7, 8
	if err := m.save(want); err != nil {
		t.Fatal(err)
	}
	got, err := m.load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected record (-want +got):\n%s", diff)
	}
}

func TestKillKeepsTheState(t *testing.T) {
	l := Lab{Settings: Settings{StateDir: filepath.Join(t.TempDir(), "lab")}, Log: progress.New(io.Discard)}
	if err := l.Kill(t.Context(), ""); !errors.Is(err, ErrNotUp) {
		t.Errorf("without a lab: %v, want %v", err, ErrNotUp)
	}
	if _, err := os.Stat(l.StateDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("killing no lab made its directory: %v", err)
	}
	lock, err := l.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
	first := exec.Command("sleep", "60")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	want := record{BootID: "b", Port: 1, Fingerprint: "f"}
	if want.Node, err = enter.Identify(first.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := l.member(1).save(want); err != nil {
		t.Fatal(err)
	}
	if err := l.Kill(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if err := first.Wait(); err == nil {
		t.Error("the node's process ended by itself")
	}
	if got, err := l.member(1).load(); err != nil || got != want {
		t.Errorf("the record is %+v, %v, want %+v as before", got, err, want)
	}
	if err := l.Kill(t.Context(), ""); !errors.Is(err, ErrNotUp) {
		t.Errorf("a second time: %v, want %v", err, ErrNotUp)
	}
}

func TestGroupsDiffer(t *testing.T) {
	a, b := Lab{Settings: Settings{StateDir: "/a"}}, Lab{Settings: Settings{StateDir: "/b"}}
	groups := map[string]bool{}
	for _, m := range []member{a.member(1), a.member(2), b.member(1), b.member(2)} {
		if groups[m.group()] {
			t.Errorf("two nodes have the control group %q", m.group())
		}
		groups[m.group()] = true
	}
}

func TestListenRefusesATakenPort(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, err = listen(other.Addr().(*net.TCPAddr).Port)
	if !errors.Is(err, errPortTaken) {
		t.Errorf("got the error %v", err)
	}
}

func TestLockRefusesOtherDirectories(t *testing.T) {
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		dir     string
		refused bool
	}{
		"someone's":  {foreign, true},
		"empty":      {t.TempDir(), false},
		"not there":  {filepath.Join(t.TempDir(), "a", "b"), false},
		"not a name": {filepath.Join(foreign, "letter"), true},
	} {
		t.Run(name, func(t *testing.T) {
			l := Lab{Settings: Settings{StateDir: test.dir}}
			for range 2 { // the second time it is a lab's
				lock, err := l.lock(t.Context())
				if (err != nil) != test.refused {
					t.Fatalf("got the error %v", err)
				}
				if err == nil {
					lock.Unlock()
				}
			}
		})
	}
}

func TestIsCacheEntry(t *testing.T) {
	for name, want := range map[string]bool{
		"kube-0123456789abcdef": true, ".kube.lock": true, ".rootfs.tmp-123": true,
		"kubevirt-images-0123456789abcdef": true, ".kubevirt-rootfs.lock": true,
		"lab": false, "other": false, "kubernetes": false, "tools": false,
	} {
		if got := isCacheEntry(name); got != want {
			t.Errorf("isCacheEntry(%q) = %t, want %t", name, got, want)
		}
	}
}

func TestStartedOfThisProcess(t *testing.T) {
	var r record
	r.PID = os.Getpid()
	// A process that started at boot is as old as the machine's uptime.
	if age := time.Since(r.started()); age <= 0 {
		t.Errorf("the machine's boot was %s ago", age)
	}
}

func TestMembersAreThoseWithARecord(t *testing.T) {
	l := Lab{Settings: Settings{StateDir: t.TempDir()}}
	if got, err := l.members(); err != nil || len(got) != 0 {
		t.Errorf("a new lab has the nodes %v, %v", got, err)
	}
	if _, err := l.find("node2"); err == nil {
		t.Error("a new lab has node2")
	}
	for _, number := range []int{2, 1} {
		if err := l.member(number).save(record{Fingerprint: "f"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.members()
	if err != nil || len(got) != 2 || got[0].node.Name() != "node1" || got[1].node.Name() != "node2" {
		t.Errorf("the nodes are %v, %v", got, err)
	}
	for name, want := range map[string]string{"": "node1", "node1": "node1", "node2": "node2"} {
		if m, err := l.find(name); err != nil || m.node.Name() != want {
			t.Errorf("find(%q) is %s, %v, want %s", name, m.node.Name(), err, want)
		}
	}
	if _, err := l.find("node3"); err == nil || !strings.Contains(err.Error(), "node2") {
		t.Errorf("node3: the error %v does not name the nodes that exist", err)
	}
}

func TestNodeOneIsWhereItWas(t *testing.T) {
	l := Lab{Settings: Settings{StateDir: "/state"}}
	for number, want := range map[int]string{1: "/state/data", 2: "/state/node2/data"} {
		if got := l.member(number).path("data"); got != want {
			t.Errorf("node %d is in %s, want %s", number, got, want)
		}
	}
}

func TestWantedWorkers(t *testing.T) {
	for name, test := range map[string]struct{ recorded, wanted, workers int }{
		"a new lab":                     {0, 0, 0},
		"one, asked for nothing":        {1, 0, 0},
		"two, asked for nothing":        {2, 0, 1},
		"a new lab, asked for two":      {0, 2, 1},
		"one node, asked for another":   {1, 2, 1},
		"two nodes, asked for only one": {2, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := Lab{Settings: Settings{StateDir: t.TempDir(), Nodes: test.wanted}}
			for number := 1; number <= test.recorded; number++ {
				if err := l.member(number).save(record{}); err != nil {
					t.Fatal(err)
				}
			}
			workers, err := l.workers()
			if err != nil || len(workers) != test.workers {
				t.Fatalf("the workers are %v, %v, want %d", workers, err, test.workers)
			}
			for i, w := range workers {
				if w.node.Number != i+2 {
					t.Errorf("worker %d is %s", i, w.node.Name())
				}
			}
		})
	}
}

func TestStatusOfTwoNodes(t *testing.T) {
	one := NodeStatus{Name: "node1", Running: true, Ready: true, Version: "v1", PID: 7, Age: time.Minute}
	down := NodeStatus{Name: "node2"}
	up := NodeStatus{Name: "node2", Running: true, Ready: true, PID: 8, Age: time.Second}
	for name, test := range map[string]struct {
		nodes     []NodeStatus
		ready     bool
		says, not string
	}{
		"no node":        {nil, false, "down", "node"},
		"one":            {[]NodeStatus{one}, true, "up for 1m0s, process 7", "node2"},
		"one, not ready": {[]NodeStatus{{Name: "node1", Running: true}}, false, "NOT READY", "node2"},
		"two":            {[]NodeStatus{one, up}, true, "ready, up for 1s, process 8", "DOWN"},
		"one is lost":    {[]NodeStatus{one, down}, false, "DOWN", "NOT READY"},
		"only a worker":  {[]NodeStatus{{Name: "node1"}, up}, false, "down", "node2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Status{Nodes: test.nodes}
			if s.Ready() != test.ready {
				t.Errorf("ready: %t", s.Ready())
			}
			var out strings.Builder
			if err := s.Print(&out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), test.says) || strings.Contains(out.String(), test.not) {
				t.Errorf("it prints\n%swhich is to say %q and not %q", out.String(), test.says, test.not)
			}
		})
	}
}

func TestKillOneNode(t *testing.T) {
	l := Lab{Settings: Settings{StateDir: filepath.Join(t.TempDir(), "lab")}, Log: progress.New(io.Discard)}
	lock, err := l.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
	nodes := map[int]*exec.Cmd{1: exec.Command("sleep", "60"), 2: exec.Command("sleep", "60")}
	for number, cmd := range nodes {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := record{Fingerprint: "f"}
		if r.Node, err = enter.Identify(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		if err := l.member(number).save(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Kill(t.Context(), "node2"); err != nil {
		t.Fatal(err)
	}
	if err := nodes[2].Wait(); err == nil {
		t.Error("node2 ended by itself")
	}
	if _, err := l.Running(); err != nil {
		t.Errorf("node1 ended with node2: %v", err)
	}
	if err := l.Kill(t.Context(), "node2"); !errors.Is(err, ErrNotUp) {
		t.Errorf("a second time: %v, want %v", err, ErrNotUp)
	}
	if err := l.Kill(t.Context(), ""); err != nil { // those that run
		t.Error(err)
	}
	if err := nodes[1].Wait(); err == nil {
		t.Error("node1 ended by itself")
	}
}

// TestSurplusNodes checks which nodes the settings ask to remove.
func TestSurplusNodes(t *testing.T) {
	for name, test := range map[string]struct {
		settings Settings
		want     []int
	}{
		"as they are":         {Settings{}, nil},
		"one node":            {Settings{Nodes: 1}, []int{2}},
		"two nodes":           {Settings{Nodes: 2}, nil},
		"without the machine": {Settings{WithoutHardware: true}, []int{config.MachineNumber}},
		"one node, without":   {Settings{Nodes: 1, WithoutHardware: true}, []int{2, config.MachineNumber}},
		"with the machine":    {Settings{Nodes: 1, Hardware: true}, []int{2}},
	} {
		var got []int
		for number := 1; number <= config.MaxNodes; number++ {
			if (Lab{Settings: test.settings}).isSurplus(config.Node{Number: number}) {
				got = append(got, number)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestFingerprintKnowsTheNetwork checks that a node starts again when a later version of the lab has other nodes: a node
// that kept its old routes would not reach their pods.
func TestFingerprintKnowsTheNetwork(t *testing.T) {
	for number := 1; number < config.MachineNumber; number++ { // the machine needs its tree
		m := Lab{}.member(number)
		parts, err := m.ingredients(artifacts{})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{m.node.Prefix(), config.Gateway}
		for _, other := range m.node.Others() {
			want = append(want, other.PodCIDR(), other.IP())
		}
		for _, part := range want {
			if !slices.Contains(parts, part) {
				t.Errorf("the fingerprint of %s does not depend on %s", m.node.Name(), part)
			}
		}
	}
}

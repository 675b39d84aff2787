package lab

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	l := Lab{Settings: Settings{StateDir: t.TempDir()}}
	if got, err := l.load(); err != nil || got != (record{}) {
		t.Errorf("without a record: %+v, %v", got, err)
	}
	want := record{BootID: "b", Port: 1, Fingerprint: "f", KubeDir: "k"}
	want.PID, want.StartTicks = 7, 8
	if err := l.save(want); err != nil {
		t.Fatal(err)
	}
	got, err := l.load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected record (-want +got):\n%s", diff)
	}
}

func TestKillKeepsTheState(t *testing.T) {
	l := Lab{Settings: Settings{StateDir: filepath.Join(t.TempDir(), "lab")}, Log: progress.New(io.Discard)}
	if err := l.Kill(t.Context()); !errors.Is(err, ErrNotUp) {
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
	if err := l.save(want); err != nil {
		t.Fatal(err)
	}
	if err := l.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if err := first.Wait(); err == nil {
		t.Error("the node's process ended by itself")
	}
	if got, err := l.load(); err != nil || got != want {
		t.Errorf("the record is %+v, %v, want %+v as before", got, err, want)
	}
	if err := l.Kill(t.Context()); !errors.Is(err, ErrNotUp) {
		t.Errorf("a second time: %v, want %v", err, ErrNotUp)
	}
}

func TestGroupsDiffer(t *testing.T) {
	a, b := Lab{Settings: Settings{StateDir: "/a"}}, Lab{Settings: Settings{StateDir: "/b"}}
	if a.group() == b.group() {
		t.Errorf("two labs have the control group %q", a.group())
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

package doctor

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestWorst(t *testing.T) {
	fine := []Finding{ok("a", "there"), {"b", Warning, "little", "get more"}}
	if err := Worst(fine); err != nil {
		t.Errorf("got the error %v", err)
	}
	err := Worst(append(fine, Finding{"c", Missing, "absent", "install it"}))
	if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "c: absent; install it") {
		t.Errorf("got the error %v", err)
	}
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, []Finding{ok("a", "there"), {"bb", Missing, "absent", "install it"}}); err != nil {
		t.Fatal(err)
	}
	want := "ok       a   there\nMISSING  bb  absent\n             -> install it\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("unexpected table (-want +got):\n%s", diff)
	}
}

func TestGoMinor(t *testing.T) {
	for version, want := range map[string]int{
		"go1.26.8": 26, "go1.27": 27, "go1.28rc1": 28, "go1.26.8 X:nodwarf5": 26, "devel": 0, "": 0, "go2.1": 0,
	} {
		if got := goMinor(version); got != want {
			t.Errorf("goMinor(%q) = %d, want %d", version, got, want)
		}
	}
}

func TestParseRelease(t *testing.T) {
	got := parseRelease(strings.NewReader("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n\n# comment\n"))
	want := map[string]string{"PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)", "ID": "debian"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected values (-want +got):\n%s", diff)
	}
}

func TestAvailableBytes(t *testing.T) {
	for meminfo, want := range map[string]uint64{
		"MemTotal:  8 kB\nMemAvailable:  4 kB\n": 4096,
		"MemTotal:  8 kB\n":                      0,
		"":                                       0,
	} {
		if got := availableBytes(meminfo); got != want {
			t.Errorf("availableBytes(%q) = %d, want %d", meminfo, got, want)
		}
	}
}

func TestJudgeControllers(t *testing.T) {
	tests := map[string]struct {
		controllers string
		want        Verdict
	}{
		"all":       {"cpu cpuset memory pids io", OK},
		"no memory": {"cpu cpuset pids", Missing},
		"none":      {"", Missing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judgeControllers("groups", "version 2", strings.Fields(test.controllers)); got.Verdict != test.want {
				t.Errorf("got %+v, want %s", got, test.want)
			}
		})
	}
}

func TestExistingFindsTheNearestDirectory(t *testing.T) {
	dir := t.TempDir()
	if got := existing(dir + "/not/there"); got != dir {
		t.Errorf("got %q, want %q", got, dir)
	}
}

func TestVirtualMachinesNeedACompiler(t *testing.T) {
	packages := func(m Machine) string {
		var names []string
		for _, r := range m.requirements() {
			names = append(names, r.pkg)
		}
		return strings.Join(names, " ")
	}
	if got := packages(Machine{}); got != "debootstrap" {
		t.Errorf("a lab without virtual machines wants %q", got)
	}
	if got := packages(Machine{Hardware: true}); got != "debootstrap e2fsprogs" {
		t.Errorf("a lab with the emulated machine wants %q", got)
	}
	if got := packages(Machine{KubeVirt: true}); got != "debootstrap gcc libc6-dev linux-libc-dev" {
		t.Errorf("a lab with virtual machines wants %q", got)
	}
}

func TestEmulation(t *testing.T) {
	pc := func(change func(*offer)) offer {
		o := offer{architecture: "amd64", memoryBytes: 16 << 30, diskBytes: 16 << 30, noKVM: errors.New("no vmx")}
		change(&o)
		return o
	}
	tests := map[string]struct {
		offer offer
		want  map[string]Verdict
	}{
		"a PC":           {pc(func(*offer) {}), map[string]Verdict{"emulated machine": OK}},
		"little memory":  {pc(func(o *offer) { o.memoryBytes = 2 << 30 }), map[string]Verdict{"emulated machine": OK, "memory for it": Warning}},
		"little disk":    {pc(func(o *offer) { o.diskBytes = 2 << 30 }), map[string]Verdict{"emulated machine": OK, "disk for it": Warning}},
		"no tap":         {pc(func(o *offer) { o.noTaps = unix.ENOENT }), map[string]Verdict{"emulated machine": OK, "network for it": Missing}},
		"another kind":   {pc(func(o *offer) { o.architecture = "arm64" }), map[string]Verdict{"emulated machine": Missing}},
		"enough, barely": {pc(func(o *offer) { o.memoryBytes, o.diskBytes = machineMemoryBytes, machineDiskBytes }), map[string]Verdict{"emulated machine": OK}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]Verdict{}
			for _, f := range checkEmulation(test.offer) {
				got[f.Subject] = f.Verdict
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("unexpected verdicts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTryTap creates a tap interface, and then tries it where /dev/net/tun is covered. It needs root, as the lab does.
func TestTryTap(t *testing.T) {
	if err := onThread(tryTap); err != nil {
		t.Errorf("with /dev/net/tun: %v", err)
	}
	covered := errors.New("not reached")
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", "/dev/net", "tmpfs", 0, ""); err != nil {
			return err
		}
		covered = tryTap()
		return nil
	})
	if err != nil {
		t.Fatalf("covering /dev/net: %v", err)
	}
	if !errors.Is(covered, unix.ENOENT) {
		t.Errorf("without /dev/net/tun: %v", covered)
	}
	err = Worst(checkEmulation(offer{architecture: "amd64", noTaps: covered}))
	if !errors.Is(err, ErrUnfit) {
		t.Fatalf("without /dev/net/tun the machine fits: %v", err)
	}
	for _, want := range []string{"/dev/net/tun: ", "modprobe tun", "lab up --hardware=false"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

package observer

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfbench.io/operator/internal/measure"
)

const tuned = "benchmarks_routers-666ff6cc-fn-fw"

// tunedGuest returns a virtual machine on a kernel that runs vhost outside of QEMU's process.
func tunedGuest(t *testing.T) *node {
	n := newNode(t)
	n.thread("proc/15", "ksoftirqd/0", taskTime{kernel: true, system: 12})
	n.thread("proc/21", "ksoftirqd/1", taskTime{kernel: true, system: 3})
	n.thread("proc/4100", "vhost-4000", taskTime{kernel: true, system: 600, start: 901, cpus: "0-1"})
	n.thread("proc/4101", "vhost-4000", taskTime{kernel: true, system: 40, start: 902, cpus: "0-1"})
	n.thread("proc/4200", "vhost-99", taskTime{kernel: true, system: 7777, start: 902})
	n.guest(4000, "libvirt10-kvm.txt", taskTime{user: 1010, system: 190, start: 900}, map[string]taskTime{
		"4000 qemu-kvm":        {user: 50, system: 30, cpus: "0"},
		"4002 IO iothread1":    {system: 5, cpus: "0"},
		"4003 IO mon_iothread": {system: 1, cpus: "0"},
		"4005 CPU 0/KVM":       {user: 500, system: 60, guest: 480, cpus: "2", policy: 1, priority: 1},
		"4006 CPU 1/KVM":       {user: 400, system: 40, guest: 390, cpus: "3", policy: 1, priority: 1},
		"4007 kvm-nx-lpage-re": {system: 2, cpus: "0-1"},
	})
	return n
}

func TestSnapshot(t *testing.T) {
	now := time.Unix(1000, 0)
	o := tunedGuest(t).observer([]string{tuned}, func() time.Time { return now })
	now = now.Add(1500 * time.Millisecond)
	got, err := o.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	want := Snapshot{
		StartedAt: time.Unix(1000, 0), ElapsedNanoseconds: 1_500_000_000, CPUs: 2,
		Node: measure.CPUTime{
			UserMilliseconds: 40_000, NiceMilliseconds: 1500, SystemMilliseconds: 7000, IdleMilliseconds: 900_000, IOWaitMilliseconds: 400,
			IRQMilliseconds: 100, SoftirqMilliseconds: 3000, StealMilliseconds: 600, GuestMilliseconds: 10_500,
		},
		SoftirqThreadsMilliseconds: new(int64(150)),
		Guests: []GuestTime{{Name: tuned, Process: 4000, StartTicks: 900, DomainTime: measure.DomainTime{
			VCPUMilliseconds: new(int64(10_000)), GuestMilliseconds: new(int64(8700)),
			// 12000 minus what the other classes of the process used.
			EmulatorMilliseconds: new(int64(1930)), IOThreadMilliseconds: new(int64(50)),
			VhostMilliseconds: new(int64(6400)), OtherMilliseconds: new(int64(20)),
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAbsent checks that what the node does not show is absent, with a reason, and not 0.
func TestAbsent(t *testing.T) {
	n := newNode(t)
	n.guest(4000, "libvirt10-kvm.txt", taskTime{user: 10, start: 900}, map[string]taskTime{"4000 qemu-kvm": {user: 10}})
	o := n.observer([]string{tuned, "benchmarks_gone"}, time.Now)
	s, err := o.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if s.SoftirqThreadsMilliseconds != nil || len(s.Guests) != 1 || s.Guests[0].VhostMilliseconds != nil || s.Guests[0].VCPUMilliseconds != nil {
		t.Errorf("%+v", s)
	}
	if len(s.Problems) != 2 || !strings.Contains(s.Problems[0], "ksoftirqd") || !strings.Contains(s.Problems[1], "benchmarks_gone") {
		t.Errorf("%q", s.Problems)
	}
	node := o.Node()
	if len(node.Domains) != 1 || len(node.Domains[0].Problems) != 1 || !strings.Contains(node.Domains[0].Problems[0], "no vhost thread") {
		t.Errorf("%+v", node.Domains)
	}
	if len(node.Problems) != 2 {
		t.Errorf("%q", node.Problems)
	}
	n.remove("proc/stat")
	if s, err := o.Snapshot(); err == nil {
		t.Errorf("got %+v without /proc/stat", s)
	}
}

// TestEmulatedThreads reads the threads of KubeVirt's QEMU under emulation, by their names in the lab; the
// first helper has the process's own.
func TestEmulatedThreads(t *testing.T) {
	n := newNode(t)
	n.guest(15509, "libvirt9-tcg.txt", taskTime{user: 760, start: 900}, map[string]taskTime{
		"15509 qemu-kvm": {user: 14}, "15515 qemu-kvm": {user: 5}, "15516 IO mon_iothread": {user: 8}, "15517 CPU 0/TCG": {user: 729}, "16340 worker": {},
	})
	o := n.observer([]string{"benchmarks_routers-666ff6cc-fn-r1"}, time.Now)
	s, err := o.Snapshot()
	if err != nil || len(s.Guests) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if g := s.Guests[0]; *g.VCPUMilliseconds != 7290 || *g.EmulatorMilliseconds != 310 || g.OtherMilliseconds != nil || g.VhostMilliseconds != nil {
		t.Errorf("%+v", g)
	}
	domains := o.Node().Domains
	if len(domains) != 1 || len(domains[0].Problems) > 0 || len(domains[0].Threads) != 2 || domains[0].Threads[1].Count != 4 {
		t.Errorf("%+v", domains)
	}
}

// TestFindsAgain checks that a process that was restarted, under any number, is found again.
func TestFindsAgain(t *testing.T) {
	n := newNode(t)
	n.thread("proc/15", "ksoftirqd/0", taskTime{kernel: true})
	o := n.observer([]string{tuned}, time.Now)
	if s, err := o.Snapshot(); err != nil || len(s.Guests) != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, start := range []int{900, 1900} {
		n.guest(4000, "libvirt10-kvm.txt", taskTime{user: 10, start: start}, map[string]taskTime{"4000 qemu-kvm": {user: 10}})
		if s, err := o.Snapshot(); err != nil || len(s.Guests) != 1 || s.Guests[0].StartTicks != uint64(start) {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// TestVhostInTheProcess checks that vhost threads of kernels since Linux 6.4 are QEMU's own.
func TestVhostInTheProcess(t *testing.T) {
	n := newNode(t)
	n.guest(4000, "libvirt10-kvm.txt", taskTime{user: 10, system: 300, start: 900}, map[string]taskTime{
		"4000 qemu-kvm": {user: 10}, "4009 vhost-4000": {system: 250, cpus: "0-1"},
	})
	s, err := n.observer([]string{tuned}, time.Now).Snapshot()
	if err != nil || len(s.Guests) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if g := s.Guests[0]; *g.VhostMilliseconds != 2500 || *g.EmulatorMilliseconds != 600 {
		t.Errorf("vhost %d, emulator %d", *g.VhostMilliseconds, *g.EmulatorMilliseconds)
	}
}

func TestDomain(t *testing.T) {
	n := tunedGuest(t)
	got := n.observer([]string{tuned}, time.Now).Node()
	want := []measure.Domain{{
		Name: tuned, Emulator: "qemu-kvm", Accelerator: "kvm", MachineType: "pc-q35-rhel9.6.0", CPUModel: "host", VCPUs: 4,
		MemoryBacking: "Hugepages", HugepageKibibytes: new(int64(2097152)),
		NICs: []measure.DomainNIC{
			{Model: "virtio-net-pci-non-transitional", MAC: "02:aa:bb:cc:dd:10", Backend: "tap", Vhost: true, Queues: 4},
			{Model: "vfio-pci", HostAddress: "0000:3b:02.1"},
		},
		Threads: []measure.DomainThreads{
			{Class: measure.ThreadVCPU, Count: 2, CPUs: []string{"2", "3"}, Scheduling: []measure.ThreadScheduling{{Policy: "FIFO", Priority: 1}}},
			{Class: measure.ThreadEmulator, Count: 2, CPUs: []string{"0"}, Scheduling: []measure.ThreadScheduling{{Policy: "Other"}}},
			{Class: measure.ThreadIO, Count: 1, CPUs: []string{"0"}, Scheduling: []measure.ThreadScheduling{{Policy: "Other"}}},
			{Class: measure.ThreadVhost, Count: 2, CPUs: []string{"0-1"}, Scheduling: []measure.ThreadScheduling{{Policy: "Other"}}},
			{Class: measure.ThreadOther, Count: 1, CPUs: []string{"0-1"}, Scheduling: []measure.ThreadScheduling{{Policy: "Other"}}},
		},
	}}
	if diff := cmp.Diff(want, got.Domains); diff != "" || len(got.Problems) > 0 {
		t.Error(diff, got.Problems)
	}
}

func TestCommandLines(t *testing.T) {
	for fixture, want := range map[string]measure.Domain{
		// As KubeVirt 1.7 started it in the lab.
		"libvirt9-tcg.txt": {
			Emulator: "qemu-system-x86_64", Accelerator: "tcg", MachineType: "pc-q35-7.2", CPUModel: "EPYC", VCPUs: 1, MemoryBacking: "Anonymous",
			NICs: []measure.DomainNIC{
				{Model: "virtio-net-pci-non-transitional", MAC: "ee:17:94:ad:49:cb", Backend: "tap", Queues: 1},
				{Model: "e1000", MAC: "2a:29:e2:c9:5a:05", Backend: "tap", Queues: 1},
				{Model: "e1000", MAC: "2a:29:e2:c9:5a:06", Backend: "tap", Queues: 1},
			},
		},
		"libvirt6-kvm.txt": {
			Emulator: "qemu-kvm", Accelerator: "kvm", MachineType: "pc-q35-rhel8.2.0", CPUModel: "Skylake-Server-IBRS", VCPUs: 2, MemoryBacking: "Hugepages",
			NICs: []measure.DomainNIC{
				{Model: "virtio-net-pci", MAC: "02:00:00:62:b8:ad", Backend: "tap", Vhost: true, Queues: 1},
				{Model: "e1000e", MAC: "02:00:00:62:b8:ae", Backend: "tap", Queues: 1},
			},
		},
	} {
		t.Run(fixture, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + fixture)
			if err != nil {
				t.Fatal(err)
			}
			arguments := strings.Split(strings.TrimSpace(string(text)), "\n")
			if diff := cmp.Diff(want, parseDomain(arguments), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if guestName(arguments) == "" {
				t.Error("it has no name")
			}
		})
	}
	// A command line without a meaning yields no facts.
	for _, arguments := range [][]string{nil, {"qemu"}, {"qemu", "-device"}, {"qemu", "-device", "{broken"}, {"qemu", "-netdev", "", "-device", "e1000,netdev="}} {
		if got := parseDomain(arguments); len(got.NICs) > 0 || guestName(arguments) != "" {
			t.Errorf("%q: %+v", arguments, got)
		}
	}
}

// TestBrokenCounters checks that a node without counters is an error; a process without counters counts as absent.
func TestBrokenCounters(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no sum": "cpu0 1 2 3 4 5 6 7 8 9 10\n", "no CPU": "cpu 1 2 3 4 5 6 7 8 9 10\n", "no number": "cpu 1 2 x 4 5 6 7 8 9 10\ncpu0 1\n",
	} {
		n := newNode(t)
		n.write("proc/stat", text)
		if got, err := n.observer(nil, time.Now).Snapshot(); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	n := tunedGuest(t)
	for id, text := range map[string]string{"6": "", "7": "1 2 3", "8": "1 (a) S 1 2", "9": "1 (a b) (c)) S 1 2 3 4 5 6 7 8 9 10 x 12 13 14 15 16 17 18 19 20"} {
		n.write("proc/"+id+"/stat", text)
	}
	got, err := n.observer([]string{tuned}, time.Now).Snapshot()
	if err != nil || len(got.Guests) != 1 || len(got.Problems) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestThreadNames checks that a name may contain blanks and parentheses.
func TestThreadNames(t *testing.T) {
	n := newNode(t)
	n.thread("proc/7", "a) (b c)", taskTime{user: 11, system: 12, start: 99, policy: 7, priority: 0})
	o := n.observer(nil, time.Now)
	got, err := readStat(o.proc, 7)
	if err != nil || got.Comm != "a) (b c)" || milliseconds(got) != 230 || got.Starttime != 99 || scheduling(got) != (measure.ThreadScheduling{Policy: "7"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := readStat(o.proc, 8); err == nil {
		t.Errorf("got %+v of a process that is not there", got)
	}
}

func TestHandler(t *testing.T) {
	n := tunedGuest(t)
	server := httptest.NewServer(n.observer([]string{tuned}, time.Now).Handler(slog.New(slog.DiscardHandler)))
	defer server.Close()
	get := func(path string, into any) int {
		t.Helper()
		response, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			if err := json.NewDecoder(response.Body).Decode(into); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		} else {
			_, _ = io.Copy(io.Discard, response.Body)
		}
		return response.StatusCode
	}
	var snapshot Snapshot
	if code := get(PathSnapshot, &snapshot); code != http.StatusOK || len(snapshot.Guests) != 1 || *snapshot.Guests[0].VhostMilliseconds != 6400 {
		t.Errorf("%d %+v", code, snapshot)
	}
	var node Node
	if code := get(PathNode, &node); code != http.StatusOK || len(node.Domains) != 1 || node.Facts.OnlineCPUs != 2 || node.Facts.Fingerprint == nil {
		t.Errorf("%d %+v", code, node)
	}
	var ready string
	if code := get("/readyz", &ready); code != http.StatusOK {
		t.Errorf("not ready: %d", code)
	}
	if code := get("/proc/1/environ", nil); code != http.StatusNotFound {
		t.Errorf("got %d for a path that there is not", code)
	}
	n.remove("proc/stat")
	if code := get(PathSnapshot, nil); code != http.StatusInternalServerError {
		t.Errorf("got %d without /proc/stat", code)
	}
}

// TestThisNode checks that any user can read this node's own counters.
func TestThisNode(t *testing.T) {
	o, err := New("/", nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	before, err := o.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
	}
	after, err := o.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	used := after.Node.Minus(before.Node)
	if used.UserMilliseconds+used.NiceMilliseconds+used.StealMilliseconds == 0 || after.CPUs == 0 {
		t.Errorf("a busy process left no trace in %+v", used)
	}
}

// BenchmarkSnapshot measures a look that finds its processes where they were, and
// one through the whole table.
func BenchmarkSnapshot(b *testing.B) {
	for name, all := range map[string]bool{"known": false, "all": true} {
		b.Run(name, func(b *testing.B) {
			o, err := New("/", nil, time.Now)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				o.looked = o.looked && !all
				if _, err := o.Snapshot(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

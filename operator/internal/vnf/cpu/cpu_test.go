package cpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/proc"
	"vnfbench.io/operator/internal/vnf"
)

// tree is the root of a machine in a temporary directory.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T, files map[string]string) tree {
	t.Helper()
	made := tree{t, t.TempDir()}
	for name, content := range files {
		made.write(name, content)
	}
	return made
}

func (tr tree) write(name, content string) {
	tr.t.Helper()
	path := filepath.Join(tr.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

// TestReadNode checks that user includes niced processes and guests, and idle includes the wait for disks.
func TestReadNode(t *testing.T) {
	kernel, err := proc.Open(newTree(t, map[string]string{"proc/stat": `cpu  2715 17782 6996 80250 452 3 75 43 5 6
cpu3 1650 8727 3748 39532 414 2 64 22 3 3
cpu0 1065 9055 3248 40718 38 1 11 21 2 3
`}).root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readNode(kernel)
	if err != nil {
		t.Fatal(err)
	}
	want := []vnf.ProcessorTime{
		{Processor: 0, CPUTimes: vnf.CPUTimes{UserNanoseconds: 101_200_000_000, SystemNanoseconds: 32_480_000_000, HardirqNanoseconds: 10_000_000,
			SoftirqNanoseconds: 110_000_000, StealNanoseconds: 210_000_000, IdleNanoseconds: 407_560_000_000}},
		{Processor: 3, CPUTimes: vnf.CPUTimes{UserNanoseconds: 103_770_000_000, SystemNanoseconds: 37_480_000_000, HardirqNanoseconds: 20_000_000,
			SoftirqNanoseconds: 640_000_000, StealNanoseconds: 220_000_000, IdleNanoseconds: 399_460_000_000}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("processors (-want +got):\n%s", diff)
	}
}

const (
	v1Group = "/kubepods/burstable/pod1/c1"

	v1Groups = "9:name=systemd:" + v1Group + "\n4:cpu,cpuacct:" + v1Group + "\n0::/\n"
	// A container's mount of version 1 begins at its own group.
	v1Mounts = "30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n" +
		"31 30 0:27 " + v1Group + " /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup cgroup rw,cpu,cpuacct\n"

	v2Mounts = "40 25 0:30 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"
	v2Stat   = "usage_usec 3000\nuser_usec 1000\nsystem_usec 2000\nnr_periods 0\n"
)

func TestReadContainer(t *testing.T) {
	want := vnf.ContainerTime{UserNanoseconds: 1_000_000, SystemNanoseconds: 2_000_000}
	cases := map[string]map[string]string{
		"version 1 in a container": {
			"proc/self/cgroup":                             v1Groups,
			"proc/self/mountinfo":                          v1Mounts,
			"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_user": "1000000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_sys":  "2000000\n",
		},
		"version 1 on a host": {
			"proc/self/cgroup":    v1Groups,
			"proc/self/mountinfo": "31 30 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
			"sys/fs/cgroup/cpuacct" + v1Group + "/cpuacct.usage_user": "1000000\n",
			"sys/fs/cgroup/cpuacct" + v1Group + "/cpuacct.usage_sys":  "2000000\n",
		},
		"version 2 in a container": {
			"proc/self/cgroup":       "0::/\n",
			"proc/self/mountinfo":    v2Mounts,
			"sys/fs/cgroup/cpu.stat": v2Stat,
		},
		"version 2 on a host": {
			"proc/self/cgroup":    "0::/system.slice/vnf.service\n",
			"proc/self/mountinfo": v2Mounts,
			"sys/fs/cgroup/system.slice/vnf.service/cpu.stat": v2Stat,
		},
		"version 2 mounted in another namespace": {
			"proc/self/cgroup":       "0::/\n",
			"proc/self/mountinfo":    strings.Replace(v2Mounts, " / /sys", " /../../c1 /sys", 1),
			"sys/fs/cgroup/cpu.stat": v2Stat,
		},
		"both, without processor time in version 1": {
			"proc/self/cgroup":               "3:cpuset:/\n0::/\n",
			"proc/self/mountinfo":            strings.Replace(v2Mounts, "/sys/fs/cgroup", "/sys/fs/cgroup/unified", 1),
			"sys/fs/cgroup/unified/cpu.stat": v2Stat,
		},
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := readContainer(os.DirFS(newTree(t, files).root))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("container (-want +got):\n%s", diff)
			}
		})
	}
	for name, files := range map[string]map[string]string{
		"no control groups": {},
		"nothing mounted":   {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": ""},
		"no controller": {
			"proc/self/cgroup":       "0::/\n",
			"proc/self/mountinfo":    v2Mounts,
			"sys/fs/cgroup/cpu.stat": "usage_usec 3000\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := readContainer(os.DirFS(newTree(t, files).root)); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}

func TestMeter(t *testing.T) {
	machine := newTree(t, map[string]string{
		"proc/stat":              "cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 1 0 2 100 5 0 7 8 0 0\n",
		"proc/self/cgroup":       "0::/\n",
		"proc/self/mountinfo":    v2Mounts,
		"sys/fs/cgroup/cpu.stat": v2Stat,
	})
	now := time.Unix(1000, 0)
	meter, err := NewMeter(machine.root, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	// The idle time decreases, and a processor appears.
	machine.write("proc/stat", "cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 2 0 4 90 5 0 17 8 0 0\ncpu1 1 0 0 0 0 0 0 0 0 0\n")
	machine.write("sys/fs/cgroup/cpu.stat", "user_usec 1500\nsystem_usec 2000\n")
	got, err := meter.Read()
	if err != nil {
		t.Fatal(err)
	}
	want := vnf.CPUUsage{
		ElapsedNanoseconds: 1_000_000_000,
		Container:          &vnf.ContainerTime{UserNanoseconds: 500_000},
		Total:              vnf.CPUTimes{UserNanoseconds: 20_000_000, SystemNanoseconds: 20_000_000, SoftirqNanoseconds: 100_000_000},
		Node: []vnf.ProcessorTime{
			{Processor: 0, CPUTimes: vnf.CPUTimes{UserNanoseconds: 10_000_000, SystemNanoseconds: 20_000_000, SoftirqNanoseconds: 100_000_000}},
			{Processor: 1, CPUTimes: vnf.CPUTimes{UserNanoseconds: 10_000_000}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(machine.root, "sys/fs/cgroup/cpu.stat")); err != nil {
		t.Fatal(err)
	}
	if got, err = meter.Read(); err != nil || got.Container != nil || got.ContainerProblem == "" {
		t.Errorf("without a control group: got %+v, %v", got, err)
	}
}

// TestGuestMeter reads the times of a guest, where there is no control group.
func TestGuestMeter(t *testing.T) {
	machine := newTree(t, map[string]string{"proc/stat": "cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 1 0 2 100 5 0 7 8 0 0\n"})
	meter, err := NewGuestMeter(machine.root, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	machine.write("proc/stat", "cpu 1 1 1 1 1 1 1 1 0 0\ncpu0 1 0 2 100 5 0 9 8 0 0\n")
	got, err := meter.Read()
	if err != nil {
		t.Fatal(err)
	}
	if got.Container != nil || got.ContainerProblem != "" || got.Total != (vnf.CPUTimes{SoftirqNanoseconds: 20_000_000}) {
		t.Errorf("got %+v", got)
	}
}

//go:build linux

package nodefacts

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/netnstest"
)

func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return root
}

// server returns a two-socket node with typical contents.
func server() map[string]string {
	files := map[string]string{
		"proc/cpuinfo":                                                    "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz\nmicrocode\t: 0x2007006\nflags\t\t: fpu vme aes\n\nprocessor\t: 1\nmodel name\t: another\n",
		"proc/cmdline":                                                    "BOOT_IMAGE=/vmlinuz root=UUID=1 ro isolcpus=2-3 nohz_full=2-3 token=secret kvm.halt_poll_ns=0 hugepagesz=1G hugepages=4 quiet -- isolcpus=9",
		"proc/sys/kernel/osrelease":                                       "6.1.0-18-amd64",
		"proc/sys/kernel/version":                                         "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1",
		"sys/devices/system/cpu/online":                                   "0-3",
		"sys/devices/system/cpu/isolated":                                 "2-3",
		"sys/devices/system/cpu/nohz_full":                                "2-3",
		"sys/devices/system/cpu/smt/control":                              "on",
		"sys/devices/system/cpu/intel_pstate/no_turbo":                    "1",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_driver":              "intel_pstate",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "performance",
		"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor":            "powersave",
		"sys/devices/system/cpu/vulnerabilities/meltdown":                 "Mitigation: PTI",
		"sys/devices/system/cpu/vulnerabilities/srbds":                    "Not affected",
		"sys/devices/system/node/online":                                  "0-1",
		"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages":           "0",
		"sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages":        "4",
		"sys/kernel/mm/transparent_hugepage/enabled":                      "always [madvise] never",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
		"sys/class/dmi/id/sys_vendor":                                     "Dell Inc.",
		"sys/class/dmi/id/product_name":                                   "PowerEdge R640",
	}
	for cpu, siblings := range map[string]string{"0": "0,2", "1": "1,3", "2": "0,2", "3": "1,3"} {
		folder := "sys/devices/system/cpu/cpu" + cpu + "/topology/"
		files[folder+"thread_siblings_list"] = siblings
		files[folder+"physical_package_id"] = siblings[:1]
	}
	return files
}

func TestFingerprint(t *testing.T) {
	want := measure.Fingerprint{
		CPUModel: "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", Microcode: "0x2007006",
		CPUs: 4, Cores: 2, Sockets: 2, SMT: "on", NUMANodes: 2,
		Kernel:           "6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1",
		KernelParameters: []string{"isolcpus=2-3", "nohz_full=2-3", "kvm.halt_poll_ns=0", "hugepagesz=1G", "hugepages=4"},
		ScalingDriver:    "intel_pstate", ScalingGovernors: []string{"performance", "powersave"}, Turbo: "Disabled",
		IsolatedCPUs: "2-3", TicklessCPUs: "2-3",
		Mitigations: map[string]string{"meltdown": "Mitigation: PTI"},
		Hugepages:   map[int]int{1048576: 4}, TransparentHugepages: "madvise",
		ClockSource: "tsc", Product: "Dell Inc. PowerEdge R640",
	}.Sealed()
	if diff := cmp.Diff(want, Fingerprint(tree(server()))); diff != "" {
		t.Error(diff)
	}
	node := ReadNode(tree(server()))
	if diff := cmp.Diff([]int{2, 3}, node.IsolatedCPUs); diff != "" || node.OnlineCPUs != 4 || node.Fingerprint.Digest != want.Digest {
		t.Errorf("%+v %s", node, diff)
	}
}

// TestDigest checks that every fact of a node changes its digest, except facts that do not affect it.
func TestDigest(t *testing.T) {
	before := Fingerprint(tree(server())).Digest
	if !strings.HasPrefix(before, "sha256:") || len(before) != len("sha256:")+64 {
		t.Fatal(before)
	}
	for name, test := range map[string]struct {
		file, text string
		same       bool
	}{
		"microcode":            {"proc/cpuinfo", "model name\t: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz\nmicrocode\t: 0x2007007", false},
		"a virtual machine":    {"proc/cpuinfo", "model name\t: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz\nmicrocode\t: 0x2007006\nflags: hypervisor", false},
		"kernel":               {"proc/sys/kernel/osrelease", "6.1.0-19-amd64", false},
		"isolation":            {"sys/devices/system/cpu/isolated", "3", false},
		"governor":             {"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance", false},
		"turbo":                {"sys/devices/system/cpu/intel_pstate/no_turbo", "0", false},
		"mitigation":           {"sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable", false},
		"hugepages":            {"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512", false},
		"clock source":         {"sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", false},
		"another root disk":    {"proc/cmdline", "root=UUID=2 isolcpus=2-3 nohz_full=2-3 kvm.halt_poll_ns=0 hugepagesz=1G hugepages=4", true},
		"an unaffected entity": {"sys/devices/system/cpu/vulnerabilities/gds", "Not affected", true},
	} {
		t.Run(name, func(t *testing.T) {
			files := server()
			files[test.file] = test.text
			if got := Fingerprint(tree(files)).Digest; (got == before) != test.same {
				t.Errorf("got %s, before %s", got, before)
			}
		})
	}
}

// TestFingerprintOfNothing checks that an empty node yields an empty fingerprint.
func TestFingerprintOfNothing(t *testing.T) {
	if diff := cmp.Diff(measure.Fingerprint{}.Sealed(), Fingerprint(fstest.MapFS{})); diff != "" {
		t.Error(diff)
	}
	long := Fingerprint(tree(map[string]string{"proc/cpuinfo": "model name: " + strings.Repeat("ä", 400)}))
	if len(long.CPUModel) > maxTextBytes {
		t.Errorf("%d bytes", len(long.CPUModel))
	}
}

func TestFingerprintOfThisNode(t *testing.T) {
	f := Fingerprint(os.DirFS("/"))
	if f.Kernel == "" || f.CPUs == 0 {
		t.Errorf("%+v", f)
	}
}

// TestSteered checks the mask over the queues that receive.
func TestSteered(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no such interface":  {nil, ""},
		"nothing is steered": {map[string]string{"class/net/west/queues/rx-0/rps_cpus": "00000000,00000000"}, ""},
		"two queues": {map[string]string{
			"class/net/west/queues/rx-0/rps_cpus": "00000001,00000003", "class/net/west/queues/rx-1/rps_cpus": "00000000,0000000c",
			"class/net/west/queues/tx-0/xps_cpus": "00000000,000000f0", "class/net/east/queues/rx-0/rps_cpus": "000000f0",
		}, "10000000f"},
		"unreadable": {map[string]string{"class/net/west/queues/rx-0/rps_cpus": "none"}, ""},
	} {
		if got := steered(tree(test.files), "west"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPortDriver(t *testing.T) {
	west, east := netnstest.New(t, "west"), netnstest.New(t, "east")
	netnstest.Cable(t,
		netnstest.End{Namespace: west, Interface: "port0", MAC: "02:00:00:00:00:01"},
		netnstest.End{Namespace: east, Interface: "port1", MAC: "02:00:00:00:00:02"})
	err := west.Run(func() error {
		got, err := PortDriver("port0")
		if err != nil {
			return err
		}
		want := measure.PortDriver{Interface: "port0", Driver: "veth", SpeedMegabitsPerSecond: 10_000, Queues: 1}
		got.Firmware, got.Bus, got.Queues = "", "", min(got.Queues, 1)
		if got != want {
			t.Errorf("got %+v, want %+v and any number of queues", got, want)
		}
		if got, err := PortDriver("gone"); err == nil {
			t.Errorf("got %+v of a port that is not there", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

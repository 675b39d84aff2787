//go:build linux

package nodefacts

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/internal/measure"
)

func TestRead(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, test := range map[string]struct {
		system fstest.MapFS
		cpus   []int
		want   measure.NodeFacts
	}{
		"nothing is known": {cpus: []int{1, 0}, want: measure.NodeFacts{CPUs: []int{0, 1}}},
		"a node that is set for measuring": {
			system: fstest.MapFS{
				"devices/system/cpu/online":                        file("0-7\n"),
				"devices/system/cpu/isolated":                      file("2-3,6\n"),
				"devices/system/cpu/cpu2/cpufreq/scaling_governor": file("performance\n"),
				"devices/system/cpu/cpu3/cpufreq/scaling_governor": file("performance\n"),
				"devices/system/cpu/cpu0/cpufreq/scaling_governor": file("powersave\n"),
			},
			cpus: []int{2, 3},
			want: measure.NodeFacts{CPUs: []int{2, 3}, OnlineCPUs: 8, IsolatedCPUs: []int{2, 3}, ScalingGovernors: []string{"performance"}},
		},
		"one that is not": {
			system: fstest.MapFS{
				"devices/system/cpu/online":                        file("0-1\n"),
				"devices/system/cpu/isolated":                      file("\n"),
				"devices/system/cpu/cpu0/cpufreq/scaling_governor": file("schedutil\n"),
				"devices/system/cpu/cpu1/cpufreq/scaling_governor": file("performance\n"),
			},
			cpus: []int{0, 1},
			want: measure.NodeFacts{CPUs: []int{0, 1}, OnlineCPUs: 2, ScalingGovernors: []string{"performance", "schedutil"}},
		},
		"a broken list": {
			system: fstest.MapFS{"devices/system/cpu/online": file("0-x"), "devices/system/cpu/isolated": file("3-1")},
			cpus:   []int{0}, want: measure.NodeFacts{CPUs: []int{0}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Read(test.system, test.cpus)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseList(t *testing.T) {
	got, err := ParseList(" 0-2, 8 ")
	if diff := cmp.Diff([]int{0, 1, 2, 8}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, text := range []string{"x", "1-", "-1", "2-1", "0-999999999"} {
		if got, err := ParseList(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// TestThisNode checks that this node has at least the CPU that the test runs on.
func TestThisNode(t *testing.T) {
	cpus, err := Affinity()
	if err != nil || len(cpus) == 0 {
		t.Fatalf("got %v, %v", cpus, err)
	}
	if m := Read(os.DirFS("/sys"), cpus); m.OnlineCPUs < len(m.CPUs) {
		t.Errorf("%+v", m)
	}
}

func TestKernelsThatStarveSoftirqs(t *testing.T) {
	for kernel, want := range map[string]bool{
		"6.4.16 #1": true, "5.15.0-91-generic": true, "6.5.0": false, "6.12.107+deb13-amd64": false, "7.0": false, "": false, "unknown": false,
	} {
		if got := StarvesSoftirqs(kernel); got != want {
			t.Errorf("%q: %v, want %v", kernel, got, want)
		}
	}
}

package xdp

import (
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

func TestSumSoftnet(t *testing.T) {
	const text = `0c9bf801 00000001 0000000f 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
049dbc20 00000010 0000000b 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000
049dbc20 00000100 000000ff 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000 00000000
an older kernel's line
`
	for name, c := range map[string]struct {
		cpus []int
		want softnet
	}{
		"one":         {[]int{1}, softnet{16, 11}},
		"two":         {[]int{0, 3}, softnet{257, 270}},
		"not there":   {[]int{2}, softnet{}},
		"none at all": {nil, softnet{}},
	} {
		if got := sumSoftnet(text, c.cpus); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestBusyMachineIsMarked has another process spin on the CPU that sends.
func TestBusyMachineIsMarked(t *testing.T) {
	p := buildPath(t, routedWithNAPI)
	d := open(t, p, Config{Path: p.IPv4(measure.Forward), Scheduling: Fair})
	spinner := exec.Command("taskset", "-c", strconv.Itoa(d.cpus[0]), "sh", "-c", "while :; do :; done")
	if err := spinner.Start(); err != nil {
		t.Fatalf("%v (test/prerequisites.sh debian installs taskset)", err)
	}
	t.Cleanup(func() {
		_ = spinner.Process.Kill()
		_ = spinner.Wait()
	})
	o := run(t, d, trialOf(64, 20_000, time.Second))
	for _, code := range []string{measure.DoubtPreempted, measure.DoubtMissedDeadlines} {
		if !slices.ContainsFunc(o.Doubts, func(d measure.Doubt) bool { return d.Code == code }) {
			t.Errorf("a process span on CPU %d, and there is no doubt %q", d.cpus[0], code)
		}
	}
}

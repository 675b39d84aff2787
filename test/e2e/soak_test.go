package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

const (
	// maxManagerMiB is what the manager may need in a cluster, and maxGrowthMiB by how much the measurer may grow after the first sixth of the soak.
	maxManagerMiB, maxGrowthMiB = 128, 16
	// maxSoakRunKiB is a third of what an API server takes as one object.
	maxSoakRunKiB = 512
	// soakMemoryInterval is the time between two looks at the memory.
	soakMemoryInterval = time.Minute
)

// TestSoakInTheLab measures a router for an hour, or for SOAK seconds, as the sample router-soak.yaml does for a day. It checks that
// the whole time was measured in one session, and that the memory of the manager and of the measurer, and the run, stay within bounds.
func TestSoakInTheLab(t *testing.T) {
	ns := demonstration(t, "soak")
	seconds, err := strconv.ParseInt(os.Getenv("SOAK"), 10, 32)
	if err != nil || seconds < 60 {
		t.Fatalf("SOAK is %q: give 60 seconds or more", os.Getenv("SOAK"))
	}
	text, err := os.ReadFile("../../config/samples/router-soak.yaml")
	must(t, err)
	sample := &v1alpha1.BenchmarkRun{}
	must(t, yaml.UnmarshalStrict(text, sample))
	soak := sample.Spec.Experiment.Measurements.Soak
	soak.DurationSeconds, soak.IntervalSeconds = int32(seconds), max(10, int32(seconds/60))
	// Other work of the machine may make it lose frames: what is asked here is whether it lasts.
	soak.StopAboveLossPartsPerMillion, sample.Spec.Experiment.Acceptance = nil, nil
	made, err := yaml.Marshal(sample)
	must(t, err)
	apply(t, ns, string(made))
	until(t, ns, sample.Name, waitForStart, "measuring", trials(1))

	var manager, measurer []float64
	var next time.Time
	// Next to other work of the machine each interval may be measured twice.
	run := until(t, ns, sample.Name, time.Duration(seconds)*time.Second*5/2+10*time.Minute, "finished", func(run *v1alpha1.BenchmarkRun) bool {
		if time.Now().After(next) && !finished(run) {
			next = time.Now().Add(soakMemoryInterval)
			resident := residentMiB(t)
			manager, measurer = append(manager, resident["manager"]), append(measurer, resident["measurer"])
			t.Logf("%d trials; manager %.1f MiB, measurer %.1f MiB", run.Status.Progress.Trials, resident["manager"], resident["measurer"])
		}
		return finished(run)
	})
	if got := condition(run, v1alpha1.ConditionMeasured); got.Status != metav1.ConditionTrue {
		t.Fatalf("Measured is %s %s: %s", got.Status, got.Reason, got.Message)
	}
	if len(run.Status.Results) != 1 || run.Status.Results[0].Soak == nil {
		t.Fatalf("there is no soak in %+v", run.Status.Results)
	}
	result := run.Status.Results[0].Soak
	if result.End != v1alpha1.SoakCompleted || result.SendingSeconds < seconds {
		t.Errorf("the soak is %s after %d s of %d", result.End, result.SendingSeconds, seconds)
	}
	if len(run.Status.Sessions) > 1 {
		t.Errorf("measured in sessions %+v, want one", run.Status.Sessions)
	}
	stored, err := json.Marshal(run)
	must(t, err)
	worst, err := json.Marshal(result.Worst)
	must(t, err)
	t.Logf("%d intervals, %d ppm lost, worst %s, doubts %v; the run has %d KiB", len(result.Intervals), result.LossPartsPerMillion, worst, result.Doubts, len(stored)>>10)
	if len(stored)>>10 > maxSoakRunKiB {
		t.Errorf("the run has %d KiB, more than %d", len(stored)>>10, maxSoakRunKiB)
	}
	first := len(measurer) / 6
	for i := range measurer {
		if manager[i] > maxManagerMiB {
			t.Errorf("the manager has %.1f MiB at look %d", manager[i], i)
		}
		if i > first && measurer[i] > measurer[first]+maxGrowthMiB {
			t.Errorf("the measurer grew from %.1f to %.1f MiB at look %d", measurer[first], measurer[i], i)
		}
	}
	nothingLeft(t, ns)
}

// residentMiB returns the resident memory of the node's processes by their name, added up where there are several.
func residentMiB(t *testing.T) map[string]float64 {
	t.Helper()
	out, code := command(t, os.Getenv("LAB"), "shell", "--", "sh", "-c", `cat /proc/[0-9]*/status 2>/dev/null | awk '$1 == "Name:" { name = $2 } $1 == "VmRSS:" { print name, $2 }'`)
	if code != 0 {
		t.Fatalf("reading the memory of the node's processes:\n%s", out)
	}
	resident := map[string]float64{}
	for line := range strings.Lines(out) {
		var name string
		var kib float64
		if _, err := fmt.Sscan(line, &name, &kib); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		resident[name] += kib / 1024
	}
	for _, name := range []string{"manager", "measurer"} {
		if resident[name] == 0 {
			t.Fatalf("no process %s on the node has memory", name)
		}
	}
	return resident
}

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestNeighbors measures latency at one rate without neighbors and with one of each kind, twice, and
// checks what they did.
func TestNeighbors(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, `apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: noisy}
spec:
  experiment:
    testbedRef: {name: lab}
    startupSeconds: 120
    deadlineSeconds: 600
    chain: [{name: r1, function: Router}]
    traffic: {frameBytes: [64]}
    measurements:
      noisyNeighbors: WithAndWithout
      warmUpMilliseconds: 200
      latency: {trialMilliseconds: 3000, loads: [{name: idle, framesPerSecond: 1000}]}
    noisyNeighbors:
    - {name: cpu, kind: CPU, loadPercent: 50}
    - {name: memory, kind: Memory, memory: 16Mi}
    - {name: disk, kind: Disk, disk: 16Mi}
    - {name: frames, kind: Network, framesPerSecond: 1000, frameBytes: 9018}
`)
	run := ends(t, ns, "noisy", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	report := run.Status.NoisyNeighbors
	if report == nil || len(report.Loads) != 4 {
		t.Fatalf("the neighbors are %+v", report)
	}
	for i, stressor := range []string{"cpu", "vm", "hdd", ""} {
		load := report.Loads[i]
		if load.Trials != 2 || load.MilliCPU == nil || *load.MilliCPU <= 0 {
			t.Errorf("%s: %+v", load.Name, load)
		}
		if stressor == "" {
			if *load.IntendedFramesPerSecond != 2000 || *load.SentFramesPerSecond <= 0 || *load.ReceivedFramesPerSecond <= 0 {
				t.Errorf("%s: %+v", load.Name, load)
			}
			continue
		}
		if len(load.Stressors) != 1 || load.Stressors[0].Name != stressor || load.Stressors[0].Operations <= 0 {
			t.Errorf("%s: stress-ng says %+v", load.Name, load.Stressors)
		}
	}
	found := map[v1alpha1.Metric]bool{}
	for _, row := range report.Comparison {
		if row.Pairs != 2 || row.WithoutFirst == nil || row.Without == nil || row.With == nil || row.Load != "idle" || row.Size != "64" {
			t.Errorf("%+v", row)
		}
		found[row.Metric] = true
	}
	if !found[v1alpha1.MetricLatencyMean] || !found[v1alpha1.MetricLatencyP99] || !found[v1alpha1.MetricLoss] {
		t.Errorf("the comparison has %v", found)
	}
	nothingLeft(t, ns)
	freed(t, ns)
}

// TestNeighborIsKilled checks that a killed neighbor ends no run, and is reported.
func TestNeighborIsKilled(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, shortRun("killed", `  measurements: {warmUpMilliseconds: 200, repeats: 8, latency: {trialMilliseconds: 3000, loads: [{name: idle, framesPerSecond: 1000}]}}
  noisyNeighbors: [{name: cpu, kind: CPU, loadPercent: 10}]
`))
	until(t, ns, "killed", waitForStart, "measuring with the neighbor", func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || run.Status.NoisyNeighbors != nil && len(run.Status.NoisyNeighbors.Loads) > 0 && run.Status.NoisyNeighbors.Loads[0].Trials > 0
	})
	for _, pod := range pods(t, ns, "neighbor") {
		must(t, cluster.Delete(t.Context(), &pod))
	}
	run := ends(t, ns, "killed", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	warned := false
	for _, w := range run.Status.Warnings {
		warned = warned || w.Code == v1alpha1.WarningNeighborStopped
	}
	if !warned {
		t.Errorf("the warnings are %+v", run.Status.Warnings)
	}
	nothingLeft(t, ns)
	freed(t, ns)
}

// TestKubeVirtNeighbors measures a router's latency without and with neighbors in virtual machines.
// It checks that their load is measured in their guests, and that nothing of them stays. It asserts
// no rate: on an emulated processor a rate has no meaning.
func TestKubeVirtNeighbors(t *testing.T) {
	ns := machines(t)
	apply(t, ns, `apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: noisy}
spec:
  experiment:
    testbedRef: {name: virtual-machines}
    startupSeconds: 300
    deadlineSeconds: 900
    chain: [{name: r1, function: Router}]
    traffic: {frameBytes: [64]}
    measurements:
      noisyNeighbors: WithAndWithout
      warmUpMilliseconds: 200
      settleMilliseconds: 1000
      latency: {trialMilliseconds: 5000, loads: [{name: idle, framesPerSecond: 100}]}
    noisyNeighbors:
    - {name: cpu, kind: CPU, loadPercent: 20, runtime: VirtualMachine}
    - {name: disk, kind: Disk, disk: 16Mi, runtime: VirtualMachine}
    - {name: frames, kind: Network, framesPerSecond: 50, runtime: VirtualMachine}
`)
	run := ends(t, ns, "noisy", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	report := run.Status.NoisyNeighbors
	if report == nil || len(report.Loads) != 3 {
		t.Fatalf("the neighbors are %+v", report)
	}
	for i, stressor := range []string{"cpu", "hdd", ""} {
		load := report.Loads[i]
		if load.Runtime != v1alpha1.RuntimeVirtualMachine || load.Trials != 1 || load.MilliCPU == nil || *load.MilliCPU <= 0 {
			t.Fatalf("%s: %+v", load.Name, load)
		}
		t.Logf("%s took %d milliCPU of its guest", load.Name, *load.MilliCPU)
		if stressor == "" {
			t.Logf("%s: %d frames/s sent and %d received of %d", load.Name, *load.SentFramesPerSecond, *load.ReceivedFramesPerSecond, *load.IntendedFramesPerSecond)
			if *load.IntendedFramesPerSecond != 100 || *load.SentFramesPerSecond <= 0 || *load.ReceivedFramesPerSecond <= 0 {
				t.Errorf("%s: %+v", load.Name, load)
			}
			continue
		}
		if len(load.Stressors) != 1 || load.Stressors[0].Name != stressor || load.Stressors[0].Operations <= 0 {
			t.Errorf("%s: stress-ng says %+v", load.Name, load.Stressors)
		}
	}
	if len(report.Comparison) == 0 {
		t.Error("nothing is compared")
	}
	for _, row := range report.Comparison {
		if row.Without == nil || row.With == nil {
			t.Errorf("%+v", row)
		}
	}
	released(t, ns, "noisy")
	nothingLeft(t, ns)
	noMachines(t, ns)
}

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// waitForGuest is how long a guest may take to boot on an emulated processor.
const waitForGuest = 6 * time.Minute

// machines makes a namespace with a testbed that offers virtual machines, where
// the lab has KubeVirt.
func machines(t *testing.T) string {
	t.Helper()
	needMachines(t)
	ns := namespace(t)
	applyFile(t, ns, "../../config/samples/testbed-virtual-machines.yaml")
	return ns
}

// needMachines skips a test that has no meaning without KubeVirt. A test of several cases calls it
// itself, or it would pass with all of them skipped.
func needMachines(t *testing.T) {
	t.Helper()
	if os.Getenv("VNFBENCH_E2E_KUBEVIRT") != "1" {
		t.Skip("NOT RUN: no virtual machine was tried. Set VNFBENCH_E2E_KUBEVIRT=1 in a lab that has KubeVirt and the image vnf-guest")
	}
}

// machineRun returns a run of one router in a virtual machine. The load is low enough for an
// emulated processor, and frames have a long time to arrive, because a processor that shares its
// node with other work stops for seconds. function adds to the router.
func machineRun(name, function string, trialMilliseconds, startupSeconds int) string {
	return machineChain(name, "[{name: r1, function: Router, runtime: VirtualMachine"+function+"}]", trialMilliseconds, startupSeconds)
}

// machineChain returns the same for any chain.
func machineChain(name, chain string, trialMilliseconds, startupSeconds int) string {
	return fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: %s}
spec:
  experiment:
    testbedRef: {name: virtual-machines}
    startupSeconds: %d
    deadlineSeconds: 900
    chain: %s
    traffic: {frameBytes: [128]}
    measurements:
      warmUpMilliseconds: 1000
      settleMilliseconds: 10000
      latency:
        trialMilliseconds: %d
        loads: [{name: low, framesPerSecond: 100}]
`, name, startupSeconds, chain, trialMilliseconds)
}

// machineLimit returns a run that looks for the limit of the same router, roughly: each trial has a long
// time for frames to arrive.
func machineLimit(name string) string {
	run := machineRun(name, "", 1000, 240) + `      throughput:
        minimumFramesPerSecond: 100
        maximumSearchSeconds: 300
        goals: [{name: PDR, lossPartsPerMillion: 100000, trialMilliseconds: 1000, durationSumMilliseconds: 1000, widthPartsPerMillion: 500000}]
`
	return strings.Replace(run, "deadlineSeconds: 900", "deadlineSeconds: 1800", 1)
}

// checkTap checks that the status says how frames reach a virtual machine, and how that was decided.
func checkTap(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	g := run.Status.Generator
	if g == nil || g.Hop != "Tap" || !strings.Contains(g.HopReason, `function "r1" is a virtual machine on node`) || g.RingFrames <= 0 {
		t.Errorf("%s: the generator's report is %+v, want hop Tap, with its reason and a ring", run.Name, g)
	}
}

// checkWhoseLoss checks that no upper bound is the device's loss because frames found the generator's ring
// full, which is not the device's where a virtual machine is at the other end of a tap: such frames do not count as
// sent. Then frames that were sent are missing, or a queue grew.
func checkWhoseLoss(t *testing.T, ns string, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	if len(run.Status.Results) != 1 || len(run.Status.Results[0].Throughput) != 1 {
		t.Fatalf("%s: results %+v", run.Name, run.Status.Results)
	}
	goal, upperBound := run.Status.Results[0].Throughput[0], int64(0)
	if goal.UpperBoundFramesPerSecond != nil {
		upperBound = *goal.UpperBoundFramesPerSecond
	}
	t.Logf("%s: %d frames/s, upper bound %d because of %s", run.Name, goal.FramesPerSecond, upperBound, goal.UpperBoundCause)
	file := filepath.Join(t.TempDir(), "report.json")
	if out, code := command(t, "kubectl-vnfbench", "-n", ns, "report", run.Name, "-o", "json", "--trials", "--output-file", file); code != 0 {
		t.Fatalf("report ended with code %d and printed:\n%s", code, out)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	var document struct {
		Trials []struct {
			Stage string `json:"stage"`
			Trial struct {
				IntendedFramesPerSecond int64 `json:"intendedFramesPerSecond"`
			} `json:"trial"`
			Outcome struct {
				Directions []struct {
					IntendedFrames         int64 `json:"intendedFrames"`
					SentFrames             int64 `json:"sentFrames"`
					OverflowFrames         int64 `json:"overflowFrames"`
					ReceivedFrames         int64 `json:"receivedFrames"`
					QueueGrowthNanoseconds int64 `json:"growth"`
				} `json:"directions"`
			} `json:"outcome"`
		} `json:"trials"`
	}
	must(t, json.Unmarshal(text, &document))
	searched, devices := 0, false
	for _, r := range document.Trials {
		if r.Stage != "Throughput" {
			continue
		}
		searched++
		for _, d := range r.Outcome.Directions {
			if d.SentFrames+d.OverflowFrames > d.IntendedFrames {
				t.Errorf("of %d frames %d were sent and %d found the ring full: some are both", d.IntendedFrames, d.SentFrames, d.OverflowFrames)
			}
			if r.Trial.IntendedFramesPerSecond == upperBound {
				devices = devices || d.ReceivedFrames < d.SentFrames || d.QueueGrowthNanoseconds > 0
			}
		}
	}
	if searched == 0 || goal.UpperBoundCause == v1alpha1.CauseDeviceLoss && !devices {
		t.Errorf("of %d trials none at the upper bound lost a frame that was sent, and the cause is %s:\n%s", searched, goal.UpperBoundCause, text)
	}
}

// checkPasses checks that frames pass both ways, and that few are lost at so low a load.
func checkPasses(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	checkPassesWith(t, run, 0)
}

// fewFrames may be lost of a trial that has few.
const fewFrames = 5

// checkPassesWith is checkPasses of a run that has a number of throughput goals too.
func checkPassesWith(t *testing.T, run *v1alpha1.BenchmarkRun, goals int) {
	t.Helper()
	if want := len(run.Spec.Experiment.Traffic.FrameBytes); len(run.Status.Results) != want {
		t.Errorf("%s: %d results, want %d", run.Name, len(run.Status.Results), want)
		return
	}
	for _, result := range run.Status.Results {
		checkResult(t, result, goals, 1)
		for _, load := range result.Latency {
			for _, d := range load.Directions {
				t.Logf("%s, %s bytes, %s: %d of %d frames received, %d ns at p50", run.Name, result.Size, d.Direction, d.ReceivedFrames, d.SentFrames, d.Latency.P50Nanoseconds)
				if lost := d.SentFrames - d.ReceivedFrames; lost > max(fewFrames, d.SentFrames/20) {
					t.Errorf("%s, %s bytes, %s: %d of %d frames are lost", run.Name, result.Size, d.Direction, lost, d.SentFrames)
				}
			}
		}
	}
}

// TestKubeVirtVirtio measures one router on virtio, end to end: the shortest test that shows that
// virtual machines work. It logs how long it takes until the first trial through the chain.
func TestKubeVirtVirtio(t *testing.T) {
	ns := machines(t)
	applied := time.Now()
	apply(t, ns, machineRun("vm-virtio", "", 5000, 240))
	until(t, ns, "vm-virtio", waitForGuest, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || condition(run, v1alpha1.ConditionMeasured).Reason == v1alpha1.ReasonMeasuring
	})
	t.Logf("%s from apply until trials through the virtual machine begin", time.Since(applied).Round(time.Second))
	run := ends(t, ns, "vm-virtio", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	t.Logf("%s from apply to the result", time.Since(applied).Round(time.Second))
	checkPasses(t, run)
	checkMachine(t, run, "virtio")
	checkTap(t, run)
	released(t, ns, "vm-virtio")
	apply(t, ns, machineLimit("vm-limit"))
	run = ends(t, ns, "vm-limit", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	checkTap(t, run)
	checkWhoseLoss(t, ns, run)
	released(t, ns, "vm-limit")
	nothingLeft(t, ns)
	noMachines(t, ns)
}

// TestKubeVirtRouters measures the same router on each emulated NIC, as TestKubeVirtVirtio does on
// the paravirtual one. It asserts that frames pass both ways and what the status says of the
// machine, and no rate: on an emulated processor a rate has no meaning.
func TestKubeVirtRouters(t *testing.T) {
	ns := machines(t)
	models := map[string]string{"E1000": "e1000", "E1000e": "e1000e", "RTL8139": "rtl8139"}
	for attachment, model := range models {
		apply(t, ns, machineRun("vm-"+model, fmt.Sprintf(", west: {attachment: %s}, east: {attachment: %s}", attachment, attachment), 5000, 240))
	}
	for _, model := range models {
		until(t, ns, "vm-"+model, 3*waitForGuest, "finished", finished)
		run := ends(t, ns, "vm-"+model, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
		checkPasses(t, run)
		checkMachine(t, run, model)
	}
	// All at once: the runs queue, and the next one's objects exist while the last one's are
	// deleted.
	for _, model := range models {
		released(t, ns, "vm-"+model)
	}
	nothingLeft(t, ns)
	noMachines(t, ns)
}

func checkMachine(t *testing.T, run *v1alpha1.BenchmarkRun, model string) {
	t.Helper()
	if len(run.Status.Chain) != 1 || run.Status.Chain[0].VirtualMachine == nil {
		t.Errorf("%s: status.chain is %+v", model, run.Status.Chain)
		return
	}
	f := run.Status.Chain[0]
	// A disk in a claim is not an image.
	custom := run.Spec.Experiment.Chain[0].Custom
	if hasImage := custom == nil || custom.ContainerDisk != ""; (f.ImageID != "") != hasImage {
		t.Errorf("%s: the image is %q", model, f.ImageID)
	}
	if f.Node != run.Status.Plan.DeviceNode || f.VirtualMachine.MachineType == "" || f.VirtualMachine.VCPUs != 1 || f.VirtualMachine.MemoryBytes != 512<<20 {
		t.Errorf("%s: the function is %+v, its machine %+v", model, f, f.VirtualMachine)
	}
	if len(f.VirtualMachine.Ports) != 2 {
		t.Errorf("%s: ports %+v", model, f.VirtualMachine.Ports)
	}
	for _, port := range f.VirtualMachine.Ports {
		if port.Model != model || port.MAC == "" {
			t.Errorf("%s: port %+v", model, port)
		}
	}
	for _, warning := range run.Status.Warnings {
		if warning.Code == v1alpha1.WarningVirtualMachineMismatch {
			t.Errorf("%s: %s", model, warning.Message)
		}
	}
}

// TestKubeVirtWithoutImage runs a machine whose image does not exist.
func TestKubeVirtWithoutImage(t *testing.T) {
	needMachines(t)
	ns := namespace(t)
	sample, err := os.ReadFile("../../config/samples/testbed-virtual-machines.yaml")
	must(t, err)
	apply(t, ns, strings.Replace(string(sample), "    attachments:", "    guestImage: localhost/vnfbench/no-such-guest:1\n    attachments:", 1))
	apply(t, ns, machineRun("no-image", "", 1000, 120))
	run := ends(t, ns, "no-image", metav1.ConditionFalse, v1alpha1.ReasonImageUnavailable)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, "no-such-guest") {
		t.Errorf("the message does not name the image: %s", message)
	}
	nothingLeft(t, ns)
	noMachines(t, ns)
}

// TestKubeVirtNeverReady checks a guest that boots, but whose NIC cannot carry the MTU that it is
// asked for.
func TestKubeVirtNeverReady(t *testing.T) {
	ns := machines(t)
	apply(t, ns, machineRun("never", ", west: {attachment: RTL8139, mtuBytes: 9000}", 1000, 60))
	run := ends(t, ns, "never", metav1.ConditionFalse, v1alpha1.ReasonChainNotReady)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, "its console ends: ") {
		t.Errorf("the message does not hold the guest's last words: %s", message)
	}
	nothingLeft(t, ns)
	noMachines(t, ns)
}

// TestKubeVirtKilled kills QEMU's pod in the middle of a trial.
func TestKubeVirtKilled(t *testing.T) {
	ns := machines(t)
	apply(t, ns, machineRun("killed", "", 240_000, 240))
	until(t, ns, "killed", waitForGuest, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || condition(run, v1alpha1.ConditionMeasured).Reason == v1alpha1.ReasonMeasuring
	})
	kill(t, ns, "function")
	ends(t, ns, "killed", metav1.ConditionFalse, v1alpha1.ReasonChainFailed)
	released(t, ns, "killed")
	nothingLeft(t, ns)
	noMachines(t, ns)
}

// TestKubeVirtDeleted checks that a run that is deleted while its guest boots removes everything
// with it.
func TestKubeVirtDeleted(t *testing.T) {
	ns := machines(t)
	apply(t, ns, machineRun("deleted", "", 1000, 240))
	deadline := time.Now().Add(waitForGuest)
	for len(listMachines(t, ns)) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("there is no virtual machine")
		}
		time.Sleep(250 * time.Millisecond)
	}
	must(t, cluster.Delete(t.Context(), getRun(t, ns, "deleted")))
	nothingLeft(t, ns)
	noMachines(t, ns)
}

// released waits until a run has released its testbed. KubeVirt takes a minute to consider a
// launcher gone that could not report it.
func released(t *testing.T, ns, name string) {
	t.Helper()
	until(t, ns, name, waitForGuest, "released", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionAdmitted).Reason == v1alpha1.ReasonReleased
	})
}

func listMachines(t *testing.T, ns string) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineInstanceList"})
	must(t, retry(t, func() error { return cluster.List(t.Context(), list, client.InNamespace(ns)) }))
	return list.Items
}

func noMachines(t *testing.T, ns string) {
	t.Helper()
	deadline := time.Now().Add(stepTimeout)
	for {
		left := listMachines(t, ns)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%d virtual machines are left in %s", len(left), ns)
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

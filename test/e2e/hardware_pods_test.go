package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// testpmdOnFunctions returns the chain of the sample for virtual functions, with the test's image.
func testpmdOnFunctions(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../config/samples/sriov/custom-testpmd-sriov.yaml")
	must(t, err)
	var sample v1alpha1.BenchmarkRun
	must(t, yaml.UnmarshalStrict(text, &sample))
	custom := sample.Spec.Experiment.Chain[0].Custom
	custom.Container.Image, custom.ImagePullPolicy = testpmdImage, corev1.PullNever
	chain, err := json.Marshal(sample.Spec.Experiment.Chain)
	must(t, err)
	return string(chain)
}

// TestHardwareCustomContainer measures Debian's dpdk-testpmd as a user's own container, from the sample: on virtual
// functions that DPDK drives by vfio-pci, with huge pages and dedicated processors. Frames that a card at the generator
// receives can only come from the card that it is cabled to, and the kernel drives no function there that has sent any.
func TestHardwareCustomContainer(t *testing.T) {
	needHardware(t)
	testpmd(t)
	ns := namespace(t)
	before := cardFrames(t)
	run := measureHardwareIn(t, ns, hardwareTestbed(virtualFunctions, strings.ReplaceAll(deviceVirtualFunctions, "dut_", "vm_")), "testpmd", hardwareRun("testpmd", testpmdOnFunctions(t)), func() {
		checkPinned(t, ns, "dpdk-testpmd", 2, 64*2<<10)
	})
	after := cardFrames(t)
	for card, least := range framesOfCards(run) {
		switch grown := after[card].less(before[card]); {
		case strings.HasPrefix(card, "gen"):
			checkCarried(t, card, grown, least)
		case grown.received >= least.received || grown.sent >= least.sent:
			t.Errorf("the kernel's functions of %s received %d and sent %d frames, which testpmd was to do", card, grown.received, grown.sent)
		}
	}
	checkPCI(t, run, v1alpha1.PCIFunctionVirtual, generatorNICs(t))
	checkGenerator(t, run, "igbvf", cardInterruptMicroseconds)
	if g := run.Status.Generator; g.CPUs != 1 || g.IsolatedCPUs != 1 {
		t.Errorf("the generator has %d CPUs, %d of them isolated; it asked for one", g.CPUs, g.IsolatedCPUs)
	}
	pages, err := strconv.ParseInt(onHardware(t, "cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), 10, 64)
	must(t, err)
	device := run.Status.Device
	if device == nil {
		t.Fatalf("the run says nothing of the device's node")
	}
	for _, f := range []*v1alpha1.Fingerprint{run.Status.Generator.Fingerprint, device.Fingerprint} {
		if f == nil {
			t.Errorf("a node has no fingerprint; the device's problems are %q", device.Problems)
			continue
		}
		if f.IsolatedCPUs != isolatedCPUs(t) || !slices.Equal(f.HugepagePools, []v1alpha1.HugepagePool{{SizeKibibytes: 2048, Pages: pages}}) {
			t.Errorf("a fingerprint has isolated CPUs %q and huge pages %+v", f.IsolatedCPUs, f.HugepagePools)
		}
	}
	for _, w := range run.Status.Warnings {
		if w.Code == v1alpha1.WarningNoCPUIsolation || w.Code == v1alpha1.WarningDeviceNoCPUIsolation {
			t.Errorf("warning %s: %s", w.Code, w.Message)
		}
	}
}

// isolatedCPUs returns the kernel's list of those on the machine.
func isolatedCPUs(t *testing.T) string {
	t.Helper()
	return onHardware(t, "cat /sys/devices/system/cpu/isolated")
}

// checkPinned checks that the function's pod has a number of isolated processors that no other pod may use, that its
// program runs on no other ones, and that the program's memory of huge pages is there and not more than its pod's.
func checkPinned(t *testing.T, ns, program string, cpus int, mostHugeKibibytes int64) {
	t.Helper()
	var pods corev1.PodList
	must(t, cluster.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelComponent: "function"}))
	if len(pods.Items) != 1 {
		t.Fatalf("%d functions", len(pods.Items))
	}
	pod := pods.Items[0]
	if pod.Status.QOSClass != corev1.PodQOSGuaranteed {
		t.Errorf("the pod's class is %s", pod.Status.QOSClass)
	}
	var kubelet struct {
		DefaultCPUSet string                       `json:"defaultCpuSet"`
		Entries       map[string]map[string]string `json:"entries"`
	}
	must(t, json.Unmarshal([]byte(onHardware(t, "cat /var/lib/kubelet/cpu_manager_state")), &kubelet))
	own, shared := parseCPUs(t, kubelet.Entries[string(pod.UID)]["function"]), parseCPUs(t, kubelet.DefaultCPUSet)
	if own.Size() != cpus || !own.IsSubsetOf(parseCPUs(t, isolatedCPUs(t))) || !own.Intersection(shared).IsEmpty() {
		t.Errorf("the kubelet gives the pod the CPUs %s, and all others %s; isolated are %s", own, shared, isolatedCPUs(t))
	}
	// The program, its control group's processors, those of each thread, and its memory of huge pages.
	state := onHardware(t, `set -e
pid=$(grep -lx `+program+` /proc/[0-9]*/comm | cut -d/ -f3)
cat /sys/fs/cgroup"$(sed -n 's/^0:://p' /proc/$pid/cgroup)"/cpuset.cpus.effective
sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$pid/task/*/status | sort -u | paste -sd,
sed -n 's/^HugetlbPages:[[:space:]]*\([0-9]*\) kB$/\1/p' /proc/$pid/status`)
	lines := strings.Split(state, "\n")
	if len(lines) != 3 {
		t.Fatalf("the machine says of %s:\n%s", program, state)
	}
	if group, threads := parseCPUs(t, lines[0]), parseCPUs(t, lines[1]); !group.Equals(own) || !threads.IsSubsetOf(own) {
		t.Errorf("%s may use the CPUs %s, its threads %s; the kubelet gave it %s", program, group, threads, own)
	}
	huge, err := strconv.ParseInt(lines[2], 10, 64)
	must(t, err)
	if huge == 0 || huge > mostHugeKibibytes {
		t.Errorf("%s has %d KiB in huge pages, want some, and at most %d", program, huge, mostHugeKibibytes)
	}
	t.Logf("%s: CPUs %s, its threads %s, %d KiB in huge pages; all other pods have CPUs %s", program, own, lines[1], huge, shared)
}

func parseCPUs(t *testing.T, list string) cpuset.CPUSet {
	t.Helper()
	set, err := cpuset.Parse(list)
	must(t, err)
	return set
}

// passed are frames of a card and of the virtual functions of it that the kernel drives.
type passed struct{ received, sent int64 }

func (p passed) less(q passed) passed { return passed{p.received - q.received, p.sent - q.sent} }

// cards are those between generator and device: gen0 is cabled to dut0, gen1 to dut1.
var cards = []string{"gen0", "gen1", "dut0", "dut1"}

// cardFrames returns what each card has carried since the machine started. No function may be in a pod.
func cardFrames(t *testing.T) map[string]passed {
	t.Helper()
	// A card without a function that the kernel drives would leave a pattern that no file has, and fail.
	text := onHardware(t, `set -e
for card in `+strings.Join(cards, " ")+`; do
  for way in rx tx; do
    sum=0
    for n in $(cat /sys/class/net/$card/statistics/${way}_packets /sys/class/net/$card/device/virtfn*/net/*/statistics/${way}_packets); do sum=$((sum + n)); done
    echo $sum
  done
done`)
	numbers := strings.Fields(text)
	if len(numbers) != 2*len(cards) {
		t.Fatalf("the machine counts %q", text)
	}
	counted := map[string]passed{}
	for i, card := range cards {
		received, err := strconv.ParseInt(numbers[2*i], 10, 64)
		must(t, err)
		sent, err := strconv.ParseInt(numbers[2*i+1], 10, 64)
		must(t, err)
		counted[card] = passed{received, sent}
	}
	return counted
}

// framesOfCards returns how many frames at least each card must have carried for what a run received.
func framesOfCards(run *v1alpha1.BenchmarkRun) map[string]passed {
	received := map[string]int64{}
	for _, result := range run.Status.Results {
		for _, load := range result.Latency {
			for _, d := range load.Directions {
				received[d.Direction] += d.ReceivedFrames
			}
		}
	}
	forward, reverse := received["Forward"], received["Reverse"]
	return map[string]passed{"gen0": {reverse, forward}, "dut0": {forward, reverse}, "dut1": {reverse, forward}, "gen1": {forward, reverse}}
}

// checkCards checks that the four cards have carried a run's frames since they were counted.
func checkCards(t *testing.T, run *v1alpha1.BenchmarkRun, before map[string]passed) {
	t.Helper()
	after := cardFrames(t)
	for card, least := range framesOfCards(run) {
		checkCarried(t, card, after[card].less(before[card]), least)
	}
}

func checkCarried(t *testing.T, card string, grown, least passed) {
	t.Helper()
	t.Logf("%s received %d frames and sent %d, at least %d and %d of them the run's", card, grown.received, grown.sent, least.received, least.sent)
	if grown.received < least.received || grown.sent < least.sent || least.received == 0 || least.sent == 0 {
		t.Errorf("%s did not carry all of the run's frames", card)
	}
}

// checkSent checks that each load was sent as asked: never more, and less only where the run says so of its figures.
func checkSent(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	for _, result := range run.Status.Results {
		for _, load := range result.Latency {
			asked := load.IntendedFramesPerSecond * load.TrialMilliseconds / 1000
			for _, d := range load.Directions {
				// One frame more may be due at the very end.
				if d.SentFrames > asked+1 {
					t.Errorf("%s, %s bytes, %s: %d frames were sent, %d were asked for", run.Name, result.Size, d.Direction, d.SentFrames, asked)
				}
				if d.SentFrames < asked*99/100 && !slices.Contains(load.Doubts, v1alpha1.DoubtLoadNotReached) {
					t.Errorf("%s, %s bytes, %s: %d of %d frames were sent, and the doubts are %v", run.Name, result.Size, d.Direction, d.SentFrames, asked, load.Doubts)
				}
			}
		}
	}
}

// generatorNICs returns the PCI addresses of the generator's cards, west first.
func generatorNICs(t *testing.T) [2]string {
	t.Helper()
	return [2]string{cardAddress(t, "gen0"), cardAddress(t, "gen1")}
}

// checkPCI checks what the status says of the generator's devices, which are the NICs or functions of these,
// against the machine's own files.
func checkPCI(t *testing.T, run *v1alpha1.BenchmarkRun, function v1alpha1.PCIFunction, nics [2]string) {
	t.Helper()
	ports := run.Status.Generator.Interfaces
	if len(ports) != 2 {
		t.Fatalf("the generator's interfaces are %+v", ports)
	}
	for i, physical := range nics {
		port := ports[i]
		if port.PCI == nil {
			t.Errorf("port %s has no PCI device: %+v", port.Name, port)
			continue
		}
		if function == v1alpha1.PCIFunctionPhysical && port.BusAddress != physical {
			t.Errorf("port %s is at %s, want %s", port.Name, port.BusAddress, physical)
			continue
		}
		want := onHardware(t, fmt.Sprintf(`set -e; cd /sys/bus/pci/devices/%s; cat numa_node; basename "$(readlink iommu_group)"; cd ../%s; cat current_link_speed current_link_width`, port.BusAddress, physical))
		got := fmt.Sprintf("%s\n%s\n%s GT/s PCIe\n%d", numberOr(port.PCI.NUMANode, "-1"), numberOr(port.PCI.IOMMUGroup, "none"),
			strconv.FormatFloat(float64(port.PCI.LinkMegatransfersPerSecond)/1000, 'f', 1, 64), port.PCI.LinkLanes)
		owner := map[v1alpha1.PCIFunction]string{v1alpha1.PCIFunctionVirtual: physical}[function]
		if got != want || port.PCI.Function != function || port.PCI.PhysicalFunction != owner {
			t.Errorf("port %s at %s: the status has %+v, and the machine:\n%s", port.Name, port.BusAddress, port.PCI, want)
		}
		t.Logf("port %s at %s, driver %s: %s function of %q; NUMA node, IOMMU group, link's speed and width: %s", port.Name, port.BusAddress, port.Driver, port.PCI.Function, port.PCI.PhysicalFunction, strings.ReplaceAll(got, "\n", ", "))
	}
}

func numberOr(n *int32, absent string) string {
	if n == nil {
		return absent
	}
	return strconv.Itoa(int(*n))
}

// gatewayLinks are the ports of all gateways on the machine, as their pods have them.
const gatewayLinks = `for pid in $(grep -lx vnf /proc/[0-9]*/comm | cut -d/ -f3); do nsenter -t $pid -n /sbin/ip -o link; done | grep -E ': (west|east): '`

// checkInnerLink checks, while a pair of gateways is measured, that the ports between them have the larger MTU and the
// tag of the inner link, and the outer ones the testbed's MTU.
func checkInnerLink(t *testing.T, vlan int) {
	t.Helper()
	links := onHardware(t, gatewayLinks)
	t.Logf("the gateways' ports:\n%s", links)
	for mtu, want := range map[int]int{1500: 2, 1560: 2} {
		if got := strings.Count(links, fmt.Sprintf(" mtu %d ", mtu)); got != want {
			t.Errorf("%d ports have an MTU of %d, want %d", got, mtu, want)
		}
	}
	card := onHardware(t, "/sbin/ip link show dut0")
	if strings.Count(card, fmt.Sprintf("vlan %d,", vlan)) != 2 {
		t.Errorf("not two virtual functions of dut0 have the tag %d:\n%s", vlan, card)
	}
}

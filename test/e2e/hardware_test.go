package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// hardwareNode is the lab's emulated machine, whose network cards have virtual functions.
const hardwareNode = "hw1"

// needHardware skips a test that has no meaning without the machine.
func needHardware(t *testing.T) {
	t.Helper()
	if os.Getenv("VNFBENCH_E2E_HARDWARE") != "1" {
		t.Skip("NOT RUN: no network card was tried. Set VNFBENCH_E2E_HARDWARE=1 in a lab that was brought up by `lab up --hardware`")
	}
}

// hardwareTestbed returns a testbed on the machine. ports and device are the flow mappings of its ports and of its
// systemUnderTest, without the node.
func hardwareTestbed(ports, device string) string {
	return fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: Testbed
metadata: {name: hardware}
spec:
  generator: {nodeSelector: {kubernetes.io/hostname: %[1]s}, cpu: "1"}
  ports: {linkBitsPerSecond: 1000000000, %[2]s}
  systemUnderTest: {nodeSelector: {kubernetes.io/hostname: %[1]s}, %[3]s}`, hardwareNode, ports, device)
}

// virtualFunctions are the ports of a testbed whose cards are cabled as those of docs/how-to/sriov.md.
const (
	virtualFunctions       = `west: {attachment: SRIOV, sriov: {resourceName: openshift.io/gen_west}}, east: {attachment: SRIOV, sriov: {resourceName: openshift.io/gen_east}}`
	deviceVirtualFunctions = `attachments: [SRIOV], sriov: {westResourceName: openshift.io/dut_west, eastResourceName: openshift.io/dut_east, innerResourceName: openshift.io/dut_west}`
)

// hardwareRun returns a run of a chain with a low load: the processor is mostly emulated, and its rates mean nothing.
// Frames have a long time to arrive, because such a processor stops for seconds.
func hardwareRun(name, chain string) string {
	return fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: %s}
spec:
  experiment:
    testbedRef: {name: hardware}
    startupSeconds: 300
    deadlineSeconds: 1200
    chain: %s
    traffic: {frameBytes: [128]}
    measurements:
      warmUpMilliseconds: 1000
      settleMilliseconds: 5000
      latency:
        trialMilliseconds: 5000
        loads: [{name: low, framesPerSecond: 100}]
`, name, chain)
}

// hardwareSearch is a rough search for the throughput, which adds to a run of hardwareRun.
const hardwareSearch = `      throughput:
        minimumFramesPerSecond: 50
        maximumSearchSeconds: 120
        goals: [{name: PDR, lossPartsPerMillion: 100000, trialMilliseconds: 1000, durationSumMilliseconds: 1000, widthPartsPerMillion: 500000}]
`

// hardwareLimit is how long a run on the machine may take. Its own limits are shorter.
const hardwareLimit = time.Hour

// measureHardware measures a chain on the machine and returns the run, which must have ended with figures of both
// directions.
func measureHardware(t *testing.T, testbed, name, chain string) *v1alpha1.BenchmarkRun {
	t.Helper()
	needHardware(t)
	return measureHardwareIn(t, namespace(t), testbed, name, hardwareRun(name, chain), nil)
}

// measureHardwareIn measures a run in a namespace that there is already. It calls look, if there is one, while the chain
// is measured.
func measureHardwareIn(t *testing.T, ns, testbed, name, text string, look func()) *v1alpha1.BenchmarkRun {
	t.Helper()
	apply(t, ns, testbed)
	applied := time.Now()
	apply(t, ns, text)
	if look != nil {
		until(t, ns, name, hardwareLimit, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
			return finished(run) || condition(run, v1alpha1.ConditionMeasured).Reason == v1alpha1.ReasonMeasuring
		})
		look()
	}
	until(t, ns, name, hardwareLimit, "finished", finished)
	run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	t.Logf("%s from apply to the result", time.Since(applied).Round(time.Second))
	checkPassesWith(t, run, strings.Count(text, "{name: PDR"))
	checkSent(t, run)
	for _, result := range run.Status.Results {
		for _, goal := range result.Throughput {
			t.Logf("%s %s: %d frames/s at %s", run.Name, goal.Goal, goal.FramesPerSecond, result.Size)
		}
	}
	if run.Status.Plan == nil || run.Status.Plan.DeviceNode != hardwareNode {
		t.Errorf("%s: the plan is %+v, want the device on %s", run.Name, run.Status.Plan, hardwareNode)
	}
	if run.Status.Generator != nil {
		for _, port := range run.Status.Generator.Ports {
			t.Logf("%s: the generator's port %s, refused frames are %s", run.Name, port.Name, port.RefusedFrames)
		}
	}
	released(t, ns, name)
	nothingLeft(t, ns)
	return run
}

const routerOnFunctions = "[{name: r1, function: Router, west: {attachment: SRIOV}, east: {attachment: SRIOV}}]"

// TestHardwareRouter measures a router whose ports, and the generator's, are virtual functions of four cards.
func TestHardwareRouter(t *testing.T) {
	needHardware(t)
	before := cardFrames(t)
	run := measureHardwareIn(t, namespace(t), hardwareTestbed(virtualFunctions, deviceVirtualFunctions), "router", hardwareRun("router", routerOnFunctions)+hardwareSearch, nil)
	checkGenerator(t, run, "igbvf", cardInterruptMicroseconds)
	checkCards(t, run, before)
	checkPCI(t, run, v1alpha1.PCIFunctionVirtual, generatorNICs(t))
}

// TestHardwareWholeCards measures a router that has two whole cards, from a generator that has two others.
func TestHardwareWholeCards(t *testing.T) {
	needHardware(t)
	ports := fmt.Sprintf("west: {attachment: HostDevice, hostDevice: {pciAddress: %q}}, east: {attachment: HostDevice, hostDevice: {pciAddress: %q}}", cardAddress(t, "gen0"), cardAddress(t, "gen1"))
	device := fmt.Sprintf("attachments: [HostDevice], hostDevices: {west: {pciAddress: %q}, east: {pciAddress: %q}}", cardAddress(t, "dut0"), cardAddress(t, "dut1"))
	before := cardFrames(t)
	testbed := strings.Replace(hardwareTestbed(ports, device), `cpu: "1"`, `cpu: "1", xdp: {interruptMicroseconds: 0}`, 1)
	run := measureHardware(t, testbed, "whole-cards", strings.ReplaceAll(routerOnFunctions, "SRIOV", "HostDevice"))
	checkGenerator(t, run, "igb", 0)
	checkCards(t, run, before)
	checkPCI(t, run, v1alpha1.PCIFunctionPhysical, generatorNICs(t))
	for _, name := range cards {
		if got := onHardware(t, "cat /sys/class/net/"+name+"/address"); !strings.HasPrefix(got, "52:54:00:6e:69:") {
			t.Errorf("%s came back with the MAC address %s", name, got)
		}
		if got := onHardware(t, "cat /sys/class/net/"+name+"/flags"); flagged(t, got, noARP) {
			t.Errorf("%s came back without ARP", name)
		}
		if got, want := onHardware(t, "ethtool -c "+name+" | grep ^rx-usecs:"), fmt.Sprintf("rx-usecs: %d", cardInterruptMicroseconds); strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%s came back with %q, want %q", name, got, want)
		}
		// The plugin host-device leaves it down, and the lab starts it: its virtual functions have no link before.
		onHardware(t, "for i in $(seq 300); do [ $(($(cat /sys/class/net/"+name+"/flags) & 1)) = 1 ] && exit; sleep 0.1; done; echo it stays down; exit 1")
	}
}

// noARP is the flag of an interface that neither asks nor answers (linux/if.h).
const noARP = 0x80

// flagged reports whether an interface's flags, as the kernel writes them, have a flag.
func flagged(t *testing.T, flags string, flag uint64) bool {
	t.Helper()
	value, err := strconv.ParseUint(flags, 0, 32)
	must(t, err)
	return value&flag != 0
}

// taggedFunctions are virtualFunctions with a tag at each side.
var taggedFunctions = strings.NewReplacer("gen_west}", "gen_west, vlan: 201}", "gen_east}", "gen_east, vlan: 202}").Replace(virtualFunctions)

// TestHardwareVLAN measures a router whose traffic the cards tag, between virtual functions, and checks that the cards
// have the tags while it is measured and none afterwards. It captures no frame: nothing that it could capture
// with is on these two cables.
func TestHardwareVLAN(t *testing.T) {
	needHardware(t)
	tags := map[string]string{"gen0": "vlan 201,", "dut0": "vlan 201,", "gen1": "vlan 202,", "dut1": "vlan 202,"}
	link := func(name string) string { return onHardware(t, "/sbin/ip link show "+name) }
	run := measureHardwareIn(t, namespace(t), hardwareTestbed(taggedFunctions, deviceVirtualFunctions), "vlan", hardwareRun("vlan", routerOnFunctions), func() {
		for name, tag := range tags {
			if got := link(name); strings.Count(got, tag) != 1 {
				t.Errorf("not one virtual function of %s has the tag %q:\n%s", name, tag, got)
			}
		}
	})
	checkGenerator(t, run, "igbvf", cardInterruptMicroseconds)
	for name := range tags {
		if got := link(name); strings.Contains(got, "vlan ") {
			t.Errorf("a tag is left at %s:\n%s", name, got)
		}
	}
}

// farNetwork returns the generator's end in node 1 of a cable to the machine: an interface of no PCI device, which a pod
// takes by its name.
func farNetwork(side, cable string) string {
	return fmt.Sprintf(`apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: %[1]s-generator}
spec:
  config: '{"cniVersion": "1.0.0", "name": "%[1]s-generator", "plugins": [{"type": "host-device", "device": "%[2]s"}, {"type": "tuning", "capabilities": {"mac": true}}]}'`, side, cable)
}

// routerNetwork returns the network of virtual functions of a pool, with what a router needs.
func routerNetwork(side, pool string) string {
	return fmt.Sprintf(`apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: %[1]s-device
  annotations: {k8s.v1.cni.cncf.io/resourceName: openshift.io/%[2]s_%[1]s}
spec:
  config: '{"cniVersion": "1.0.0", "name": "%[1]s-device", "plugins": [{"type": "sriov", "capabilities": {"mac": true}}, {"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.forwarding": "1", "net.ipv4.conf.IFNAME.rp_filter": "0", "net.ipv4.conf.all.rp_filter": "0", "net.ipv6.conf.IFNAME.accept_ra": "0", "net.ipv6.conf.IFNAME.disable_ipv6": "0", "net.ipv6.conf.IFNAME.forwarding": "1", "net.ipv6.conf.all.forwarding": "1"}}]}'`, side, pool)
}

// existingNetworks makes two networks for each port of a testbed, of the generator and of the device, in a namespace, and
// returns the ports, which name them.
func existingNetworks(t *testing.T, namespace string, generator func(side string) string, pool string) string {
	t.Helper()
	var ports []string
	for _, side := range []string{"west", "east"} {
		apply(t, namespace, generator(side))
		apply(t, namespace, routerNetwork(side, pool))
		ports = append(ports, fmt.Sprintf("%[1]s: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {name: %[1]s-generator, namespace: %[2]s}, deviceRef: {name: %[1]s-device, namespace: %[2]s}}}", side, namespace))
	}
	return strings.Join(ports, ", ")
}

// routerOnNetworks is a router whose ports are those of existing networks.
const routerOnNetworks = "[{name: r1, function: Router}]"

// TestHardwareTwoNodes measures a router on virtual functions of the machine from a generator on node 1: frames go
// through both kernels and a cable between two nodes.
func TestHardwareTwoNodes(t *testing.T) {
	needHardware(t)
	ns, networks := namespace(t), namespace(t) // nothing is to be left in the first
	cables := map[string]string{"west": "cable0", "east": "cable1"}
	ports := existingNetworks(t, networks, func(side string) string { return farNetwork(side, cables[side]) }, "far")
	testbed := hardwareTestbed(ports, "attachments: [Veth]")
	testbed = strings.Replace(testbed, "generator: {nodeSelector: {kubernetes.io/hostname: "+hardwareNode+"}", "generator: {nodeSelector: {kubernetes.io/hostname: node1}", 1)
	run := measureHardwareIn(t, ns, testbed, "two-nodes", hardwareRun("two-nodes", routerOnNetworks), nil)
	if run.Status.Plan.GeneratorNode != "node1" {
		t.Errorf("traffic was made on %s", run.Status.Plan.GeneratorNode)
	}
}

// TestHardwareWireGuard measures a pair of gateways, which encrypt in the machine's kernel, on virtual functions: with
// the largest frames too, whose tunnel packets need the larger MTU of the ports between the two, and once with tags on
// all three links.
func TestHardwareWireGuard(t *testing.T) {
	needHardware(t)
	const gateway = "{name: %s, function: EncryptionGateway, encryptionGateway: {protocol: WireGuard, implementation: Kernel}, west: {attachment: SRIOV}, east: {attachment: SRIOV}}"
	chain := "[" + fmt.Sprintf(gateway, "gw-west") + ", " + fmt.Sprintf(gateway, "gw-east") + "]"
	for name, test := range map[string]struct {
		ports, device, sizes string
		innerVLAN            int
	}{
		"wireguard":        {virtualFunctions, deviceVirtualFunctions, "[128, 1518]", 100},
		"wireguard-tagged": {taggedFunctions, strings.Replace(deviceVirtualFunctions, "sriov: {", "sriov: {firstInnerVLAN: 300, ", 1), "[1518]", 300},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(hardwareRun(name, chain), "frameBytes: [128]", "frameBytes: "+test.sizes, 1)
			before := cardFrames(t)
			run := measureHardwareIn(t, namespace(t), hardwareTestbed(test.ports, test.device), name, text, func() { checkInnerLink(t, test.innerVLAN) })
			checkCards(t, run, before)
		})
	}
}

// onHardware runs a script on the machine and returns what it wrote.
func onHardware(t *testing.T, script string) string {
	t.Helper()
	out, code := command(t, os.Getenv("LAB"), "shell", "--node", hardwareNode, "--", "sh", "-c", script)
	if code != 0 {
		t.Fatalf("%s on %s ended with code %d and printed:\n%s", script, hardwareNode, code, out)
	}
	return strings.TrimSpace(out)
}

// cardAddress returns the PCI address of a network card.
func cardAddress(t *testing.T, name string) string {
	t.Helper()
	return onHardware(t, "basename $(readlink /sys/class/net/"+name+"/device)")
}

// checkGenerator checks how the generator sends and receives by ports of a driver: igb takes an XDP program and sends what
// one redirects, igbvf does neither, and the status says so. Both have a queue of the measured frames, and delay interrupts
// by as many microseconds as the test expects.
func checkGenerator(t *testing.T, run *v1alpha1.BenchmarkRun, driver string, interruptMicroseconds int64) {
	t.Helper()
	g := run.Status.Generator
	if g == nil || len(g.Ports) != 2 || len(g.Interfaces) != 2 {
		t.Fatalf("%s: the generator's report is %+v, want two ports", run.Name, g)
	}
	t.Logf("%s: transmit path %s, receive mode %s, %d ns for each frame, fallbacks %q", run.Name, g.TransmitPath, g.ReceiveMode, g.FrameCostNanoseconds, g.Fallbacks)
	path, mode, fallbacks := "Direct", "Native", []string(nil)
	if driver == "igbvf" {
		path, mode, fallbacks = "InnerVeth", "Generic", []string{"takes no XDP program", "an inner veth pair carries them"}
	}
	if string(g.TransmitPath) != path || g.ReceiveMode != mode || g.FrameCostNanoseconds <= 0 {
		t.Errorf("%s: transmit path %s, receive mode %s and %d ns for each frame, want %s and %s", run.Name, g.TransmitPath, g.ReceiveMode, g.FrameCostNanoseconds, path, mode)
	}
	if !slices.EqualFunc(g.Fallbacks, fallbacks, strings.Contains) {
		t.Errorf("%s: the fallbacks are %q, want %q", run.Name, g.Fallbacks, fallbacks)
	}
	for i, port := range g.Ports {
		if got := g.Interfaces[i].Driver; got != driver {
			t.Errorf("%s: port %s has the driver %q, want %s", run.Name, port.Name, got, driver)
		}
		if port.InterruptMicroseconds == nil || *port.InterruptMicroseconds != interruptMicroseconds {
			t.Errorf("%s: port %s delays interrupts by %v µs, want %d", run.Name, port.Name, port.InterruptMicroseconds, interruptMicroseconds)
		}
		if !slices.Contains([]string{"Counted", "Unproven"}, port.RefusedFrames) {
			t.Errorf("%s: port %s says %q of refused frames", run.Name, port.Name, port.RefusedFrames)
		}
	}
}

// cardInterruptMicroseconds is for how long an igb, and a function of it, delays an interrupt by itself.
const cardInterruptMicroseconds = 3

// TestHardwareVirtualMachine measures a router in a virtual machine that has two virtual functions: no bridge, no tap and
// no QEMU is on the way of a frame. Without KVM the machine's processor emulates another one, so the guest has a long
// time to boot and gets few frames.
func TestHardwareVirtualMachine(t *testing.T) {
	needHardware(t)
	needMachines(t)
	ns := namespace(t)
	testbed := hardwareTestbed(virtualFunctions, strings.NewReplacer("dut_", "vm_").Replace(deviceVirtualFunctions))
	text := strings.NewReplacer(
		"startupSeconds: 300", "startupSeconds: 1800",
		"deadlineSeconds: 1200", "deadlineSeconds: 3000",
		"trialMilliseconds: 5000", "trialMilliseconds: 10000",
		"settleMilliseconds: 5000", "settleMilliseconds: 20000",
		"framesPerSecond: 100", "framesPerSecond: 5",
	).Replace(hardwareRun("virtual-machine", "[{name: r1, function: Router, runtime: VirtualMachine, west: {attachment: SRIOV}, east: {attachment: SRIOV}}]"))
	run := measureHardwareIn(t, ns, testbed, "virtual-machine", text, nil)
	checkMachine(t, run, "sriov")
	noMachines(t, ns)
}

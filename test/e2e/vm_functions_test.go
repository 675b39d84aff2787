package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestKubeVirtFirewalls checks rules in a virtual machine, a number that it walks easily and one
// that it does not. The counters prove that the measured frames walked them all.
func TestKubeVirtFirewalls(t *testing.T) {
	needMachines(t)
	// An emulated processor on a busy node walks the larger number about 12 times per second.
	framesPerSecond := map[int32]int{1000: 100, 20_000: 5}
	for _, backend := range []string{"nftables", "iptables"} {
		for _, rules := range []int32{1000, 20_000} {
			name := fmt.Sprintf("%s-%d", backend, rules)
			t.Run(name, func(t *testing.T) {
				ns := machines(t)
				chain := fmt.Sprintf("[{name: fw, function: Firewall, runtime: VirtualMachine, firewall: {backend: %s, mode: Stateless, rules: %d}}]", backend, rules)
				rate := fmt.Sprintf("framesPerSecond: %d", framesPerSecond[rules])
				apply(t, ns, strings.Replace(machineChain(name, chain, 20_000, 240), "framesPerSecond: 100", rate, 1))
				run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
				checkPasses(t, run)
				checkMachineWalk(t, run, rules+1)
				if f := run.Status.Chain; len(f) != 1 || f[0].VirtualMachine == nil || f[0].VirtualMachine.MemoryBytes <= 512<<20 {
					t.Errorf("the chain is %+v, want a machine with memory for its rules", f)
				}
				released(t, ns, name)
				nothingLeft(t, ns)
				noMachines(t, ns)
			})
		}
	}
}

// checkMachineWalk checks that frames matched the last rule, that none passed it, and that no more
// matched than were sent. Evidence of the chain is read when the sending ends, and frames may be
// late by seconds on an emulated processor, so there may be fewer than were sent. The check waits
// for a guest that answers late.
func checkMachineWalk(t *testing.T, run *v1alpha1.BenchmarkRun, rules int32) {
	t.Helper()
	if f := run.Status.Chain; len(f) != 1 || f[0].Firewall == nil || f[0].Firewall.Rules != rules {
		t.Errorf("the chain is %+v, want one firewall with %d rules", f, rules)
	}
	for _, warning := range run.Status.Warnings {
		t.Logf("%s: %s: %s", run.Name, warning.Code, warning.Message)
	}
	if len(run.Status.Results) != 1 || len(run.Status.CPU) != 1 || len(run.Status.CPU[0].Functions) != 1 {
		t.Fatalf("%s: nothing is known of what the chain used: %+v", run.Name, run.Status.Results)
	}
	f := run.Status.CPU[0].Functions[0]
	matched, counted := f.Counter("matchedPackets")
	unmatched, _ := f.Counter("unmatchedPackets")
	if !counted || f.SentFrames == nil || f.Guest == nil || f.Domain == nil {
		t.Fatalf("%s: of the firewall %+v is known, want its counters, its guest's processor time and its hypervisor's", run.Name, f)
	}
	t.Logf("%s: %d of %d frames had matched when the guest was asked; it used %d milliCPU in softirq, %d in the rest of the kernel",
		run.Name, matched, *f.SentFrames, f.Guest.SoftirqMilliCPU, f.Guest.SystemMilliCPU)
	if matched == 0 || matched > *f.SentFrames || unmatched != 0 {
		t.Errorf("%s: %d frames were sent, counters %+v", run.Name, *f.SentFrames, f.Counters)
	}
	if f.Guest.SoftirqMilliCPU == 0 {
		t.Errorf("%s: the guest used %+v", run.Name, f.Guest)
	}
}

// gatewayMachines returns a pair of gateways in virtual machines.
func gatewayMachines(settings string) string {
	return fmt.Sprintf("[{name: gw-west, function: EncryptionGateway, runtime: VirtualMachine, encryptionGateway: %s}, {name: gw-east, function: EncryptionGateway, runtime: VirtualMachine, encryptionGateway: %s}]", settings, settings)
}

// TestKubeVirtGateways checks that WireGuard and IPsec, which only the guest's kernel has, carry
// whole frames, and that the keys are only in their Secrets and disks.
func TestKubeVirtGateways(t *testing.T) {
	needMachines(t)
	for name, tc := range map[string]struct{ settings, protocol string }{
		"wireguard": {"{implementation: Kernel}", "WireGuard"},
		"ipsec":     {"{protocol: IPsec}", "IPsec"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := machines(t)
			apply(t, ns, strings.Replace(machineChain(name, gatewayMachines(tc.settings), 10_000, 240), "frameBytes: [128]", "frameBytes: [1518]", 1))
			status := functionStatus(t, ns, name, reported.carries)
			if g := status.EncryptionGateway; g == nil || g.Protocol != tc.protocol || g.Implementation != "Kernel" || status.Counters["failedPackets"] != 0 {
				t.Errorf("the gateway's status is %+v", status)
			}
			checkKeysAreSecret(t, ns)
			run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
			checkPasses(t, run)
			released(t, ns, name)
			nothingLeft(t, ns)
			noMachines(t, ns)
		})
	}
}

// checkKeysAreSecret looks for the gateways' keys in what people may read.
func checkKeysAreSecret(t *testing.T, ns string) {
	t.Helper()
	out, _ := kubectl(t, "-n", ns, "get", "configmaps,pods,events,benchmarkruns,virtualmachineinstances", "-o", "yaml")
	logs, _ := kubectl(t, "-n", ns, "logs", "-l", v1alpha1.LabelComponent+"=function", "--all-containers", "--tail=-1")
	secrets := &corev1.SecretList{}
	must(t, cluster.List(t.Context(), secrets, client.InNamespace(ns), client.HasLabels{v1alpha1.LabelRun}))
	keys := 0
	for _, secret := range secrets.Items {
		if !strings.Contains(secret.Name, "-keys-") {
			continue
		}
		for name, key := range secret.Data {
			keys++
			if strings.Contains(out, string(key)) || strings.Contains(logs, string(key)) {
				t.Errorf("key %s of %s is in an object or a log", name, secret.Name)
			}
		}
	}
	if keys == 0 {
		t.Error("there are no keys while the gateways run")
	}
}

// TestKubeVirtTCPThroughGateways measures TCP connections through a pair of gateways in virtual
// machines, in segments that fit the tunnel.
func TestKubeVirtTCPThroughGateways(t *testing.T) {
	ns := machines(t)
	apply(t, ns, fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: tcp}
spec:
  experiment:
    testbedRef: {name: virtual-machines}
    startupSeconds: 240
    deadlineSeconds: 900
    chain: %s
    measurements:
      tcp: {durationSeconds: 5, omitSeconds: 1, targetBitsPerSecond: 500000}
`, gatewayMachines("{implementation: Kernel}")))
	run := ends(t, ns, "tcp", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if run.Status.TCP == nil || len(run.Status.TCP.Streams) == 0 {
		t.Fatalf("the result is %+v", run.Status.TCP)
	}
	for _, d := range run.Status.TCP.Streams[0].Directions {
		t.Logf("%s: %d bit/s, %d retransmits", d.Direction, d.GoodputBitsPerSecond, d.Retransmits)
		if d.GoodputBitsPerSecond < 10_000 {
			t.Errorf("%s: %d bit/s", d.Direction, d.GoodputBitsPerSecond)
		}
	}
	released(t, ns, "tcp")
	nothingLeft(t, ns)
	noMachines(t, ns)
}

// TestKubeVirtChains measures two virtual machines in a row, and one after a pod.
func TestKubeVirtChains(t *testing.T) {
	needMachines(t)
	machine := "function: Router, runtime: VirtualMachine"
	for name, chain := range map[string]struct {
		functions string
		first     v1alpha1.Runtime
	}{
		"machines": {fmt.Sprintf("[{name: r1, %s}, {name: r2, %s}]", machine, machine), v1alpha1.RuntimeVirtualMachine},
		"mixed":    {fmt.Sprintf("[{name: r1, function: Router}, {name: r2, %s}]", machine), v1alpha1.RuntimePod},
	} {
		t.Run(name, func(t *testing.T) {
			ns := machines(t)
			apply(t, ns, machineChain(name, chain.functions, 5000, 240))
			run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
			checkPasses(t, run)
			if len(run.Status.Chain) != 2 || run.Status.Chain[0].Runtime != chain.first || run.Status.Chain[1].VirtualMachine == nil {
				t.Errorf("the chain is %+v", run.Status.Chain)
			}
			released(t, ns, name)
			nothingLeft(t, ns)
			noMachines(t, ns)
		})
	}
}

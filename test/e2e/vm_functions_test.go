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

// TestKubeVirtFirewalls: rules in a virtual machine, whose counters prove that
// the measured frames walked them all.
func TestKubeVirtFirewalls(t *testing.T) {
	for _, backend := range []string{"nftables", "iptables"} {
		for _, rules := range []int{1000, 20_000} {
			t.Run(fmt.Sprintf("%s-%d", backend, rules), func(t *testing.T) {
				ns := machines(t)
				name := fmt.Sprintf("%s-%d", backend, rules)
				chain := fmt.Sprintf("[{name: fw, function: Firewall, runtime: VirtualMachine, firewall: {backend: %s, mode: Stateless, rules: %d}}]", backend, rules)
				apply(t, ns, machineChain(name, chain, 10_000, 240))
				functionStatus(t, ns, name, func(status map[string]any) bool {
					firewall, ok := status["firewall"].(map[string]any)
					return ok && firewall["rules"] == float64(rules+1) && firewall["matchPackets"].(float64) > 100 && firewall["unmatchedPackets"] == 0.0
				})
				run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
				checkPasses(t, run)
				checkMachineWalk(t, run)
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

// checkMachineWalk: packets matched the last rule, and no more than were sent. What
// the chain used is asked for when the sending ends, and frames may be seconds
// behind on an emulated processor, so there may be fewer. On a busy machine the
// guest may not have answered in time; the run says that then.
func checkMachineWalk(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	for _, result := range run.Status.Results {
		sent := int64(0)
		for _, load := range result.Latency {
			for _, d := range load.Directions {
				sent += d.SentFrames
			}
		}
		for _, c := range result.CPU {
			for _, f := range c.Functions {
				if f.Firewall == nil {
					continue
				}
				t.Logf("%s: %d packets had matched when %d frames were sent", run.Name, f.Firewall.MatchedPackets, sent)
				if f.Firewall.MatchedPackets == 0 || f.Firewall.MatchedPackets > sent {
					t.Errorf("%s: %d packets matched of %d frames", run.Name, f.Firewall.MatchedPackets, sent)
				}
				return
			}
		}
	}
	for _, warning := range run.Status.Warnings {
		if warning.Code == v1alpha1.WarningEvidenceMissing {
			t.Logf("%s: %s", run.Name, warning.Message)
			return
		}
	}
	t.Errorf("%s: no packets are known to have matched, and no warning says why", run.Name)
}

// gatewayMachines is a pair of gateways in virtual machines.
func gatewayMachines(settings string) string {
	return fmt.Sprintf("[{name: gw-west, function: EncryptionGateway, runtime: VirtualMachine, encryptionGateway: %s}, {name: gw-east, function: EncryptionGateway, runtime: VirtualMachine, encryptionGateway: %s}]", settings, settings)
}

// TestKubeVirtGateways: what only the guest's kernel has, WireGuard and IPsec,
// carries whole frames, and the keys are nowhere but in their Secrets and disks.
func TestKubeVirtGateways(t *testing.T) {
	for name, tc := range map[string]struct{ settings, protocol string }{
		"wireguard": {"{implementation: Kernel}", "WireGuard"},
		"ipsec":     {"{protocol: IPsec}", "IPsec"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := machines(t)
			apply(t, ns, strings.Replace(machineChain(name, gatewayMachines(tc.settings), 10_000, 240), "frameBytes: [128]", "frameBytes: [1518]", 1))
			status := functionStatus(t, ns, name, func(status map[string]any) bool {
				gateway, ok := status["encryptionGateway"].(map[string]any)
				return ok && gateway["encryptedBytes"].(float64) > 1e5 && gateway["decryptedBytes"].(float64) > 1e5
			})
			if gateway := status["encryptionGateway"].(map[string]any); gateway["protocol"] != tc.protocol || gateway["implementation"] != "Kernel" || gateway["failedPackets"] != 0.0 {
				t.Errorf("the gateway's status is %v", gateway)
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

// TestKubeVirtTCPThroughGateways: TCP connections through a pair of gateways in
// virtual machines, in segments that fit the tunnel.
func TestKubeVirtTCPThroughGateways(t *testing.T) {
	ns := machines(t)
	apply(t, ns, fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: tcp}
spec:
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

// TestKubeVirtChains: two virtual machines in a row, and one behind a pod.
func TestKubeVirtChains(t *testing.T) {
	for name, first := range map[string]string{"two-machines": "VirtualMachine", "pod-and-machine": "Pod"} {
		t.Run(name, func(t *testing.T) {
			ns := machines(t)
			apply(t, ns, machineChain(name, "[{name: r1, function: Router, runtime: "+first+"}, {name: r2, function: Router, runtime: VirtualMachine}]", 5000, 240))
			run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
			checkPasses(t, run)
			if len(run.Status.Chain) != 2 || string(run.Status.Chain[0].Runtime) != first || run.Status.Chain[1].VirtualMachine == nil {
				t.Errorf("the chain is %+v", run.Status.Chain)
			}
			released(t, ns, name)
			nothingLeft(t, ns)
			noMachines(t, ns)
		})
	}
}

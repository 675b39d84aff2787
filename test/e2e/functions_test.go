package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// functionRun returns a run of a few seconds over a chain.
func functionRun(name, chain string) string {
	return fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: %s}
spec:
  experiment:
    testbedRef: {name: lab}
    deadlineSeconds: 600
    chain: %s
    traffic: {frameBytes: [128]}
    measurements:
      warmUpMilliseconds: 100
      throughput:
        minimumFramesPerSecond: 100
        maximumFramesPerSecond: 20000
        goals: [{name: PDR, lossPartsPerMillion: 1000, trialMilliseconds: 500, durationSumMilliseconds: 500, widthPartsPerMillion: 100000}]
      latency:
        trialMilliseconds: 4000
        loads: [{name: idle, framesPerSecond: 200}]
`, name, chain)
}

// reported is what the tests read of a function's own status.
type reported struct {
	v1alpha1.FunctionState
	Counters map[string]int64
}

// carries reports whether an encryption gateway encrypted and decrypted.
func (r reported) carries() bool {
	return r.Counters["encryptedBytes"] > 1e5 && r.Counters["decryptedBytes"] > 1e5
}

// functionStatus reads the /status of a function's pod while the run measures.
func functionStatus(t *testing.T, ns, run string, enough func(reported) bool) reported {
	t.Helper()
	var last, token string
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		pods := &corev1.PodList{}
		must(t, cluster.List(t.Context(), pods, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelComponent: "function"}))
		for _, pod := range pods.Items {
			if token == "" {
				token = measurersToken(t, ns, run)
			}
			code, out := askAgent(t, &pod, "GET", "/status", token)
			last = out
			status := reported{}
			if code == http.StatusOK && json.Unmarshal([]byte(out), &status) == nil && enough(status) {
				return status
			}
		}
		if finished(getRun(t, ns, run)) {
			break
		}
	}
	t.Fatalf("no function had the status that was waited for; the last was %s", last)
	return reported{}
}

// TestFirewall checks a real firewall with 1,000 or 20,000 rules, whose counters prove that the
// measured frames walked them, or, with state, that only the first frames of the flows did.
func TestFirewall(t *testing.T) {
	// One testbed for all: to make and remove one takes as long as a measurement.
	ns := namespace(t)
	testbed(t, ns)
	for name, tc := range map[string]struct {
		settings string
		rules    int
		walked   bool
	}{
		"stateless-nftables": {"backend: nftables, mode: Stateless", 1000, true},
		"stateful-nftables":  {"backend: nftables, mode: Stateful", 1000, false},
		"stateless-iptables": {"backend: iptables, mode: Stateless", 1000, true},
		"bridged-nftables":   {"forwarding: Bridged, mode: Stateless", 1000, true},
		"many-nftables":      {"backend: nftables, mode: Stateless", 20_000, true},
		"many-iptables":      {"backend: iptables, mode: Stateless", 20_000, true},
	} {
		t.Run(name, func(t *testing.T) {
			apply(t, ns, functionRun(name, "[{name: fw, function: Firewall, firewall: {"+tc.settings+fmt.Sprintf(", rules: %d}}]", tc.rules)))
			functionStatus(t, ns, name, func(status reported) bool {
				if status.Firewall == nil || int(status.Firewall.Rules) != tc.rules+1 {
					return false
				}
				entered, matched, known := status.Counters["enteredPackets"], status.Counters["matchedPackets"], status.Counters["knownFlowPackets"]
				if tc.walked {
					return matched > 100 && matched <= entered && known == 0
				}
				return known > 100 && matched > 0 && matched < known/10
			})
			run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
			checkWalk(t, run, tc.rules, tc.walked)
			for _, result := range run.Status.Results {
				checkResult(t, result, 1, 1)
			}
			nothingLeft(t, ns)
		})
	}
}

// TestGateways checks a pair of gateways that measures whole frames, whose tunnel carries them, and
// whose keys are only in their Secret.
func TestGateways(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	chain := "[{name: west, function: EncryptionGateway, encryptionGateway: {implementation: Userspace}}, {name: east, function: EncryptionGateway}]"
	// The Secrets exist as long as the gateways do, which is enough time to read them.
	slow := strings.NewReplacer("frameBytes: [128]", "frameBytes: [1518]", "trialMilliseconds: 4000", "trialMilliseconds: 15000")
	apply(t, ns, slow.Replace(functionRun("gateways", chain)))
	status := functionStatus(t, ns, "gateways", reported.carries)
	if gateway := status.EncryptionGateway; gateway == nil || gateway.Protocol != "WireGuard" || gateway.TunnelMTUBytes != 1500 {
		t.Errorf("the gateway's status is %+v", status)
	}
	secrets := &corev1.SecretList{}
	must(t, cluster.List(t.Context(), secrets, client.InNamespace(ns), client.HasLabels{v1alpha1.LabelRun}))
	if len(secrets.Items) != 2 || len(secrets.Items[0].Data) != 3 || len(secrets.Items[1].Data) != 3 {
		t.Fatalf("%d Secrets of the run, want one with three keys for each gateway", len(secrets.Items))
	}
	out, _ := kubectl(t, "-n", ns, "get", "configmaps,pods,events,benchmarkruns", "-o", "yaml")
	logs, _ := kubectl(t, "-n", ns, "logs", "-l", v1alpha1.LabelComponent+"=function", "--tail=-1")
	for _, secret := range secrets.Items {
		for name, key := range secret.Data {
			if strings.Contains(out, string(key)) || strings.Contains(logs, string(key)) {
				t.Errorf("key %s of %s is in an object or a log", name, secret.Name)
			}
		}
	}
	run := ends(t, ns, "gateways", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	checkEncryption(t, run)
	for _, result := range run.Status.Results {
		checkResult(t, result, 1, 1)
	}
	nothingLeft(t, ns)
	must(t, cluster.List(t.Context(), secrets, client.InNamespace(ns), client.HasLabels{v1alpha1.LabelRun}))
	if len(secrets.Items) != 0 {
		t.Errorf("the keys are still there: %s", secrets.Items[0].Name)
	}
}

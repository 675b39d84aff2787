package envtest

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

// readyAt makes a pod ready, with an address where no program answers.
func readyAt(address string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		ready(pod)
		pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	}
}

// TestEvidenceIsMissing checks that missing answers are reported and fail nothing: the measurer knows the addresses, and
// no pod answers.
func TestEvidenceIsMissing(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) {
		n.starts[chain.ComponentObserver] = readyAt("127.0.0.9")
		n.starts[chain.ComponentFunction] = readyAt("127.0.0.10")
	})
	l.testbed()
	run := l.run("watched")
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")

	var results corev1.ConfigMap
	l.Expect(cluster.Get(l.ctx, client.ObjectKey{Namespace: run.Namespace, Name: plan.NamesOf(run).Results}, &results)).To(Succeed())
	var sources measure.Sources
	l.Expect(json.Unmarshal([]byte(results.Data[measure.KeySources]), &sources)).To(Succeed())
	l.Expect(sources.Observer).To(Equal("127.0.0.9:8080"))
	l.Expect(sources.Functions).To(HaveLen(1))
	l.Expect(sources.Functions[0].Address).To(Equal("127.0.0.10:8080"))

	l.Expect(run.Status.Device).NotTo(BeNil())
	l.Expect(run.Status.Device.Fingerprint).To(BeNil())
	l.Expect(run.Status.Device.Problems).To(ConsistOf(
		ContainSubstring("the observer did not say what the node is"), ContainSubstring("function router did not say what it is")))
	l.Expect(run.Status.Warnings).To(ContainElement(HaveField("Code", v1alpha1.WarningEvidenceMissing)))
	l.Expect(run.Status.CPU).To(BeEmpty())
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}

// TestFunctionsSayWhatTheyAre checks that the reports of functions about themselves are in the status, as the API accepts them.
func TestFunctionsSayWhatTheyAre(t *testing.T) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.11", "8080"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: testTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(vnf.Status{Version: vnf.StatusVersion, FunctionStatus: vnf.FunctionStatus{State: vnf.State{
			Firewall:          &vnf.FirewallState{Implementation: "nf_tables", Rules: 26, LoadMilliseconds: 3},
			EncryptionGateway: &vnf.EncryptionGatewayState{Protocol: vnf.ProtocolWireGuard, Implementation: vnf.ImplementationUserspace, Threads: 2, TunnelMTUBytes: 1500},
		}}})
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	l := newLab(t, nil)
	l.node.set(starts(chain.ComponentFunction, readyAt("127.0.0.11")))
	l.testbed()
	run := l.run("observed", func(run *v1alpha1.BenchmarkRun) {
		run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{
			{Name: "west", Function: v1alpha1.FunctionEncryptionGateway},
			{Name: "east", Function: v1alpha1.FunctionEncryptionGateway, EncryptionGateway: &v1alpha1.EncryptionGateway{Implementation: v1alpha1.EncryptionUserspace}},
		}
	})
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
	l.Expect(run.Status.Chain).To(HaveLen(2))
	for _, f := range run.Status.Chain {
		l.Expect(f.Firewall).To(Equal(&v1alpha1.FirewallReport{Implementation: "nf_tables", Rules: 26, LoadMilliseconds: 3}))
		l.Expect(f.EncryptionGateway).To(Equal(&v1alpha1.EncryptionGatewayReport{Protocol: "WireGuard", Implementation: "Userspace", Threads: 2, TunnelMTUBytes: 1500}))
	}
	l.Expect(run.Status.Warnings).To(ContainElement(And(
		HaveField("Code", v1alpha1.WarningUserspaceEncryption), HaveField("Message", ContainSubstring(`under "west" has`)))))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(run.Status.Chain).To(HaveLen(2), "when the pods are gone")
}

// TestObserverDoesNotStart checks that an observer that does not start ends the run, and the message says how to run without it.
func TestObserverDoesNotStart(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(starts(chain.ComponentObserver, waits("InvalidImageName", "bad")))
	l.testbed()
	run := l.run("blind")
	l.expect(run, v1alpha1.ConditionSucceeded, "False/"+v1alpha1.ReasonImageUnavailable)
	l.Expect(l.message(run, v1alpha1.ConditionStalled)).To(ContainSubstring("spec.systemUnderTest.observer Disabled"))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.expectOnlyRecords()
}

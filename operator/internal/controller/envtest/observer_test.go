package envtest

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// readyAt is a pod that is ready, and has an address where nobody answers.
func readyAt(address string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		ready(pod)
		pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	}
}

// The measurer is told whom to ask. That nobody answers is said, and fails nothing.
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
	l.Expect(run.Status.Device.Problems).To(ConsistOf(ContainSubstring("the observer did not say what the node is")))
	l.Expect(run.Status.Warnings).To(ContainElement(HaveField("Code", v1alpha1.WarningEvidenceMissing)))
	l.Expect(run.Status.Results[0].CPU).To(BeEmpty())
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
}

// An observer that does not start ends the run, and the message names the way without.
func TestObserverDoesNotStart(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(starts(chain.ComponentObserver, waits("InvalidImageName", "bad")))
	l.testbed()
	run := l.run("blind", startup(5))
	l.expect(run, v1alpha1.ConditionSucceeded, "False/"+v1alpha1.ReasonImageUnavailable)
	l.Expect(l.message(run, v1alpha1.ConditionStalled)).To(ContainSubstring("spec.deviceUnderTest.observer Disabled"))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	for _, object := range l.objects() {
		l.Expect(object).To(HavePrefix("v1.ConfigMap/"))
	}
}

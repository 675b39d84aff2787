package benchmarkrun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// TestSources checks that the measurer receives the addresses to ask, by family and by kind of function.
func TestSources(t *testing.T) {
	at := func(address string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			ready(p)
			p.Status.PodIP = address
		}
	}
	s := newScope(launched, withRecords(calibrated), functions(at("192.0.2.1"), at("2001:db8::2")), withObserver, observed(at("192.0.2.3")))
	s.plan.Functions = []plan.Function{{Name: "one"}, {Name: "two"}}
	s.plan.Run.Namespace, s.plan.Run.Name, s.plan.Run.UID = s.run.Namespace, s.run.Name, s.run.UID
	s.plan.Functions[1].Runtime = v1alpha1.RuntimeVirtualMachine
	want := measure.Sources{
		Observer: "192.0.2.3:8080",
		Functions: []measure.FunctionSource{
			{Name: "one", Address: "192.0.2.1:8080"},
			{Name: "two", Address: "[2001:db8::2]:8080", Guest: s.run.Namespace + "_" + s.names.Function("two")},
		},
	}
	if diff := cmp.Diff(want, s.sources()); diff != "" {
		t.Error(diff)
	}
	// KubeVirt's pod of the VM has another name.
	launcher := &s.chainPods[1]
	launcher.Name = "virt-launcher-x"
	launcher.OwnerReferences = []metav1.OwnerReference{{Kind: "VirtualMachineInstance", Name: s.names.Function("two"), Controller: new(true)}}
	if diff := cmp.Diff(want, s.sources()); diff != "" {
		t.Error(diff)
	}
	s.plan.Observer = nil
	withoutPod(s)
	s.chainPods[0].Status.PodIP = ""
	got := s.sources()
	if got.Observer != "" || len(got.Functions) != 1 || got.Functions[0].Name != "two" {
		t.Errorf("%+v", got)
	}
}

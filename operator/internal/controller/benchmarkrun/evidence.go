package benchmarkrun

import (
	"encoding/json"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/observer"
)

// observer is the run's observer's pod, or nil.
func (s *scope) observer() *corev1.Pod {
	for i := range s.functions {
		if s.functions[i].Name == s.names.Observer {
			return &s.functions[i]
		}
	}
	return nil
}

// observerMissing says that the plan has an observer and there is no pod of it.
func (s *scope) observerMissing() bool {
	return s.plan.Observer != nil && s.observer() == nil
}

// observerTrouble is why the observer has not started, or nil. One that ends
// later leaves evidence out and no figure, so that it is no trouble any more.
func (s *scope) observerTrouble() *trouble {
	pod := s.observer()
	if pod == nil {
		return nil
	}
	t := diagnoseStart(pod, s.startup(), v1alpha1.ReasonChainNotReady)
	if t != nil {
		t.message = sentence("%s; a testbed with spec.systemUnderTest.observer Disabled does without this pod", excerpt.Line(t.message, maxMessageBytes-100))
	}
	return t
}

// sources are whom the measurer may ask about a trial. It cannot find them
// out itself: it has no right to see a pod.
func (s *scope) sources() measure.Sources {
	var out measure.Sources
	for i, f := range s.plan.Functions {
		if s.plan.Functions[i].IsCustom() {
			// Nothing of ours is in it that could answer; the observer sees its QEMU.
			out.Functions = append(out.Functions, measure.FunctionSource{Name: f.Name, Guest: chain.GuestName(s.plan, f)})
			continue
		}
		if address := addressOf(s.answering(s.names.Function(f.Name)), chain.PortStatus); address != "" {
			out.Functions = append(out.Functions, measure.FunctionSource{Name: f.Name, Address: address, Guest: chain.GuestName(s.plan, f)})
		}
	}
	if s.plan.Observer != nil {
		out.Observer = addressOf(s.observer(), observer.Port)
	}
	out.Neighbors = s.neighborSources()
	return out
}

// answering is the pod that answers for a function or a neighbour: its own, or
// the one in which KubeVirt runs the virtual machine of that name and hands its
// ports on; nil without one.
func (s *scope) answering(name string) *corev1.Pod {
	if pod := s.pod(name); pod != nil {
		return pod
	}
	for i := range s.functions {
		owner := metav1.GetControllerOf(&s.functions[i])
		if owner != nil && owner.Kind == "VirtualMachineInstance" && owner.Name == name {
			return &s.functions[i]
		}
	}
	return nil
}

// addressOf is "" for a pod without an address.
func addressOf(pod *corev1.Pod, port int) string {
	if pod == nil || pod.Status.PodIP == "" {
		return ""
	}
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
}

func encodeSources(sources measure.Sources) string {
	text, err := json.Marshal(sources)
	if err != nil {
		// Strings always marshal.
		panic(err)
	}
	return string(text)
}

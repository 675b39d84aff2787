package benchmarkrun

import (
	"encoding/json"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/observer"
)

// sources returns which addresses the measurer may ask about a trial. The measurer cannot find this
// itself: it has no right to see a pod.
func (s *scope) sources() measure.Sources {
	var out measure.Sources
	for i, f := range s.plan.Functions {
		if s.plan.Functions[i].IsCustom() {
			// None of our programs is in it that could answer; the observer sees its QEMU.
			out.Functions = append(out.Functions, measure.FunctionSource{Name: f.Name, Guest: chain.GuestName(s.plan, f)})
			continue
		}
		if address := addressOf(s.answering(s.names.Function(f.Name)), chain.PortStatus); address != "" {
			out.Functions = append(out.Functions, measure.FunctionSource{Name: f.Name, Address: address, Guest: chain.GuestName(s.plan, f)})
		}
	}
	if s.plan.Observer != nil {
		out.Observer = addressOf(s.pod(s.names.Observer), observer.Port)
	}
	out.Neighbors = s.neighborSources()
	return out
}

// answering returns the pod that answers for a function or a neighbor: its own, or the one
// in which KubeVirt runs the virtual machine of that name and forwards its ports; nil if
// there is none.
func (s *scope) answering(name string) *corev1.Pod {
	if pod := s.pod(name); pod != nil {
		return pod
	}
	for i := range s.chainPods {
		owner := metav1.GetControllerOf(&s.chainPods[i])
		if owner != nil && owner.Kind == "VirtualMachineInstance" && owner.Name == name {
			return &s.chainPods[i]
		}
	}
	return nil
}

// addressOf returns "" for a pod without an address.
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

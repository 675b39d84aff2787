package benchmarkrun

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
)

// maximumStressors is the API's bound of a neighbour's list.
const maximumStressors = 4

// neighbor is a neighbour's pod, or nil.
func (s *scope) neighbor(name string) *corev1.Pod { return s.pod(s.names.Neighbor(name)) }

// missingNeighbors says that a neighbour has no pod.
func (s *scope) missingNeighbors() bool {
	for _, n := range s.plan.Neighbors {
		if s.neighbor(n.Load.Name) == nil {
			return true
		}
	}
	return false
}

// neighborObjects are the neighbours' pods that do not exist yet.
func neighborObjects(s *scope) []client.Object {
	var objects []client.Object
	for i, pod := range chain.Neighbors(s.plan) {
		if s.neighbor(s.plan.Neighbors[i].Load.Name) == nil {
			objects = append(objects, pod)
		}
	}
	return objects
}

// neighborTrouble is the pod whose time to start ends first among neighbours
// that have not started, and why, or nil. One that ends later is told by the
// measurer, in a warning.
func (s *scope) neighborTrouble() (*trouble, *corev1.Pod) {
	var first *trouble
	var of *corev1.Pod
	for _, n := range s.run.Spec.Neighbors {
		pod := s.neighbor(n.Name)
		if pod == nil {
			continue
		}
		if t := diagnoseStart(pod, s.startup(), v1alpha1.ReasonNeighborNotStarted); t != nil && (first == nil || t.at.Before(first.at)) {
			first, of = t, pod
		}
	}
	return first, of
}

// neighborSources are where the neighbours' agents listen.
func (s *scope) neighborSources() []measure.NeighborSource {
	var out []measure.NeighborSource
	for _, n := range s.plan.Neighbors {
		if address := addressOf(s.neighbor(n.Load.Name), neighbor.Port); address != "" {
			out = append(out, measure.NeighborSource{Name: n.Load.Name, Address: address})
		}
	}
	return out
}

// neighborLeftovers are what the neighbours' pods needed.
func neighborLeftovers(s *scope) []client.Object {
	if len(s.run.Spec.Neighbors) == 0 {
		return nil
	}
	return []client.Object{&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.names.NeighborsPolicy}}}
}

// neighbors are what the figures say of them, with their own account beside it.
func (w *writer) neighbors() *v1alpha1.NeighborsReport {
	if w.figures.Neighbors == nil {
		return nil
	}
	report := w.figures.Neighbors.DeepCopy()
	for i := range report.Loads {
		for _, state := range w.records.neighbors {
			if state.Name != report.Loads[i].Name {
				continue
			}
			for _, stressor := range first(state.Stressors, maximumStressors) {
				report.Loads[i].Stressors = append(report.Loads[i].Stressors, v1alpha1.StressorReport{
					Name: bounded(stressor.Name, 32), Operations: stressor.Operations, OperationsPerSecond: stressor.OperationsPerSecond,
				})
			}
		}
	}
	return report
}

// neighborWarnings say which neighbour ended by itself.
func (w *writer) neighborWarnings() []v1alpha1.Warning {
	if w.records == nil {
		return nil
	}
	var out []v1alpha1.Warning
	for _, state := range w.records.neighbors {
		if state.Problem != "" {
			out = append(out, v1alpha1.Warning{
				Code: v1alpha1.WarningNeighborStopped, Message: sentence("Neighbour %q: %s.", state.Name, state.Problem),
			})
		}
	}
	return out
}

package benchmarkrun

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/plan"
)

// maximumStressors is the API's bound of a neighbour's list.
const maximumStressors = 4

// hasNeighbor says that a neighbour has its pod or its virtual machine.
func (s *scope) hasNeighbor(name string) bool {
	wanted := s.names.Neighbor(name)
	return s.pod(wanted) != nil || s.machineNamed(wanted) != nil
}

// missingNeighbors says that a neighbour has no object.
func (s *scope) missingNeighbors() bool {
	return slices.ContainsFunc(s.plan.Neighbors, func(n plan.Neighbor) bool { return !s.hasNeighbor(n.Load.Name) })
}

// neighborObjects are the neighbours' pods and virtual machines that do not exist yet.
func neighborObjects(s *scope) []client.Object {
	var objects []client.Object
	for i, neighbor := range chain.Neighbors(s.plan) {
		if !s.hasNeighbor(s.plan.Neighbors[i].Load.Name) {
			objects = append(objects, neighbor.Object())
		}
	}
	return objects
}

// neighborTrouble is the trouble that ends first among neighbours that have not
// started, or nil, and the object whose events say why. One that ends later is
// told by the measurer, in a warning.
func (s *scope) neighborTrouble() (*trouble, client.Object) {
	var first *trouble
	var of client.Object
	for _, n := range s.run.Spec.Experiment.NoisyNeighbors {
		t, object := s.neighborStart(s.names.Neighbor(n.Name))
		if t != nil && (first == nil || t.at.Before(first.at)) {
			first, of = t, object
		}
	}
	return first, of
}

// neighborStart is why a neighbour of that name is not ready yet, or nil.
func (s *scope) neighborStart(name string) (*trouble, client.Object) {
	if pod := s.pod(name); pod != nil {
		return diagnoseStart(pod, s.startup(), v1alpha1.ReasonNeighborNotStarted), pod
	}
	machine := s.machineNamed(name)
	if machine == nil {
		return nil, nil
	}
	t := diagnoseMachineStart(machine, s.launcher(machine), s.startup(), neighborInside)
	return withConsole(t, s.console[name]), s.objectOfMachine(machine)
}

// neighborSources are where the neighbours' agents listen.
func (s *scope) neighborSources() []measure.NeighborSource {
	var out []measure.NeighborSource
	for _, n := range s.plan.Neighbors {
		if address := addressOf(s.answering(s.names.Neighbor(n.Load.Name)), neighbor.Port); address != "" {
			out = append(out, measure.NeighborSource{Name: n.Load.Name, Address: address})
		}
	}
	return out
}

// neighborLeftovers are what the neighbours' pods needed.
func neighborLeftovers(s *scope) []client.Object {
	if len(s.run.Spec.Experiment.NoisyNeighbors) == 0 {
		return nil
	}
	return []client.Object{&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.names.NeighborsPolicy}}}
}

// neighbors are what the figures say of them, with their own account beside it.
func (w *writer) neighbors() *v1alpha1.NoisyNeighborsReport {
	if w.figures.Neighbors == nil {
		return nil
	}
	report := w.figures.Neighbors.DeepCopy()
	for i := range report.Loads {
		report.Loads[i].Runtime = w.runtimeOf(report.Loads[i].Name)
		for _, state := range w.records.neighbors {
			if state.Name != report.Loads[i].Name {
				continue
			}
			for _, stressor := range first(state.Stressors, maximumStressors) {
				report.Loads[i].Stressors = append(report.Loads[i].Stressors, v1alpha1.StressorReport{
					Name: excerpt.Line(stressor.Name, maxKeywordBytes), Operations: stressor.Operations, OperationsPerSecond: stressor.OperationsPerSecond,
				})
			}
		}
	}
	return report
}

// runtimeOf is a neighbour's, by its name.
func (w *writer) runtimeOf(name string) v1alpha1.Runtime {
	for i := range w.plan.Neighbors {
		if n := &w.plan.Neighbors[i]; n.Load.Name == name && n.IsMachine() {
			return v1alpha1.RuntimeVirtualMachine
		}
	}
	return v1alpha1.RuntimePod
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

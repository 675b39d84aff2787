package benchmarkrun

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
)

// neighborSources returns where the neighbors' agents listen.
func (s *scope) neighborSources() []measure.NeighborSource {
	var out []measure.NeighborSource
	for _, n := range s.plan.Neighbors {
		if address := addressOf(s.answering(s.names.Neighbor(n.Load.Name)), neighbor.Port); address != "" {
			out = append(out, measure.NeighborSource{Name: n.Load.Name, Address: address})
		}
	}
	return out
}

// neighbors returns what the figures say about them, with what they report themselves.
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
			for _, stressor := range first(state.Stressors, maxStressors) {
				report.Loads[i].Stressors = append(report.Loads[i].Stressors, v1alpha1.StressorReport{
					Name: excerpt.Line(stressor.Name, maxKeywordBytes), Operations: stressor.Operations, OperationsPerSecond: stressor.OperationsPerSecond,
				})
			}
		}
	}
	return report
}

// runtimeOf returns the runtime of a neighbor.
func (w *writer) runtimeOf(name string) v1alpha1.Runtime {
	for i := range w.plan.Neighbors {
		if n := &w.plan.Neighbors[i]; n.Load.Name == name && n.IsVM() {
			return v1alpha1.RuntimeVirtualMachine
		}
	}
	return v1alpha1.RuntimePod
}

// neighborWarnings warns of each neighbor that ended by itself.
func (w *writer) neighborWarnings() []v1alpha1.Warning {
	if w.records == nil {
		return nil
	}
	var out []v1alpha1.Warning
	for _, state := range w.records.neighbors {
		if state.Problem != "" {
			out = append(out, v1alpha1.Warning{
				Code: v1alpha1.WarningNeighborStopped, Message: sentence("Neighbor %q: %s.", state.Name, state.Problem),
			})
		}
	}
	return out
}

package plan

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/measure"
)

// Outline returns a plan that only names what a run launches. It replaces a plan that was never
// stored or cannot be read, so that the run's objects are found and deleted. It assumes that
// everything is there that only the testbed or the nodes decide.
func Outline(run *v1alpha1.BenchmarkRun) *Plan {
	p := &Plan{Run: Reference{Namespace: run.Namespace, Name: run.Name, UID: run.UID}, Observer: &Observer{}}
	vm := func(runtime v1alpha1.Runtime) *VM {
		if runtime == v1alpha1.RuntimeVirtualMachine {
			return &VM{}
		}
		return nil
	}
	for _, f := range run.Spec.Experiment.Chain {
		p.Functions = append(p.Functions, Function{Name: f.Name, Runtime: f.Runtime, VM: vm(f.Runtime)})
	}
	if run.Spec.Experiment.Measurements.TCP != nil {
		for _, end := range []string{measure.EndWest, measure.EndEast} {
			p.Endpoints = append(p.Endpoints, Endpoint{Port: End{Existing: true}, Config: endpoint.Config{Name: end}})
		}
	}
	for _, n := range run.Spec.Experiment.NoisyNeighbors {
		p.Neighbors = append(p.Neighbors, Neighbor{Load: measure.NeighborLoad{Name: n.Name}, VM: vm(n.Runtime)})
	}
	return p
}

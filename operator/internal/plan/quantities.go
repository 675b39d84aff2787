package plan

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// checkQuantities refuses amounts of CPU, memory and disk that cannot be read. Admission refuses
// them too, unless the cluster has another version of the kinds.
func checkQuantities(in Input) error {
	type amount struct {
		field string
		err   error
	}
	var amounts []amount
	for i, f := range in.Run.Spec.Experiment.Chain {
		field := fmt.Sprintf("spec.experiment.chain[%d]", i)
		amounts = append(amounts, amount{field + ".cpu", f.CPU.Err()}, amount{field + ".memory", f.Memory.Err()})
		if f.Platform != nil {
			amounts = append(amounts, amount{field + ".platform.memory", f.Platform.Memory.Err()})
		}
	}
	for i, n := range in.Run.Spec.Experiment.NoisyNeighbors {
		field := fmt.Sprintf("spec.experiment.noisyNeighbors[%d]", i)
		amounts = append(amounts, amount{field + ".cpu", n.CPU.Err()}, amount{field + ".memory", n.Memory.Err()}, amount{field + ".disk", n.Disk.Err()})
	}
	generator, field := in.Testbed.Spec.Generator, "the testbed's spec.generator"
	amounts = append(amounts, amount{field + ".cpu", generator.CPU.Err()}, amount{field + ".memory", generator.Memory.Err()})
	if generator.TRex != nil && generator.TRex.Hugepages != nil {
		amounts = append(amounts, amount{field + ".trex.hugepages.memory", generator.TRex.Hugepages.Memory.Err()})
	}
	for _, a := range amounts {
		if a.err != nil {
			return measure.Failf(v1alpha1.ReasonInvalidQuantity, "change "+a.field, "%s: %v", a.field, a.err)
		}
	}
	return nil
}

package procedure

import "vnfbench.io/operator/internal/measure"

// Found is what a measurer found besides its trials; nil where it found nothing.
type Found struct {
	Generator *measure.GeneratorState
	Device    *measure.DeviceState
	// SameNode says that generator and chain ran on one node.
	SameNode bool
}

// Evaluate returns everything that follows from a run's records and from what its measurer found:
// Results with the device's service times, and with the warnings about the nodes before the others.
func Evaluate(instr measure.Instructions, records []measure.Record, found Found) Figures {
	figures := Results(instr, records)
	AddServiceTimes(instr, &figures, found.Generator)
	warnings := GeneratorWarnings(found.Generator, found.SameNode)
	warnings = append(warnings, DeviceWarnings(found.Device, found.Generator, found.SameNode)...)
	figures.Warnings = append(warnings, figures.Warnings...)
	return figures
}

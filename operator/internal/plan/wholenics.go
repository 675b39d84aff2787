package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// wholeNICNeeds returns the whole NICs that the run's pods take, by PCI address. A node has one of each: generator and
// functions can have the same address on two nodes, and not on one.
func wholeNICNeeds(in Input, p *Plan) []need {
	generator, functions := map[string]int64{}, map[string]int64{}
	for _, end := range p.PortsOf("") {
		generator[strings.ToLower(end.PCIAddress)]++
	}
	for _, function := range p.Functions {
		for _, end := range p.PortsOf(function.Name) {
			address := end.PCIAddress
			if end.PassedThrough() {
				// A virtual machine takes it by its resource. The testbed may name its address too.
				address = outerDevice(in, end.Interface).PCIAddress
			}
			functions[strings.ToLower(address)]++
		}
	}
	all := maps.Clone(generator)
	maps.Copy(all, functions)
	delete(all, "") // ports that are no whole NIC
	var needs []need
	for _, address := range slices.Sorted(maps.Keys(all)) {
		needs = append(needs, need{
			resource: "NIC " + address, generator: generator[address], functions: functions[address],
			allocatable: func(*corev1.Node) int64 { return 1 },
			reason:      v1alpha1.ReasonResourceMissing,
			remedy: fmt.Sprintf("name another NIC than %s in the testbed's spec.ports or spec.systemUnderTest.hostDevices, "+
				"or let its node selectors match two nodes, each with a NIC at this address", address),
		})
	}
	return needs
}

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// MissingResource returns a failure for the device plugin's resource or hugepages that a testbed
// names and its nodes do not offer; nil where they offer all of them, and where no node matches.
// What a run takes beyond that is checked with its plan.
func MissingResource(testbed *v1alpha1.Testbed, nodes []corev1.Node) *measure.Failure {
	found, err := matchingNodes(Input{Testbed: testbed, Nodes: nodes})
	if err != nil {
		return nil
	}
	needs := append(testbedNeeds(testbed), missingHugepages(testbed)...)
	if lacking, among := found.lacking(needs); lacking != nil {
		back, err := matchingNodes(Input{Testbed: testbed, Nodes: recovered(nodes)})
		_, fits := back.first(needs...)
		return &measure.Failure{Reason: lacking.reason, Remedy: lacking.remedy, Passing: err == nil && fits, Err: fmt.Errorf(
			"runs on the testbed take %d%s of %s for the generator and %d for the functions, but %s",
			lacking.generator, lacking.unit, lacking.resource, lacking.functions, among.largest(lacking.allocatable, lacking.unit))}
	}
	return nil
}

// testbedNeeds returns what any run takes of the pools that its testbed names: one for each
// traffic port and each outer port of the chain, and the two ends of a link between functions.
// Where a chain's outer port may be a whole NIC, it needs none.
func testbedNeeds(testbed *v1alpha1.Testbed) []need {
	generator, functions := map[string]int64{}, map[string]int64{}
	in := Input{Testbed: testbed}
	spec := testbed.Spec
	for side, port := range map[string]v1alpha1.TestbedPort{InterfaceWest: spec.Ports.West, InterfaceEast: spec.Ports.East} {
		if port.SRIOV != nil {
			generator[port.SRIOV.ResourceName]++
		}
		if pool := outerPool(in, side); pool != "" && outerDevice(in, side) == (v1alpha1.DeviceHostDevice{}) {
			functions[pool]++
		}
	}
	if sriov := spec.SystemUnderTest.SRIOV; sriov != nil && sriov.InnerResourceName != "" {
		functions[sriov.InnerResourceName] += 2
	}
	return resourceNeeds(generator, functions, nil)
}

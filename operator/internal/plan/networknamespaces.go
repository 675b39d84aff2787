package plan

import (
	"slices"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// NetworkNamespaces returns the namespaces whose NetworkAttachmentDefinitions a plan must know: the run's, and those that the testbed's
// ports name.
func NetworkNamespaces(run *v1alpha1.BenchmarkRun, testbed *v1alpha1.Testbed) []string {
	ports := testbed.Spec.Ports
	refs := slices.Clone(ports.CalibrationNetworks)
	for _, port := range []v1alpha1.TestbedPort{ports.West, ports.East} {
		if existing := port.NetworkAttachmentDefinition; existing != nil {
			refs = append(refs, existing.GeneratorRef, ptr.Deref(existing.DeviceRef, v1alpha1.NetworkReference{}))
		}
	}
	namespaces := []string{run.Namespace}
	for _, ref := range refs {
		if ref.Namespace != "" && !slices.Contains(namespaces, ref.Namespace) {
			namespaces = append(namespaces, ref.Namespace)
		}
	}
	return namespaces
}

package benchmarkrun

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

// vmError is what the API server or KubeVirt's admission reported about a virtual
// machine.
type vmError struct {
	name string
	err  error
}

func (e *vmError) Error() string { return fmt.Sprintf("virtual machine %q: %v", e.name, e.err) }
func (e *vmError) Unwrap() error { return e.err }

// aboutObject names the object of an error, and marks one about a virtual machine.
func aboutObject(object client.Object, err error) error {
	switch object.(type) {
	case *kubevirtv1.VirtualMachineInstance:
		return &vmError{object.GetName(), err}
	case *corev1.Pod:
		return fmt.Errorf("pod %q: %w", object.GetName(), err)
	}
	return err
}

// aboutWorkload adds how to run without a workload. The hint comes before the API server's
// own message, which is long.
func aboutWorkload(w *chain.Workload, err error) error {
	if w.Avoid == "" {
		return err
	}
	return fmt.Errorf("%s: %w", w.Avoid, err)
}

// vmRefusal gives a refusal its reason if it is about a virtual machine.
func vmRefusal(err error, refused *cause) *cause {
	var about *vmError
	switch {
	case !errors.As(err, &about):
		return refused
	case meta.IsNoMatchError(about.err):
		return newCause(v1alpha1.ReasonKubeVirtNotInstalled, "the cluster no longer knows the kind VirtualMachineInstance: install KubeVirt")
	case refused != nil && refused.reason == v1alpha1.ReasonPodForbidden:
		refused.reason = v1alpha1.ReasonVirtualMachineRejected
	}
	return refused
}

package chain_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestObserverThatCountsCycles checks that the observer begins with two rights where the Testbed asks for cycles, and
// that its command names the user without any.
func TestObserverThatCountsCycles(t *testing.T) {
	in := plantest.Input(1)
	without := mustMake(t, in)
	in.Testbed.Spec.SystemUnderTest.Observer = v1alpha1.ObserverEnabledWithCycles
	p := mustMake(t, in)
	container := observerOf(p).Spec.Containers[0]
	security := container.SecurityContext
	if !slices.Equal(security.Capabilities.Add, []corev1.Capability{"PERFMON", "SETUID"}) || !slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("%+v", security.Capabilities)
	}
	if *security.RunAsUser != 0 || *security.RunAsNonRoot || *security.RunAsGroup == 0 || *security.Privileged || *security.AllowPrivilegeEscalation ||
		!*security.ReadOnlyRootFilesystem || security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%+v", security)
	}
	if i := slices.Index(container.Command, "--become-user"); i < 0 || container.Command[i+1] != "65532" || !slices.Contains(container.Command, "--cycles") {
		t.Errorf("%q", container.Command)
	}
	if p.Digest != without.Digest {
		t.Error("counting cycles makes another experiment of a run")
	}
	if command := observerOf(without).Spec.Containers[0].Command; slices.Contains(command, "--cycles") {
		t.Errorf("%q counts cycles without being asked", command)
	}
}

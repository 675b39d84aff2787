package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestWhatThePlanWasMadeFrom checks that a plan says which programs made it and from which testbed,
// but not who may use that.
func TestWhatThePlanWasMadeFrom(t *testing.T) {
	in := plantest.Input(1)
	in.Defaults.Version, in.Nodes[0].Status.NodeInfo.KubeletVersion = "1.2.3", "v1.34.1"
	in.Testbed.Spec.Namespaces = v1alpha1.TestbedNamespaces{From: v1alpha1.NamespacesFromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = plan.Parse(p.JSON()); err != nil {
		t.Fatal(err)
	}
	if p.OperatorVersion != "1.2.3" || p.Platform.Device.KubeletVersion != "v1.34.1" || !cmp.Equal(p.TestbedSpec.Ports, in.Testbed.Spec.Ports) {
		t.Errorf("got version %q, kubelet %q, ports %+v", p.OperatorVersion, p.Platform.Device.KubeletVersion, p.TestbedSpec.Ports)
	}
	if text := string(p.JSON()); strings.Contains(text, `"team"`) || in.Testbed.Spec.Namespaces.Selector == nil {
		t.Errorf("the plan names who may use the testbed, or Make changed the testbed:\n%s", text)
	}
}

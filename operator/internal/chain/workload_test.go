package chain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// rendered holds a workload's objects by their kind; nil if it has none of a kind.
type rendered struct {
	ConfigMap *corev1.ConfigMap
	Secret    *corev1.Secret
	Pod       *corev1.Pod
	VM        *kubevirtv1.VirtualMachineInstance
}

// workloadsOf returns the workloads of one component.
func workloadsOf(p *plan.Plan, component string) []rendered {
	var list []rendered
	for _, w := range chain.Render(p, plantest.Issuer()) {
		if w.Component != component {
			continue
		}
		var r rendered
		for _, object := range w.Objects() {
			switch object := object.(type) {
			case *corev1.ConfigMap:
				r.ConfigMap = object
			case *corev1.Secret:
				r.Secret = object
			case *corev1.Pod:
				r.Pod = object
			case *kubevirtv1.VirtualMachineInstance:
				r.VM = object
			}
		}
		list = append(list, r)
	}
	return list
}

// functionsOf returns the chain's functions, west to east.
func functionsOf(p *plan.Plan) []rendered { return workloadsOf(p, chain.ComponentFunction) }

// neighborsOf returns the noisy neighbors, in the run's order.
func neighborsOf(p *plan.Plan) []rendered { return workloadsOf(p, chain.ComponentNeighbor) }

// observerOf returns the observer's pod, or nil.
func observerOf(p *plan.Plan) *corev1.Pod {
	for _, w := range workloadsOf(p, chain.ComponentObserver) {
		return w.Pod
	}
	return nil
}

// policiesOf returns the run's policies, the measurer's first.
func policiesOf(p *plan.Plan) []*networkingv1.NetworkPolicy {
	var policies []*networkingv1.NetworkPolicy
	for _, object := range chain.Render(p, plantest.Issuer())[0].Needs {
		if policy, ok := object.(*networkingv1.NetworkPolicy); ok {
			policies = append(policies, policy)
		}
	}
	return policies
}

// TestRender checks what the controller relies on: the order, one agent's port
// and policy for each component, and a reason for each way to fail.
func TestRender(t *testing.T) {
	for _, c := range plantest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			workloads := chain.Render(mustMake(t, c.Input()), plantest.Issuer())
			var order []string
			for i, w := range workloads {
				order = append(order, w.Component)
				_, isVM := w.Object.(*kubevirtv1.VirtualMachineInstance)
				if w.IsMeasurer() != (i == 0) || w.NotReady == "" || isVM && (w.NotStarted == "" || w.FewerCPUs == "" || w.LessMemory == "") {
					t.Errorf("%s: %+v", w.Name(), w.Rules)
				}
				if !w.IsMeasurer() && (w.Port == 0 || w.Policy == "") {
					t.Errorf("%s: port %d, policy %q", w.Name(), w.Port, w.Policy)
				}
				if (w.Lost == "") != (w.Title == "") {
					t.Errorf("%s: lost is %q, and its title %q", w.Name(), w.Lost, w.Title)
				}
			}
			want := []string{chain.ComponentMeasurer, chain.ComponentFunction, chain.ComponentObserver, chain.ComponentEndpoint, chain.ComponentNeighbor}
			want = slices.DeleteFunc(want, func(c string) bool { return !slices.Contains(order, c) })
			if diff := cmp.Diff(want, slices.Compact(order)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPriorityClass checks that each pod and each virtual machine of a run has the priority class of the installation, and none without one.
func TestPriorityClass(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range plantest.Cases() {
		for _, class := range []string{"", "lab"} {
			in := c.Input()
			in.Defaults.PriorityClassName = class
			for _, w := range chain.Render(mustMake(t, in), plantest.Issuer()) {
				object, err := chain.Unstructured(w.Object)
				if err != nil {
					t.Fatal(err)
				}
				path := []string{"spec", "priorityClassName"}
				if object.GetKind() == "Job" {
					path = []string{"spec", "template", "spec", "priorityClassName"}
				}
				got, found, err := unstructured.NestedString(object.Object, path...)
				if err != nil || got != class || found != (class != "") {
					t.Errorf("%s: %s %q has the class %q, want %q; %v", c.Name, object.GetKind(), w.Name(), got, class, err)
				}
				seen[w.Component+" "+object.GetKind()] = true
			}
		}
	}
	const vm = " VirtualMachineInstance"
	for _, kind := range []string{"measurer Job", "function Pod", "function" + vm, "observer Pod", "endpoint Pod", "neighbor Pod", "neighbor" + vm} {
		if !seen[kind] {
			t.Errorf("no case has a %s", kind)
		}
	}
}

// TestDryRun checks that a Job is tried as the pod that it makes.
func TestDryRun(t *testing.T) {
	for _, w := range chain.Render(mustMake(t, plantest.Input(1)), plantest.Issuer()) {
		pod, ok := w.DryRun().(*corev1.Pod)
		if !ok || pod.Name != w.Name() || pod.Namespace == "" || len(pod.Spec.Containers) == 0 {
			t.Errorf("%s: %+v", w.Name(), pod)
		}
	}
}

// TestOutline checks that without a plan, everything that the workloads needed is still found by its
// name, except for the networks, which only the plan names.
func TestOutline(t *testing.T) {
	needs := func(p *plan.Plan) map[string]bool {
		names := map[string]bool{}
		for _, w := range chain.Render(p, plantest.Issuer()) {
			for _, object := range w.Needs {
				names[object.GetObjectKind().GroupVersionKind().Kind+"/"+object.GetNamespace()+"/"+object.GetName()] = true
			}
		}
		return names
	}
	for _, c := range plantest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			in := c.Input()
			outline := plan.Outline(in.Run)
			var names []string
			for _, w := range chain.Render(outline, nil) {
				names = append(names, w.Name())
			}
			if diff := cmp.Diff(names, plan.NamesOf(in.Run).Workloads(&in.Run.Spec.Experiment), cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("the names of the workloads: %s", diff)
			}
			outlined := needs(outline)
			for name := range needs(mustMake(t, in)) {
				if !outlined[name] && !strings.HasPrefix(name, "NetworkAttachmentDefinition/") {
					t.Errorf("%s is not in %v", name, outlined)
				}
			}
			for name := range outlined {
				if strings.HasSuffix(name, "/") || strings.HasPrefix(name, "NetworkAttachmentDefinition/") {
					t.Errorf("an object without a name: %q", name)
				}
			}
		})
	}
}

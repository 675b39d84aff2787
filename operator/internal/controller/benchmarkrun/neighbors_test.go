package benchmarkrun

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
)

// neighbors gives the run a neighbor, and a pod for it if change is not nil.
func neighbors(change func(*corev1.Pod)) with {
	return func(s *scope) {
		s.run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "noisy", Kind: v1alpha1.NeighborCPU}}
		s.plan.Neighbors = []plan.Neighbor{{Load: measure.NeighborLoad{Name: "noisy", Kind: measure.NeighborCPU}}}
		if change != nil {
			s.chainPods = append(s.chainPods, pod(s.names.Neighbor("noisy"), change))
		}
	}
}

// neighborVM gives the run a neighbor that is a virtual machine, and the VM if
// the changes are not nil.
func neighborVM(changes ...vmChange) with {
	return func(s *scope) {
		neighbors(nil)(s)
		s.run.Spec.Experiment.NoisyNeighbors[0].Runtime = v1alpha1.RuntimeVirtualMachine
		s.plan.Neighbors[0].VM = &plan.VM{VCPUs: 1}
		if changes == nil {
			return
		}
		vm := testVM(s.names.Neighbor("noisy"), changes...)
		s.vms = append(s.vms, *vm)
		s.chainPods = append(s.chainPods, pod("virt-launcher", running, initialized, ownedBy(vm), func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.8" }))
	}
}

func ownedBy(vm *kubevirtv1.VirtualMachineInstance) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(vm, kubevirtv1.VirtualMachineInstanceGroupVersionKind)}
	}
}

// servesWithoutPorts makes it a VM that is ready and has only the management NIC.
func servesWithoutPorts(m *kubevirtv1.VirtualMachineInstance) {
	serves(m)
	m.Status.Interfaces = m.Status.Interfaces[:1]
}

// addressed gives pods their address on the pod network.
func addressed(p *corev1.Pod) { ready(p); p.Status.PodIP = "10.0.0.7" }

func TestDecideWithNeighbors(t *testing.T) {
	chain := []with{launched, withRecords(calibrated), functions(ready, ready)}
	scopeOf := func(more ...with) *scope { return newScope(append(append([]with{}, chain...), more...)...) }
	for name, test := range map[string]struct {
		scope  *scope
		action action
		reason string
	}{
		"no pod yet":             {scopeOf(neighbors(nil)), actLaunchChain, ""},
		"ready":                  {scopeOf(neighbors(ready)), actOpenChain, ""},
		"not ready yet":          {scopeOf(neighbors(unready("x"))), actWait, ""},
		"never ready":            {scopeOf(neighbors(unready("x")), after(time.Hour)), actFinish, v1alpha1.ReasonNeighborNotStarted},
		"crashed before it was":  {scopeOf(neighbors(ended(1, "Error", "no such program")), after(time.Hour)), actFinish, v1alpha1.ReasonNeighborNotStarted},
		"no image":               {scopeOf(neighbors(waiting("ErrImageNeverPull", "x"))), actFinish, v1alpha1.ReasonImageUnavailable},
		"gone in the middle":     {newScope(launched, withRecords(open), functions(ready, ready), neighbors(ended(137, "OOMKilled", ""))), actWait, ""},
		"deleted in the middle":  {newScope(launched, withRecords(open), functions(ready, ready), neighbors(nil)), actWait, ""},
		"no VM yet":              {scopeOf(neighborVM()), actLaunchChain, ""},
		"the VM is ready":        {scopeOf(neighborVM(servesWithoutPorts)), actOpenChain, ""},
		"the VM boots":           {scopeOf(neighborVM(phase(kubevirtv1.Running))), actWait, ""},
		"it boots without end":   {scopeOf(neighborVM(phase(kubevirtv1.Running)), after(time.Hour)), actFinish, v1alpha1.ReasonNeighborNotStarted},
		"the VM failed":          {scopeOf(neighborVM(phase(kubevirtv1.Failed))), actFinish, v1alpha1.ReasonNeighborNotStarted},
		"it died in the middle":  {newScope(launched, withRecords(open), functions(ready, ready), neighborVM(phase(kubevirtv1.Failed))), actWait, ""},
		"the run is being ended": {newScope(admitted, deleted, withPlan, neighbors(ready)), actStopPods, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(test.scope)
			reason := ""
			if d.outcome != nil {
				reason = d.outcome.reason
			}
			if d.action != test.action || reason != test.reason {
				t.Errorf("%s %q, want %s %q (%+v)", d.action, reason, test.action, test.reason, d.outcome)
			}
		})
	}
	if object := scopeOf(measurers(pod("m", running)), neighbors(unready("x")), after(time.Hour)).stuck(); object == nil || object.GetName() != newScope().names.Neighbor("noisy") {
		t.Errorf("the stuck object is %v", object)
	}
}

// TestNeighborVMInStatus checks that the launcher answers for the VM, and the verdict has
// the console of a VM that does not start.
func TestNeighborVMInStatus(t *testing.T) {
	s := newScope(launched, withRecords(open), functions(ready, ready), neighborVM(servesWithoutPorts))
	if diff := cmp.Diff([]measure.NeighborSource{{Name: "noisy", Address: "10.0.0.8:8080"}}, s.sources().Neighbors); diff != "" {
		t.Error(diff)
	}
	s.figures = procedure.Figures{Neighbors: &v1alpha1.NoisyNeighborsReport{Loads: []v1alpha1.NoisyNeighborReport{{Name: "noisy", Kind: v1alpha1.NeighborCPU, Trials: 3}}}}
	if loads := summarize(s, decide(s)).NoisyNeighbors.Loads; loads[0].Runtime != v1alpha1.RuntimeVirtualMachine {
		t.Errorf("%+v", loads)
	}
	s = newScope(launched, withRecords(calibrated), functions(ready, ready), neighborVM(phase(kubevirtv1.Failed)))
	name, vm := s.failedVM()
	if name != s.names.Neighbor("noisy") || vm == nil {
		t.Fatalf("%q, %v", name, vm)
	}
	s.console = map[string]string{name: "no disk"}
	if d := decide(s); d.outcome == nil || !strings.Contains(d.outcome.message, "its console ends: no disk") {
		t.Errorf("%+v", d.outcome)
	}
}

func TestNeighborsInStatus(t *testing.T) {
	s := newScope(launched, withRecords(open), functions(ready, ready), neighbors(addressed))
	if diff := cmp.Diff([]measure.NeighborSource{{Name: "noisy", Address: "10.0.0.7:8080"}}, s.sources().Neighbors); diff != "" {
		t.Error(diff)
	}
	s.figures = procedure.Figures{Neighbors: &v1alpha1.NoisyNeighborsReport{Loads: []v1alpha1.NoisyNeighborReport{{Name: "noisy", Kind: v1alpha1.NeighborCPU, Trials: 3}}}}
	s.records.neighbors = []measure.NeighborState{{Name: "noisy", Problem: "stress-ng ended: exit status 2", Stressors: []measure.Stressor{{Name: "cpu", Operations: 9, OperationsPerSecond: 3}}}}
	status := summarize(s, decide(s))
	want := []v1alpha1.NoisyNeighborReport{{Name: "noisy", Kind: v1alpha1.NeighborCPU, Runtime: v1alpha1.RuntimePod, Trials: 3, Stressors: []v1alpha1.StressorReport{{Name: "cpu", Operations: 9, OperationsPerSecond: 3}}}}
	if diff := cmp.Diff(want, status.NoisyNeighbors.Loads); diff != "" {
		t.Error(diff)
	}
	if len(status.Warnings) != 1 || status.Warnings[0].Code != v1alpha1.WarningNeighborStopped {
		t.Errorf("%+v", status.Warnings)
	}
	// The figures are computed again each time, and not added up.
	if again := summarize(s, decide(s)); len(again.NoisyNeighbors.Loads[0].Stressors) != 1 {
		t.Errorf("%+v", again.NoisyNeighbors)
	}
}

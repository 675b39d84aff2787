package chain_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestNeighborVMs checks that a neighbor that is a virtual machine gets its ports and its caller, and a disk if it
// loads one.
func TestNeighborVMs(t *testing.T) {
	in := plantest.NeighborVMs()
	in.Run.Name, in.Run.Spec.Experiment.NoisyNeighbors[0].Name = strings.Repeat("r", 60), strings.Repeat("n", 20)
	p := mustMake(t, in)
	for i, n := range neighborsOf(p) {
		vm, spec := n.VM, in.Run.Spec.Experiment.NoisyNeighbors[i]
		if n.Pod != nil || vm == nil || n.ConfigMap != nil || n.Secret == nil || vm.Spec.Volumes[0].CloudInitNoCloud.UserDataSecretRef.Name != n.Secret.Name {
			t.Fatalf("%s: %+v", spec.Name, n)
		}
		if problems := validation.IsDNS1123Label(vm.Name); len(problems) > 0 {
			t.Errorf("%q: %v", vm.Name, problems)
		}
		config, err := neighbor.ParseGuestConfig(n.Secret.Data["userdata"])
		if err != nil {
			t.Fatal(err)
		}
		var want []neighbor.GuestPort
		models := []string{"virtio"}
		if spec.Kind == v1alpha1.NeighborNetwork {
			for _, end := range []plan.End{p.Neighbors[i].Network.West, p.Neighbors[i].Network.East} {
				want = append(want, neighbor.GuestPort{Name: end.Interface, MAC: end.MAC, MTUBytes: end.MTUBytes})
				models = append(models, "e1000")
			}
		}
		if diff := cmp.Diff(want, config.Ports, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", spec.Name, diff)
		}
		var got []string
		for _, nic := range vm.Spec.Domain.Devices.Interfaces {
			got = append(got, nic.Model)
		}
		if diff := cmp.Diff(models, got); diff != "" {
			t.Errorf("%s: %s", spec.Name, diff)
		}
		disks := vm.Spec.Domain.Devices.Disks
		if hasScratch := len(disks) == 2 && disks[1].Serial == neighbor.ScratchSerial; hasScratch != (spec.Kind == v1alpha1.NeighborDisk) {
			t.Errorf("%s has the disks %+v", spec.Name, disks)
		} else if hasScratch {
			requested, size := vm.Spec.Domain.Resources.Requests[corev1.ResourceEphemeralStorage], vm.Spec.Volumes[1].EmptyDisk.Capacity
			if size.IsZero() || requested.Cmp(size) != 0 {
				t.Errorf("%s requests %s of storage, and may write %s", spec.Name, &requested, &size)
			}
		}
		if firmware := vm.Spec.Domain.Firmware; firmware.KernelBoot.Container.Image != "registry.example/neighbor-guest:v1" {
			t.Errorf("%s boots %+v", spec.Name, firmware)
		}
	}
}

// TestNeighborRights checks that a neighbor only has the right that its kind needs.
func TestNeighborRights(t *testing.T) {
	in := plantest.Neighbors()
	in.Run.Name, in.Run.Spec.Experiment.NoisyNeighbors[0].Name = strings.Repeat("r", 60), strings.Repeat("n", 20)
	for i, n := range neighborsOf(mustMake(t, in)) {
		pod := n.Pod
		if problems := validation.IsDNS1123Label(pod.Name); len(problems) > 0 {
			t.Errorf("%q: %v", pod.Name, problems)
		}
		rights := pod.Spec.Containers[0].SecurityContext
		if *rights.AllowPrivilegeEscalation || *rights.Privileged || !*rights.ReadOnlyRootFilesystem || pod.Spec.HostPID || pod.Spec.HostNetwork ||
			rights.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *pod.Spec.AutomountServiceAccountToken {
			t.Errorf("%s may do too much: %+v", pod.Name, rights)
		}
		wanted := &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		if in.Run.Spec.Experiment.NoisyNeighbors[i].Kind == v1alpha1.NeighborNetwork {
			wanted.Add = []corev1.Capability{"NET_RAW"}
		} else if rights.RunAsNonRoot == nil || !*rights.RunAsNonRoot || *rights.RunAsUser == 0 {
			t.Errorf("%s runs as root", pod.Name)
		}
		if diff := cmp.Diff(wanted, rights.Capabilities); diff != "" {
			t.Errorf("%s: %s", pod.Name, diff)
		}
		if limits := pod.Spec.Containers[0].Resources.Limits; limits.Cpu().IsZero() || limits.Memory().IsZero() || pod.Spec.Volumes[0].EmptyDir.SizeLimit.IsZero() {
			t.Errorf("%s has no limits: %v", pod.Name, limits)
		}
		if got, want := pod.Spec.Containers[0].Resources.Requests.StorageEphemeral(), pod.Spec.Volumes[0].EmptyDir.SizeLimit; got.Cmp(*want) != 0 {
			t.Errorf("%s requests %s of storage, and may write %s", pod.Name, got, want)
		}
	}
}

// TestNeighborPolicies checks that only the measurer reaches a neighbor, and a neighbor reaches no other pod.
func TestNeighborPolicies(t *testing.T) {
	p := mustMake(t, plantest.Neighbors())
	found, let := false, false
	for _, policy := range policiesOf(p) {
		switch policy.Spec.PodSelector.MatchLabels[v1alpha1.LabelComponent] {
		case chain.ComponentNeighbor:
			found = len(policy.Spec.Egress) == 0 && len(policy.Spec.PolicyTypes) == 2 && len(policy.Spec.Ingress) == 1 &&
				policy.Spec.Ingress[0].From[0].PodSelector.MatchLabels[v1alpha1.LabelComponent] == chain.ComponentMeasurer
		case chain.ComponentMeasurer:
			for _, rule := range policy.Spec.Egress {
				let = let || len(rule.To) == 1 && rule.To[0].PodSelector.MatchLabels[v1alpha1.LabelComponent] == chain.ComponentNeighbor && rule.Ports[0].Port.IntValue() == 8080
			}
		}
	}
	if !found || !let {
		t.Errorf("closed %v, let in %v", found, let)
	}
	if len(policiesOf(mustMake(t, plantest.Input(1))))+1 != len(policiesOf(p)) {
		t.Error("a run without neighbors has their policy too")
	}
}

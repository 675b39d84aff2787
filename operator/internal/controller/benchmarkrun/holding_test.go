package benchmarkrun

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func TestIsOwn(t *testing.T) {
	s := newScope()
	controller := func(version, kind, name string) *metav1.OwnerReference {
		return &metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: "x", Controller: new(true)}
	}
	ofRun := controller(v1alpha1.GroupVersion.String(), "BenchmarkRun", "run")
	ofRun.UID = s.run.UID
	vm := kubevirtv1.VirtualMachineInstanceGroupVersionKind
	for name, test := range map[string]struct {
		pod   string
		owner *metav1.OwnerReference
		want  bool
	}{
		"of the run":                     {"any", ofRun, true},
		"of another run":                 {s.names.Function("one"), controller(ofRun.APIVersion, ofRun.Kind, "run"), false},
		"of the Job":                     {"any", controller("batch/v1", "Job", s.names.Job), true},
		"of another Job":                 {s.names.Job + "-abcde", controller("batch/v1", "Job", "other"), false},
		"of a virtual machine":           {"any", controller(vm.GroupVersion().String(), vm.Kind, s.names.Function("two")), true},
		"of another virtual machine":     {"any", controller(vm.GroupVersion().String(), vm.Kind, "other"), false},
		"of a ReplicaSet":                {s.names.Function("one"), controller("apps/v1", "ReplicaSet", s.names.Job), false},
		"orphan of the Job":              {s.names.Job + "-abcde", nil, true},
		"orphan of the run":              {s.names.Function("one"), nil, true},
		"orphan of a virtual machine":    {"virt-launcher-" + s.names.Function("one") + "-abcde", nil, true},
		"another pod without controller": {"sleeps", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: test.pod}}
			if test.owner != nil {
				p.OwnerReferences = []metav1.OwnerReference{*test.owner}
			}
			if got := s.isOwn(p); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

// TestIsLate checks that what is made after the end of a run does not count, and that the end is the first of the verdict and
// the deletion.
func TestIsLate(t *testing.T) {
	late := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(epoch.Add(heldTimeout + time.Second))}}
	early := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(epoch.Add(heldTimeout))}}
	deletedLater := func(s *scope) { s.run.DeletionTimestamp = new(metav1.NewTime(epoch.Add(time.Hour))) }
	over := finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	for name, test := range map[string]struct {
		s    *scope
		want bool
	}{
		"not over": {newScope(admitted), false}, "over": {newScope(admitted, over), true}, "deleted": {newScope(admitted, deleted), true},
		"over and then deleted": {newScope(admitted, over, deletedLater), true}, "deleted later": {newScope(admitted, deletedLater), false},
	} {
		if got := test.s.isLate(late); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
		if test.s.isLate(early) {
			t.Errorf("%s: a pod that was made in time does not count", name)
		}
	}
}

// TestHeldVirtualMachine checks that a virtual machine that a finalizer keeps does not count for longer than a while, and
// that its pod counts, and is then deleted by the operator.
func TestHeldVirtualMachine(t *testing.T) {
	vm := kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: "vm", UID: "vm-uid", DeletionTimestamp: new(metav1.NewTime(epoch))}}
	launcher := pod("launcher", running)
	launcher.OwnerReferences = []metav1.OwnerReference{{UID: vm.UID, Controller: new(true)}}
	s := newScope(admitted, deleted, after(heldTimeout-1))
	s.vms = []kubevirtv1.VirtualMachineInstance{vm}
	if !s.podsRemain() || !s.ofVM(&launcher) {
		t.Error("a virtual machine that is being deleted does not count, or its pod is deleted at once")
	}
	s.now = epoch.Add(heldTimeout)
	if s.podsRemain() || s.ofVM(&launcher) {
		t.Error("a virtual machine that a finalizer keeps counts, or its pod is left to it")
	}
	if s.chainPods = []corev1.Pod{launcher}; !s.podsRemain() {
		t.Error("its pod does not count")
	}
}

// TestOverused checks that new Jobs do not give a run more time on its nodes.
func TestOverused(t *testing.T) {
	s := newScope(admitted)
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{AcquireTime: new(metav1.NewMicroTime(epoch))}}
	s.now = epoch.Add(maxUse(s.run))
	if err := s.overused(lease); err != nil {
		t.Error(err)
	}
	s.now = s.now.Add(time.Second)
	var failure *measure.Failure
	if err := s.overused(lease); !errors.As(err, &failure) || failure.Reason != v1alpha1.ReasonDeadlineExceeded {
		t.Errorf("%v", err)
	}
	if refused := refusal(s.overused(lease)); refused == nil || refused.reason != v1alpha1.ReasonDeadlineExceeded {
		t.Errorf("%+v", refused)
	}
}

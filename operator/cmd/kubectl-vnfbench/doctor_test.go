package main

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/doctor"
)

// checkDoctor looks at a cluster without Multus and nodes, and at one with an old node and a namespace that is too strict.
func (s *apiServer) checkDoctor(t *testing.T) {
	t.Helper()
	look := func(want int) map[string]doctor.Finding {
		t.Helper()
		var said struct{ Checks []doctor.Finding }
		if err := json.Unmarshal([]byte(s.run(t, want, "doctor", "-o", "json")), &said); err != nil {
			t.Fatal(err)
		}
		out := map[string]doctor.Finding{}
		for _, f := range said.Checks {
			out[f.Check] = f
		}
		return out
	}
	expect := func(found map[string]doctor.Finding, want map[string]doctor.Result) {
		t.Helper()
		for check, result := range want {
			if found[check].Result != result {
				t.Errorf("%s is %+v, want %s", check, found[check], result)
			}
		}
	}
	expect(look(exitFailed), map[string]doctor.Result{
		"api-server": doctor.OK, "admission-policies": doctor.OK, "rights-run": doctor.OK, "rights-read": doctor.OK, "rights-install": doctor.OK, "kinds": doctor.OK,
		"operator": doctor.Fail, "multus": doctor.Fail, "pod-security": doctor.OK, "nodes": doctor.Fail, "kubevirt": doctor.OK, "storage-class": doctor.Warning, "testbeds": doctor.Warning,
	})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	namespace := &corev1.Namespace{}
	if err := s.Get(t.Context(), client.ObjectKey{Name: "default"}, namespace); err != nil {
		t.Fatal(err)
	}
	namespace.Labels["pod-security.kubernetes.io/enforce"] = "baseline"
	for _, err := range []error{s.Create(t.Context(), node), s.Update(t.Context(), namespace)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	node.Spec.Taints = nil
	if err := s.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	node.Status.NodeInfo.KernelVersion, node.Status.NodeInfo.OperatingSystem = "5.10.0", "linux"
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := s.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	found := look(exitFailed)
	expect(found, map[string]doctor.Result{"pod-security": doctor.Fail, "nodes": doctor.OK, "kernel": doctor.Fail, "cpu-manager": doctor.Unknown})
	if !strings.Contains(found["pod-security"].Found, "violates PodSecurity") {
		t.Errorf("the dry run says %q", found["pod-security"].Found)
	}
	if out := s.run(t, exitFailed, "doctor"); !strings.HasPrefix(out, "CHECK") || !strings.Contains(out, "kernel") {
		t.Errorf("the table is %q", out)
	}
}

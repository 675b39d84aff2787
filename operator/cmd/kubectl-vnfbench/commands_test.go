package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// checkCommands plans, makes, changes and collects runs.
func (s *apiServer) checkCommands(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "router.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := s.run(t, exitFailed, "plan", file); !strings.Contains(out, "no Testbed") {
		t.Errorf("planning without a Testbed prints %q", out)
	}
	testbed := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(labTestbed), &testbed.Object); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), testbed); err != nil {
		t.Fatal(err)
	}
	if out := s.run(t, exitFailed, "plan", file); !strings.Contains(out, v1alpha1.ReasonNetworkAttachmentMissing) {
		t.Errorf("planning without Multus prints %q", out)
	}
	if out := s.run(t, exitSucceeded, "run", file); out != "BenchmarkRun default/router created\n" {
		t.Errorf("run prints %q", out)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte(strings.Replace(manifest, "name: router", "name: wrong", 1)+"    flows: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := s.run(t, exitError, "run", wrong); !strings.Contains(out, "unknown field") {
		t.Errorf("a run with an unknown field: %q", out)
	}
	if out := s.run(t, exitSucceeded, "rerun", "router", "--name", "again"); !strings.Contains(out, "default/again created") {
		t.Errorf("rerun prints %q", out)
	}
	for _, args := range [][]string{{"suspend", "again"}, {"resume", "again"}} {
		s.run(t, exitSucceeded, args...)
		var run v1alpha1.BenchmarkRun
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "again"}, &run); err != nil || run.Spec.Suspend != (args[0] == "suspend") {
			t.Errorf("%s leaves spec.suspend at %t: %v", args[0], run.Spec.Suspend, err)
		}
	}
	if out := s.run(t, exitSucceeded, "list"); !strings.Contains(out, "again") || !strings.Contains(out, "router-pod") {
		t.Errorf("list prints %q", out)
	}
	if out := s.run(t, exitError, "logs", "router"); !strings.Contains(out, "has no pod") {
		t.Errorf("logs prints %q", out)
	}
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if out := s.run(t, exitSucceeded, "collect", "router", "--output-file", bundle); strings.Contains(out, "doctor.json") || strings.Contains(out, "versions.json") {
		t.Errorf("collect leaves out what is known: %q", out)
	}
}

// Package argocd asks Argo CD's own code what the health of this project's
// objects is: its reading of the ConfigMap argocd-cm that config/gitops ships,
// its choice of a script for an object, and its sandbox for scripts of users.
// The objects are recorded by the tests of the operator's controllers.
package argocd

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/argoproj/gitops-engine/pkg/health"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

const top = "../.."

// overrides are what Argo CD reads in a ConfigMap that a user has applied.
func overrides(t *testing.T, change func(data map[string]string)) lua.ResourceHealthOverrides {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "config/gitops/argocd/argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(config.Data)
	}
	manager := settings.NewSettingsManager(t.Context(), fake.NewClientset(&config), config.Namespace)
	found, err := manager.GetResourceOverrides()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHealth(t *testing.T) {
	scripts := overrides(t, nil)
	for _, kind := range []string{"BenchmarkRun", "BenchmarkSuite", "Testbed"} {
		text, err := os.ReadFile(filepath.Join(top, "test/fixtures/argocd", kind+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var states map[string]struct {
			Health  health.HealthStatusCode
			Message string
			Object  unstructured.Unstructured
		}
		if err := json.Unmarshal(text, &states); err != nil {
			t.Fatal(err)
		}
		// So that a file without states is not a success.
		seen := map[health.HealthStatusCode]bool{}
		for _, name := range slices.Sorted(maps.Keys(states)) {
			state := states[name]
			seen[state.Health] = true
			t.Run(kind+"/"+name, func(t *testing.T) {
				got, err := health.GetResourceHealth(&state.Object, scripts)
				if err != nil {
					t.Fatal(err)
				}
				if got == nil || got.Status != state.Health || got.Message != state.Message {
					t.Errorf("Argo CD says %+v, and %s with %q is wanted", got, state.Health, state.Message)
				}
			})
		}
		for _, status := range []health.HealthStatusCode{health.HealthStatusProgressing, health.HealthStatusHealthy, health.HealthStatusDegraded} {
			if !seen[status] {
				t.Errorf("no recorded %s is %s", kind, status)
			}
		}
	}
}

// TestNoHealthWithoutScripts checks that without the ConfigMap there is no health at all, and Argo CD takes the object for healthy.
func TestNoHealthWithoutScripts(t *testing.T) {
	without := overrides(t, func(data map[string]string) {
		maps.DeleteFunc(data, func(key, _ string) bool { return strings.Contains(key, "vnfbench.io") })
	})
	for _, kind := range []string{"BenchmarkRun", "BenchmarkSuite", "Testbed"} {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion("vnfbench.io/v1alpha1")
		object.SetKind(kind)
		if got, err := health.GetResourceHealth(object, without); got != nil || err != nil {
			t.Errorf("%s: %+v, %v; the page says that Argo CD knows nothing about it", kind, got, err)
		}
	}
}

// TestHealthOfApplications checks the health of Applications, which the waves of Applications wait for.
func TestHealthOfApplications(t *testing.T) {
	scripts := overrides(t, nil)
	application := func(status map[string]any) *unstructured.Unstructured {
		content := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
		if status != nil {
			content["status"] = status
		}
		return &unstructured.Unstructured{Object: content}
	}
	tests := map[string]struct {
		status map[string]any
		want   health.HealthStatus
	}{
		"new":              {nil, health.HealthStatus{Status: health.HealthStatusProgressing, Message: "waiting for Argo CD"}},
		"not yet compared": {map[string]any{"health": map[string]any{}}, health.HealthStatus{Status: health.HealthStatusProgressing, Message: "waiting for Argo CD"}},
		"healthy":          {map[string]any{"health": map[string]any{"status": "Healthy"}}, health.HealthStatus{Status: health.HealthStatusHealthy}},
		"degraded":         {map[string]any{"health": map[string]any{"status": "Degraded", "message": "x"}}, health.HealthStatus{Status: health.HealthStatusDegraded, Message: "x"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := health.GetResourceHealth(application(test.status), scripts)
			if err != nil || got == nil || got.Status != test.want.Status || got.Message != test.want.Message {
				t.Errorf("Argo CD says %+v, %v; wanted is %+v", got, err, test.want)
			}
		})
	}
}

// TestSandbox checks that the sandbox is closed: a script that asks for a library that Argo CD keeps
// from users fails, so that the scripts above are known to need none.
func TestSandbox(t *testing.T) {
	for _, library := range []string{"string", "math", "io"} {
		scripts := overrides(t, func(data map[string]string) {
			data["resource.customizations.health.vnfbench.io_Testbed"] = "return {status = \"Healthy\", message = " + library + ".none}"
		})
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "vnfbench.io/v1alpha1", "kind": "Testbed"}}
		if got, err := health.GetResourceHealth(object, scripts); err == nil {
			t.Errorf("a script was given the library %s: %+v", library, got)
		}
	}
}

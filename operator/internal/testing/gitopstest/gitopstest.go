// Package gitopstest shows, for tests, what GitOps tools make of an object's status: kstatus
// itself, Flux's expressions of config/gitops in the language that Flux embeds, and, for Argo CD,
// recorded objects with the expected health. Argo CD's libraries cannot share a module with the
// operator's, so test/argocd gives the recorded objects to them.
package gitopstest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// Verdict is what the tools show of one object.
type Verdict struct {
	// Kstatus is what the library computes by itself.
	Kstatus status.Status
	// Flux is the result of healthCheckExprs. It is Unknown if they cannot be evaluated, and then
	// Flux asks again.
	Flux status.Status
}

// Judge evaluates an object of this project with kstatus and Flux.
func Judge(t *testing.T, object *unstructured.Unstructured) Verdict {
	t.Helper()
	result, err := status.Compute(object)
	if err != nil {
		t.Fatal(err)
	}
	return Verdict{Kstatus: result.Status, Flux: flux(t, object.GetKind(), object.Object)}
}

// New returns an object as the API server stores it before the operator has seen it.
func New(kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"name": "new", "generation": int64(1)},
	}}
}

// Stored converts a Go object to the form in which tools read it.
func Stored(t *testing.T, kind string, object any) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	stored := &unstructured.Unstructured{Object: content}
	stored.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return stored
}

// top returns the repository, which is a folder above the test.
func top(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(folder, "config/gitops"))
		switch {
		case err == nil:
			return folder
		case !errors.Is(err, fs.ErrNotExist) || folder == filepath.Dir(folder):
			t.Fatalf("config/gitops is not above this test: %v", err)
		}
		folder = filepath.Dir(folder)
	}
}

// read decodes a file of config/gitops.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top(t), "config/gitops", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("config/gitops/%s: %v", name, err)
	}
}

// flux evaluates healthCheckExprs in the order of Flux's RFC 0009: a generation that was not
// observed, inProgress, failed, current, and else in progress. Like Flux it parses expressions
// without checking types, and gives them the object's fields as variables.
func flux(t *testing.T, kind string, content map[string]any) status.Status {
	t.Helper()
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []struct{ APIVersion, Kind, InProgress, Failed, Current string }
		}
	}
	read(t, map[string]string{"BenchmarkRun": "flux/runs.yaml", "BenchmarkSuite": "flux/suites.yaml", "Testbed": "flux/testbed.yaml"}[kind], &kustomization)
	observed, seen, err := unstructured.NestedInt64(content, "status", "observedGeneration")
	if err != nil {
		t.Fatal(err)
	}
	generation, _, err := unstructured.NestedInt64(content, "metadata", "generation")
	if err != nil {
		t.Fatal(err)
	}
	if seen && observed != generation {
		return status.InProgressStatus
	}
	for _, check := range kustomization.Spec.HealthCheckExprs {
		if check.APIVersion != v1alpha1.GroupVersion.String() || check.Kind != kind {
			continue
		}
		for _, one := range []struct {
			text string
			is   status.Status
		}{{check.InProgress, status.InProgressStatus}, {check.Failed, status.FailedStatus}, {check.Current, status.CurrentStatus}} {
			if one.text == "" {
				continue
			}
			holds, err := evaluate(t, one.text, content)
			if err != nil {
				return status.UnknownStatus
			}
			if holds {
				return one.is
			}
		}
		return status.InProgressStatus
	}
	t.Fatalf("config/gitops/flux has no healthCheckExprs for %s", kind)
	return ""
}

// evaluate returns an error if the object lacks a field that the expression names.
func evaluate(t *testing.T, text string, content map[string]any) (bool, error) {
	t.Helper()
	environment, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings())
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := environment.Parse(text)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", text, issues.Err())
	}
	program, err := environment.Program(parsed)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(content)
	if err != nil {
		return false, err
	}
	holds, isBool := value.Value().(bool)
	if !isBool {
		t.Fatalf("%s gives %v, which is neither true nor false", text, value)
	}
	return holds, nil
}

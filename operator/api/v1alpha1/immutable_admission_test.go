package v1alpha1_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Every field of the experiment has a change here that would be valid in a new run.
func TestExperimentIsImmutable(t *testing.T) {
	ctx := context.Background()
	o := object(t, goodRun, map[string]string{"metadata.name": "immutable"})
	if err := server.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Delete(ctx, o) })
	changes := map[string]string{
		"testbedRef":      "{name: other}",
		"chain":           "[{name: r2, function: Router}]",
		"traffic":         "{frameBytes: [128]}",
		"measurements":    "{latency: {loads: [{name: a, framesPerSecond: 5}]}}",
		"noisyNeighbors":  "[{name: noise, kind: CPU, cpu: 1}]",
		"acceptance":      "[{name: a, metric: LossPartsPerMillion, load: idle, atMost: 1}]",
		"baseline":        "{runRef: {name: other}}",
		"deadlineSeconds": "60",
		"startupSeconds":  "60",
		"onInconclusive":  "Allow",
	}
	for field := range schemaOf(t, "vnfbench.io_benchmarkruns.yaml", "spec", "experiment") {
		value, found := changes[field]
		if !found {
			t.Errorf("spec.experiment.%s: the test has no change for it", field)
			continue
		}
		if err := create(object(t, goodRun, map[string]string{"metadata.name": "another", "spec.experiment." + field: value})); err != nil {
			t.Errorf("spec.experiment.%s is not valid in a new run: %v", field, err)
		}
		changed := object(t, goodRun, map[string]string{"metadata.name": "immutable", "spec.experiment." + field: value})
		changed.SetResourceVersion(o.GetResourceVersion())
		refusesChange(t, "spec.experiment."+field, server.Update(ctx, changed))
	}
	without := object(t, goodRun, map[string]string{"metadata.name": "immutable"})
	unstructured.RemoveNestedField(without.Object, "spec", "experiment", "testbedRef")
	without.SetResourceVersion(o.GetResourceVersion())
	refusesChange(t, "no spec.experiment.testbedRef", server.Update(ctx, without))
	for _, patch := range []string{`{"spec":{"suspend":true}}`, `{"spec":{"suspend":false}}`, `{"spec":{"ttlSecondsAfterFinished":10}}`, `{"spec":{"ttlSecondsAfterFinished":null}}`} {
		if err := server.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
}

func refusesChange(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "immutable, only suspend and ttlSecondsAfterFinished may change") || !strings.Contains(err.Error(), "spec.experiment") {
		t.Errorf("%s: %v, want a refusal that says that the experiment is immutable", what, err)
	}
}

// Every leaf of a whole experiment is refused too, however deep it is.
func TestEveryLeafOfTheExperimentIsImmutable(t *testing.T) {
	ctx := context.Background()
	text, err := os.ReadFile("../../../config/samples/router-accepted.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, string(text), map[string]string{"metadata.name": "leaves", "metadata.namespace": "default"})
	if err := server.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Delete(ctx, o) })
	var leaves int
	var walk func(value any, set func(any), path string)
	walk = func(value any, set func(any), path string) {
		switch value := value.(type) {
		case map[string]any:
			for key, below := range value {
				walk(below, func(v any) { value[key] = v }, path+"."+key)
			}
			return
		case []any:
			for i, below := range value {
				walk(below, func(v any) { value[i] = v }, fmt.Sprintf("%s[%d]", path, i))
			}
			return
		case string:
			set(value + "x")
		case int64:
			set(value + 1)
		case bool:
			set(!value)
		default:
			t.Fatalf("%s is a %T", path, value)
		}
		leaves++
		if server.Update(ctx, o.DeepCopy()) == nil {
			t.Errorf("%s was changed", path)
		}
		set(value)
	}
	experiment, _, err := unstructured.NestedFieldNoCopy(o.Object, "spec", "experiment")
	if err != nil {
		t.Fatal(err)
	}
	walk(experiment, nil, "spec.experiment")
	if leaves < 20 {
		t.Errorf("the experiment has %d leaves", leaves)
	}
}

// schemaOf are the properties of a CRD's schema at a path.
func schemaOf(t *testing.T, file string, path ...string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../config/crd/bases/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	fields := []string{"schema", "openAPIV3Schema", "properties"}
	for _, name := range path {
		fields = append(fields, name, "properties")
	}
	properties, found, err := unstructured.NestedMap(versions[0].(map[string]any), fields...)
	if err != nil || !found {
		t.Fatalf("%s has no %s: %v", file, strings.Join(path, "."), err)
	}
	return properties
}

package v1alpha1_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// unboundedOfKubernetes are parts of Kubernetes' own types in the Testbed, which only an
// administrator writes. No rule reads them.
var unboundedOfKubernetes = map[string]bool{
	"spec.generator.nodeSelector.*": true, "spec.systemUnderTest.nodeSelector.*": true,
	"spec.generator.tolerations[].effect": true, "spec.generator.tolerations[].key": true, "spec.generator.tolerations[].operator": true, "spec.generator.tolerations[].value": true,
	"spec.systemUnderTest.tolerations[].effect": true, "spec.systemUnderTest.tolerations[].key": true, "spec.systemUnderTest.tolerations[].operator": true, "spec.systemUnderTest.tolerations[].value": true,
	"spec.namespaces.selector.matchExpressions": true, "spec.namespaces.selector.matchExpressions[].key": true, "spec.namespaces.selector.matchExpressions[].operator": true,
	"spec.namespaces.selector.matchExpressions[].values": true, "spec.namespaces.selector.matchExpressions[].values[]": true,
	"spec.namespaces.selector.matchLabels": true, "spec.namespaces.selector.matchLabels.*": true,
}

// unschemed are parts of a suite that the API server does not read: the operator bounds their bytes before it decodes them, and
// checks each cell as a BenchmarkRun. Measurements are written by the operator alone, which bounds them.
var unschemed = map[string]bool{
	"spec.template.experiment": true, "spec.template.matrix.axes[].values[]": true,
	"spec.template.matrix.axes[].variants[].patch": true, "spec.template.matrix.include[].patch": true,
	"spec.experiment": true, "spec.common": true, "spec.points[]": true,
}

// TestEveryFieldIsBounded walks the spec of every kind: what a user writes has an upper limit, and
// an amount is one that Go can read.
func TestEveryFieldIsBounded(t *testing.T) {
	files, err := filepath.Glob("../../../config/crd/bases/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d kinds: %v", len(files), err)
	}
	used, amounts := map[string]bool{}, 0
	for _, file := range files {
		var walk func(path string, schema map[string]any)
		walk = func(path string, schema map[string]any) {
			has := func(keys ...string) bool {
				for _, key := range keys {
					if _, found := schema[key]; found {
						return true
					}
				}
				return false
			}
			bound := func(ok bool, what string) {
				if !ok && unboundedOfKubernetes[path] {
					used[path] = true
				} else if !ok {
					t.Errorf("%s: %s %s", filepath.Base(file), path, what)
				}
			}
			switch schema["type"] {
			case "string":
				bound(has("maxLength", "enum", "format"), "has no maxLength")
			case "array":
				bound(has("maxItems"), "has no maxItems")
				bound(schema["x-kubernetes-list-type"] != "set", "is a set: the API server compares each item with each before it looks at maxItems")
				walk(path+"[]", schema["items"].(map[string]any))
			case "object":
				if members, ok := schema["additionalProperties"].(map[string]any); ok {
					bound(has("maxProperties"), "has no maxProperties")
					walk(path+".*", members)
				}
			}
			bound(!has("x-kubernetes-preserve-unknown-fields") || unschemed[path], "takes anything")
			if has("x-kubernetes-int-or-string") {
				amounts++
				pattern, _ := schema["pattern"].(string)
				bound(v1alpha1.IsQuantityPattern(pattern) && has("maxLength") && has("x-kubernetes-validations"), "is an amount without pattern, length and range")
			}
			properties, _ := schema["properties"].(map[string]any)
			for name, property := range properties {
				walk(path+"."+name, property.(map[string]any))
			}
		}
		for name, property := range schemaOf(t, filepath.Base(file), "spec") {
			walk(fmt.Sprintf("spec.%s", name), property.(map[string]any))
		}
	}
	if amounts != 9 {
		t.Errorf("%d amounts, want 9", amounts)
	}
	for path := range unboundedOfKubernetes {
		if !used[path] {
			t.Errorf("%s is not unbounded any more: take it off the list", path)
		}
	}
}

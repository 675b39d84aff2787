package registry_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/generator/registry"
)

// TestAdmissionAndRegistryAgree checks that a testbed may name the generators that exist, and the
// settings of each are where its Field says.
func TestAdmissionAndRegistryAgree(t *testing.T) {
	text, err := os.ReadFile("../../../../config/crd/bases/vnfbench.io_testbeds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["generator"]
	var admitted []v1alpha1.GeneratorDriver
	for _, value := range schema.Properties["driver"].Enum {
		var name v1alpha1.GeneratorDriver
		if err := json.Unmarshal(value.Raw, &name); err != nil {
			t.Fatal(err)
		}
		admitted = append(admitted, name)
	}
	all := registry.Offering(func(generator.Limits) bool { return true })
	if slices.Sort(admitted); !slices.Equal(admitted, slices.Sorted(slices.Values(all))) {
		t.Errorf("testbeds may name %v, there are %v", admitted, all)
	}
	var byDefault v1alpha1.GeneratorDriver
	if err := json.Unmarshal(schema.Properties["driver"].Default.Raw, &byDefault); err != nil || registry.Of("").Name != byDefault {
		t.Errorf("a testbed that names none has %q (%v), and gets %q", byDefault, err, registry.Of("").Name)
	}
	for _, g := range registry.All() {
		if _, found := schema.Properties[g.Field()[len("spec.generator."):]]; !found {
			t.Errorf("%s: there are no settings at %s", g.Name, g.Field())
		}
	}
}

// TestGeneratorsAreComplete finds here, and not in a run, what a generator leaves out.
func TestGeneratorsAreComplete(t *testing.T) {
	for _, g := range registry.All() {
		if registry.Of(g.Name) != g {
			t.Errorf("%s is not found by its name, or names another", g.Name)
		}
		if g.Pod == nil || g.Settings == nil || g.Limits.MaxFrameBytes < 64 {
			t.Errorf("%s: pod, settings or the largest frame are missing", g.Name)
		}
		if err := g.DefaultMemory.Err(); err != nil {
			t.Errorf("%s: default memory: %v", g.Name, err)
		}
		if own := g.OwnImage; own != nil && (own.Guide == "" || own.Rebuild == "") {
			t.Errorf("%s: %+v does not say how to make its image", g.Name, own)
		}
	}
	if g := registry.Of("Pigeon"); g != nil {
		t.Errorf("an unknown name is %s", g.Name)
	}
}

package terraform_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// notByTheModule are fields of a Testbed that the module does not set, or not in its tests, and why.
var notByTheModule = map[string]string{
	"namespaces.selector.matchExpressions.key":                      "are for the manifest itself: labels are enough for a lab",
	"namespaces.selector.matchExpressions.operator":                 "as the key",
	"namespaces.selector.matchExpressions.values":                   "as the key",
	"ports.east.networkAttachmentDefinition.generatorRef.namespace": "is set as of the west port, whose namespace a test chooses; the same test leaves the east one out",
	"ports.east.networkAttachmentDefinition.deviceRef.namespace":    "as of generatorRef",
	"generator.trex.extraConfiguration":                             "is for trying out, in the manifest itself",
	"generator.tolerations.tolerationSeconds":                       "says how long a running pod stays, and a run's must not be moved",
	"systemUnderTest.tolerations.tolerationSeconds":                 "as of the generator",
}

// TestTestbedModule keeps what the module renders in each of its tests, which
// the operator's admission tests apply to an API server, and compares the fields
// with the CRD's: none that it does not have, and each that it has.
func TestTestbedModule(t *testing.T) {
	rendered := map[string]bool{}
	kept := 0
	for _, line := range messages(t, "modules/testbed", "testbed.tftest.hcl") {
		var message struct {
			Run  string `json:"@testrun"`
			Plan struct {
				Outputs map[string]struct {
					After json.RawMessage
				} `json:"output_changes"`
			} `json:"test_plan"`
		}
		if json.Unmarshal(line, &message) != nil || message.Plan.Outputs["manifest"].After == nil {
			continue
		}
		var manifest string
		if err := json.Unmarshal(message.Plan.Outputs["manifest"].After, &manifest); err != nil {
			continue // a run that is refused has no manifest
		}
		kept++
		checkGolden(t, "testbed-module-"+strings.ReplaceAll(message.Run, "_", "-")+".yaml", manifest)
		var testbed map[string]any
		if err := yaml.Unmarshal([]byte(manifest), &testbed); err != nil {
			t.Fatal(err)
		}
		fields(testbed["spec"], "", rendered)
	}
	if kept < 5 {
		t.Fatalf("found %d manifests", kept)
	}
	known := schemaFields(t)
	for _, path := range slices.Sorted(maps.Keys(rendered)) {
		if !known[path] {
			t.Errorf("spec.%s is rendered, and the CRD has no such field", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(known)) {
		if reason := notByTheModule[path]; !rendered[path] && reason == "" {
			t.Errorf("spec.%s is a field of the CRD that no test of the module renders: give the module a variable, or say here why not", path)
		}
	}
	for path := range notByTheModule {
		if rendered[path] || !known[path] {
			t.Errorf("spec.%s has a reason why no test of the module renders it; one does, or the CRD has no such field", path)
		}
	}
}

// labelMaps are fields whose keys are labels.
var labelMaps = []string{"generator.nodeSelector", "systemUnderTest.nodeSelector", "namespaces.selector.matchLabels"}

// fields adds the paths of a value's leaves, without indices of lists.
func fields(value any, path string, into map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			if slices.Contains(labelMaps, path) {
				into[path] = true
				return
			}
			fields(below, strings.TrimPrefix(path+"."+key, "."), into)
		}
	case []any:
		for _, below := range value {
			fields(below, path, into)
		}
	default:
		into[path] = true
	}
}

// schemaFields are the leaves of spec in the Testbed's CRD.
func schemaFields(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(source, "../config/crd/bases/vnfbench.io_testbeds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Properties map[string]*schema `yaml:"properties"`
		Items      *schema            `yaml:"items"`
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPI schema `yaml:"openAPIV3Schema"`
				} `yaml:"schema"`
			} `yaml:"versions"`
		} `yaml:"spec"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&crd); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var walk func(s *schema, path string)
	walk = func(s *schema, path string) {
		if s.Items != nil && s.Items.Properties != nil {
			s = s.Items
		}
		if len(s.Properties) == 0 {
			found[path] = true
		}
		for name, below := range s.Properties {
			walk(below, strings.TrimPrefix(path+"."+name, "."))
		}
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPI.Properties["spec"]
	walk(spec, "")
	if len(found) < 20 {
		t.Fatalf("the CRD has %d fields", len(found))
	}
	return found
}

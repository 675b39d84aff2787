package v1alpha1_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestRevisionTime checks that a time is read, that an object with anything else is decoded, and that At names what is none.
func TestRevisionTime(t *testing.T) {
	for text, isTime := range map[string]bool{
		`"2026-01-31T12:00:00Z"`: true, `"2026-01-31T13:00:00.5+01:00"`: true, `"2026-02-30T12:00:00Z"`: false, `"soon"`: false, `[]`: false, `{"a":1}`: false, `7`: false,
	} {
		var s v1alpha1.Subject
		if err := json.Unmarshal([]byte(`{"name":"a","time":`+text+`}`), &s); err != nil {
			t.Errorf("%s stops the decoder: %v", text, err)
			continue
		}
		if at, err := s.Time.At(); (err == nil) != isTime || isTime && !at.Truncate(time.Second).Equal(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("%s is %s, %v", text, at, err)
		}
	}
	if at, err := v1alpha1.RevisionTime("").At(); !at.IsZero() || err != nil {
		t.Errorf("no text is %s, %v", at, err)
	}
}

// TestRevisionTimeIsRefused checks what the API server says of each value that is no time.
func TestRevisionTimeIsRefused(t *testing.T) {
	for value, want := range map[any]string{"soon": "give a time as 2026-01-31T12:00:00Z", "2026-02-30T12:00:00Z": "give a time as", int64(7): "must be of type string", "list": "must be of type string"} {
		o := object(t, goodSuite, nil)
		subject := map[string]any{"name": "a", "time": value}
		if value == "list" {
			subject["time"] = []any{}
		}
		o.Object["spec"].(map[string]any)["template"].(map[string]any)["subject"] = subject
		if err := create(o); err == nil || !strings.Contains(err.Error(), "spec.template.subject.time") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", value, err)
		}
	}
}

// TestNoTextHasAFormat checks that no text that a tenant writes has a format: an API server takes a list for it, which stops the operator's decoder.
func TestNoTextHasAFormat(t *testing.T) {
	for _, kind := range []string{"benchmarkruns", "benchmarksuites", "benchmarksuiteruns", "testbeds"} {
		raw, err := os.ReadFile("../../../config/crd/bases/vnfbench.io_" + kind + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
			t.Fatal(err)
		}
		var walk func(path string, s apiextensionsv1.JSONSchemaProps)
		walk = func(path string, s apiextensionsv1.JSONSchemaProps) {
			if s.Type == "string" && s.Format != "" {
				t.Errorf("%s: %s has the format %s", kind, path, s.Format)
			}
			for name, property := range s.Properties {
				walk(path+"."+name, property)
			}
			if s.Items != nil && s.Items.Schema != nil {
				walk(path+"[]", *s.Items.Schema)
			}
			if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				walk(path+"{}", *s.AdditionalProperties.Schema)
			}
		}
		walk("spec", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	}
}

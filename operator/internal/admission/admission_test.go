package admission

import (
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const run = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: router}
spec:
  experiment:
    testbedRef: {name: lab}
    chain:
    - {name: r1, function: Router}
`

// shared makes one server for all tests: it compiles the policies, which takes seconds on a busy machine.
var shared = sync.OnceValues(New)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(asJSON, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAdmit checks what is said about wrong objects. That it is what an API server says is checked in package v1alpha1, where there is one.
func TestAdmit(t *testing.T) {
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text                   string
		field, message, remedy string
	}{
		"valid":              {run, "", "", ""},
		"unknown field":      {strings.Replace(run, "testbedRef", "testbedref", 1), "spec.experiment.testbedref", `unknown field "testbedref"`, "write testbedRef"},
		"far unknown field":  {strings.Replace(run, "    chain:", "    zzzzzz: 1\n    chain:", 1), "spec.experiment.zzzzzz", "unknown field", "remove it"},
		"unknown metadata":   {strings.Replace(run, "{name: router}", "{name: router, owner: me}", 1), "metadata.owner", "unknown field", "remove it"},
		"no name":            {strings.Replace(run, "{name: router}", "{}", 1), "metadata.name", "name or generateName is required", "add it"},
		"generated name":     {strings.Replace(run, "name: router", "generateName: router-", 1), "", "", ""},
		"wrong name":         {strings.Replace(run, "name: router", "name: Router_1", 1), "metadata.name", "lowercase RFC 1123", "write what the field takes"},
		"unknown value":      {strings.Replace(run, "function: Router", "function: Switch", 1), "spec.experiment.chain[0].function", "supported values", "write what the field takes"},
		"wrong type":         {strings.Replace(run, "name: r1", "name: 1", 1), "spec.experiment.chain[0].name", "must be of type string", "write what the field takes"},
		"no chain":           {strings.Replace(run, "    chain:\n    - {name: r1, function: Router}\n", "", 1), "spec.experiment.chain", "a required field is absent", "add it: chain"},
		"twice":              {run + "    - {name: r1, function: Router}\n", "spec.experiment.chain[1]", "Duplicate", "remove one"},
		"rule of the schema": {strings.Replace(run, "name: router", "name: lab", 1) + "    baseline: {runRef: {name: lab}}\n", "spec.experiment.baseline.runRef", "a run cannot be its own baseline", "name an earlier run"},
		"policy":             {strings.Replace(run, "function: Router", "function: EncryptionGateway", 1), "spec.experiment.chain", "encryption gateways work in pairs", "add the missing one"},
		"wrong version":      {strings.Replace(run, "v1alpha1", "v1", 1), "apiVersion", "v1alpha1 alone", "write vnfbench.io/v1alpha1"},
		"wrong kind":         {strings.Replace(run, "kind: BenchmarkRun", "kind: Benchmark", 1), "kind", "no kind of this project", ""},
	} {
		problems := server.Admit(t.Context(), object(t, test.text))
		if test.field == "" {
			if len(problems) > 0 {
				t.Errorf("%s: %+v", name, problems)
			}
			continue
		}
		if len(problems) != 1 || problems[0].Field != test.field || !strings.Contains(problems[0].Message, test.message) || !strings.Contains(problems[0].Remedy, test.remedy) {
			t.Errorf("%s: %+v, want %s: %s: %s", name, problems, test.field, test.message, test.remedy)
		}
	}
}

// TestDefaults checks that an object has the defaults of the schema afterwards, and no status.
func TestDefaults(t *testing.T) {
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, run+"status: {observedGeneration: 1}\n")
	if problems := server.Admit(t.Context(), o); len(problems) > 0 {
		t.Fatal(problems)
	}
	if kind, found, err := unstructured.NestedString(o.Object, "spec", "experiment", "traffic", "kind"); kind == "" || !found || err != nil {
		t.Errorf("the traffic has no kind: %v", err)
	}
	if _, has := o.Object["status"]; has {
		t.Error("a new object keeps its status")
	}
}

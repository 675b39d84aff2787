package v1alpha1_test

import (
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/suite"
)

// generatedKind is a kind of which manifests are made: a manifest, and the schema of its spec.
type generatedKind struct {
	base   string
	schema map[string]any
}

func generatedKinds(t *testing.T) (kinds []generatedKind) {
	t.Helper()
	for _, k := range allKinds(t) {
		spec := schemaOf(t, k.file)["spec"].(map[string]any)
		if strings.HasPrefix(k.kind, "BenchmarkSuite") {
			fillTemplate(t, spec)
		}
		kinds = append(kinds, generatedKind{smallest[k.kind], spec})
	}
	return kinds
}

// fillTemplate gives the parts of a suite that have no schema one: that of a run's experiment to the experiment and to patches,
// and paths and values of its fields to axes.
func fillTemplate(t *testing.T, spec map[string]any) {
	t.Helper()
	below := func(schema map[string]any, names ...string) map[string]any {
		for _, name := range names {
			if name != "items" {
				schema = schema["properties"].(map[string]any)
			}
			schema = schema[name].(map[string]any)
		}
		return schema
	}
	experiment := below(schemaOf(t, "vnfbench.io_benchmarkruns.yaml")["spec"].(map[string]any), "experiment")
	patch := map[string]any{"type": "object", "properties": experiment["properties"]}
	template := below(spec, "template")
	axis := below(template, "matrix", "axes", "items")
	template["properties"].(map[string]any)["experiment"] = experiment
	below(axis, "variants", "items")["properties"].(map[string]any)["patch"] = patch
	below(template, "matrix", "include", "items")["properties"].(map[string]any)["patch"] = patch
	below(axis, "path")["enum"] = []any{"chain[r1].cpu", "chain[a].firewall.rules", "traffic.frameBytes", "traffic.flows", "deadlineSeconds", "testbedRef.name", "chain[0]", "..", "a"}
	below(axis, "values")["items"] = map[string]any{"enum": []any{int64(1), int64(64), int64(1) << 40, 1.5, "500m", "lab", true, []any{int64(64), int64(1518)}, []any{}, map[string]any{}}}
	// An axis has either path and values, or variants.
	form := func(has []string, hasNot ...string) map[string]any {
		properties, required := maps.Clone(axis["properties"].(map[string]any)), slices.Clone(axis["required"].([]any))
		for _, name := range hasNot {
			delete(properties, name)
		}
		for _, name := range has {
			required = append(required, name)
		}
		return map[string]any{"type": "object", "properties": properties, "required": required}
	}
	below(template, "matrix", "axes")["items"] = map[string]any{"forms": []any{form([]string{"path", "values"}, "variants"), form([]string{"variants"}, "path", "values")}}
}

// parseGenerated makes the cells of a suite that was accepted. An error is an answer; a panic is not.
func parseGenerated(t *testing.T, i uint64, o *unstructured.Unstructured) {
	t.Helper()
	// Both kinds have the template in the same place.
	var s v1alpha1.BenchmarkSuite
	if err := convert(o, &s); err != nil {
		t.Errorf("manifest %d was accepted, and the operator cannot read it: %v", i, err)
		return
	}
	defer func() {
		if problem := recover(); problem != nil {
			t.Errorf("manifest %d was accepted, and to parse it panics: %v\n%s", i, problem, debug.Stack())
		}
	}()
	_, _ = suite.Parse(&s.Spec.Template)
}

// TestRefusalProblems checks what the test of generated manifests takes for a bad refusal.
func TestRefusalProblems(t *testing.T) {
	const policy = "admission webhook: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: "
	for message, want := range map[string]string{
		"spec.experiment.chain: Required value":                             "",
		policy + "spec.experiment.traffic.frameBytes has a size above 1518": "",
		`strict decoding error: unknown field "spec.speed"`:                 "",
		"something is wrong": "no field",
		"spec: a panic":      "panic",
		`spec: Invalid value: "object": no such key: load evaluating rule: load is required`:                     "no such key",
		`spec.a: Invalid value: "object": modulus by zero evaluating rule: a must be a multiple of b`:            "modulus by zero",
		`spec.a: Invalid value: 4: integer overflow evaluating rule: a must be below b`:                          "overflow",
		policy + "expression 'object.spec.a[0] == 1' resulted in error: index out of bounds: 0":                  "resulted in error",
		policy + "failed expression: variables.wrong.size() == 0 || object.spec.a":                               "failed expression",
		"spec.a: Invalid value: 1: 'no such overload': call arguments did not match a supported operator":        "no such overload",
		"spec.a: Invalid value: 1: validation failed due to running out of cost budget, no further rules":        "cost budget",
		policy + "expression 'object.spec.a' resulted in error: operation cancelled: actual cost limit exceeded": "resulted in error",
	} {
		err := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Message: message}}
		if got := refusalProblem(err); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	if got := refusalProblem(&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "spec."}}); got != "HTTP 500" {
		t.Errorf("a 500 is %q", got)
	}
}

// TestRulesSurviveWhatTheSchemaRefuses: the API server evaluates rules next to a field that the schema has refused.
func TestRulesSurviveWhatTheSchemaRefuses(t *testing.T) {
	const measurements = "spec.experiment.measurements"
	for _, test := range []struct{ base, path, value string }{
		{goodRun, measurements, "{soak: {size: '64', framesPerSecond: 5, durationSeconds: 60, intervalSeconds: 4611686018427387904}}"},
		{goodRun, measurements, "{connections: {loads: [{name: a, connectionsPerSecond: 4611686018427387904, concurrentConnections: 5}]}}"},
		{goodRun, "spec.experiment.traffic", "{frameRanges: [{from: 64, to: 128, step: 0}]}"},
		{goodTestbed, "spec.generator", "{driver: TRex, memory: 1.1.1, trex: {mode: AFPacket}}"},
	} {
		err := create(object(t, test.base, map[string]string{test.path: test.value}))
		if err == nil {
			t.Errorf("%s: %s was admitted", test.path, test.value)
		} else if problem := refusalProblem(err); problem != "" {
			t.Errorf("%s: %s: %s: %v", test.path, test.value, problem, err)
		}
	}
}

package v1alpha1_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/suite"
)

const goodSuite = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkSuite
metadata: {name: nightly, namespace: default}
spec:
  template:
    experiment:
      testbedRef: {name: lab}
      chain: [{name: r1, function: Router}]
    matrix:
      axes:
      - {name: size, path: traffic.frameBytes, values: [[64], [1518]]}
`

// TestBadSuitesAreRefused checks what admission sees of a suite, and of an execution with the same template.
func TestBadSuitesAreRefused(t *testing.T) {
	const axes, experiment = "spec.template.matrix.axes", "spec.template.experiment"
	for name, test := range map[string]struct{ path, value, message string }{
		"neither":           {axes, "[{name: a}]", "axis a has neither path and values nor variants"},
		"both":              {axes, "[{name: a, path: x, values: [1], variants: [{name: x, patch: {}}]}]", "axis a has neither"},
		"a path alone":      {axes, "[{name: a, path: x}]", "axis a has neither"},
		"values alone":      {axes, "[{name: a, values: [1]}]", "axis a has neither"},
		"an axis twice":     {axes, "[{name: a, path: x, values: [1]}, {name: a, path: y, values: [1]}]", "Duplicate value"},
		"an axis's name":    {axes, "[{name: A, path: x, values: [1]}]", "axes[0].name"},
		"a patch of text":   {axes, "[{name: a, variants: [{name: x, patch: text}]}]", "variants[0].patch"},
		"a chain of text":   {experiment, "{chain: router}", "spec.template.experiment.chain is no list"},
		"no experiment":     {experiment, "null", "spec.template.experiment"},
		"a list":            {experiment, "[]", "spec.template.experiment"},
		"many repeats":      {"spec.template.repeats", "51", "less than or equal to 50"},
		"a typo":            {"spec.template.repeat", "2", `unknown field "spec.template.repeat"`},
		"an unknown policy": {"spec.concurrencyPolicy", "Allow", "supported values"},
		"a large margin":    {"spec.regression", "{marginPercent: 51}", "less than or equal to 50"},
		"a negative margin": {"spec.regression", "{marginPercent: -1}", "greater than or equal to 1"},
		"few extra runs":    {"spec.regression", "{maximumExtraRuns: 3}", "greater than or equal to 4"},
		"a gate alone":      {"spec.regression", "{confirm: false, gate: [{metric: BackToBackFrames}]}", "gate needs confirm"},
		"a gate of nothing": {"spec.regression", "{gate: [{goal: NDR}]}", "spec.regression.gate[0].metric"},
		"a gate of loss":    {"spec.regression", "{gate: [{metric: LossPartsPerMillion}]}", "spec.regression.gate[0].metric"},
		"a loss of 1001 %":  {"spec.regression", "{gate: [{metric: BackToBackFrames, leastLossPercent: 1001}]}", "less than or equal to 1000"},
		"no subject":        {"spec.template.subject", "{version: a}", "subject needs a name or fromImage"},
		"two images":        {"spec.template.subject", "{image: 'a@b', fromImage: {function: r1}}", "fromImage sets image; leave it out"},
		"labels of nothing": {"spec.template.subject", "{fromImage: {}}", "spec.template.subject.fromImage.function"},
		"no place":          {"spec.regression", "{acknowledgements: [{kind: Accepted}]}", "give either revision or run"},
		"two places":        {"spec.regression", "{acknowledgements: [{kind: Accepted, revision: a, run: b}]}", "give either revision or run"},
		"an unknown kind":   {"spec.regression", "{acknowledgements: [{kind: Wanted, revision: a}]}", "supported values"},
		"a long name":       {"metadata.name", strings.Repeat("x", 41), "the name of a suite has at most 40 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(object(t, goodSuite, map[string]string{test.path: test.value})); err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("%v, want %q", err, test.message)
			}
			if strings.HasPrefix(test.path, "spec.template.") {
				o := object(t, goodSuite, map[string]string{test.path: test.value})
				o.SetKind("BenchmarkSuiteRun")
				if err := create(o); err == nil || !strings.Contains(err.Error(), test.message) {
					t.Errorf("an execution: %v, want %q", err, test.message)
				}
			}
		})
	}
	for name, o := range map[string]*unstructured.Unstructured{
		"the suite":   object(t, goodSuite, nil),
		"regression":  object(t, goodSuite, map[string]string{"spec.regression": "{marginPercent: 1, gate: [{metric: ThroughputFramesPerSecond, goal: NDR, cells: [size-64], leastLossPercent: 3}], acknowledgements: [{kind: Expected, revision: a}]}"}),
		"variants":    object(t, goodSuite, map[string]string{axes: "[{name: a, variants: [{name: x, patch: {}}]}]"}),
		"labels":      object(t, goodSuite, map[string]string{"spec.template.subject": "{version: a, fromImage: {function: r1}}"}),
		"no chain":    object(t, goodSuite, map[string]string{experiment: "{}"}),
		"odd members": object(t, goodSuite, map[string]string{experiment: "{chain: [5, {name: r}, {function: Router}]}"}),
	} {
		if err := create(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSuiteNeedsTheRightsOfItsRuns: the operator makes the runs of a suite, so who may not make them may not make a suite.
func TestSuiteNeedsTheRightsOfItsRuns(t *testing.T) {
	suites := rbacv1.PolicyRule{APIGroups: []string{"vnfbench.io"}, Resources: []string{"benchmarksuites", "benchmarksuiteruns"}, Verbs: []string{"create", "update", "patch"}}
	pods := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}
	onlySuites, runs, all := as(t, "only-suites", suites), as(t, "suites-and-runs", suites, mayMakeRuns), as(t, "suites-and-pods", suites, mayMakeRuns, pods)
	disk := "{chain: [{name: fw, function: Custom, runtime: VirtualMachine, custom: {containerDisk: example/vyos:1}}]}"
	try := func(c client.Client, kind, experiment string) error {
		o := object(t, goodSuite, map[string]string{"spec.template.experiment": experiment})
		o.SetKind(kind)
		return c.Create(context.Background(), o, client.DryRunAll)
	}
	for _, kind := range []string{"BenchmarkSuite", "BenchmarkSuiteRun"} {
		if err := try(onlySuites, kind, "{}"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only-suites may not create benchmarkruns in namespace default") {
			t.Errorf("%s without the right to make runs: %v", kind, err)
		}
		if err := try(runs, kind, "{}"); err != nil {
			t.Errorf("%s with the right to make runs: %v", kind, err)
		}
		if err := try(runs, kind, disk); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "suites-and-runs may not create pods in namespace default") {
			t.Errorf("%s with a disk: %v", kind, err)
		}
		if err := try(all, kind, disk); err != nil {
			t.Errorf("%s with a disk and the right to make pods: %v", kind, err)
		}
	}
	// Who may not make pods may not change a suite that has a disk, and may annotate it.
	o := object(t, goodSuite, map[string]string{"metadata.name": "disk", "spec.template.experiment": disk})
	if err := all.Create(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Delete(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
	patch := func(text string) error {
		return runs.Patch(context.Background(), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(text)))
	}
	if err := patch(`{"spec":{"template":{"repeats":3}}}`); !apierrors.IsForbidden(err) {
		t.Errorf("a change of a suite with a disk: %v", err)
	}
	if err := patch(`{"metadata":{"annotations":{"vnfbench.io/run-now":"1"}}}`); err != nil {
		t.Errorf("an annotation: %v", err)
	}
}

// TestCellsOfSamplesAreAdmitted makes a BenchmarkRun of each cell of the samples.
func TestCellsOfSamplesAreAdmitted(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/suite-*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d samples: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := object(t, string(text), map[string]string{"metadata.namespace": "default"})
			if err := create(o); err != nil {
				t.Fatal(err)
			}
			var sample v1alpha1.BenchmarkSuite
			if err := convert(o, &sample); err != nil {
				t.Fatal(err)
			}
			parsed, err := suite.Parse(&sample.Spec.Template)
			if err != nil {
				t.Fatal(err)
			}
			if len(parsed.Cells) < 2 {
				t.Errorf("%d cells", len(parsed.Cells))
			}
			for i, cell := range parsed.Cells {
				experiment, err := parsed.Experiment(i)
				if err != nil {
					t.Fatal(err)
				}
				run := object(t, goodRun, map[string]string{"metadata.name": cell.Name})
				run.Object["spec"] = map[string]any{"experiment": experiment}
				if err := create(run); err != nil {
					t.Errorf("%s: %v", cell.Name, err)
				}
			}
		})
	}
}

// TestConfirmationIsImmutable checks that what an execution was made for can neither be changed, added nor removed.
func TestConfirmationIsImmutable(t *testing.T) {
	const question = "{suite: nightly, cell: base, oldRun: nightly-5-base-1, run: nightly-7-base-1, cause: Step, firstPair: 1}"
	for name, test := range map[string]struct {
		before string
		change func(spec map[string]any)
	}{
		"changed": {question, func(spec map[string]any) { spec["confirmation"].(map[string]any)["firstPair"] = int64(2) }},
		"removed": {question, func(spec map[string]any) { delete(spec, "confirmation") }},
		"added": {"", func(spec map[string]any) {
			spec["confirmation"] = map[string]any{"suite": "nightly", "cell": "base", "oldRun": "o", "run": "r", "cause": "Step", "firstPair": int64(1)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			changes := map[string]string{"metadata.name": "confirmation-" + name}
			if test.before != "" {
				changes["spec.confirmation"] = test.before
			}
			o := object(t, goodSuite, changes)
			o.SetKind("BenchmarkSuiteRun")
			if err := server.Create(context.Background(), o); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Delete(context.Background(), o) }()
			test.change(o.Object["spec"].(map[string]any))
			if err := server.Update(context.Background(), o); err == nil || !strings.Contains(err.Error(), "spec.confirmation is immutable") {
				t.Errorf("%v", err)
			}
		})
	}
}

package v1alpha1_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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
		"a long chain":      {experiment, "{chain: [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "spec.template.experiment.chain has more than 8 functions"},
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
			admitCells(t, object(t, string(text), map[string]string{"metadata.namespace": "default"}))
		})
	}
}

// admitCells makes a suite, and a BenchmarkRun of each of its cells.
func admitCells(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
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
	disks := map[any]bool{}
	for i, cell := range parsed.Cells {
		experiment, err := parsed.Experiment(i)
		if err != nil {
			t.Fatal(err)
		}
		disks[diskOf(experiment)] = true
		run := object(t, goodRun, map[string]string{"metadata.name": cell.Name})
		run.Object["spec"] = map[string]any{"experiment": experiment}
		if err := create(run); err != nil {
			t.Errorf("%s: %v", cell.Name, err)
		}
	}
	if template := sample.Spec.Template; len(disks) > 1 && (template.ControlCell == "" || template.Subject != nil && template.Subject.Version+template.Subject.Revision != "") {
		t.Errorf("it compares %d disks, so it needs a control cell, and one version or revision is not that of both: %+v", len(disks), template.Subject)
	}
	if regression := sample.Spec.Regression; regression != nil && len(regression.Acknowledgements) > 0 && (sample.Spec.Template.Subject == nil || sample.Spec.Template.Subject.Revision == "") {
		t.Error("it accepts changes by a revision, and its subject has none")
	}
}

// diskOf returns the disk of the first function of an experiment; nil without one.
func diskOf(experiment map[string]any) any {
	chain, _, _ := unstructured.NestedSlice(experiment, "chain")
	if len(chain) == 0 {
		return nil
	}
	disk, _, _ := unstructured.NestedString(chain[0].(map[string]any), "custom", "containerDisk")
	return disk
}

var yamlOfPage = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestSuitesOfPagesAreAdmitted makes the suites that the pages on suites show, and runs of their cells. A part of a suite is put into one.
func TestSuitesOfPagesAreAdmitted(t *testing.T) {
	for page, want := range map[string]int{"../../../docs/how-to/suites.md": 3, "../../../docs/concepts/suites.md": 2} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		// whole is the suite of the page, of which the parts after it are.
		var whole *unstructured.Unstructured
		parts := yamlOfPage.FindAllStringSubmatch(string(text), -1)
		if len(parts) < want {
			t.Errorf("%s has %d parts in YAML, want at least %d", page, len(parts), want)
		}
		for i, part := range parts {
			t.Run(fmt.Sprintf("%s %d", filepath.Base(filepath.Dir(page)), i+1), func(t *testing.T) {
				var fields map[string]any
				if err := yaml.UnmarshalStrict([]byte(part[1]), &fields); err != nil {
					t.Fatal(err)
				}
				switch {
				case fields["kind"] != nil:
					fields["metadata"].(map[string]any)["namespace"] = "default"
				case fields["spec"] != nil:
				case fields["regression"] != nil:
					fields = map[string]any{"spec": fields}
				case fields["acknowledgements"] != nil:
					fields = map[string]any{"spec": map[string]any{"regression": fields}}
				default:
					fields = map[string]any{"spec": map[string]any{"template": fields}}
				}
				o := object(t, goodSuite, nil)
				if whole != nil {
					o = whole.DeepCopy()
				}
				isWhole := false
				if template, ok := fields["spec"].(map[string]any)["template"].(map[string]any); ok {
					// goodSuite has another axis.
					if isWhole = template["experiment"] != nil; isWhole {
						unstructured.RemoveNestedField(o.Object, "spec", "template")
					}
				}
				mergeFields(o.Object, fields)
				if fields["kind"] != nil {
					whole = o
				}
				if isWhole || whole != nil {
					admitCells(t, o)
				} else if err := create(o); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// mergeFields puts fields into an object.
func mergeFields(object, fields map[string]any) {
	for name, field := range fields {
		within, ok := field.(map[string]any)
		existing, has := object[name].(map[string]any)
		if ok && has {
			mergeFields(existing, within)
			continue
		}
		object[name] = field
	}
}

// TestOwnerOfAnExecutionIsKept: without its owner or its label, an execution is not its suite's any more, and is not deleted with it. So who may only
// write executions may remove neither, and may do all else; the operator and the garbage collector may.
func TestOwnerOfAnExecutionIsKept(t *testing.T) {
	rule := func(verbs []string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"vnfbench.io"}, Resources: resources, Verbs: verbs}
	}
	write := rule([]string{"create", "update", "patch"}, "benchmarkruns", "benchmarksuiteruns")
	editor, operator := as(t, "edits-executions", write), as(t, "finalizes-suites", write, rule([]string{"update"}, "benchmarksuites/finalizers"))
	owners := `[{"apiVersion":"vnfbench.io/v1alpha1","kind":"BenchmarkSuite","name":"nightly","uid":"u","controller":true}]`
	made := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		if err := operator.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(server.Delete(context.Background(), o)); err != nil {
				t.Error(err)
			}
		})
		return o
	}
	metadata := map[string]string{"metadata.name": "owned-1", "metadata.ownerReferences": owners, "metadata.labels": `{vnfbench.io/suite: nightly, a: b}`}
	execution := object(t, goodSuite, metadata)
	execution.SetKind("BenchmarkSuiteRun")
	made(execution)
	run := made(object(t, goodRun, metadata))
	patch := func(c client.Client, o client.Object, text string) error {
		return c.Patch(context.Background(), o.DeepCopyObject().(client.Object), client.RawPatch("application/merge-patch+json", []byte(text)), client.DryRunAll)
	}
	for name, test := range map[string]struct{ text, message string }{
		"the owner":       {`{"metadata":{"ownerReferences":null}}`, "BenchmarkSuite nightly is the owner"},
		"another owner":   {`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"nightly","uid":"u","controller":true}]}}`, "BenchmarkSuite nightly is the owner"},
		"no controller":   {`{"metadata":{"ownerReferences":` + strings.ReplaceAll(owners, "true", "false") + `}}`, "the operator alone names BenchmarkSuite nightly"},
		"the label":       {`{"metadata":{"labels":{"vnfbench.io/suite":null}}}`, "metadata.labels[vnfbench.io/suite]"},
		"the label's":     {`{"metadata":{"labels":{"vnfbench.io/suite":"other"}}}`, "metadata.labels[vnfbench.io/suite]"},
		"every label":     {`{"metadata":{"labels":null}}`, "metadata.labels[vnfbench.io/suite]"},
		"owner and label": {`{"metadata":{"labels":null,"ownerReferences":null}}`, "BenchmarkSuite nightly is the owner"},
	} {
		for _, o := range []client.Object{execution, run} {
			err := patch(editor, o, test.text)
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.message) || !strings.Contains(err.Error(), "edits-executions may not update benchmarksuites/finalizers in namespace default") {
				t.Errorf("%s of a %s: %v, want %q", name, o.GetObjectKind().GroupVersionKind().Kind, err, test.message)
			}
			if err := patch(operator, o, test.text); err != nil {
				t.Errorf("%s of a %s as the operator: %v", name, o.GetObjectKind().GroupVersionKind().Kind, err)
			}
		}
	}
	for name, text := range map[string]string{
		"suspend":       `{"spec":{"suspend":true}}`,
		"another label": `{"metadata":{"labels":{"a":"c"}}}`,
		"keep":          `{"metadata":{"annotations":{"vnfbench.io/keep":"true"}}}`,
	} {
		if err := patch(editor, execution, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	byHand := object(t, goodSuite, map[string]string{"metadata.name": "by-hand", "metadata.labels": `{vnfbench.io/suite: nightly}`})
	byHand.SetKind("BenchmarkSuiteRun")
	if err := patch(editor, made(byHand), `{"metadata":{"labels":null}}`); err != nil {
		t.Errorf("the label of an execution by hand: %v", err)
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

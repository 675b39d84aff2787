package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// suiteOf returns a suite whose cells differ in their load and the number of routers; each takes some seconds.
func suiteOf(loads []int, repeats int) string {
	return fmt.Sprintf(`apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkSuite
metadata: {name: matrix}
spec:
  template:
    subject: {name: router, revision: r1}
    experiment:
      testbedRef: {name: %%s}
      startupSeconds: 120
      deadlineSeconds: 600
      chain: [{name: r1, function: Router}]
      traffic: {frameBytes: [128]}
      measurements:
        warmUpMilliseconds: 200
        latency: {trialMilliseconds: 1000, loads: [{name: idle, framesPerSecond: 1000}]}
    matrix:
      axes:
      - {name: load, kind: Numeric, path: "measurements.latency.loads[idle].framesPerSecond", values: [%s]}
      - name: routers
        variants:
        - {name: one, patch: {}}
        - {name: two, patch: {chain: [{name: r1, function: Router}, {name: r2, function: Router}]}}
    repeats: %d
    seed: 7
`, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(loads)), ", "), "[]"), repeats)
}

// TestSuite measures a matrix, and kills the operator in the middle: each cell is measured as often as the suite says, each
// time by a separate run, in an order that is the same for the seed. A change of the suite makes another execution, and
// with the suite everything but its measurements goes. VNFBENCH_SUITE_CELLS (an even number, default 4) and VNFBENCH_SUITE_REPEATS (default 2)
// make it larger.
func TestSuite(t *testing.T) {
	cells, repeats := fromEnvironment(t, "VNFBENCH_SUITE_CELLS", 4), fromEnvironment(t, "VNFBENCH_SUITE_REPEATS", 2)
	var loads []int
	for i := range cells / 2 {
		loads = append(loads, 1000+500*i)
	}
	ns := namespace(t)
	testbed(t, ns)
	apply(t, ns, fmt.Sprintf(suiteOf(loads, repeats), testbedName(ns, "lab")))
	limit := time.Duration(cells*repeats)*time.Minute + stepTimeout
	total := int32(cells * repeats)
	s := untilExecution(t, ns, "matrix-1", limit, "in its second half", func(e *v1alpha1.BenchmarkSuiteRun) bool { return e.Status.Counts.Succeeded >= total/2 })
	if s.Status.Counts.Total != total || s.Status.EstimatedSeconds == 0 {
		t.Errorf("%+v, estimated %d s", s.Status.Counts, s.Status.EstimatedSeconds)
	}
	killOperator(t)
	s = untilExecution(t, ns, "matrix-1", limit, "ended", func(e *v1alpha1.BenchmarkSuiteRun) bool { return succeeded(e) != metav1.ConditionUnknown })
	if succeeded(s) != metav1.ConditionTrue || s.Status.Counts.Succeeded != total || len(s.Status.Cells) != cells {
		t.Errorf("%v, %+v", s.Status.Conditions, s.Status.Counts)
	}
	if runs := runsOf(t, ns, "matrix-1"); len(runs) != int(total) {
		t.Errorf("%d runs were made, want one for each repeat of each cell, %d", len(runs), total)
	}
	for _, cell := range s.Status.Cells {
		for i, m := range cell.Measurements {
			if m.State != v1alpha1.MeasurementSucceeded || m.Attempts != 1 || m.P99Nanoseconds == nil {
				t.Errorf("%s, repeat %d: %+v", cell.Name, i+1, m)
			}
		}
	}
	table, code := command(t, "kubectl-vnfbench", "suite", "matrix", "-n", ns)
	if code != 0 || strings.Count(table, "Succeeded") < cells {
		t.Errorf("exit code %d:\n%s", code, table)
	}
	t.Log(table)
	suite := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "matrix"}}
	change := `{"spec":{"template":{"subject":{"revision":"r2"},"matrix":{"axes":[{"name":"load","kind":"Numeric","path":"measurements.latency.loads[idle].framesPerSecond","values":[1000]}]},"repeats":1}}}`
	must(t, retry(t, func() error {
		return cluster.Patch(t.Context(), suite, client.RawPatch("application/merge-patch+json", []byte(change)))
	}))
	s = untilExecution(t, ns, "matrix-2", stepTimeout, "ended", func(e *v1alpha1.BenchmarkSuiteRun) bool { return succeeded(e) != metav1.ConditionUnknown })
	if succeeded(s) != metav1.ConditionTrue || s.Status.Counts.Total != 1 {
		t.Errorf("%v, %+v", s.Status.Conditions, s.Status.Counts)
	}
	deleteSuite(t, ns, "matrix")
	if kept := keptOf(t, ns, v1alpha1.LabelSuite, "matrix"); len(kept) != int(total)+1 {
		t.Errorf("%d measurements of a deleted suite are kept, want one for each run, %d", len(kept), total+1)
	}
	series, code := command(t, "kubectl-vnfbench", "series", "--suite", "matrix", "--output", "table", "-n", ns)
	if code != 0 || !strings.Contains(series, "matrix.load-1000-one@") {
		t.Errorf("exit code %d:\n%s", code, series)
	}
}

// runsOf returns the runs of an execution.
func runsOf(t *testing.T, ns, execution string) []v1alpha1.BenchmarkRun {
	t.Helper()
	list := &v1alpha1.BenchmarkRunList{}
	must(t, retry(t, func() error {
		return cluster.List(t.Context(), list, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelSuiteRun: execution})
	}))
	return list.Items
}

// keptOf returns the measurements that are kept of a suite or of an execution, by its label.
func keptOf(t *testing.T, ns, label, name string) []v1alpha1.BenchmarkMeasurement {
	t.Helper()
	list := &v1alpha1.BenchmarkMeasurementList{}
	must(t, retry(t, func() error {
		return cluster.List(t.Context(), list, client.InNamespace(ns), client.MatchingLabels{label: name})
	}))
	return list.Items
}

// deleteSuite deletes a suite, and waits until no run is left in its namespace.
func deleteSuite(t *testing.T, ns, name string) {
	t.Helper()
	suite := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	must(t, retry(t, func() error { return cluster.Delete(t.Context(), suite) }))
	for end := time.Now().Add(stepTimeout); ; time.Sleep(500 * time.Millisecond) {
		runs := &v1alpha1.BenchmarkRunList{}
		must(t, retry(t, func() error { return cluster.List(t.Context(), runs, client.InNamespace(ns)) }))
		if len(runs.Items) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d runs of a deleted suite are left", len(runs.Items))
		}
	}
	nothingLeft(t, ns)
}

func fromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

func succeeded(e *v1alpha1.BenchmarkSuiteRun) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.Status
	}
	return metav1.ConditionUnknown
}

// untilExecution waits until a condition is true of an execution, and returns it.
func untilExecution(t *testing.T, ns, name string, limit time.Duration, what string, holds func(*v1alpha1.BenchmarkSuiteRun) bool) *v1alpha1.BenchmarkSuiteRun {
	t.Helper()
	return untilStored(t, ns, name, limit, what, holds, func(e *v1alpha1.BenchmarkSuiteRun) string {
		return fmt.Sprintf("%+v, %v", e.Status.Counts, e.Status.Conditions)
	})
}

// untilStored waits until an object exists and a condition is true of it, and returns it. state describes it where that takes too long.
func untilStored[O any, P interface {
	*O
	client.Object
}](t *testing.T, ns, name string, limit time.Duration, what string, holds func(P) bool, state func(P) string) P {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		o := P(new(O))
		err := retry(t, func() error { return cluster.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, o) })
		if must(t, client.IgnoreNotFound(err)); err == nil && holds(o) {
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("%T %s: not %s after %s: %s", o, name, what, limit, state(o))
		}
		time.Sleep(500 * time.Millisecond)
	}
}

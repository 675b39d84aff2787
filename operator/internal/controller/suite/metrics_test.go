package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
)

func judgedSuite(namespace, name string, counts v1alpha1.VerdictCounts) *v1alpha1.BenchmarkSuite {
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Status.Regression = &v1alpha1.RegressionStatus{Counts: counts}
	return s
}

// failedSuite returns a suite whose condition Succeeded has a status and a reason.
func failedSuite(namespace, name string, is metav1.ConditionStatus, reason string) *v1alpha1.BenchmarkSuite {
	s := &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Other"}, {Type: v1alpha1.ConditionSucceeded, Status: is, Reason: reason}}
	return s
}

// TestGauges checks the verdicts and the failures that are shown: no verdicts of a suite that judges nothing, no failure of one that succeeded or is
// active, and nothing by an operator that does not lead.
func TestGauges(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	leading := make(chan struct{})
	g := &Gauges{Leading: leading, Cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		judgedSuite("bench", "nightly", v1alpha1.VerdictCounts{Pass: 3, Regression: 1, NotEnoughData: 2}),
		&v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "unjudged"}},
		failedSuite("bench", "misspelled", metav1.ConditionFalse, v1alpha1.ReasonGateWithoutSeries),
		failedSuite("bench", "good", metav1.ConditionTrue, v1alpha1.ReasonSucceeded),
		failedSuite("bench", "active", metav1.ConditionUnknown, v1alpha1.ReasonConfirming),
	).Build()}
	if n := testutil.CollectAndCount(g); n != 0 {
		t.Errorf("an operator that does not lead shows %d metrics", n)
	}
	close(leading)
	const want = `
# HELP vnfbench_suite_failed 1 for a BenchmarkSuite whose condition Succeeded is False, with its reason.
# TYPE vnfbench_suite_failed gauge
vnfbench_suite_failed{namespace="bench",reason="GateWithoutSeries",suite="misspelled"} 1
# HELP vnfbench_suite_series Series of a BenchmarkSuite that judges them, by their verdict after its latest execution.
# TYPE vnfbench_suite_series gauge
vnfbench_suite_series{namespace="bench",suite="nightly",verdict="Improvement"} 0
vnfbench_suite_series{namespace="bench",suite="nightly",verdict="Inconclusive"} 0
vnfbench_suite_series{namespace="bench",suite="nightly",verdict="NotEnoughData"} 2
vnfbench_suite_series{namespace="bench",suite="nightly",verdict="Pass"} 3
vnfbench_suite_series{namespace="bench",suite="nightly",verdict="Regression"} 1
`
	if err := testutil.CollectAndCompare(g, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(g); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
}

// TestShownSuites checks that the number of suites is bounded, and that one with a regression is always among them.
func TestShownSuites(t *testing.T) {
	var all []v1alpha1.BenchmarkSuite
	for i := range maxShownSuites + 10 {
		all = append(all, *judgedSuite("a", fmt.Sprintf("suite-%03d", i), v1alpha1.VerdictCounts{Pass: 1}))
	}
	all = append(all, *judgedSuite("z", "worse", v1alpha1.VerdictCounts{Regression: 1}))
	got := shownSuites(all)
	if len(got) != maxShownSuites || got[0].Name != "worse" || got[1].Name != "suite-000" {
		t.Errorf("%d suites, first %s and %s", len(got), got[0].Name, got[1].Name)
	}
}

// TestFailedSuites checks that the number of suites is bounded, and that those that their gate fails are always among them.
func TestFailedSuites(t *testing.T) {
	var all []v1alpha1.BenchmarkSuite
	for i := range maxShownSuites + 10 {
		all = append(all, *failedSuite("a", fmt.Sprintf("suite-%03d", i), metav1.ConditionFalse, v1alpha1.ReasonMeasurementsFailed))
	}
	all = append(all, *failedSuite("z", "open", metav1.ConditionFalse, v1alpha1.ReasonNotConfirmed))
	got := failedSuites(all)
	if len(got) != maxShownSuites || got[0].Name != "open" || got[1].Name != "suite-000" {
		t.Errorf("%d suites, first %s and %s", len(got), got[0].Name, got[1].Name)
	}
}

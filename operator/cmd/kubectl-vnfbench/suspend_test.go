package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestSuspend checks that what is not to change does not.
func TestSuspend(t *testing.T) {
	isController := true
	suspended := func(run *v1alpha1.BenchmarkRun) { run.Spec.Suspend = true }
	execution := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "nightly-1"}}
	ended := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "nightly-0"}}
	ended.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue}}
	c := clusterOf(t, runNamed("router", 1, nil), runNamed("waits", 1, suspended), runNamed("ended", 1, endedWell), suiteOf("nightly", ""), execution, ended,
		runNamed("cell", 1, func(run *v1alpha1.BenchmarkRun) {
			run.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kindSuiteRun, Name: "nightly-1", UID: "u", Controller: &isController}}
		}))
	for _, test := range []struct {
		args string
		code int
		said string
	}{
		{"suspend router", exitSucceeded, "BenchmarkRun lab/router suspended"}, {"suspend router", exitSucceeded, "is suspended already"},
		{"resume router", exitSucceeded, "BenchmarkRun lab/router resumed"}, {"resume run/router", exitSucceeded, "is not suspended"},
		{"resume waits", exitSucceeded, "resumed"}, {"suspend ended", exitError, "has ended"}, {"suspend cell", exitError, "use suiterun/nightly-1"},
		{"suspend suite/nightly", exitSucceeded, "BenchmarkSuite lab/nightly suspended"}, {"resume suite/nightly", exitSucceeded, "resumed"},
		{"suspend suiterun/nightly-1", exitSucceeded, "BenchmarkSuiteRun lab/nightly-1 suspended"}, {"suspend suiterun/nightly-0", exitError, "has ended"},
		{"suspend nothing", exitError, "does not exist"}, {"suspend suite/nothing", exitError, "no BenchmarkSuite"}, {"suspend suiterun/nothing", exitError, "no BenchmarkSuiteRun"},
		{"suspend testbed/lab", exitError, "names no object"}, {"suspend", exitError, "exactly one"},
	} {
		if code, out, errOut := commandOver(t, c, "", strings.Fields(test.args)...); code != test.code || !strings.Contains(out+errOut, test.said) {
			t.Errorf("%s: exit code %d, want %d with %q: %s%s", test.args, code, test.code, test.said, out, errOut)
		}
	}
	var run v1alpha1.BenchmarkRun
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "lab", Name: "waits"}, &run); err != nil || run.Spec.Suspend {
		t.Errorf("the run is suspended: %t, %v", run.Spec.Suspend, err)
	}
}

package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestList checks the columns of runs in all phases, from the oldest on.
func TestList(t *testing.T) {
	rate, delay := int64(1234567), int64(8900)
	objects := []client.Object{
		runNamed("new", 1, nil),
		runNamed("old", 100, func(run *v1alpha1.BenchmarkRun) {
			endedWell(run)
			run.Status.TestbedRef = &v1alpha1.TestbedReference{Name: "lab-1"}
			run.Status.Summary = &v1alpha1.ResultSummary{Size: "64", Goal: "NDR", FramesPerSecond: &rate, RateNote: v1alpha1.NoteAtLeast, P99Nanoseconds: &delay, P99Note: v1alpha1.NoteDoubtful}
			run.Status.Warnings = []v1alpha1.Warning{{Code: v1alpha1.WarningMaximumLoad}, {Code: v1alpha1.WarningGeneratorCeiling}, {Code: v1alpha1.WarningMaximumLoad}}
		}),
		runNamed("failed", 50, func(run *v1alpha1.BenchmarkRun) {
			run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAccepted}}
		}),
		runNamed("queued", 30, func(run *v1alpha1.BenchmarkRun) { place := int32(2); run.Status.QueuePosition = &place }),
		runNamed("active", 20, func(run *v1alpha1.BenchmarkRun) {
			run.Status.Progress = &v1alpha1.Progress{Stage: "throughput, 64 bytes", Percent: 40}
		}),
		runNamed("waits", 10, func(run *v1alpha1.BenchmarkRun) { run.Spec.Suspend = true; run.Labels = map[string]string{"a": "b"} }),
	}
	code, out, _ := commandOver(t, clusterOf(t, objects...), "", "list")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitSucceeded || len(lines) != 7 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for i, want := range []string{
		"NAME", "old Succeeded lab-1 64 NDR >=1,234,567 8,900? True 100m GeneratorCeiling,MaximumLoad", "failed NotAccepted - - - - - - 50m -",
		"queued queued, position 2 -", "active throughput, 64 bytes, 40 % -", "waits suspended -", "new waiting for the operator -",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"list", "-l", "a=b", "-o", "json"}, []string{`"kind": "RunList"`, `"name": "waits"`}},
		{[]string{"list", "-A", "-l", "a"}, []string{"NAMESPACE", "lab", "waits"}},
		{[]string{"list", "-l", "a=c", "-o", "json"}, []string{`"runs": []`}},
	} {
		code, out, _ := commandOver(t, clusterOf(t, objects...), "", test.args...)
		for _, want := range test.want {
			if code != exitSucceeded || !strings.Contains(out, want) || strings.Contains(out, "queued") {
				t.Errorf("%q: exit code %d, want %q:\n%s", test.args, code, want, out)
			}
		}
	}
	if code, out, errOut := commandOver(t, clusterOf(t), "", "list"); code != exitSucceeded || out != "" || !strings.Contains(errOut, "no BenchmarkRun") {
		t.Errorf("an empty list: exit code %d, %q, %q", code, out, errOut)
	}
	for _, args := range [][]string{{"list", "-o", "csv"}, {"list", "router"}, {"list", "-l", "=a"}} {
		if code, _, errOut := commandOver(t, clusterOf(t), "", args...); code != exitError || !strings.HasPrefix(errOut, "error: ") {
			t.Errorf("%q: exit code %d, %q", args, code, errOut)
		}
	}
}

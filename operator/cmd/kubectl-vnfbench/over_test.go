package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/api/v1alpha1"
)

// commandOver runs a command over a cluster of objects, and returns its exit code and what it prints.
func commandOver(t *testing.T, c *cluster, input string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(input), Out: &stdout, ErrOut: &stderr}
	command := newCommandWith(streams, genericclioptions.NewConfigFlags(true), func() (*cluster, error) { return c, nil })
	command.SetArgs(args)
	code = execute(t.Context(), command, streams)
	return code, stdout.String(), stderr.String()
}

func runNamed(name string, minutes int, change func(*v1alpha1.BenchmarkRun)) *v1alpha1.BenchmarkRun {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: "uid-of-" + "run", CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Duration(minutes) * time.Minute))}}
	run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{{Name: "r1", Function: v1alpha1.FunctionRouter}}
	if change != nil {
		change(run)
	}
	return run
}

func endedWell(run *v1alpha1.BenchmarkRun) {
	run.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded},
		{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: "Accepted"},
	}
}

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/test/e2e/guide"
)

// TestNamespacedMode installs the operator for three namespaces alone. It deletes one while a run there measures, takes another one out of
// the list while a run there measures, and deletes that too. Both end, nothing of them is left, and the third one measures on. At its end
// the operator watches all namespaces again.
func TestNamespacedMode(t *testing.T) {
	first := demonstration(t, "namespaced")
	deleted, stays := namespace(t), namespace(t)
	testbed(t, deleted)
	testbed(t, stays)
	t.Cleanup(func() { watchNamespaces(t) })
	watchNamespaces(t, first, deleted, stays)

	// The rights of the list are enough for a whole run.
	apply(t, first, shortRun("whole", "  measurements: {profile: Quick}\n"))
	ends(t, first, "whole", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, first)
	freed(t, first)

	// A namespace of the list is deleted, and stops no other.
	apply(t, deleted, shortRun("measures", longTrials))
	until(t, deleted, "measures", waitForStart, "measuring", trialsOfChain(2))
	restarts := operatorRestarts(t)
	deleteNamespace(t, deleted)
	freed(t, deleted)
	apply(t, stays, shortRun("afterwards", eightSeconds))
	ends(t, stays, "afterwards", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if now := operatorRestarts(t); now != restarts {
		t.Errorf("the operator was restarted by the deletion of a namespace: %s, then %s", restarts, now)
	}

	// Another one is taken out. Its run measures without an operator, and has no verdict.
	apply(t, first, shortRun("outside", longTrials))
	until(t, first, "outside", waitForStart, "measuring", trialsOfChain(2))
	watchNamespaces(t, stays)
	if finished(getRun(t, first, "outside")) {
		t.Fatal("the run had ended before its namespace was taken out: this test says nothing about a run that is active")
	}
	apply(t, stays, shortRun("waits", eightSeconds))
	until(t, stays, "waits", waitForStart, "waiting for the node", func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || condition(run, v1alpha1.ConditionChainReady).Reason == v1alpha1.ReasonNodeBusy
	})
	measuredAlone(t, first, "outside")
	if run := getRun(t, stays, "waits"); finished(run) {
		t.Errorf("a run measured on a node that a run outside of the list has: %+v", run.Status.Conditions)
	}

	// With its namespace the run goes, though no one may watch it, and the node is free when its pods had their time.
	deleteNamespace(t, first)
	freed(t, first)
	ends(t, stays, "waits", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, stays)

	// The whole cluster again.
	watchNamespaces(t)
	again := namespace(t)
	testbed(t, again)
	apply(t, again, shortRun("again", eightSeconds))
	ends(t, again, "again", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, again)
}

// watchNamespaces limits the operator to namespaces, or watches all where none is given, and waits until it is rolled out.
func watchNamespaces(t *testing.T, namespaces ...string) {
	t.Helper()
	value := "[]"
	if len(namespaces) > 0 {
		value = `["` + strings.Join(namespaces, `","`) + `"]`
	}
	// A cleanup calls this too, when the test's context is over.
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "helm", "upgrade", "vnfbench", filepath.Join(guide.Root(t), "charts/vnfbench"), "-n", systemNamespace,
		"--reset-then-reuse-values", "--set-json", "watchNamespaces="+value, "--wait", "--timeout", "3m").CombinedOutput()
	if err != nil {
		t.Fatalf("helm upgrade with watchNamespaces=%s: %v\n%s", value, err, out)
	}
}

// operatorRestarts returns the operator's pods with how often each was restarted.
func operatorRestarts(t *testing.T) string {
	t.Helper()
	out, code := kubectl(t, "-n", systemNamespace, "get", "pods", "-l", "app.kubernetes.io/name=vnfbench",
		"-o", `jsonpath={range .items[*]}{.metadata.name}={.status.containerStatuses[*].restartCount} {end}`)
	if code != 0 || out == "" {
		t.Fatalf("the operator's pods: %s", out)
	}
	return out
}

// deleteNamespace deletes a namespace in which a run measures, and waits until it is gone.
func deleteNamespace(t *testing.T, name string) {
	t.Helper()
	started := time.Now()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(t, cluster.Delete(t.Context(), ns))
	untilGone(t, ns)
	t.Logf("namespace %s is gone after %s", name, time.Since(started).Round(time.Second))
}

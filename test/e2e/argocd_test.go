package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

const (
	argoCDNamespace = "argocd"
	// argoCDRoot is the Application that makes the others, argoCDOperator that of the chart, argoCDTestbed that of the Testbed, and argoCDBench
	// that of the runs and the suites.
	argoCDRoot, argoCDOperator, argoCDTestbed, argoCDBench = "vnfbench", "vnfbench-operator", "vnfbench-testbed", "vnfbench-bench"
	// firstRun is the run of config/gitops, and runFile where it is.
	firstRun, runFile = "router-0a1b2c3d", "config/gitops/bench/runs/router.yaml"
)

// argoCDApplication is the kind of the four.
var argoCDApplication = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// TestArgoCD lets Argo CD's own application controller and repository server follow a repository with config/gitops, by the commands of
// docs/how-to/gitops.md and docs/how-to/nightly-regression.md.
func TestArgoCD(t *testing.T) {
	if os.Getenv("VNFBENCH_E2E_ARGOCD") != "1" {
		t.Skip("NOT RUN: no Argo CD was tried: make e2e-argocd")
	}
	a := newArgoCD(t)
	if !inOrder(t, a.diagnose,
		part{"InstallsAndMeasures", a.installs},
		part{"IsDegradedByTheVerdict", a.isDegradedByTheVerdict},
		part{"IsHealthyWithoutTheFailedRun", a.isHealthyWithoutTheFailedRun},
		part{"DoesNotWaitForAnOldRun", a.doesNotWait},
		part{"RefusesWhatIsNoRun", a.refusesABinding},
		part{"MeasuresAnotherImage", a.measuresAnotherImage},
		part{"IsRemoved", func(t *testing.T) { a.isRemoved(t, 1) }},
	) {
		return
	}
	const flux = "needs Flux: make e2e-flux"
	a.gitops.Whole(t, "Flux 0: "+flux, "Flux 1: "+flux, "Notifications 0: "+flux, "Remove it 0: "+flux)
	a.nightly.Whole(t, "Put it into Git 1: make e2e-flux", "With Flux, who may bring an image 0: needs Flux: make e2e-flux", "What you see 0: no night comes: make e2e-flux",
		"What you see 1: no night comes: make e2e-flux", "How to read it 0: needs Flux: make e2e-flux", "Keep and notify 0: no night comes: make e2e-flux")
}

// argoCD is a repository that Argo CD follows.
type argoCD struct{ *followed }

// newArgoCD makes a repository for Argo CD.
func newArgoCD(t *testing.T) *argoCD {
	t.Helper()
	a := &argoCD{newFollowed(t, "Argo CD")}
	a.publish(t)
	return a
}

// application is what the test looks at of one.
type application struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		Health struct {
			Status             string      `json:"status"`
			LastTransitionTime metav1.Time `json:"lastTransitionTime"`
		} `json:"health"`
		Sync struct {
			Status   string `json:"status"`
			Revision string `json:"revision"`
		} `json:"sync"`
		OperationState struct {
			Phase   string `json:"phase"`
			Message string `json:"message"`
			// SyncResult says what was done with each object.
			SyncResult struct {
				Resources []struct {
					Name    string `json:"name"`
					Message string `json:"message"`
				} `json:"resources"`
			} `json:"syncResult"`
		} `json:"operationState"`
		Conditions []struct {
			Message string `json:"message"`
		} `json:"conditions"`
		Resources []struct {
			Kind   string         `json:"kind"`
			Name   string         `json:"name"`
			Status string         `json:"status"`
			Health resourceHealth `json:"health"`
		} `json:"resources"`
	} `json:"status"`
}

// resourceHealth is what Argo CD says of an object.
type resourceHealth struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// syncedTo reports whether a commit was applied, and nothing differs from it.
func (a *application) syncedTo(commit string) bool {
	return a.Status.Sync.Revision == commit && a.Status.Sync.Status == "Synced" && a.Status.OperationState.Phase == "Succeeded"
}

// healthOf returns what Argo CD says of one of the application's objects.
func (a *application) healthOf(kind, name string) resourceHealth {
	for _, r := range a.Status.Resources {
		if r.Kind == kind && r.Name == name {
			return r.Health
		}
	}
	return resourceHealth{Status: "absent"}
}

func (a *application) String() string {
	text := fmt.Sprintf("%s: %s, %s at %s; %s: %s; %v", a.Metadata.Name, a.Status.Health.Status, a.Status.Sync.Status, a.Status.Sync.Revision,
		a.Status.OperationState.Phase, a.Status.OperationState.Message, a.Status.Conditions)
	for _, r := range a.Status.Resources {
		text += fmt.Sprintf("\n%s %s: %s, %s %s", r.Kind, r.Name, r.Status, r.Health.Status, r.Health.Message)
	}
	return text
}

func (a *argoCD) application(t *testing.T, name string) *application {
	t.Helper()
	app := &application{}
	lookUp(t, argoCDApplication, argoCDNamespace, name, app)
	return app
}

// until waits until a condition is true of an Application, and returns it.
func (a *argoCD) until(t *testing.T, name string, limit time.Duration, what string, holds func(*application) bool) *application {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(time.Second) {
		app := a.application(t, name)
		if holds(app) {
			return app
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Application is not %s after %s: %s", what, limit, app)
		}
	}
}

// untilSynced waits until the last commit is applied and the Application has that health.
func (a *argoCD) untilSynced(t *testing.T, name, health string, limit time.Duration) *application {
	t.Helper()
	commit := a.commit(t)
	return a.until(t, name, limit, "synced to "+commit+" and "+health, func(app *application) bool {
		return app.syncedTo(commit) && app.Status.Health.Status == health
	})
}

// untilSays waits until Argo CD says of an object of an Application what its condition says, as the scripts of config/gitops do: the reason and the message.
func (a *argoCD) untilSays(t *testing.T, by, kind, name, status string, of func() metav1.Condition) {
	t.Helper()
	var want resourceHealth
	a.until(t, by, onceLooked, "saying what the condition of the "+kind+" says", func(app *application) bool {
		c := of()
		want = resourceHealth{status, c.Reason + ": " + c.Message}
		return app.healthOf(kind, name) == want
	})
	t.Logf("%s %s is %s: %s", kind, name, want.Status, want.Message)
}

// untilRun waits until Argo CD has applied a run and a condition is true of it.
func (a *argoCD) untilRun(t *testing.T, name, what string, holds func(*v1alpha1.BenchmarkRun) bool) {
	t.Helper()
	untilStored(t, benchNamespace, name, onceLooked, what, holds, func(*v1alpha1.BenchmarkRun) string { return a.application(t, argoCDBench).String() })
}

// ends waits until Argo CD has applied a run, the run has its verdict, and Argo CD says so.
func (a *argoCD) ends(t *testing.T, name, health string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	a.untilRun(t, name, "applied", func(*v1alpha1.BenchmarkRun) bool { return true })
	verdict := condition(ends(t, benchNamespace, name, status, reason), v1alpha1.ConditionSucceeded)
	a.untilSays(t, argoCDBench, "BenchmarkRun", name, health, func() metav1.Condition { return verdict })
}

// installs applies the Application, and checks that the operator came by its chart, that the Application of the Testbed came when the operator
// was healthy and that of the runs after it, and that it was healthy when its run had its verdict, and neither before.
func (a *argoCD) installs(t *testing.T) {
	a.gitops.Run(t, a.tool, 0, "--timeout=6h", "--timeout=20m")
	verdict := condition(getRun(t, benchNamespace, firstRun), v1alpha1.ConditionSucceeded)
	if verdict.Status != metav1.ConditionTrue {
		t.Fatalf("the Application is healthy, and the run is %s with %s: %s", verdict.Status, verdict.Reason, verdict.Message)
	}
	bench := a.untilSynced(t, argoCDBench, "Healthy", onceLooked)
	if since := bench.Status.Health.LastTransitionTime; since.Before(&verdict.LastTransitionTime) {
		t.Errorf("the Application is healthy since %s, and the run has its verdict since %s", since, verdict.LastTransitionTime)
	}
	t.Logf("run accepted at %s, Application healthy at %s", verdict.LastTransitionTime.UTC().Format(time.TimeOnly), bench.Status.Health.LastTransitionTime.UTC().Format(time.TimeOnly))
	a.untilSays(t, argoCDBench, "BenchmarkRun", firstRun, "Healthy", func() metav1.Condition { return verdict })
	a.untilSays(t, argoCDTestbed, "Testbed", "lab", "Healthy", func() metav1.Condition {
		testbed := &v1alpha1.Testbed{}
		must(t, retry(t, func() error { return cluster.Get(t.Context(), client.ObjectKey{Name: "lab"}, testbed) }))
		return conditionOf(testbed.Status.Conditions, v1alpha1.ConditionReady)
	})
	next := bench
	for _, name := range []string{argoCDTestbed, argoCDOperator} {
		app := a.untilSynced(t, name, "Healthy", onceLooked)
		if since := app.Status.Health.LastTransitionTime; next.Metadata.CreationTimestamp.Before(&since) {
			t.Errorf("%s was made at %s, and %s is healthy since %s", next.Metadata.Name, next.Metadata.CreationTimestamp, name, since)
		}
		next = app
	}
	root := a.untilSynced(t, argoCDRoot, "Healthy", onceLooked)
	for _, name := range []string{argoCDOperator, argoCDTestbed, argoCDBench} {
		if got := root.healthOf(argoCDApplication.Kind, name).Status; got != "Healthy" {
			t.Errorf("Argo CD says %q of the Application %s: the script for Applications makes waves wait", got, name)
		}
	}
}

// isDegradedByTheVerdict commits a threshold that no router at this load keeps: frames have to be lost.
func (a *argoCD) isDegradedByTheVerdict(t *testing.T) {
	a.edit(t, runFile, "atMost: 0}", "atLeast: 1}")
	name := a.measureAgain(t)
	a.ends(t, name, "Degraded", metav1.ConditionFalse, v1alpha1.ReasonNotAccepted)
	a.untilSynced(t, argoCDBench, "Degraded", onceLooked)
	a.until(t, argoCDRoot, onceLooked, "Degraded", func(app *application) bool { return app.Status.Health.Status == "Degraded" })
	// The run that has left Git is still there, with its results.
	if old := getRun(t, benchNamespace, firstRun); len(old.Status.Results) == 0 {
		t.Errorf("the run that has left Git has no results")
	}
}

// isHealthyWithoutTheFailedRun commits a run that is accepted. The failed one has left Git, is kept, and counts for the health of the
// Application until it is deleted by the command of the page.
func (a *argoCD) isHealthyWithoutTheFailedRun(t *testing.T) {
	failed := "router-" + a.revision(t)
	a.edit(t, runFile, "atLeast: 1}", "atMost: 0}")
	name := a.measureAgain(t)
	a.ends(t, name, "Healthy", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	bench := a.untilSynced(t, argoCDBench, "Degraded", onceLooked)
	if got := bench.healthOf("BenchmarkRun", failed).Status; got != "Degraded" {
		t.Errorf("Argo CD says %q of the failed run, which the page says counts until it is deleted: %s", got, bench)
	}
	a.deletes(t, failed, name)
	a.untilSynced(t, argoCDBench, "Healthy", onceLooked)
	a.untilSynced(t, argoCDRoot, "Healthy", onceLooked)
}

// deletes deletes a run by the commands of the page, which show the other.
func (a *argoCD) deletes(t *testing.T, old, other string) {
	t.Helper()
	if out := a.gitops.Run(t, "What happens to the old run", 0, "benchmarkrun "+firstRun, "benchmarkrun "+old); !strings.Contains(out, other) {
		t.Errorf("the runs are\n%s", out)
	}
}

// doesNotWait commits a run that measures for five minutes, and another commit meanwhile: Argo CD applies it before the old run has ended. The
// Testbed takes the new run when the old one is deleted.
func (a *argoCD) doesNotWait(t *testing.T) {
	a.edit(t, runFile, "trialMilliseconds: 2000", "trialMilliseconds: 300000")
	old := a.measureAgain(t)
	a.untilRun(t, old, "holding the Testbed", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionAdmitted).Status == metav1.ConditionTrue
	})
	a.untilSynced(t, argoCDBench, "Progressing", onceLooked)
	a.edit(t, runFile, "trialMilliseconds: 300000", "trialMilliseconds: 2000")
	began := time.Now()
	name := a.measureAgain(t)
	a.untilRun(t, name, "applied", func(*v1alpha1.BenchmarkRun) bool { return true })
	t.Logf("%s was made %s after its commit", name, time.Since(began).Round(time.Second))
	if run := getRun(t, benchNamespace, old); finished(run) {
		t.Errorf("Argo CD has waited: %s has ended", old)
	}
	a.deletes(t, old, name)
	a.ends(t, name, "Healthy", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	a.untilSynced(t, argoCDBench, "Healthy", onceLooked)
}

// refusesABinding commits an object that is no run to the runs: the project of the Application permits none of its kind. When the commit is taken
// back, Argo CD applies the one after it at its next attempt.
func (a *argoCD) refusesABinding(t *testing.T) {
	removeIt := a.putsABinding(t)
	const want = "ClusterRoleBinding is not permitted in project " + argoCDBench
	refused := a.until(t, argoCDBench, onceLooked, "refusing the binding", func(app *application) bool {
		return strings.Contains(app.refusal(), want)
	})
	t.Logf("%s", refused.refusal())
	removeIt()
	a.untilSynced(t, argoCDBench, "Healthy", stepTimeout)
}

// refusal returns what Argo CD says of the binding that it does not apply.
func (a *application) refusal() string {
	for _, r := range a.Status.OperationState.SyncResult.Resources {
		if strings.HasPrefix(r.Name, bindingName) {
			return r.Message
		}
	}
	return ""
}

// measuresAnotherImage puts the suites into Git, and one of an image next to them, and then commits another image: the suite measures again, and by that image.
func (a *argoCD) measuresAnotherImage(t *testing.T) {
	a.nightly.Run(t, "Put it into Git", 0, "kubectl apply -k config/gitops/flux ", ": ")
	a.putsAnImage(t)
	a.untilExecuted(t, "vyos-1")
	a.untilSays(t, argoCDBench, "BenchmarkSuite", "nightly", "Healthy", func() metav1.Condition {
		c := a.verdictOf(t, "nightly")
		if c.Reason != v1alpha1.ReasonNotExecuted {
			t.Fatalf("the suite nightly has %s, and no night has come", c.Reason)
		}
		return c
	})
	before := a.imageOf(t, "vyos-1")
	a.putsAnotherImage(t)
	a.untilExecuted(t, "vyos-2")
	a.measuredAnother(t, before)
}

// untilExecuted waits until an execution of the suite has succeeded, and Argo CD has applied the last commit and says so.
func (a *argoCD) untilExecuted(t *testing.T, execution string) {
	t.Helper()
	untilStored(t, benchNamespace, "vyos", 2*stepTimeout, "executed by "+execution, func(s *v1alpha1.BenchmarkSuite) bool {
		return s.Status.LastExecution != nil && s.Status.LastExecution.Name == execution && meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionSucceeded)
	}, func(*v1alpha1.BenchmarkSuite) string { return a.application(t, argoCDBench).String() })
	a.untilSynced(t, argoCDBench, "Healthy", onceLooked)
	a.untilSays(t, argoCDBench, "BenchmarkSuite", "vyos", "Healthy", func() metav1.Condition { return a.verdictOf(t, "vyos") })
}

// verdictOf returns the condition Succeeded of a suite.
func (a *argoCD) verdictOf(t *testing.T, name string) metav1.Condition {
	t.Helper()
	suite := &v1alpha1.BenchmarkSuite{}
	must(t, retry(t, func() error {
		return cluster.Get(t.Context(), client.ObjectKey{Namespace: benchNamespace, Name: name}, suite)
	}))
	return conditionOf(suite.Status.Conditions, v1alpha1.ConditionSucceeded)
}

func (a *argoCD) diagnose(t *testing.T) {
	const state = `{range .items[*]}{.metadata.name}: {.status.health} {.status.sync.status} {.status.operationState.message} {.status.conditions} {.status.resources}{"\n"}{end}`
	showAll(t,
		[]string{"-n", argoCDNamespace, "get", "applications", "-o", "jsonpath=" + state},
		[]string{"-n", argoCDNamespace, "get", "pods"},
		[]string{"-n", argoCDNamespace, "logs", "deployment/argocd", "--all-containers", "--tail=30", "--prefix"},
		[]string{"-n", benchNamespace, "get", "benchmarksuites,benchmarksuiteruns"},
	)
	diagnose(t.Logf, benchNamespace)
}

// stopArgoCD removes what makes the runs and the suites. Its Applications have no finalizer in the manifests, by which Argo CD deletes what it has applied.
func stopArgoCD(t *testing.T) {
	t.Helper()
	remove(t, argoCDNamespace, argoCDApplication.Kind, argoCDRoot, argoCDBench, argoCDTestbed)
	remove(t, argoCDNamespace, "appprojects.argoproj.io", argoCDBench)
}

// removeArgoCDOperator removes the operator, when nothing needs it. The scripts of health go too, so that the next test finds none but those
// that it brings.
func removeArgoCDOperator(t *testing.T) {
	t.Helper()
	ctx := context.Background() // also after the test's end
	operator := &unstructured.Unstructured{}
	operator.SetGroupVersionKind(argoCDApplication)
	operator.SetNamespace(argoCDNamespace)
	operator.SetName(argoCDOperator)
	finalizer := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io/foreground"]}}`))
	if err := client.IgnoreNotFound(cluster.Patch(ctx, operator, finalizer)); err != nil {
		t.Errorf("preparing the removal of the operator: %v", err)
	}
	remove(t, argoCDNamespace, argoCDApplication.Kind, argoCDOperator)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: argoCDNamespace, Name: "argocd-cm"}}
	if err := client.IgnoreNotFound(cluster.Patch(ctx, settings, client.RawPatch(types.MergePatchType, []byte(`{"data": null}`)))); err != nil {
		t.Errorf("removing the scripts of health: %v", err)
	}
}

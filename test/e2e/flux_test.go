package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/test/e2e/repository"
)

const (
	// fluxNamespace is that of Flux's objects.
	fluxNamespace = "flux-system"
	// fluxRuns and fluxSuites are the Kustomizations of the runs and of the suites.
	fluxRuns, fluxSuites = "vnfbench-runs", "vnfbench-suites"
	// regressionLimit is how long an execution of six runs and the confirmation of a fall may take. A verdict takes 11 runs with a value; two
	// unchanged executions have twelve, of which some may be in doubt on a busy machine.
	regressionLimit = 12 * time.Minute
	// beforeNight is the least time from the commit of a night's schedule to the night.
	beforeNight = 3 * time.Minute
)

// TestFlux lets Flux's own controllers follow a repository with config/gitops, by the commands of docs/how-to/gitops.md
// and docs/how-to/nightly-regression.md.
func TestFlux(t *testing.T) {
	if os.Getenv("VNFBENCH_E2E_FLUX") != "1" {
		t.Skip("NOT RUN: no Flux was tried: make e2e-flux")
	}
	f := newFlux(t)
	if !inOrder(t, f.diagnose,
		part{"InstallsAndMeasures", f.installs},
		part{"FailsWithTheVerdict", f.failsWithTheVerdict},
		part{"DoesNotWaitForAnOldRun", f.doesNotWait},
		part{"RefusesWhatIsNoRun", f.refusesABinding},
		part{"MeasuresAnotherImage", f.measuresAnotherImage},
		part{"NotifiesOfARegression", f.notifies},
		part{"PassesWhenItIsAccepted", f.passesWhenAccepted},
		part{"KeepsWhatANightLeaves", f.keepsNights},
		part{"IsRemoved", func(t *testing.T) { f.isRemoved(t, 0) }},
	) {
		return
	}
	const argoCD = "needs Argo CD: make e2e-argocd"
	f.gitops.Whole(t, "Argo CD 0: "+argoCD, "Argo CD 1: "+argoCD, "Remove it 1: "+argoCD)
	f.nightly.Whole(t)
}

// flux is a repository that Flux follows, and the web hook that it calls, with its URL.
type flux struct {
	*followed
	hook *hook
	url  string
}

// newFlux makes a repository for Flux.
func newFlux(t *testing.T) *flux {
	t.Helper()
	f := &flux{followed: newFollowed(t, "Flux"), hook: &hook{}}
	f.url = serve(t, f.hook)
	f.publish(t)
	return f
}

// installs applies Flux's objects, and checks that the operator came by its chart, and that the Kustomization of the runs was ready when its
// run had its verdict, and not before.
func (f *flux) installs(t *testing.T) {
	f.gitops.Run(t, "Flux", 0, "--timeout=6h", "--timeout=20m")
	run := getRun(t, benchNamespace, "router-0a1b2c3d")
	verdict := condition(run, v1alpha1.ConditionSucceeded)
	if verdict.Status != metav1.ConditionTrue {
		t.Fatalf("the Kustomizations are ready, and the run is %s with %s: %s", verdict.Status, verdict.Reason, verdict.Message)
	}
	k := f.kustomization(t, fluxRuns)
	ready := k.condition("Ready")
	if ready.LastTransitionTime.Before(&verdict.LastTransitionTime) {
		t.Errorf("the Kustomization is ready since %s, and the run has its verdict since %s", ready.LastTransitionTime, verdict.LastTransitionTime)
	}
	if !strings.Contains(k.Status.LastAppliedRevision, f.commit(t)) {
		t.Errorf("the Kustomization has applied %s, want commit %s", k.Status.LastAppliedRevision, f.commit(t))
	}
	t.Logf("run accepted at %s, Kustomization ready at %s: %s", verdict.LastTransitionTime.Format(time.TimeOnly), ready.LastTransitionTime.Format(time.TimeOnly), ready.Message)
	f.gitops.Run(t, "Notifications", 0, "https://hooks.example.com", f.url)
}

// failsWithTheVerdict commits a threshold that no router at this load keeps, and of which no doubt about delays says anything: frames have to be lost.
func (f *flux) failsWithTheVerdict(t *testing.T) {
	f.edit(t, "config/gitops/bench/runs/router.yaml", "atMost: 0}", "atLeast: 1}")
	name := f.measureAgain(t)
	f.untilRun(t, name, "applied", func(*v1alpha1.BenchmarkRun) bool { return true })
	run := ends(t, benchNamespace, name, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted)
	k := f.until(t, fluxRuns, onceLooked, "failed", func(k *kustomization) bool { return k.failedOf(f.commit(t)) })
	ready := k.condition("Ready")
	for _, want := range []string{"BenchmarkRun/" + benchNamespace + "/" + name, "Failed"} {
		if ready.Reason != "HealthCheckFailed" || !strings.Contains(ready.Message, want) {
			t.Errorf("the Kustomization has %s: %s, want HealthCheckFailed with %q", ready.Reason, ready.Message, want)
		}
	}
	t.Logf("run %s at %s, Kustomization %s at %s: %s", condition(run, v1alpha1.ConditionSucceeded).Reason, condition(run, v1alpha1.ConditionSucceeded).LastTransitionTime.Format(time.TimeOnly),
		ready.Reason, ready.LastTransitionTime.Format(time.TimeOnly), ready.Message)
	f.hook.until(t, fluxRuns, f.commit(t), name)
	// The run that has left Git is still there, with its results.
	if old := getRun(t, benchNamespace, "router-0a1b2c3d"); len(old.Status.Results) == 0 {
		t.Errorf("the run that has left Git has no results")
	}
}

// doesNotWait commits a run that measures for five minutes, and another commit meanwhile: Flux applies it before the old run has ended. The Testbed
// takes the new run when the old one is deleted.
func (f *flux) doesNotWait(t *testing.T) {
	const runs = "config/gitops/bench/runs/router.yaml"
	f.edit(t, runs, "atLeast: 1}", "atMost: 0}", "trialMilliseconds: 2000", "trialMilliseconds: 300000")
	old := f.measureAgain(t)
	f.untilRun(t, old, "holding the Testbed", func(run *v1alpha1.BenchmarkRun) bool {
		return condition(run, v1alpha1.ConditionAdmitted).Status == metav1.ConditionTrue
	})
	f.until(t, fluxRuns, onceLooked, "checking the health of "+old, func(k *kustomization) bool {
		return strings.Contains(k.Status.LastAttemptedRevision, f.commit(t)) && k.condition("Healthy").Status == metav1.ConditionUnknown
	})
	f.edit(t, runs, "trialMilliseconds: 300000", "trialMilliseconds: 2000")
	began := time.Now()
	name := f.measureAgain(t)
	f.untilRun(t, name, "applied", func(*v1alpha1.BenchmarkRun) bool { return true })
	t.Logf("%s was made %s after its commit", name, time.Since(began).Round(time.Second))
	if run := getRun(t, benchNamespace, old); finished(run) {
		t.Errorf("Flux has waited: %s has ended", old)
	}
	out := f.gitops.Run(t, "What happens to the old run", 0, "benchmarkrun router-0a1b2c3d", "benchmarkrun "+old)
	if !strings.Contains(out, name) {
		t.Errorf("the runs are\n%s", out)
	}
	ends(t, benchNamespace, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	f.until(t, fluxRuns, onceLooked, "ready", func(k *kustomization) bool { return k.readyOf(f.commit(t)) })
}

// refusesABinding commits an object that is no run to the runs: Flux applies them by an account that may make runs and suites alone.
func (f *flux) refusesABinding(t *testing.T) {
	removeIt := f.putsABinding(t)
	k := f.until(t, fluxRuns, onceLooked, "failed", func(k *kustomization) bool { return k.failedOf(f.commit(t)) })
	ready := k.condition("Ready")
	for _, want := range []string{"ClusterRoleBinding/" + bindingName, "forbidden", "system:serviceaccount:" + fluxNamespace + ":vnfbench-bench"} {
		if ready.Reason != "ReconciliationFailed" || !strings.Contains(ready.Message, want) {
			t.Errorf("the Kustomization has %s: %s, want ReconciliationFailed with %q", ready.Reason, ready.Message, want)
		}
	}
	t.Logf("Kustomization %s: %s", ready.Reason, ready.Message)
	removeIt()
	f.until(t, fluxRuns, onceLooked, "ready", func(k *kustomization) bool { return k.readyOf(f.commit(t)) })
}

// measuresAnotherImage puts the suites into Git, and one of an image next to them, and then commits another image: the suite measures again, and by that image.
func (f *flux) measuresAnotherImage(t *testing.T) {
	f.nightly.Run(t, "Put it into Git", 0)
	f.nightly.Run(t, "With Flux, who may bring an image", 0)
	f.putsAnImage(t)
	f.until(t, fluxSuites, stepTimeout, "ready", func(k *kustomization) bool { return k.readyOf(f.commit(t)) })
	before := f.imageOf(t, "vyos-1")
	f.putsAnotherImage(t)
	f.until(t, fluxSuites, stepTimeout, "ready", func(k *kustomization) bool { return k.readyOf(f.commit(t)) })
	f.measuredAnother(t, before)
}

// notifies lets two nights pass, and commits ten times as many rules: the night after that finds the regression. No commit comes then, so that the
// Kustomization was ready before the night. It fails and the web hook is called when Flux looks, and not before.
func (f *flux) notifies(t *testing.T) {
	// The lab does other things meanwhile, and the margin that the file allows takes a machine that does not.
	f.edit(t, nightlyFile, "marginPercent: 5", "marginPercent: 20")
	for range 2 {
		f.night(t, metav1.ConditionTrue)
	}
	f.edit(t, nightlyFile, "rules: 300", "rules: 3000")
	repository.Git(t, f.router, "commit", "--quiet", "--allow-empty", "--message", "More rules")
	f.nightly.Run(t, "Put it into Git", 1, "~/src/my-firewall", f.router)
	night := f.night(t, metav1.ConditionFalse)
	suite := f.nightlySuite(t)
	c := meta.FindStatusCondition(suite.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil || c.Reason != v1alpha1.ReasonRegressionFound {
		t.Fatalf("the suite has %v, want %s: %+v", c, v1alpha1.ReasonRegressionFound, suite.Status.Regression)
	}
	if last := suite.Status.LastExecution; last.Name != night || last.Trigger != v1alpha1.TriggerSchedule || last.Revision != f.revision(t) {
		t.Errorf("the last execution is %+v, want %s of the schedule and revision %s", last, night, f.revision(t))
	}
	if k := f.kustomization(t, fluxSuites); !k.readyOf(f.commit(t)) {
		t.Fatalf("Flux has not looked since the night, and the Kustomization is not ready: %s", k)
	}
	if early := f.hook.about(fluxSuites, "", ""); len(early) > 0 {
		t.Fatalf("the web hook got failures before Flux has looked: %v", early)
	}
	f.nightly.Run(t, "How to read it", 0)
	k := f.until(t, fluxSuites, onceLooked, "failed", func(k *kustomization) bool { return k.failedOf(f.commit(t)) })
	t.Logf("suite: %s\nKustomization: %s\nweb hook: %s", c.Message, k, f.hook.until(t, fluxSuites, f.commit(t), "BenchmarkSuite/"+benchNamespace+"/nightly"))
	f.showsTheRegression(t)
}

// showsTheRegression runs the commands by which the page shows a suite and writes its JUnit file.
func (f *flux) showsTheRegression(t *testing.T) {
	t.Helper()
	out, err := f.nightly.Try(t, "What you see", 0)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the plugin ends with %v for a suite that its gate fails, want exit code 1:\n%s", err, out)
	}
	f.nightly.Run(t, "What you see", 1)
	file := filepath.Join(f.work, "junit.xml")
	junit, err := os.ReadFile(file)
	must(t, err)
	if !strings.Contains(string(junit), "<failure") {
		t.Errorf("the JUnit file has no failure:\n%.4000s", junit)
	}
	must(t, os.Remove(file))
}

// nightlySchedule is the line of the suite's schedule.
var nightlySchedule = regexp.MustCompile(`schedule: ".*"`)

// night commits a night that comes in some minutes, waits until the suite has that outcome after it, and returns the name of its execution.
// The Kustomization is ready before the night, so that Flux does not wait for its outcome.
func (f *flux) night(t *testing.T, outcome metav1.ConditionStatus) string {
	t.Helper()
	var before string
	if last := f.nightlySuite(t).Status.LastExecution; last != nil {
		before = last.Name
	}
	text, err := os.ReadFile(filepath.Join(f.work, nightlyFile))
	must(t, err)
	at := time.Now().UTC().Add(beforeNight + time.Minute).Truncate(time.Minute)
	f.write(t, nightlyFile, nightlySchedule.ReplaceAllString(string(text), fmt.Sprintf(`schedule: "%d %d * * *"`, at.Minute(), at.Hour())))
	f.push(t, "A night at "+at.Format(time.TimeOnly))
	f.look(t)
	f.until(t, fluxSuites, onceLooked, "ready before the night", func(k *kustomization) bool { return k.readyOf(f.commit(t)) })
	if time.Now().After(at) {
		t.Fatalf("the Kustomization was not ready before the night at %s", at)
	}
	state := func(s *v1alpha1.BenchmarkSuite) string {
		return fmt.Sprintf("%+v\n%s", s.Status, f.kustomization(t, fluxSuites))
	}
	began := untilStored(t, benchNamespace, "nightly", time.Until(at)+onceLooked, "executed at night", func(s *v1alpha1.BenchmarkSuite) bool {
		return s.Status.LastExecution != nil && s.Status.LastExecution.Name != before
	}, state)
	untilStored(t, benchNamespace, "nightly", regressionLimit, "judged as wanted", func(s *v1alpha1.BenchmarkSuite) bool {
		return conditionOf(s.Status.Conditions, v1alpha1.ConditionSucceeded).Status == outcome
	}, state)
	return began.Status.LastExecution.Name
}

func (f *flux) nightlySuite(t *testing.T) *v1alpha1.BenchmarkSuite {
	t.Helper()
	suite := &v1alpha1.BenchmarkSuite{}
	must(t, retry(t, func() error {
		return cluster.Get(t.Context(), client.ObjectKey{Namespace: benchNamespace, Name: "nightly"}, suite)
	}))
	return suite
}

// passesWhenAccepted commits that the regression is wanted. No other commit has made the Kustomization ready, and Flux notifies again.
func (f *flux) passesWhenAccepted(t *testing.T) {
	f.write(t, "README.md", "Nothing that is measured.\n")
	f.push(t, "A commit that accepts nothing")
	f.look(t)
	f.until(t, fluxSuites, 2*onceLooked, "failed", func(k *kustomization) bool { return k.failedOf(f.commit(t)) })
	f.hook.until(t, fluxSuites, f.commit(t), "")
	f.edit(t, nightlyFile, "acknowledgements: []", fmt.Sprintf("acknowledgements: [{kind: Accepted, revision: %q, note: The rules are wanted}]", f.revision(t)))
	f.push(t, "Accept the rules")
	f.look(t)
	f.until(t, fluxSuites, 2*onceLooked, "ready", func(k *kustomization) bool { return k.readyOf(f.commit(t)) })
}

// keepsNights switches on the archive by the command of the page, and lowers the limit of history: a night beyond it is deleted when its runs are
// archived. Its figures stay in the cluster, and its documents in the archive.
func (f *flux) keepsNights(t *testing.T) {
	nights := &v1alpha1.BenchmarkSuiteRunList{}
	must(t, cluster.List(t.Context(), nights, client.InNamespace(benchNamespace), client.MatchingLabels{v1alpha1.LabelTrigger: string(v1alpha1.TriggerSchedule)}))
	if len(nights.Items) < 3 {
		t.Fatalf("there are %d nights, want 3: the limit of the file deletes none", len(nights.Items))
	}
	first := runsOf(t, benchNamespace, "nightly-1")
	if len(first) == 0 {
		t.Fatal("nightly-1 has no runs")
	}
	f.nightly.Run(t, "Keep and notify", 0, "results: {enabled: true}", `results: {enabled: true, archive: {persistence: {storageClass: "-"}}}`)
	f.look(t)
	// Two requests in one second have the same text, and Flux follows the first alone.
	f.until(t, fluxSuites, stepTimeout, "ready", func(k *kustomization) bool { return k.readyOf(f.commit(t)) })
	f.edit(t, nightlyFile, "succeededHistoryLimit: 7", "succeededHistoryLimit: 2")
	f.push(t, "Keep two nights")
	f.look(t)
	untilGone(t, &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "nightly-1"}})
	for i := range first {
		untilGone(t, &first[i])
	}
	if last := f.nightlySuite(t).Status.LastExecution.Name; len(runsOf(t, benchNamespace, last)) == 0 {
		t.Errorf("%s is within the limit, and its runs are gone", last)
	}
	if len(keptOf(t, benchNamespace, v1alpha1.LabelSuiteRun, "nightly-1")) == 0 {
		t.Error("no figure of the night that was deleted is left")
	}
	viewer(t, benchNamespace, "reader")
	site := openUI(t, benchNamespace, "reader")
	for i := range first {
		if code, body := get(t, site+"runs/"+benchNamespace+"/"+string(first[i].UID)); code != http.StatusOK || !strings.Contains(body, "<svg") {
			t.Errorf("the page of %s, which was deleted, answers %d:\n%.2000s", first[i].Name, code, body)
		}
	}
}

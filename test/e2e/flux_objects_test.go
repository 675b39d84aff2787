package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"vnfbench.io/operator/api/v1alpha1"
)

// fluxKustomization is the kind of what Flux applies from a folder, and fluxKustomizations its name for kubectl.
var fluxKustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}

const fluxKustomizations = "kustomizations.kustomize.toolkit.fluxcd.io"

// kustomization is what the test looks at of one.
type kustomization struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		Conditions            []metav1.Condition `json:"conditions"`
		LastAppliedRevision   string             `json:"lastAppliedRevision"`
		LastAttemptedRevision string             `json:"lastAttemptedRevision"`
	} `json:"status"`
}

func (k *kustomization) condition(kind string) metav1.Condition {
	return conditionOf(k.Status.Conditions, kind)
}

// readyOf reports whether a commit was applied and is healthy, failedOf whether it was tried and has failed.
func (k *kustomization) readyOf(commit string) bool {
	return strings.Contains(k.Status.LastAppliedRevision, commit) && k.condition("Ready").Status == metav1.ConditionTrue
}

func (k *kustomization) failedOf(commit string) bool {
	return strings.Contains(k.Status.LastAttemptedRevision, commit) && k.condition("Ready").Status == metav1.ConditionFalse
}

func (k *kustomization) String() string {
	ready := k.condition("Ready")
	return fmt.Sprintf("%s: %s, %s: %s (tried %s)", k.Metadata.Name, ready.Status, ready.Reason, ready.Message, k.Status.LastAttemptedRevision)
}

func (f *flux) kustomization(t *testing.T, name string) *kustomization {
	t.Helper()
	k := &kustomization{}
	lookUp(t, fluxKustomization, fluxNamespace, name, k)
	return k
}

// until waits until a condition is true of a Kustomization, and returns it.
func (f *flux) until(t *testing.T, name string, limit time.Duration, what string, holds func(*kustomization) bool) *kustomization {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(time.Second) {
		k := f.kustomization(t, name)
		if holds(k) {
			return k
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Kustomization is not %s after %s: %s", what, limit, k)
		}
	}
}

// untilRun waits until Flux has applied a run and a condition is true of it.
func (f *flux) untilRun(t *testing.T, name, what string, holds func(*v1alpha1.BenchmarkRun) bool) {
	t.Helper()
	untilStored(t, benchNamespace, name, onceLooked, what, holds, func(*v1alpha1.BenchmarkRun) string { return f.kustomization(t, fluxRuns).String() })
}

func (f *flux) diagnose(t *testing.T) {
	showAll(t,
		[]string{"-n", fluxNamespace, "get", "gitrepositories,kustomizations,helmcharts,helmreleases,pods"},
		[]string{"-n", fluxNamespace, "logs", "-l", "app in (source-controller,kustomize-controller,helm-controller,notification-controller)", "--tail=15", "--prefix"},
		[]string{"-n", benchNamespace, "get", "benchmarksuites,benchmarksuiteruns"},
	)
	diagnose(t.Logf, benchNamespace)
}

// stopFlux removes what calls the web hook, and what makes the runs and the suites.
func stopFlux(t *testing.T) {
	t.Helper()
	remove(t, fluxNamespace, "alerts.notification.toolkit.fluxcd.io,providers.notification.toolkit.fluxcd.io", "vnfbench")
	remove(t, fluxNamespace, "secret", "vnfbench-hook")
	remove(t, fluxNamespace, fluxKustomizations, fluxSuites, fluxRuns)
}

// removeFluxOperator removes the operator and the repository, when nothing needs them.
func removeFluxOperator(t *testing.T) {
	t.Helper()
	remove(t, fluxNamespace, fluxKustomizations, "vnfbench-operator")
	remove(t, fluxNamespace, "helmreleases.helm.toolkit.fluxcd.io", "vnfbench")
	remove(t, fluxNamespace, "gitrepositories.source.toolkit.fluxcd.io", "vnfbench")
}

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

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
	if c := meta.FindStatusCondition(k.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Status: "absent"}
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

// fluxObject returns an empty object of one of Flux's kinds.
func fluxObject(group, version, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group + ".toolkit.fluxcd.io", Version: version, Kind: kind})
	o.SetNamespace(fluxNamespace)
	o.SetName(name)
	return o
}

func (f *flux) kustomization(t *testing.T, name string) *kustomization {
	t.Helper()
	o := fluxObject("kustomize", "v1", "Kustomization", name)
	must(t, client.IgnoreNotFound(retry(t, func() error { return cluster.Get(t.Context(), client.ObjectKeyFromObject(o), o) })))
	text, err := json.Marshal(o.Object)
	must(t, err)
	k := &kustomization{}
	must(t, json.Unmarshal(text, k))
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
	for _, args := range [][]string{
		{"-n", fluxNamespace, "get", "gitrepositories,kustomizations,helmcharts,helmreleases,pods"},
		{"-n", fluxNamespace, "logs", "-l", "app in (source-controller,kustomize-controller,helm-controller,notification-controller)", "--tail=15", "--prefix"},
		{"-n", benchNamespace, "get", "benchmarksuites,benchmarksuiteruns"},
	} {
		cmd := exec.Command(os.Getenv("LAB"), append([]string{"kubectl", "--"}, args...)...)
		out, _ := cmd.CombinedOutput()
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
	diagnose(t.Logf, benchNamespace)
}

// removeFlux removes what the repository has brought into the cluster: first what looks at it, then the runs, the Testbed, which takes an
// operator, and at last the operator.
func removeFlux(t *testing.T) {
	t.Helper()
	remove := func(args ...string) {
		cmd := exec.Command(os.Getenv("LAB"), append([]string{"kubectl", "--", "-n", fluxNamespace, "delete", "--ignore-not-found", "--timeout=5m"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("deleting %v: %v\n%s", args, err, out)
		}
	}
	const kustomizations = "kustomizations.kustomize.toolkit.fluxcd.io"
	remove("alerts.notification.toolkit.fluxcd.io,providers.notification.toolkit.fluxcd.io", "vnfbench")
	remove(kustomizations, fluxSuites, fluxRuns)
	remove("namespace", benchNamespace)
	remove(kustomizations, "vnfbench-testbed")
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	for {
		err := cluster.Get(ctx, client.ObjectKey{Name: "lab"}, &v1alpha1.Testbed{})
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			break
		}
		if ctx.Err() != nil {
			t.Errorf("the Testbed is still there: %v", err)
			break
		}
		time.Sleep(time.Second)
	}
	remove(kustomizations, "vnfbench-operator")
	remove("helmreleases.helm.toolkit.fluxcd.io", "vnfbench")
	remove("gitrepositories.source.toolkit.fluxcd.io", "vnfbench")
}

package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/plantest"
)

func TestRefusal(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	terminating := apierrors.NewForbidden(pods, "p", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		err    error
		reason string
	}{
		"none":                  {nil, ""},
		"plan":                  {&measure.Failure{Reason: v1alpha1.ReasonFrameTooLarge, Err: errors.New("too large"), Remedy: "lower it"}, v1alpha1.ReasonFrameTooLarge},
		"quota":                 {apierrors.NewForbidden(pods, "p", errors.New("exceeded quota")), v1alpha1.ReasonPodForbidden},
		"webhook":               {apierrors.NewBadRequest("admission webhook denied the request"), v1alpha1.ReasonPodForbidden},
		"invalid":               {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil), v1alpha1.ReasonPodForbidden},
		"no Multus":             {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "NetworkAttachmentDefinition"}}, v1alpha1.ReasonNetworkAttachmentMissing},
		"namespace terminating": {terminating, ""},
		"conflict":              {apierrors.NewConflict(pods, "p", errors.New("changed")), ""},
		"not found":             {apierrors.NewNotFound(pods, "p"), v1alpha1.ReasonLaunchFailed},
		"too many requests":     {apierrors.NewTooManyRequests("later", 1), ""},
		"webhook away":          {apierrors.NewInternalError(errors.New("failed calling webhook")), v1alpha1.ReasonLaunchFailed},
		"network":               {errors.New("connection refused"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.err
			if err != nil {
				err = fmt.Errorf("applying: %w", err)
			}
			got := refusal(err)
			if reason := reasonOf(got); reason != test.reason {
				t.Errorf("got %q, want %q", reason, test.reason)
			}
		})
	}
}

func reasonOf(f *cause) string {
	if f == nil {
		return ""
	}
	return f.reason
}

// withInput gives the run what a plan is made from.
func withInput(s *scope) {
	in := plantest.Input(1)
	s.input, s.run.Namespace = &in, plantest.Namespace
}

// TestDigestIsStoredBeforeThePlan checks that the status has the digest before the plan's ConfigMap is made, and
// that no plan is said to be stored while that is refused.
func TestDigestIsStoredBeforeThePlan(t *testing.T) {
	var applied []string
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "plan", errors.New("no room"))
	c := interceptor.NewClient(fakeCluster(t).(client.WithWatch), interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			kind := object.(interface{ GetKind() string }).GetKind()
			applied = append(applied, kind)
			if kind == "ConfigMap" {
				return refused
			}
			return nil
		},
	})
	r := &Reconciler{Client: c, Reader: c}

	first := newScope(admitted, withInput)
	d, err := r.act(t.Context(), first, decide(first))
	if err != nil || d.action != actPlan || slices.Contains(applied, "ConfigMap") {
		t.Fatalf("%s after %v was applied, %v", d.action, applied, err)
	}
	status := summarize(first, d)
	if status.Plan == nil || status.Plan.StoredDigest == "" || meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionPlanned) {
		t.Fatalf("%+v", status)
	}

	second := newScope(admitted, withInput)
	second.run.Status = status
	if d, err = r.act(t.Context(), second, decide(second)); err != nil || d.action != actFinish || d.outcome.reason != v1alpha1.ReasonPodForbidden {
		t.Fatalf("%s, %+v, %v", d.action, d.outcome, err)
	}
	if planned := meta.FindStatusCondition(summarize(second, d).Conditions, v1alpha1.ConditionPlanned); planned.Status != metav1.ConditionFalse {
		t.Errorf("%+v", planned)
	}
}

// TestPlanIsMadeAgain checks that a plan that would be another one by now gets its own digest first, unless
// the run was already measured by the other.
func TestPlanIsMadeAgain(t *testing.T) {
	var applied []string
	c := interceptor.NewClient(fakeCluster(t).(client.WithWatch), interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			applied = append(applied, object.(interface{ GetKind() string }).GetKind())
			return nil
		},
	})
	r := &Reconciler{Client: c, Reader: c}
	s := newScope(admitted, withInput, digested("sha256:of-another"))
	d, err := r.act(t.Context(), s, decide(s))
	if got := summarize(s, d).Plan.StoredDigest; err != nil || d.action != actStorePlan || got == "sha256:of-another" || slices.Contains(applied, "ConfigMap") {
		t.Errorf("%s, digest %q, %v was applied, %v", d.action, got, applied, err)
	}
	measured := newScope(admitted, withInput, digested("sha256:of-another"), withRecords(nil))
	if d, err := r.act(t.Context(), measured, decide(measured)); err != nil || d.outcome == nil || d.outcome.reason != v1alpha1.ReasonResultsLost {
		t.Errorf("%s, %+v, %v", d.action, d.outcome, err)
	}
}

// TestResultsThatOthersChangeWithoutEnd checks that a suspended run closes its chain and stops its pods although the version of the
// results is never the one that was read, and that nothing else is done with results of another version.
func TestResultsThatOthersChangeWithoutEnd(t *testing.T) {
	c := interceptor.NewClient(fakeCluster(t).(client.WithWatch), interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			if version := object.(interface{ GetResourceVersion() string }).GetResourceVersion(); version != "" {
				return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "results", errors.New("version "+version))
			}
			return nil
		},
	})
	r := &Reconciler{Client: c, Reader: c}
	for action, refused := range map[action]bool{actStopPods: false, actOpenChain: true, actReplaceChain: true} {
		s := newScope(launched, suspended, withRecords(open), withRecords(func(r *records) { r.version = "7" }))
		if _, err := r.act(t.Context(), s, decision{action: action}); apierrors.IsConflict(err) != refused || err != nil && !refused {
			t.Errorf("%s: %v", action, err)
		}
	}
}

// TestQuotaIsWaitedFor checks that a quota that is used up for a while does not end a run, and with it each run of
// a queue.
func TestQuotaIsWaitedFor(t *testing.T) {
	full := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("exceeded quota: compute, requested: pods=1, used: pods=5, limited: pods=5"))
	c := interceptor.NewClient(fakeCluster(t).(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return full },
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return nil
		},
	})
	r := &Reconciler{Client: c, Reader: c}
	for elapsed, want := range map[time.Duration]struct {
		action action
		again  time.Duration
	}{0: {actWait, retryInterval}, 295 * time.Second: {actWait, 5 * time.Second}, 300 * time.Second: {actFinish, 0}} {
		s := newScope(admitted, withInput, waitingSinceEpoch, after(elapsed))
		d, err := r.act(t.Context(), s, decide(s))
		if err != nil || d.action != want.action || d.after != want.again {
			t.Errorf("after %s: %s, again after %s, %v", elapsed, d.action, d.after, err)
		}
		message := meta.FindStatusCondition(summarize(s, d).Conditions, v1alpha1.ConditionSucceeded).Message
		if !strings.Contains(message, "exceeded quota: compute") {
			t.Errorf("after %s the run says %q", elapsed, message)
		}
	}
	if _, ok := newScope(admitted).waitOut(errors.New("exceeded quota")); ok {
		t.Error("an error that the API server did not give")
	}
}

// TestRefusalsOfLeasesAndRightsAreShown checks that a Lease or a right that the operator may not write ends in a verdict:
// a run that only tries again holds its testbed, and its status says nothing.
func TestRefusalsOfLeasesAndRightsAreShown(t *testing.T) {
	forbidden := func(what string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "x", errors.New("no rule allows it"))
	}
	c := interceptor.NewClient(fakeCluster(t).(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return forbidden("leases")
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return forbidden("rolebindings")
		},
	})
	r := &Reconciler{Client: c, Reader: c, Namespace: "vnfbench-system"}
	for action, want := range map[action]string{actLaunchMeasurer: "leases", actRestoreRights: "rolebindings"} {
		s := newScope(launched)
		s.run.Status.Plan = &v1alpha1.PlanSummary{GeneratorNode: "node-a", DeviceNode: "node-a"}
		d, err := r.act(t.Context(), s, decision{action: action})
		if err != nil || d.outcome == nil || d.outcome.reason != v1alpha1.ReasonPodForbidden || !strings.Contains(d.outcome.message, want) {
			t.Errorf("%s: %+v, %v", action, d.outcome, err)
		}
	}
}

// TestOrphansAreDeleted checks that a run deletes what has lost its owner, and nothing of another owner or without the
// run's label.
func TestOrphansAreDeleted(t *testing.T) {
	mine := map[string]string{v1alpha1.LabelRun: "run-uid"}
	owner := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkRun", Name: "run", UID: uid, Controller: ptr.To(true)}}
	}
	for name, test := range map[string]struct {
		labels map[string]string
		owners []metav1.OwnerReference
		goes   bool
	}{
		"own":                         {mine, owner("run-uid"), true},
		"orphan":                      {mine, nil, true},
		"another owner":               {mine, owner("other-uid"), false},
		"no label":                    {nil, nil, false},
		"the label of another run":    {map[string]string{v1alpha1.LabelRun: "other-uid"}, nil, false},
		"own, and the label is taken": {nil, owner("run-uid"), true},
	} {
		s := newScope(held, deleted)
		object := configMapNamed(s.names.Plan)
		object.Namespace, object.Labels, object.OwnerReferences = s.run.Namespace, test.labels, test.owners
		c := fakeCluster(t, object)
		if err := (&Reconciler{Client: c, Reader: c}).deleteRecords(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(object), &corev1.ConfigMap{})
		if apierrors.IsNotFound(err) != test.goes {
			t.Errorf("%s: goes %t, want %t", name, !test.goes, test.goes)
		}
	}
}

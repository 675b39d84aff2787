package benchmarkrun

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestStatusIsRefused patches an API server whose definition of the resource refuses the figures. A run that has
// all of them ends with that reason, and with the place of its trials. A run that ends, or
// releases its testbed, for another reason still does so.
func TestStatusIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		with     []with
		decision decision
		// reason is that of Succeeded, and words are in its message; ended is true if it is the
		// last.
		reason string
		words  []string
		ended  bool
		// admitted is the reason of Admitted.
		admitted string
	}{
		"measured": {
			with:     []with{withRecords(done)},
			decision: decision{action: actFinish, measured: true, outcome: newCause(v1alpha1.ReasonSucceeded, "there are no acceptance criteria")},
			reason:   v1alpha1.ReasonResultRejected, words: []string{"-results", "status.results[0]"}, ended: true, admitted: v1alpha1.ReasonAdmitted,
		},
		"failed in the middle": {
			with:     []with{withRecords(open), withRecords(gaveUp(v1alpha1.ReasonChainFailed))},
			decision: fail(newCause(v1alpha1.ReasonChainFailed, "no frame came through")),
			reason:   v1alpha1.ReasonChainFailed, words: []string{"no frame came through"}, ended: true, admitted: v1alpha1.ReasonAdmitted,
		},
		"suspended in the middle": {
			with:     []with{withRecords(calibrated)},
			decision: decision{action: actRelease, wait: newCause(v1alpha1.ReasonSuspended, "spec.suspend is true")},
			reason:   v1alpha1.ReasonSuspended, admitted: v1alpha1.ReasonSuspended,
		},
		"while it is measured": {
			with: []with{withRecords(open)}, decision: decision{action: actWait},
			reason: v1alpha1.ReasonProgressing, admitted: v1alpha1.ReasonAdmitted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(append([]with{launched}, test.with...)...)
			s.figures.Frames = []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64}}
			s.run.ResourceVersion = ""
			c, refusals := refusingFigures(t, s.run, unknownField)
			r := &Reconciler{Client: c, Recorder: events.NewFakeRecorder(10), Metrics: NewMetrics()}
			d, err := r.storeStatus(t.Context(), s, test.decision)
			if err != nil || d.action != test.decision.action || (d.action == actFinish && !d.measured) != test.ended || *refusals != 1 {
				t.Fatalf("%+v after %d refusals, %v", d, *refusals, err)
			}
			var stored v1alpha1.BenchmarkRun
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), &stored); err != nil {
				t.Fatal(err)
			}
			succeeded := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionSucceeded)
			if succeeded == nil || (succeeded.Status == "False") != test.ended || succeeded.Reason != test.reason {
				t.Fatalf("Succeeded is %+v", succeeded)
			}
			for _, words := range test.words {
				if !strings.Contains(succeeded.Message, words) {
					t.Errorf("%q is not in %q", words, succeeded.Message)
				}
			}
			if a := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionAdmitted); a == nil || a.Reason != test.admitted {
				t.Errorf("Admitted is %+v", a)
			}
			if (stored.Status.CompletionTime != nil) != test.ended || stored.Status.ResultsRef.Name != s.names.Results || stored.Status.Results != nil {
				t.Errorf("the status is %+v", stored.Status)
			}
		})
	}
}

// unknownField is the answer of an API server whose definition of the resource is another one.
var unknownField = apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("BenchmarkRun").GroupKind(), "run",
	field.ErrorList{field.Required(field.NewPath("status", "results").Index(0), "the field is required")})

// refusingFigures returns an API server that has the run and refuses a status with figures.
func refusingFigures(t *testing.T, run *v1alpha1.BenchmarkRun, answer error) (client.Client, *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	refusals := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run).WithStatusSubresource(run).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if run := object.(*v1alpha1.BenchmarkRun); len(run.Status.Results) > 0 {
				refusals++
				return answer
			}
			return c.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	}).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
		t.Fatal(err)
	}
	return c, &refusals
}

// TestStatusIsTooLarge checks that a run whose figures do not fit into its status ends, even if those that were stored
// before leave no room for the end.
func TestStatusIsTooLarge(t *testing.T) {
	for name, refused := range map[string]error{
		"the API server": apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
		"etcd":           apierrors.NewInternalError(errors.New("etcdserver: request is too large")),
		"the connection": errors.New("rpc error: trying to send message larger than max (2097153 vs. 2097152)"),
	} {
		for room, figuresBefore := range map[string]bool{"with room": false, "without room": true} {
			t.Run(name+", "+room, func(t *testing.T) {
				s := newScope(launched, withRecords(done))
				s.figures.Frames = []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64}}
				if figuresBefore {
					s.run.Status.Results = s.figures.Frames
				}
				s.run.ResourceVersion = ""
				c, _ := refusingFigures(t, s.run, refused)
				r := &Reconciler{Client: c, Recorder: events.NewFakeRecorder(10), Metrics: NewMetrics()}
				d, err := r.storeStatus(t.Context(), s, decision{action: actFinish, measured: true, outcome: newCause(v1alpha1.ReasonSucceeded, "there are no acceptance criteria")})
				if err != nil || d.outcome.reason != v1alpha1.ReasonStatusTooLarge {
					t.Fatalf("%+v, %v", d.outcome, err)
				}
				stored := &v1alpha1.BenchmarkRun{}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), stored); err != nil {
					t.Fatal(err)
				}
				succeeded := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionSucceeded)
				if succeeded == nil || succeeded.Reason != v1alpha1.ReasonStatusTooLarge || !strings.Contains(succeeded.Message, s.names.Results) || stored.Status.CompletionTime == nil {
					t.Errorf("%+v", succeeded)
				}
			})
		}
	}
}

package archiving

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/archive"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/document"
)

// Owner is the field manager of the condition. The operator's own fields stay the operator's.
const Owner client.FieldOwner = "vnfbench-results"

// outcome is what the condition says.
type outcome struct {
	status metav1.ConditionStatus
	*reporting.Cause
}

func failed(reason, format string, args ...any) *outcome {
	return &outcome{metav1.ConditionFalse, reporting.NewCause(reason, format, args...)}
}

// refusal says why no document can be made. It may be another one after a change of the object, or with another version of this program.
func refusal(err error) *outcome {
	if errors.Is(err, document.ErrTooLarge) {
		return failed(v1alpha1.ReasonDocumentTooLarge, "%v; no reader takes it: export what you need, and delete the object", err)
	}
	return failed(v1alpha1.ReasonDocumentRefused, "no document can be made: %v; export what you need, and delete the object", err)
}

// remedies are what helps, by the cause. Whatever it is, the results service tries again by itself.
var remedies = []struct {
	cause          error
	reason, remedy string
}{
	{archive.ErrNoBucket, v1alpha1.ReasonBucketNotFound, "make the bucket, or correct results.archive.url of the chart"},
	{archive.ErrDenied, v1alpha1.ReasonAccessDenied, "give the results service credentials that may list, read and write there"},
	{archive.ErrFull, v1alpha1.ReasonArchiveFull, "make room, or enlarge the volume"},
}

// failure says why a document is not stored.
func failure(err error) *outcome {
	for _, known := range remedies {
		if errors.Is(err, known.cause) {
			return failed(known.reason, "%s; it is tried again at least every %s: %v", known.remedy, lastRetry, err)
		}
	}
	return failed(v1alpha1.ReasonArchiveUnavailable, "it is tried again at least every %s: %v", lastRetry, err)
}

// act stores the document, and says so in the condition. Its error makes the queue try again, later each time.
func (a *Archiver) act(ctx context.Context, object client.Object, conditions []metav1.Condition, d decision) (ctrl.Result, error) {
	if d.text == nil {
		if d.wait == 0 {
			a.Metrics.failed(d.refused.Reason)
		}
		return ctrl.Result{RequeueAfter: d.wait}, a.setCondition(ctx, object, conditions, d.refused)
	}
	began := a.Clock.Now()
	err := a.Archive.Store(ctx, d.key, d.text)
	is := stateOf(d, err)
	if is.status == metav1.ConditionTrue {
		err = nil
		a.Metrics.stored(object, a.Clock.Since(began))
		ctrl.LoggerFrom(ctx).Info("Stored", "reason", is.Reason, "message", is.Message)
	} else {
		a.Metrics.failed(is.Reason)
	}
	return ctrl.Result{}, errors.Join(err, a.setCondition(ctx, object, conditions, is))
}

// stateOf returns what the condition says after an attempt to store a document.
func stateOf(d decision, err error) *outcome {
	message := fmt.Sprintf("%s, %d bytes", d.key, len(d.text))
	switch {
	case errors.Is(err, archive.ErrKept):
		message = d.key + ", as it was stored before"
	case err != nil:
		return failure(err)
	case d.note != "":
		message += "; " + d.note
	}
	return &outcome{metav1.ConditionTrue, reporting.NewCause(d.reason, "%s", message)}
}

// setCondition writes the condition Archived, and no other field, by server-side apply: whatever the operator writes at the same time stays. A
// condition stays as it is while the reason is the same: an archive that is away for long costs no writes.
func (a *Archiver) setCondition(ctx context.Context, object client.Object, before []metav1.Condition, is *outcome) error {
	was := meta.FindStatusCondition(before, v1alpha1.ConditionArchived)
	if is == nil || was != nil && was.Status == is.status && was.Reason == is.Reason {
		return nil
	}
	// The API keeps whole seconds.
	now := metav1.NewTime(a.Clock.Now().Truncate(time.Second))
	if was != nil && was.Status == is.status {
		now = was.LastTransitionTime
	}
	condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.Condition{
		Type: v1alpha1.ConditionArchived, Status: is.status, Reason: is.Reason, Message: is.Message,
		ObservedGeneration: object.GetGeneration(), LastTransitionTime: now,
	})
	if err != nil {
		return err
	}
	kind, err := apiutil.GVKForObject(object, a.Client.Scheme())
	if err != nil {
		return err
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{condition}}}}
	applied.SetGroupVersionKind(kind)
	applied.SetNamespace(object.GetNamespace())
	applied.SetName(object.GetName())
	// An object of the same name is another one.
	applied.SetUID(object.GetUID())
	err = a.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), Owner, client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// It was deleted meanwhile. What was stored stays.
		return nil
	}
	if err != nil {
		return fmt.Errorf("setting the condition Archived: %w", err)
	}
	return nil
}

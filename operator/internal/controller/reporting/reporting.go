// Package reporting has what the control loops share to report: causes with bounded messages, events, and the writes of
// a status and of finalizers.
package reporting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// MaxMessageBytes bounds messages of conditions and events, which quote what a user wrote.
const MaxMessageBytes = 900

// Cause is a reason with its message.
type Cause struct{ Reason, Message string }

// NewCause returns a cause with a message of one line.
func NewCause(reason, format string, args ...any) *Cause {
	return &Cause{reason, excerpt.Line(fmt.Sprintf(format, args...), MaxMessageBytes)}
}

// CauseOf returns the reason and the message of an error that has a reason, with its remedy, and otherwise
// InvalidExperiment.
func CauseOf(err error) *Cause {
	var failure *measure.Failure
	if !errors.As(err, &failure) {
		return NewCause(v1alpha1.ReasonInvalidExperiment, "%v", err)
	}
	if failure.Remedy == "" {
		return NewCause(failure.Reason, "%v", failure.Err)
	}
	return NewCause(failure.Reason, "%v; %s", failure.Err, failure.Remedy)
}

// Event is one thing that happened: Normal or Warning, and its cause.
type Event struct{ Kind, Reason, Message string }

// WaitsSince returns since when a condition is Unknown for a reason, which is now where it is not. Its time is that of the reason if
// TimeTheReason was called.
func WaitsSince(conditions []metav1.Condition, kind, reason string, now time.Time) time.Time {
	if c := meta.FindStatusCondition(conditions, kind); c != nil && c.Status == metav1.ConditionUnknown && c.Reason == reason {
		return c.LastTransitionTime.Time
	}
	return now
}

// TimeTheReason gives a condition the time of its reason where that is another one than before. Otherwise a condition has the time of its
// status, which does not say when a wait began.
func TimeTheReason(before, after []metav1.Condition, kind string, now metav1.Time) {
	was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
	if is != nil && (was == nil || was.Reason != is.Reason) {
		is.LastTransitionTime = now
	}
}

// StoreStatus stores the status of an object if it is another one than before, and returns whether it did. The lock makes
// sure that the status follows from what is stored. Where the object has changed, reader reads it: if it has the same
// status as before, the status is stored, and its observedGeneration says which spec it follows from. So who writes labels,
// annotations or the spec without end does not keep a status from being stored. cached is what the cache keeps of an object;
// nil: all.
func StoreStatus(ctx context.Context, c client.Client, reader client.Reader, before, object client.Object, cached func(any) (any, error)) (stored bool, err error) {
	if equality.Semantic.DeepEqual(before, object) {
		return false, nil
	}
	err = c.Status().Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		err = storeUnlocked(ctx, c, reader, before, object, cached, err)
	}
	if err != nil {
		return false, fmt.Errorf("patching the status: %w", err)
	}
	return true, nil
}

// storeUnlocked stores a status on condition that the status is as before, and that the object is still as little or as much
// deleted. It returns the conflict if not.
func storeUnlocked(ctx context.Context, c client.Client, reader client.Reader, before, object client.Object, cached func(any) (any, error), conflict error) error {
	kind, err := apiutil.GVKForObject(before, c.Scheme())
	if err != nil {
		return err
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(kind)
	if err := reader.Get(ctx, client.ObjectKeyFromObject(before), stored); err != nil {
		return err
	}
	if stored.GetUID() != before.GetUID() || !stored.GetDeletionTimestamp().Equal(before.GetDeletionTimestamp()) {
		return conflict
	}
	// What the spec says does not matter here, and it may be large.
	delete(stored.Object, "spec")
	same, err := sameStatus(c.Scheme(), stored, before, cached)
	if err != nil {
		return fmt.Errorf("comparing the status with the one that is stored: %w", err)
	}
	if !same {
		return conflict
	}
	status, err := statusAfter(stored, before, object)
	if err != nil {
		return err
	}
	patch, err := conditional(before, []operation{{"test", "/status", stored.Object["status"]}}, operation{"add", "/status", status})
	if err != nil {
		return err
	}
	return conflictOf(c.Status().Patch(ctx, object, patch), conflict)
}

// IsTooLarge reports whether the API server or its store refuses an object because of its size.
func IsTooLarge(err error) bool {
	return err != nil && (apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "etcdserver: request is too large") || strings.Contains(err.Error(), "trying to send message larger than max"))
}

// sameStatus reports whether what is stored has the status of before, which may be from the cache. It looks at nothing else of them.
func sameStatus(scheme *runtime.Scheme, stored *unstructured.Unstructured, before client.Object, cached func(any) (any, error)) (bool, error) {
	typed, err := scheme.New(stored.GroupVersionKind())
	if err != nil {
		return false, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": stored.Object["status"]}, typed); err != nil {
		return false, err
	}
	kept := any(typed)
	if cached != nil {
		if kept, err = cached(typed); err != nil {
			return false, err
		}
	}
	now, err := statusOf(kept)
	if err != nil {
		return false, err
	}
	then, err := statusOf(before)
	return err == nil && equality.Semantic.DeepEqual(now, then), err
}

// statusOf returns the status of an object as the API server has it.
func statusOf(object any) (map[string]any, error) {
	status := reflect.Indirect(reflect.ValueOf(object)).FieldByName("Status")
	if !status.IsValid() || !status.CanAddr() {
		return nil, fmt.Errorf("%T has no status", object)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(status.Addr().Interface())
}

// statusAfter returns the status that is stored, with the changes from before to object.
func statusAfter(stored *unstructured.Unstructured, before, object client.Object) (json.RawMessage, error) {
	changes, err := client.MergeFrom(before).Data(object)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(map[string]any{"status": stored.Object["status"]})
	if err != nil {
		return nil, err
	}
	if document, err = jsonpatch.MergePatch(document, changes); err != nil {
		return nil, err
	}
	var after struct{ Status json.RawMessage }
	return after.Status, json.Unmarshal(document, &after)
}

// StoreFinalizers replaces the finalizers of an object that was read from the API server, on condition that they are still
// the same there. Other changes of the object do not matter.
func StoreFinalizers(ctx context.Context, c client.Client, object client.Object, finalizers []string) error {
	patch, err := conditional(object, []operation{{"test", "/metadata/finalizers", object.GetFinalizers()}}, operation{"add", "/metadata/finalizers", finalizers})
	if err != nil {
		return err
	}
	resource := schema.GroupResource{Group: object.GetObjectKind().GroupVersionKind().Group, Resource: object.GetObjectKind().GroupVersionKind().Kind}
	return conflictOf(c.Patch(ctx, object, patch), apierrors.NewConflict(resource, object.GetName(), errors.New("its finalizers have changed")))
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// conditional returns a patch that the API server applies to whatever version of the object it has, if the tests hold.
func conditional(object client.Object, tests []operation, change operation) (client.Patch, error) {
	data, err := json.Marshal(slices.Concat([]operation{{"test", "/metadata/uid", object.GetUID()}}, tests, []operation{change}))
	return client.RawPatch(types.JSONPatchType, data), err
}

// conflictOf returns the conflict instead of the API server's answer to a test that does not hold. Answers about invalid
// fields name the fields.
func conflictOf(err, conflict error) error {
	if apierrors.IsInvalid(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return conflict
	}
	return err
}

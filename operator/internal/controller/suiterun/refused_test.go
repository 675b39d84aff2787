package suiterun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestStatusHasNoRoom checks that an execution whose status does not fit into its object ends with a reason, deletes its run, and keeps the means of
// its cells, or the counts alone.
func TestStatusHasNoRoom(t *testing.T) {
	for name, test := range map[string]struct{ room, cells int }{"for a table": {8_000, 50}, "for the conditions alone": {3_200, 0}} {
		t.Run(name, func(t *testing.T) {
			s := newScope(t, 50, 3)
			s.execution.Status.PlannedCells = 50
			s.execution.Status.Cells[0].Measurements[0] = v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, FramesPerSecond: ptr.To[int64](7)}
			s.execution.Status.Cells[0].FramesPerSecond = ptr.To[int64](7)
			s.execution.Status.Cells[1].Measurements[0].State = v1alpha1.MeasurementRunning
			s.findCurrent()
			s.run = &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: s.runName(), UID: "run"}}
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s.execution, s.run).WithStatusSubresource(s.execution).WithInterceptorFuncs(interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
					if text, err := json.Marshal(object.(*v1alpha1.BenchmarkSuiteRun).Status); err != nil || len(text) > test.room {
						return errors.Join(err, apierrors.NewInternalError(fmt.Errorf("etcdserver: request is too large: %d bytes", len(text))))
					}
					return c.SubResource(sub).Patch(ctx, object, patch, options...)
				},
			}).Build()
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.execution), s.execution); err != nil {
				t.Fatal(err)
			}
			r := &Reconciler{Client: c, Reader: c, Recorder: events.NewFakeRecorder(10), Metrics: NewMetrics(c, nil)}
			if err := r.storeStatus(t.Context(), s, decision{action: actWait}); err != nil {
				t.Fatal(err)
			}
			stored := &v1alpha1.BenchmarkSuiteRun{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.execution), stored); err != nil {
				t.Fatal(err)
			}
			ended := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionSucceeded)
			if ended == nil || ended.Status != metav1.ConditionFalse || ended.Reason != v1alpha1.ReasonStatusTooLarge || !strings.Contains(ended.Message, "remove annotations") {
				t.Errorf("%+v", ended)
			}
			if counts := stored.Status.Counts; counts.Total != 150 || counts.Succeeded != 1 || stored.Status.CompletionTime == nil || stored.Status.ActiveRun != "" {
				t.Errorf("%+v", stored.Status)
			}
			if cells := stored.Status.Cells; len(cells) != test.cells || test.cells > 0 && *cells[0].FramesPerSecond != 7 {
				t.Errorf("%d cells", len(cells))
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.run), s.run); !apierrors.IsNotFound(err) {
				t.Errorf("the run is there: %v", err)
			}
		})
	}
}

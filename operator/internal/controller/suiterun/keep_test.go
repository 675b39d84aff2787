package suiterun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
)

// measuredScope returns an execution of suite "nightly" whose first measurement has ended.
func measuredScope(t *testing.T) *scope {
	t.Helper()
	s := newScope(t, 5, 1)
	s.execution.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkSuite", Name: "nightly", Controller: ptr.To(true)}}
	s.execution.Spec.Template.Subject = &v1alpha1.SuiteSubject{Subject: v1alpha1.Subject{Name: "fw", Revision: "3f2a", Time: v1alpha1.NewRevisionTime(epoch.Add(-time.Hour))}}
	s.current = &suite.Measurement{}
	s.measurement(*s.current).Attempts = 1
	s.run = &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: s.runName(), UID: "u", Labels: map[string]string{v1alpha1.LabelExperiment: "forged"}}}
	s.run.Spec.Experiment.TestbedRef = &v1alpha1.TestbedReference{Name: "lab"}
	s.run.Status.CompletionTime = ptr.To(metav1.NewTime(epoch))
	s.run.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionMeasured, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded},
	}
	s.run.Status.Results = []v1alpha1.FrameResult{{Size: "64", Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: 171_634}}}}
	return s
}

func clientOf(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// kept returns the points that a cluster has of suite "nightly".
func kept(t *testing.T, c client.Client) []series.Point {
	t.Helper()
	points, err := series.ReadMeasurements(t.Context(), c, "bench", "nightly", func(*v1alpha1.BenchmarkMeasurement) {})
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// TestKeep checks that the figures of a measurement are kept once, however often they are kept, and never changed.
func TestKeep(t *testing.T) {
	c := clientOf(t)
	r, s := &Reconciler{Client: c, Reader: c}, measuredScope(t)
	for range 2 {
		if d, err := r.keep(t.Context(), s, decision{action: actRecord}); err != nil || d.failure != nil || d.action != actRecord {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	points := kept(t, c)
	if len(points) != 1 || points[0].Value != 171_634 || points[0].Run != s.run.Name || points[0].Execution != "e" || points[0].Testbed != "lab" ||
		points[0].Subject.Revision != "3f2a" || !points[0].SubjectTime.Equal(epoch.Add(-time.Hour)) || !strings.HasPrefix(points[0].Experiment, "nightly."+s.suite.Cells[0].Name+"@") {
		t.Errorf("%+v", points)
	}
	s.run.Status.Results[0].Throughput[0].FramesPerSecond++
	d, err := r.keep(t.Context(), s, decision{action: actRecord})
	if err != nil || d.failure == nil || d.failure.Reason != v1alpha1.ReasonPointsNotKept || !strings.Contains(d.failure.Message, s.run.Name) {
		t.Fatalf("other figures under the same name: %+v, %v", d, err)
	}
	if m := summarize(s, d).Cells[0].Measurements[0]; m.State != v1alpha1.MeasurementFailed || m.Reason != v1alpha1.ReasonPointsNotKept {
		t.Errorf("the status has %+v", m)
	}
	if again := kept(t, c); again[0].Value != points[0].Value {
		t.Errorf("the point was changed to %+v", again)
	}
}

// TestNothingToKeep checks that an execution by hand, and a run without figures, leave no points.
func TestNothingToKeep(t *testing.T) {
	for name, change := range map[string]func(*scope){
		"by hand": func(s *scope) { s.execution.OwnerReferences = nil },
		"by a label": func(s *scope) {
			s.execution.OwnerReferences, s.execution.Labels = nil, map[string]string{v1alpha1.LabelSuite: "nightly"}
		},
		"not measured":        func(s *scope) { s.run.Status.Conditions[0].Status = metav1.ConditionFalse },
		"without figures":     func(s *scope) { s.run.Status.Results = nil },
		"refused by the API":  func(s *scope) { s.run = nil },
		"of another's object": func(s *scope) { s.execution.OwnerReferences[0].APIVersion = "example.com/v1" },
	} {
		c, s := clientOf(t), measuredScope(t)
		change(s)
		if d, err := (&Reconciler{Client: c, Reader: c}).keep(t.Context(), s, decision{action: actRecord}); err != nil || d.failure != nil {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if points := kept(t, c); len(points) > 0 {
			t.Errorf("%s: %+v", name, points)
		}
	}
}

// TestKeepFails checks that an outcome is in the status only after its figures are kept.
func TestKeepFails(t *testing.T) {
	group := schema.GroupResource{Group: "vnfbench.io", Resource: "benchmarkmeasurements"}
	for name, test := range map[string]struct {
		err    error
		action action
		retry  bool
	}{
		"a quota":   {apierrors.NewForbidden(group, "x", errors.New("exceeded quota: small")), actWait, false},
		"too late":  {apierrors.NewForbidden(group, "x", errors.New("exceeded quota: small")), actRecord, false},
		"an outage": {errors.New("connection refused"), actRecord, true},
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{Kind: "BenchmarkMeasurement"}, "x", nil), actRecord, false},
	} {
		c := interceptor.NewClient(clientOf(t), interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return test.err }})
		s := measuredScope(t)
		if name == "too late" {
			s.execution.Spec.Template.MaximumDurationMinutes = ptr.To[int32](1)
			s.execution.Status.StartTime = ptr.To(metav1.NewTime(epoch.Add(-time.Hour)))
		}
		d, err := (&Reconciler{Client: c, Reader: c}).keep(t.Context(), s, decision{action: actRecord})
		if d.action != test.action || (err != nil) != test.retry {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if state := summarize(s, d).Cells[0].Measurements[0].State; !test.retry && state == v1alpha1.MeasurementSucceeded {
			t.Errorf("%s: the measurement is %s", name, state)
		}
	}
}

// TestRightToKeepIsWaitedFor checks that an execution waits for the right to keep figures, with a reason and for startupSeconds of the run from the
// start of the wait, that the measurement then fails, and that the wait of the next one has its own time.
func TestRightToKeepIsWaitedFor(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Group: "vnfbench.io", Resource: "benchmarkmeasurements"}, "x", errors.New("no rule"))
	c := interceptor.NewClient(clientOf(t), interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refused }})
	r, s := &Reconciler{Client: c, Reader: c}, measuredScope(t)
	s.run.Spec.Experiment.StartupSeconds = 300
	s.execution.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonWaiting, LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
	}}
	for _, at := range []int{0, 10, 299} {
		s.now = epoch.Add(time.Duration(at) * time.Second)
		d, err := r.keep(t.Context(), s, decision{action: actRecord})
		if err != nil || d.action != actWait || d.after != retryInterval {
			t.Fatalf("after %d s: %+v, %v", at, d, err)
		}
		before := s.execution.Status
		s.execution.Status = summarize(s, d)
		c := meta.FindStatusCondition(s.execution.Status.Conditions, v1alpha1.ConditionSucceeded)
		if c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonPointsNotKept || !strings.Contains(c.Message, "no rule") || !c.LastTransitionTime.Time.Equal(epoch) {
			t.Errorf("after %d s: %+v", at, c)
		}
		if events := eventsBetween(&before, &s.execution.Status, d); (len(events) == 1) != (at == 0) {
			t.Errorf("after %d s: %+v", at, events)
		}
	}
	s.now = epoch.Add(300 * time.Second)
	d, err := r.keep(t.Context(), s, decision{action: actRecord})
	if err != nil || d.action != actRecord || d.failure == nil || d.failure.Reason != v1alpha1.ReasonPointsNotKept || !strings.Contains(d.failure.Message, "let the operator create BenchmarkMeasurements") {
		t.Fatalf("%+v, %v", d, err)
	}
	s.execution.Status = summarize(s, d)
	if m := s.execution.Status.Cells[0].Measurements[0]; m.State != v1alpha1.MeasurementFailed || m.Reason != v1alpha1.ReasonPointsNotKept {
		t.Errorf("%+v", m)
	}
	s.current.Cell = 1
	if d, err := r.keep(t.Context(), s, decision{action: actRecord}); err != nil || d.action != actWait {
		t.Errorf("the next one: %+v, %v", d, err)
	}
}

// TestQuotaIsWaitedFor checks that a quota without room takes nothing from a series: who has set it makes room when it suits them.
func TestQuotaIsWaitedFor(t *testing.T) {
	full := apierrors.NewForbidden(schema.GroupResource{Group: "vnfbench.io", Resource: "benchmarkmeasurements"}, "x", errors.New("exceeded quota: small"))
	c := interceptor.NewClient(clientOf(t), interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return full }})
	r, s := &Reconciler{Client: c, Reader: c}, measuredScope(t)
	for range 2 {
		if d, err := r.keep(t.Context(), s, decision{action: actRecord}); err != nil || d.action != actWait || d.waiting.Reason != v1alpha1.ReasonWaiting {
			t.Fatalf("%+v, %v", d, err)
		}
		s.now = s.now.Add(24 * time.Hour)
	}
}

// TestTooManyPoints checks that a run with more figures than a measurement has room for costs its own measurement alone, and stores none of them.
func TestTooManyPoints(t *testing.T) {
	c := clientOf(t)
	r, s := &Reconciler{Client: c, Reader: c}, measuredScope(t)
	s.run.Status.Results = nil
	for size := range v1alpha1.MaxMeasurementParts*v1alpha1.MaxMeasurementPoints + 1 {
		s.run.Status.Results = append(s.run.Status.Results, v1alpha1.FrameResult{Size: fmt.Sprint(size + 64), Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: 1}}})
	}
	d, err := r.keep(t.Context(), s, decision{action: actRecord})
	if err != nil || d.failure == nil || d.failure.Reason != v1alpha1.ReasonPointsNotKept || !strings.Contains(d.failure.Message, "measure fewer sizes") {
		t.Errorf("%+v, %v", d, err)
	}
	if points := kept(t, c); len(points) > 0 {
		t.Errorf("%d points are kept", len(points))
	}
}

// confirmingScope returns a confirmation of suite "nightly" whose first measurement has ended, and the objects that asked for it.
func confirmingScope(t *testing.T) (s *scope, judged *v1alpha1.BenchmarkSuiteRun, of *v1alpha1.BenchmarkSuite) {
	t.Helper()
	s = measuredScope(t)
	template, err := suite.Confirmation([]byte(`{"chain":[{"name":"fw","function":"Firewall"}]}`), []byte(`{"chain":[{"name":"fw","function":"Firewall","firewall":{"rules":1000}}]}`), 2)
	if err != nil {
		t.Fatal(err)
	}
	template.Subject = &v1alpha1.SuiteSubject{Subject: v1alpha1.Subject{Name: "fw", Revision: "new"}}
	if s.suite, err = suite.Parse(&template); err != nil {
		t.Fatal(err)
	}
	s.execution.Spec = v1alpha1.BenchmarkSuiteRunSpec{Template: template, Confirmation: &v1alpha1.SuiteConfirmation{
		Suite: "nightly", Cell: "base", Run: "nightly-7-base-1", Cause: "Step", OldRun: "nightly-6-base-1", FirstPair: 3, OldSubject: &v1alpha1.Subject{Name: "fw", Revision: "old"},
	}}
	s.execution.Name, s.execution.UID = "nightly-7-confirm-2", "confirmation"
	s.execution.Status = summarize(s, decision{action: actBegin})
	s.current = &suite.Measurement{Cell: 1, Repeat: 1}
	s.measurement(*s.current).Attempts = 1
	s.run.Name = s.runName()
	owned := func(kind, name, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: name, UID: types.UID(uid), Controller: ptr.To(true)}}
	}
	s.execution.OwnerReferences = owned("BenchmarkSuiteRun", "nightly-7", "execution")
	judged = &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly-7", UID: "execution", OwnerReferences: owned("BenchmarkSuite", "nightly", "suite")}}
	of = &v1alpha1.BenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", UID: "suite"}}
	of.Status.Regression = &v1alpha1.RegressionStatus{Confirmation: &v1alpha1.AskedConfirmation{Name: s.execution.Name, UID: "confirmation", Run: "nightly-7-base-1", Cause: "Step", OldRun: "nightly-6-base-1", FirstPair: 3, Pairs: 2}}
	return s, judged, of
}

// TestKeepLegs checks that the runs of a confirmation are legs of the series that it asks about.
func TestKeepLegs(t *testing.T) {
	for cell, want := range []series.Leg{{Run: "nightly-7-base-1", Cause: "Step", OldRun: "nightly-6-base-1", Side: series.Old, Pair: 4}, {Run: "nightly-7-base-1", Cause: "Step", OldRun: "nightly-6-base-1", Side: series.New, Pair: 4}} {
		s, judged, of := confirmingScope(t)
		s.current.Cell = cell
		s.measurement(*s.current).Attempts = 1
		s.run.Name = s.runName()
		c := clientOf(t, judged, of)
		if d, err := (&Reconciler{Client: c, Reader: c}).keep(t.Context(), s, decision{action: actRecord}); err != nil || d.failure != nil {
			t.Fatalf("%+v, %v", d, err)
		}
		points := kept(t, c)
		if len(points) != 1 || points[0].Leg == nil || *points[0].Leg != want || !strings.HasPrefix(points[0].Experiment, "nightly.base@") || points[0].Subject.Revision != strings.ToLower(string(want.Side)) {
			t.Errorf("%+v, want %+v", points, want)
		}
	}
}

// TestForgedConfirmations checks that only what the suite has asked for gets into a series, and that nothing is lost while it is being asked.
func TestForgedConfirmations(t *testing.T) {
	for name, change := range map[string]func(*scope, *v1alpha1.BenchmarkSuiteRun, *v1alpha1.BenchmarkSuite){
		"no owner": func(s *scope, _ *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkSuite) {
			s.execution.OwnerReferences = nil
		},
		"the suite as owner": func(s *scope, _ *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkSuite) {
			s.execution.OwnerReferences = measuredScope(t).execution.OwnerReferences
		},
		"an owner of that name": func(_ *scope, judged *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkSuite) { judged.UID = "other" },
		"a suite of that name":  func(_ *scope, _ *v1alpha1.BenchmarkSuiteRun, of *v1alpha1.BenchmarkSuite) { of.UID = "other" },
		"nothing was asked":     func(_ *scope, _ *v1alpha1.BenchmarkSuiteRun, of *v1alpha1.BenchmarkSuite) { of.Status.Regression = nil },
		"another object":        func(s *scope, _ *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkSuite) { s.execution.UID = "other" },
		"another name": func(_ *scope, _ *v1alpha1.BenchmarkSuiteRun, of *v1alpha1.BenchmarkSuite) {
			of.Status.Regression.Confirmation.Name = "other"
		},
		"another question": func(s *scope, _ *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkSuite) {
			s.execution.Spec.Confirmation.Run = "other"
		},
		"another old version": func(s *scope, _ *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkSuite) {
			s.execution.Spec.Confirmation.OldRun = "other"
		},
		"other pairs": func(s *scope, _ *v1alpha1.BenchmarkSuiteRun, _ *v1alpha1.BenchmarkSuite) {
			s.execution.Spec.Confirmation.FirstPair = 1
		},
	} {
		s, judged, of := confirmingScope(t)
		change(s, judged, of)
		c := clientOf(t, judged, of)
		if d, err := (&Reconciler{Client: c, Reader: c}).keep(t.Context(), s, decision{action: actRecord}); err != nil || d.failure != nil || d.action != actRecord {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if points := kept(t, c); len(points) > 0 {
			t.Errorf("%s: %+v", name, points)
		}
	}
	s, judged, of := confirmingScope(t)
	of.Status.Regression.Confirmation.UID = ""
	c := clientOf(t, judged, of)
	if d, err := (&Reconciler{Client: c, Reader: c}).keep(t.Context(), s, decision{action: actRecord}); err != nil || d.action != actWait || d.after == 0 {
		t.Errorf("without the UID: %+v, %v", d, err)
	}
}

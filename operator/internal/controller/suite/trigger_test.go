package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/schedule"
)

// scheduled gives the suite a schedule, whose last time was a day ago, at a time of the day after.
func scheduled(t *testing.T, line, at string) with {
	t.Helper()
	return func(s *scope) {
		s.suite.Spec.Schedule = line
		s.suite.CreationTimestamp = metav1.NewTime(epoch.Add(-100 * time.Hour))
		s.known.ObservedGeneration, s.known.ObservedSchedule = 1, s.line()
		s.known.LastScheduleTime = &metav1.Time{Time: time.Date(2026, time.November, 22, 1, 0, 0, 0, time.UTC)}
		s.suite.Status = s.known
		s.turnTo(t, at)
	}
}

// turnTo sets the clock to a time of 23 November, and reads the schedule.
func (s *scope) turnTo(t *testing.T, at string) {
	t.Helper()
	now, err := time.Parse("2006-01-02 15:04", "2026-11-23 "+at)
	if err != nil {
		t.Fatal(err)
	}
	s.now, s.schedule = now, schedule.Schedule{}
	if s.suite.Spec.Schedule == "" {
		return
	}
	if s.schedule, err = schedule.Parse(s.suite.Spec.Schedule, s.timeZone(), now); err != nil {
		t.Fatal(err)
	}
}

// advance decides, stores the status and makes the execution of the decision. It returns the action, with the trigger, and the reasons of the events.
func (s *scope) advance() (done string, reasons []string) {
	d := decide(s)
	after := summarize(s, d)
	for _, e := range eventsBetween(&s.suite.Status, &after, d) {
		reasons = append(reasons, e.Reason)
	}
	done = string(d.action)
	switch d.action {
	case actExecute:
		done += " " + string(d.trigger)
		e := executionOf(s, &d)
		e.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing}}
		s.executions = append(s.executions, e)
	case actSkip:
		done += " " + d.scheduled.Format("15:04")
	}
	s.suite.Status, s.known = after, after
	return done, reasons
}

// TestScheduleBesideOtherTriggers checks that a time of the schedule that passed before an execution begins for another reason is over with it: it does not
// replace that execution, and is not made after it.
func TestScheduleBesideOtherTriggers(t *testing.T) {
	changed := func(s *scope) { s.digest, s.suite.Spec.Suspend = "other", true }
	replacing := func(s *scope) { s.suite.Spec.ConcurrencyPolicy = v1alpha1.ConcurrencyReplace }
	ended := executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	check := func(t *testing.T, s *scope, want string, events ...string) {
		t.Helper()
		if got, reasons := s.advance(); got != want || cmp.Diff(events, reasons) != "" {
			t.Errorf("%s with the events %v, want %s with %v", got, reasons, want, events)
		}
	}
	t.Run("suspended", func(t *testing.T) {
		s := newScope(ended, changed, replacing, scheduled(t, "0 1 * * *", "01:00"))
		check(t, s, "Skip 01:00", v1alpha1.ReasonScheduleSkipped)
		if c := succeeded(&s.known); c.Reason != v1alpha1.ReasonSuspended || !strings.Contains(c.Message, "an execution is due (Change)") {
			t.Errorf("%+v", c)
		}
		check(t, s, "Wait")
		s.turnTo(t, "01:20")
		s.suite.Spec.Suspend = false
		check(t, s, "Execute Change", v1alpha1.ReasonExecuted)
		check(t, s, "Wait")
	})
	t.Run("without an operator", func(t *testing.T) {
		s := newScope(ended, changed, replacing, scheduled(t, "0 1 * * *", "01:20"))
		s.suite.Spec.Suspend = false
		before := s.suite.Status
		check(t, s, "Execute Change", v1alpha1.ReasonExecuted, v1alpha1.ReasonScheduleSkipped)
		if at := s.known.LastScheduleTime; at.Hour() != 1 || at.Day() != 23 {
			t.Errorf("lastScheduleTime is %s", at)
		}
		check(t, s, "Wait")
		// The operator ended before the status was stored.
		s.suite.Status = before
		if err := s.fold(); err != nil {
			t.Fatal(err)
		}
		s.known.LastExecution.TemplateDigest = s.digest
		check(t, s, "Wait")
	})
	t.Run("asked for", func(t *testing.T) {
		s := newScope(ended, replacing, scheduled(t, "0 1 * * *", "01:20"))
		s.suite.Annotations = map[string]string{v1alpha1.AnnotationRunNow: "now"}
		check(t, s, "Execute Annotation", v1alpha1.ReasonExecuted, v1alpha1.ReasonScheduleSkipped)
		check(t, s, "Wait")
	})
	t.Run("alone", func(t *testing.T) {
		s := newScope(ended, scheduled(t, "0 1 * * *", "01:20"))
		check(t, s, "Execute Schedule", v1alpha1.ReasonExecuted)
		check(t, s, "Wait")
	})
}

// TestLaterSchedule checks that a schedule has no times before it was written, and that those of a new suite count from its creation.
func TestLaterSchedule(t *testing.T) {
	for name, change := range map[string]with{
		"added":   func(s *scope) { s.known.ObservedSchedule, s.known.LastScheduleTime = "", nil },
		"changed": func(s *scope) { s.known.ObservedSchedule = "30 1 * * * UTC" },
		"in another zone": func(s *scope) {
			s.known.ObservedSchedule = "0 * * * * Asia/Kolkata"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded), scheduled(t, "0 * * * *", "01:20"), change, func(s *scope) { s.suite.Status = s.known })
			for _, want := range []string{"Wait", "Wait"} {
				if got, _ := s.advance(); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			if at := s.known.LastScheduleTime; s.known.ObservedSchedule != "0 * * * * UTC" || at == nil || !at.Time.Equal(s.now) {
				t.Errorf("%q since %s", s.known.ObservedSchedule, at)
			}
			s.turnTo(t, "02:00")
			if got, _ := s.advance(); got != "Execute Schedule" {
				t.Errorf("at the first time: %s", got)
			}
		})
	}
	older := newScope(executed("nightly-1", metav1.ConditionTrue, v1alpha1.ReasonSucceeded), scheduled(t, "0 * * * *", "01:20"), func(s *scope) {
		s.known.ObservedSchedule, s.known.NextScheduleTime = "", &metav1.Time{Time: s.now.Add(-20 * time.Minute)}
		s.suite.Status = s.known
	})
	if got, _ := older.advance(); got != "Execute Schedule" || older.known.ObservedSchedule != "0 * * * * UTC" {
		t.Errorf("a time that passed during an upgrade: %s, %q", got, older.known.ObservedSchedule)
	}
	s := newScope(scheduled(t, "0 * * * *", "01:20"), func(s *scope) {
		s.known = v1alpha1.BenchmarkSuiteStatus{}
		s.suite.Spec.RunOn, s.suite.Status, s.suite.CreationTimestamp = v1alpha1.RunOnNever, s.known, metav1.NewTime(s.now.Add(-30*time.Minute))
	})
	if got, _ := s.advance(); got != "Execute Schedule" || s.known.ObservedSchedule == "" {
		t.Errorf("a time after the creation of a suite that the operator sees late: %s", got)
	}
	s.suite.Spec.Schedule = ""
	s.turnTo(t, "05:00")
	s.advance()
	if s.known.ObservedSchedule != "" {
		t.Errorf("without a schedule: %q", s.known.ObservedSchedule)
	}
}

// TestSuspendOfOneExecution checks that a suite suspends its active execution, lets it continue, and leaves one alone that someone else suspended.
func TestSuspendOfOneExecution(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := newScope(executed("nightly-1", metav1.ConditionUnknown, v1alpha1.ReasonProgressing))
	e := s.executions[0]
	e.UID = "execution"
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(e).Build()
	r := &Reconciler{Client: c, Reader: c}
	step := func(want action, suspended bool) {
		t.Helper()
		d := decide(s)
		if d.action != want {
			t.Errorf("%s, want %s", d.action, want)
		}
		if err := r.perform(t.Context(), s, &d); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
			t.Fatal(err)
		}
		if e.Spec.Suspend != suspended {
			t.Errorf("suspend of the execution is %t", e.Spec.Suspend)
		}
	}
	set := func(suspend bool) {
		t.Helper()
		e.Spec.Suspend = suspend
		if err := c.Update(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	s.suite.Spec.Suspend = true
	step(actSuspend, true)
	step(actWait, true)
	set(false)
	step(actSuspend, true)
	s.suite.Spec.Suspend = false
	step(actSuspend, false)
	step(actWait, false)
	set(true)
	step(actWait, true)
	after := summarize(s, decide(s))
	if c := succeeded(&after); c.Reason != v1alpha1.ReasonSuspended || !strings.Contains(c.Message, "execution nightly-1 is suspended, and the suite is not: set spec.suspend of the execution to false") {
		t.Errorf("%+v", c)
	}
	s.suite.Spec.Suspend = true
	step(actWait, true)
	s.suite.Spec.Suspend = false
	step(actWait, true)
}

package suite

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/measure"
)

// labels are what a registry says of each image: a revision or an error.
type labels map[string]any

func (labels) Check(string) error { return nil }

func (l labels) Read(_ context.Context, image string, _ *v1alpha1.Subject) (*v1alpha1.Subject, error) {
	if err, fails := l[image].(error); fails {
		return nil, err
	}
	return &v1alpha1.Subject{Name: "vyos", Revision: l[image].(string)}, nil
}

// byRevision makes a suite take its revision from an image, as one that was executed with another template.
func byRevision(s *scope) {
	s.suite.Spec.RunOn, s.image, s.digest = v1alpha1.RunOnRevision, "vyos:2", "other"
	s.suite.Spec.Template.Subject = &v1alpha1.SuiteSubject{FromImage: &v1alpha1.SubjectImage{Function: "vyos"}}
	s.known.LastExecution.Revision = "one"
}

// TestRevisionOfAnImage checks when a suite reads the revision of an image, and that only another one makes an execution.
func TestRevisionOfAnImage(t *testing.T) {
	ended := executed("nightly-1", "True", v1alpha1.ReasonSucceeded)
	for name, test := range map[string]struct {
		change  with
		want    action
		trigger v1alpha1.SuiteTrigger
	}{
		"another template":   {func(*scope) {}, actRead, ""},
		"the first":          {func(s *scope) { s.known = v1alpha1.BenchmarkSuiteStatus{} }, actRead, ""},
		"the same template":  {func(s *scope) { s.digest = "d" }, actWait, ""},
		"suspended":          {func(s *scope) { s.suite.Spec.Suspend = true }, actWait, ""},
		"another trigger":    {func(s *scope) { s.suite.Spec.RunOn = v1alpha1.RunOnChange }, actExecute, v1alpha1.TriggerChange},
		"a given revision":   {func(s *scope) { s.suite.Spec.Template.Subject.Revision = "two" }, actExecute, v1alpha1.TriggerRevision},
		"the given is known": {func(s *scope) { s.suite.Spec.Template.Subject.Revision = "one" }, actWait, ""},
		"the same revision": {func(s *scope) {
			s.known.ImageRevision = &v1alpha1.ImageRevision{TemplateDigest: "other", Revision: "one"}
		}, actWait, ""},
		"another revision": {func(s *scope) {
			s.known.ImageRevision = &v1alpha1.ImageRevision{TemplateDigest: "other", Revision: "two"}
		}, actExecute, v1alpha1.TriggerRevision},
		"read for another": {func(s *scope) {
			s.known.ImageRevision = &v1alpha1.ImageRevision{TemplateDigest: "older", Revision: "two"}
		}, actRead, ""},
		"a tag that is moved": {func(s *scope) {
			s.digest, s.known.ImageRevision = "d", &v1alpha1.ImageRevision{TemplateDigest: "d", Revision: "two"}
		}, actWait, ""},
		"active":    {func(s *scope) { s.executions[0].Status.Conditions[0].Status = "Unknown" }, actWait, ""},
		"asked for": {func(s *scope) { s.suite.Annotations = map[string]string{v1alpha1.AnnotationRunNow: "1"} }, actExecute, v1alpha1.TriggerAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(newScope(ended, byRevision, test.change))
			if d.action != test.want || d.trigger != test.trigger {
				t.Errorf("%s (%s), want %s (%s)", d.action, d.trigger, test.want, test.trigger)
			}
		})
	}
}

// TestReadRevision checks what a suite says of an answer, and when it asks again.
func TestReadRevision(t *testing.T) {
	for name, test := range map[string]struct {
		answer    any
		revision  string
		succeeded string
		ready     string
		after     time.Duration
	}{
		"a revision": {"two", "two", "Unknown/Progressing", "True/Ready", 0},
		"the same":   {"one", "one", "True/Succeeded", "True/Ready", 0},
		"away":       {&measure.Failure{Reason: v1alpha1.ReasonImageLabelsUnreadable, Err: errors.New("away"), Passing: true}, "", "Unknown/ImageLabelsUnreadable", "True/Ready", labelsInterval},
		"busy":       {subject.ErrBusy, "", "Unknown/Progressing", "True/Ready", conflictDelay},
		"no label":   {measure.Failf(v1alpha1.ReasonImageLabelsInvalid, "set it", "no label"), "", "False/ImageLabelsInvalid", "False/ImageLabelsInvalid", labelsInterval},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(executed("nightly-1", "True", v1alpha1.ReasonSucceeded), byRevision)
			d := decide(s)
			if err := (&Reconciler{Subjects: labels{"vyos:2": test.answer}}).act(t.Context(), s, &d); err != nil {
				t.Fatal(err)
			}
			status := summarize(s, d)
			switch read := status.ImageRevision; {
			case test.revision == "" && read != nil, test.revision != "" && (read == nil || read.Revision != test.revision || read.TemplateDigest != "other"):
				t.Errorf("%+v", read)
			}
			for kind, want := range map[string]string{v1alpha1.ConditionSucceeded: test.succeeded, v1alpha1.ConditionReady: test.ready} {
				if c := meta.FindStatusCondition(status.Conditions, kind); string(c.Status)+"/"+c.Reason != want {
					t.Errorf("%s: %+v", kind, c)
				}
			}
			if d.after != test.after {
				t.Errorf("it asks again after %s, want %s", d.after, test.after)
			}
		})
	}
}

// TestNextTimeWithUnusableLabels checks that the status has the next time of the schedule, which does not wait for labels that can be used.
func TestNextTimeWithUnusableLabels(t *testing.T) {
	s := newScope(executed("nightly-1", "True", v1alpha1.ReasonSucceeded), scheduled(t, "0 1 * * *", "00:30"), byRevision)
	d := decide(s)
	if err := (&Reconciler{Subjects: labels{"vyos:2": measure.Failf(v1alpha1.ReasonImageLabelsInvalid, "set it", "no label")}}).act(t.Context(), s, &d); err != nil {
		t.Fatal(err)
	}
	status := summarize(s, d)
	if next := status.NextScheduleTime; d.action != actRead || next == nil || !next.Time.Equal(s.now.Add(30*time.Minute)) || !meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("%s, next at %s: %+v", d.action, next, status.Conditions)
	}
}

// TestBusyReader checks that what a suite says of labels stays while other images are read, until the suite is changed.
func TestBusyReader(t *testing.T) {
	for name, answer := range map[string]error{
		"away": &measure.Failure{Reason: v1alpha1.ReasonImageLabelsUnreadable, Err: errors.New("away"), Passing: true}, "no label": measure.Failf(v1alpha1.ReasonImageLabelsInvalid, "set it", "no label"),
		"it redirects": measure.Failf(v1alpha1.ReasonRegistryNotAllowed, "ask for it", "another host"),
	} {
		t.Run(name, func(t *testing.T) {
			answered := newScope(executed("nightly-1", "True", v1alpha1.ReasonSucceeded), byRevision)
			d := decide(answered)
			if err := (&Reconciler{Subjects: labels{"vyos:2": answer}}).act(t.Context(), answered, &d); err != nil {
				t.Fatal(err)
			}
			busy := newScope(executed("nightly-1", "True", v1alpha1.ReasonSucceeded), byRevision)
			busy.suite.Status = summarize(answered, d)
			d = decide(busy)
			if err := (&Reconciler{Subjects: labels{"vyos:2": subject.ErrBusy}}).act(t.Context(), busy, &d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(busy.suite.Status.Conditions, summarize(busy, d).Conditions); diff != "" || d.after != conflictDelay {
				t.Errorf("after %s: %s", d.after, diff)
			}
			changed := newScope(executed("nightly-1", "True", v1alpha1.ReasonSucceeded), byRevision, func(s *scope) { s.suite.Generation++ })
			changed.suite.Status = busy.suite.Status
			d = decide(changed)
			if err := (&Reconciler{Subjects: labels{"vyos:2": subject.ErrBusy}}).act(t.Context(), changed, &d); err != nil {
				t.Fatal(err)
			}
			status := summarize(changed, d)
			if c := succeeded(&status); c.Status != "Unknown" || c.Reason != v1alpha1.ReasonProgressing || c.ObservedGeneration != 2 || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
				t.Errorf("another generation: %+v", status.Conditions)
			}
		})
	}
}

// TestRevisionThatAnExecutionRead checks that the status of the suite has what its execution read.
func TestRevisionThatAnExecutionRead(t *testing.T) {
	s := newScope(executed("nightly-1", "Unknown", v1alpha1.ReasonProgressing), byRevision)
	s.suite.Status = s.known
	s.executions[0].Status.Subject = &v1alpha1.Subject{Name: "vyos", Revision: "three"}
	if err := s.fold(); err != nil {
		t.Fatal(err)
	}
	if status := summarize(s, decision{action: actWait}); status.LastExecution.Revision != "three" {
		t.Errorf("%+v", status.LastExecution)
	}
	if strings.Contains(s.suite.Status.LastExecution.Revision, "three") {
		t.Error("the stored status was changed")
	}
}

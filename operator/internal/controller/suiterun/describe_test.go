package suiterun

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/suite"
)

// answers are what a registry says, one after the other; the last one stays.
type answers []error

func (a *answers) Read(_ context.Context, image string, given *v1alpha1.Subject) (*v1alpha1.Subject, error) {
	err := (*a)[0]
	if len(*a) > 1 {
		*a = (*a)[1:]
	}
	if err != nil {
		return nil, err
	}
	read := given.DeepCopy()
	read.Revision, read.Image = "3f2a", image+"@sha256:0a"
	return read, nil
}

var (
	errAway    = &measure.Failure{Reason: v1alpha1.ReasonImageLabelsUnreadable, Err: errors.New("away"), Remedy: "wait", Passing: true}
	errInvalid = measure.Failf(v1alpha1.ReasonImageLabelsInvalid, "set it", "no label")
)

// fromImage makes an execution take its subject from an image.
func fromImage(t *testing.T, s *scope) {
	t.Helper()
	template := &s.execution.Spec.Template
	template.Experiment.Raw = []byte(`{"startupSeconds":60,"chain":[{"name":"fw","function":"Firewall"},{"name":"vyos","function":"Custom","custom":{"containerDisk":"r.example/vyos:1"}}]}`)
	template.Subject = &v1alpha1.SuiteSubject{Subject: v1alpha1.Subject{Name: "vyos"}, FromImage: &v1alpha1.SubjectImage{Function: "vyos"}}
	parsed, err := suite.Parse(template)
	if err != nil {
		t.Fatal(err)
	}
	s.suite = parsed
}

// step lets the execution make one step at a time after the epoch.
func step(t *testing.T, r *Reconciler, s *scope, at time.Duration) decision {
	t.Helper()
	s.now = epoch.Add(at)
	d, err := r.act(t.Context(), s, decide(s))
	if err != nil {
		t.Fatal(err)
	}
	s.execution.Status = summarize(s, d)
	return d
}

func condition(s *scope, kind string) string {
	c := meta.FindStatusCondition(s.execution.Status.Conditions, kind)
	return string(c.Status) + "/" + c.Reason + ": " + c.Message
}

// TestLabelsAreReadOnce checks that the labels are read before the first cell is planned, after a wait for the registry, and not again.
func TestLabelsAreReadOnce(t *testing.T) {
	s := newScope(t, 5, 1)
	fromImage(t, s)
	r := &Reconciler{Subjects: &answers{subject.ErrBusy, errAway, subject.ErrBusy, errAway, nil, errInvalid}}
	if s.execution.Subject() != nil {
		t.Errorf("a subject before the labels were read: %+v", s.execution.Subject())
	}
	if d := step(t, r, s, 0); d.action != actWait || d.after != conflictDelay || d.waiting != nil {
		t.Errorf("busy: %+v", d)
	}
	for _, at := range []time.Duration{time.Second, 2 * time.Second, 59 * time.Second} {
		if d := step(t, r, s, at); d.action != actWait || d.after <= 0 || d.after > retryInterval || s.execution.Status.Subject != nil {
			t.Errorf("after %s: %+v", at, d)
		}
		for _, kind := range []string{v1alpha1.ConditionPlanned, v1alpha1.ConditionSucceeded} {
			if c := condition(s, kind); !strings.HasPrefix(c, "Unknown/ImageLabelsUnreadable: ") || !strings.Contains(c, "away") {
				t.Errorf("%s after %s: %s", kind, at, c)
			}
		}
	}
	if d := step(t, r, s, 60*time.Second); d.action != actDescribe {
		t.Fatalf("%+v", d)
	}
	if got := s.execution.Subject(); got == nil || got.Name != "vyos" || got.Revision != "3f2a" || got.Image != "r.example/vyos:1@sha256:0a" {
		t.Errorf("%+v", got)
	}
	if d := decide(s); d.action != actPlan {
		t.Errorf("then %s", d.action)
	}
	if c := condition(s, v1alpha1.ConditionPlanned); !strings.HasPrefix(c, "Unknown/Planning") {
		t.Error(c)
	}
}

// TestWaitForLabelsIsBounded checks that an execution waits for a registry as long as a run waits for its chain, from the beginning of the wait, and
// not while it is suspended; and that labels that cannot be used end it at once.
func TestWaitForLabelsIsBounded(t *testing.T) {
	s := newScope(t, 5, 1)
	fromImage(t, s)
	r := &Reconciler{Subjects: &answers{errAway}}
	step(t, r, s, 0)
	s.execution.Spec.Suspend = true
	step(t, r, s, 30*time.Second)
	if c := condition(s, v1alpha1.ConditionPlanned); !strings.HasPrefix(c, "Unknown/Suspended") {
		t.Error(c)
	}
	s.execution.Spec.Suspend = false
	step(t, r, s, time.Hour)
	if d := step(t, r, s, time.Hour+55*time.Second); d.action != actWait || d.after != 5*time.Second {
		t.Errorf("%+v", d)
	}
	step(t, r, s, time.Hour+60*time.Second)
	if c := condition(s, v1alpha1.ConditionSucceeded); !strings.HasPrefix(c, "False/ImageLabelsUnreadable: away; wait") {
		t.Error(c)
	}
	s = newScope(t, 5, 1)
	fromImage(t, s)
	step(t, &Reconciler{Subjects: &answers{errInvalid}}, s, 0)
	for _, kind := range []string{v1alpha1.ConditionPlanned, v1alpha1.ConditionSucceeded, v1alpha1.ConditionStalled} {
		want := "False/ImageLabelsInvalid: no label; set it"
		if kind == v1alpha1.ConditionStalled {
			want = "True/ImageLabelsInvalid: no label; set it"
		}
		if c := condition(s, kind); !strings.HasPrefix(c, want) {
			t.Errorf("%s: %s", kind, c)
		}
	}
	if s.execution.Status.CompletionTime == nil {
		t.Error("the execution has not ended")
	}
}

// TestPointsHaveTheSubjectOfTheLabels checks that what the labels say is in the measurement and in its points.
func TestPointsHaveTheSubjectOfTheLabels(t *testing.T) {
	s := measuredScope(t)
	s.execution.Spec.Template.Subject = &v1alpha1.SuiteSubject{FromImage: &v1alpha1.SubjectImage{Function: "vyos"}}
	at := epoch.Add(-time.Hour)
	s.execution.Status.Subject = &v1alpha1.Subject{Name: "vyos", Revision: "9f8e", Image: "r.example/vyos@sha256:0a", Time: v1alpha1.NewRevisionTime(at)}
	c := clientOf(t)
	if _, err := (&Reconciler{Client: c, Reader: c}).keep(t.Context(), s, decision{action: actRecord}); err != nil {
		t.Fatal(err)
	}
	points := kept(t, c)
	if len(points) == 0 {
		t.Fatal("no points")
	}
	for _, p := range points {
		if p.Subject.Name != "vyos" || p.Subject.Revision != "9f8e" || p.Subject.Image != "r.example/vyos@sha256:0a" || !p.SubjectTime.Equal(at) {
			t.Errorf("%+v", p)
		}
	}
}

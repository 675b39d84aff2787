package benchmarkrun

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"vnfbench.io/operator/api/v1alpha1"
)

// twoLogs is a console whose container was started again.
type twoLogs struct{}

func (twoLogs) Tail(_ context.Context, _, _, _ string, previous bool) (string, error) {
	if previous {
		return "the first one's\n", nil
	}
	return "the newest one's\n", nil
}

// TestContainerSaysWhy checks what the verdict has of what a user's own container printed, and where.
func TestContainerSaysWhy(t *testing.T) {
	var usage strings.Builder
	for i := range 60 {
		fmt.Fprintf(&usage, "usage: option %d\n", i)
	}
	usage.WriteString("no such option\n")
	never := func(two func(*corev1.Pod)) *scope {
		return newScope(launched, withRecords(calibrated), functions(ready, two), ownContainer, after(time.Hour))
	}
	lost := func(two func(*corev1.Pod)) *scope {
		return newScope(launched, withRecords(open), functions(ready, two), ownContainer, after(time.Hour))
	}
	without := func(s *scope) *scope {
		s.withoutConsoles = true
		return s
	}
	for name, test := range map[string]struct {
		s *scope
		// want is what the message ends with, and not is in no part of it.
		want, not string
	}{
		"ends without an error": {never(ended(0, "Completed", "")),
			`ended with exit code 0: its program must stay in the foreground; its console ends: the newest one's`, ""},
		"was started again": {lost(restarted(0, "Completed")),
			`ended with exit code 0: its program must stay in the foreground; its console ends: the first one's`, ""},
		"says much":               {never(ended(1, "Error", usage.String())), "exit code 1: usage: option 49 | usage: option 50 | usage: option 51 | usage: option 52 | usage: option 53 | usage: option 54 | usage: option 55 | usage: option 56 | usage: option 57 | usage: option 58 | usage: option 59 | no such option", "console"},
		"needs memory":            {never(ended(137, "OOMKilled", "allocating")), "exit code 137 (OOMKilled); give it more memory: allocating", "console"},
		"stops to report":         {lost(unready("no answer")), `function "two" is no longer ready: no answer; its console ends: the newest one's`, ""},
		"may not say it":          {without(never(ended(1, "Error", "password"))), "ended with exit code 1", "password"},
		"may not say how it ends": {without(lost(ended(0, "Completed", "password"))), "exit code 0: its program must stay in the foreground", "password"},
		"does not start":          {without(never(ended(128, "StartError", `exec: "vpp": not found`))), `(StartError): exec: "vpp": not found`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Console: twoLogs{}}
			r.Defaults.WithoutConsoles = test.s.withoutConsoles
			if err := r.readConsole(t.Context(), test.s); err != nil {
				t.Fatal(err)
			}
			got := decide(test.s)
			if got.outcome == nil || !strings.HasSuffix(got.outcome.message, test.want) || test.not != "" && strings.Contains(got.outcome.message, test.not) {
				t.Errorf("%+v, want %q at the end and no %q", got.outcome, test.want, test.not)
			}
		})
	}
}

// TestEventsAreLeftOut checks that the output of a command in a user's own container is in no message where the installation leaves it out.
func TestEventsAreLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		without bool
		kind    v1alpha1.ReadinessKind
		shown   bool
	}{
		"shown":              {false, v1alpha1.ReadinessExec, true},
		"left out":           {true, v1alpha1.ReadinessExec, false},
		"nothing is printed": {true, v1alpha1.ReadinessTCP, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(launched, withRecords(calibrated), functions(ready, unready("no answer")), ownContainer, after(time.Hour))
			s.withoutConsoles = test.without
			s.run.Spec.Experiment.Chain[1].Custom.Readiness = &v1alpha1.CustomReadiness{Kind: test.kind}
			r := &Reconciler{Reader: &paged{items: []runtime.Object{
				&corev1.Event{Type: corev1.EventTypeWarning, Reason: "Unhealthy", Message: "Readiness probe failed: password"},
				&corev1.Event{Type: corev1.EventTypeNormal, Reason: "Pulled", Message: "an image"},
			}}}
			if err := r.readEvents(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if got := decide(s); got.outcome == nil || strings.Contains(got.outcome.message, "password") != test.shown {
				t.Errorf("%+v", got.outcome)
			}
		})
	}
}

// TestScopeKnowsOfConsoles checks that what is read has the installation's choice.
func TestScopeKnowsOfConsoles(t *testing.T) {
	l := newKeptLab(t, judged)
	for _, without := range []bool{false, true} {
		r := l.operator()
		r.Defaults.WithoutConsoles = without
		if s, err := l.observe(r); err != nil || s.withoutConsoles != without {
			t.Errorf("without consoles %t: %v", without, err)
		}
	}
}

package benchmarkrun

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/gitopstest"
)

// conditionsOf returns the conditions that a decision leads to, as "status/reason".
func conditionsOf(s *scope) map[string]string {
	after := summarize(s, decide(s))
	conditions := map[string]string{}
	for _, c := range after.Conditions {
		conditions[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return conditions
}

func TestConditionsByState(t *testing.T) {
	tests := map[string]struct {
		scope *scope
		want  map[string]string
	}{
		"first reconcile": {newScope(noFinalizer), map[string]string{
			"Admitted": "False/Pending", "Planned": "Unknown/Pending", "ChainReady": "Unknown/Pending", "Measured": "Unknown/Pending",
			"Accepted": "Unknown/Pending", "Succeeded": "Unknown/Progressing", "Reconciling": "True/Progressing"}},
		"queued": {newScope(), map[string]string{
			"Admitted": "False/Queued", "Planned": "Unknown/Pending", "ChainReady": "Unknown/Pending", "Measured": "Unknown/Pending",
			"Accepted": "Unknown/Pending", "Succeeded": "Unknown/Queued", "Reconciling": "True/Queued"}},
		"no testbed": {newScope(noTestbed), map[string]string{
			"Admitted": "False/TestbedNotFound", "Planned": "Unknown/Pending", "ChainReady": "Unknown/Pending", "Measured": "Unknown/Pending",
			"Accepted": "Unknown/Pending", "Succeeded": "Unknown/TestbedNotFound", "Reconciling": "True/TestbedNotFound"}},
		"measuring": {newScope(launched, withRecords(open), functions(ready, ready)), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "True/ChainReady", "Measured": "Unknown/Measuring",
			"Accepted": "Unknown/Pending", "Succeeded": "Unknown/Progressing", "Reconciling": "True/Progressing"}},
		"being suspended": {newScope(launched, withRecords(open), functions(ready, ready), suspended), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "Unknown/Pending", "Measured": "Unknown/Pending",
			"Accepted": "Unknown/Pending", "Succeeded": "Unknown/Suspended", "Reconciling": "True/Suspended"}},
		"suspended": {newScope(admitted, withPlan, withRecords(calibrated), suspended), map[string]string{
			"Admitted": "False/Suspended", "Planned": "True/Planned", "ChainReady": "Unknown/Pending", "Measured": "Unknown/Pending",
			"Accepted": "Unknown/Pending", "Succeeded": "Unknown/Suspended", "Reconciling": "True/Suspended"}},
		"measured and accepted": {newScope(launched, withRecords(done), functions(ready, ready)), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "True/ChainReady", "Measured": "True/Measured",
			"Accepted": "True/Accepted", "Succeeded": "True/Succeeded"}},
		"not accepted": {newScope(launched, withRecords(done), functions(ready, ready), criterion), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "True/ChainReady", "Measured": "True/Measured",
			"Accepted": "False/NotAccepted", "Succeeded": "False/NotAccepted", "Stalled": "True/NotAccepted"}},
		"inconclusive": {newScope(launched, withRecords(done), functions(ready, ready), undecided), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "True/ChainReady", "Measured": "True/Measured",
			"Accepted": "Unknown/Inconclusive", "Succeeded": "False/Inconclusive", "Stalled": "True/Inconclusive"}},
		"inconclusive and allowed": {newScope(launched, withRecords(done), functions(ready, ready), undecided, allowed), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "True/ChainReady", "Measured": "True/Measured",
			"Accepted": "Unknown/Inconclusive", "Succeeded": "True/Succeeded"}},
		"chain failed": {newScope(launched, withRecords(open)), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "False/ChainFailed", "Measured": "False/ChainFailed",
			"Accepted": "False/NotMeasured", "Succeeded": "False/ChainFailed", "Stalled": "True/ChainFailed"}},
		"generator unreliable": {newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonGeneratorUnreliable)), functions(ready, ready)), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "True/ChainReady", "Measured": "False/GeneratorUnreliable",
			"Accepted": "False/NotMeasured", "Succeeded": "False/GeneratorUnreliable", "Stalled": "True/GeneratorUnreliable"}},
		"no BPF": {newScope(launched, withRecords(gaveUp(v1alpha1.ReasonCannotLoadBPF))), map[string]string{
			"Admitted": "True/Admitted", "Planned": "True/Planned", "ChainReady": "False/CannotLoadBPF", "Measured": "False/CannotLoadBPF",
			"Accepted": "False/NotMeasured", "Succeeded": "False/CannotLoadBPF", "Stalled": "True/CannotLoadBPF"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, conditionsOf(test.scope)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// notArchived has the condition of a results service whose archive is away.
func notArchived(s *scope) {
	s.run.Status.Conditions = append(s.run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonArchiveUnavailable, Message: "no answer"})
}

// TestGitOpsHealth checks how GitOps tools see a run, with the expressions and scripts of config/gitops.
func TestGitOpsHealth(t *testing.T) {
	type verdict struct {
		tools  gitopstest.Verdict
		argoCD string
	}
	inProgress := verdict{gitopstest.Verdict{Kstatus: status.InProgressStatus, Flux: status.InProgressStatus}, "Progressing"}
	paused := verdict{inProgress.tools, "Suspended"}
	current := verdict{gitopstest.Verdict{Kstatus: status.CurrentStatus, Flux: status.CurrentStatus}, "Healthy"}
	failed := verdict{gitopstest.Verdict{Kstatus: status.FailedStatus, Flux: status.FailedStatus}, "Degraded"}
	tests := map[string]struct {
		scope *scope
		want  verdict
	}{
		"first reconcile":       {newScope(noFinalizer), inProgress},
		"queued":                {newScope(), inProgress},
		"suspended":             {newScope(suspended), paused},
		"no testbed":            {newScope(noTestbed), inProgress},
		"running":               {newScope(launched), inProgress},
		"measuring":             {newScope(launched, withRecords(open), functions(ready, ready)), inProgress},
		"being suspended":       {newScope(launched, withRecords(open), functions(ready, ready), suspended), paused},
		"success":               {newScope(launched, withRecords(done), functions(ready, ready)), current},
		"not accepted":          {newScope(launched, withRecords(done), functions(ready, ready), criterion), failed},
		"inconclusive":          {newScope(launched, withRecords(done), functions(ready, ready), undecided), failed},
		"inconclusive, allowed": {newScope(launched, withRecords(done), functions(ready, ready), undecided, allowed), current},
		"port missing":          {newScope(launched, withRecords(gaveUp(v1alpha1.ReasonPortMissing))), failed},
		"chain failed":          {newScope(launched, withRecords(open)), failed},
		"generator unreliable":  {newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonGeneratorUnreliable)), functions(ready, ready)), failed},
		"success, not archived": {newScope(launched, withRecords(done), functions(ready, ready), notArchived), current},
		"no BPF":                {newScope(launched, withRecords(gaveUp(v1alpha1.ReasonCannotLoadBPF))), failed},
	}
	recorded := map[string]gitopstest.ArgoCD{}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			run := test.scope.run.DeepCopy()
			run.Status = summarize(test.scope, decide(test.scope))
			summary := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
			object := gitopstest.Stored(t, "BenchmarkRun", run)
			if diff := cmp.Diff(test.want.tools, gitopstest.Judge(t, object)); diff != "" {
				t.Error(diff)
			}
			recorded[name] = gitopstest.ArgoCD{Health: test.want.argoCD, Message: summary.Reason + ": " + summary.Message, Object: object}
			// After a change of suspend or of the time to live, the status is unknown until the
			// operator has seen it.
			run.Generation++
			object = gitopstest.Stored(t, "BenchmarkRun", run)
			if diff := cmp.Diff(inProgress.tools, gitopstest.Judge(t, object)); diff != "" {
				t.Errorf("before the operator has seen generation %d: %s", run.Generation, diff)
			}
			if name == "success" || name == "suspended" {
				recorded[name+", changed"] = gitopstest.ArgoCD{Health: inProgress.argoCD, Message: gitopstest.UnseenMessage, Object: object}
			}
		})
	}
	// kstatus alone considers a new run current, which is why config/gitops has expressions:
	// they wait for the operator.
	made := gitopstest.New("BenchmarkRun")
	if diff := cmp.Diff(gitopstest.Verdict{Kstatus: status.CurrentStatus, Flux: status.UnknownStatus}, gitopstest.Judge(t, made)); diff != "" {
		t.Errorf("a run that was just made: %s", diff)
	}
	recorded["just made"] = gitopstest.ArgoCD{Health: "Progressing", Message: gitopstest.UnseenMessage, Object: made}
	leaving := newScope(launched, withRecords(done), functions(ready, ready), deleted)
	run := leaving.run.DeepCopy()
	run.Status = summarize(leaving, decide(leaving))
	recorded["deleted"] = gitopstest.ArgoCD{Health: "Progressing", Message: gitopstest.DeletedMessage, Object: gitopstest.Stored(t, "BenchmarkRun", run)}
	gitopstest.CompareArgoCD(t, "BenchmarkRun", recorded)
}

func TestVerdictIsFinal(t *testing.T) {
	s := newScope(launched, withRecords(open))
	s.run.Status = summarize(s, decide(s))
	verdict := s.run.Status.DeepCopy()
	s.job, s.chainPods, s.measurers = nil, nil, nil
	s.run.Generation++
	d := decide(s)
	if d.action != actRelease {
		t.Fatalf("action is %s", d.action)
	}
	released := summarize(s, d)
	if c := meta.FindStatusCondition(released.Conditions, v1alpha1.ConditionAdmitted); c.Reason != v1alpha1.ReasonReleased || c.Status != metav1.ConditionFalse {
		t.Errorf("Admitted is %s/%s after the release", c.Status, c.Reason)
	}
	if released.ObservedGeneration != s.run.Generation {
		t.Error("the generation is not observed")
	}
	for _, kind := range []string{v1alpha1.ConditionSucceeded, v1alpha1.ConditionStalled, v1alpha1.ConditionMeasured} {
		if diff := cmp.Diff(meta.FindStatusCondition(verdict.Conditions, kind), meta.FindStatusCondition(released.Conditions, kind)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStatusIsSteady(t *testing.T) {
	s := newScope(launched, withRecords(open), functions(ready, ready))
	s.run.Status = summarize(s, decide(s))
	s.now = s.now.Add(time.Minute)
	if diff := cmp.Diff(s.run.Status, summarize(s, decide(s))); diff != "" {
		t.Errorf("the status changes though nothing happened:\n%s", diff)
	}
}

func TestQueuePosition(t *testing.T) {
	s := newScope(func(s *scope) { s.position, s.before = 2, 3 })
	if got := summarize(s, decide(s)).QueuePosition; got == nil || *got != 2 {
		t.Errorf("position is %v, want 2", got)
	}
	s = newScope(held)
	after := summarize(s, decide(s))
	if after.QueuePosition != nil || after.StartTime == nil {
		t.Errorf("admitted with position %v and start time %v", after.QueuePosition, after.StartTime)
	}
}

func TestStatusIsBounded(t *testing.T) {
	s := newScope(launched, withRecords(done), functions(ready, ready), withRecords(func(r *records) {
		description := &measure.Description{Driver: strings.Repeat("d", 99)}
		for i := range 99 {
			description.Fallbacks = append(description.Fallbacks, strings.Repeat(fmt.Sprint(i), 999))
		}
		r.generator = &measure.GeneratorState{Chain: description, Log: description.Fallbacks}
		r.progress.Stage, r.progress.Percent, r.progress.RemainingSeconds = strings.Repeat("s", 999), 101, -1
	}))
	for range 99 {
		s.figures.Warnings = append(s.figures.Warnings, v1alpha1.Warning{Code: strings.Repeat("c", 99), Message: strings.Repeat("m", 9999)})
	}
	after := summarize(s, decide(s))
	if len(after.Warnings) != maxWarnings || len(after.Warnings[0].Message) > 512 || len(after.Warnings[0].Code) > 40 {
		t.Error("warnings are not bounded")
	}
	if g := after.Generator; len(g.Fallbacks) != maxFallbacks || len(g.Fallbacks[0]) > 512 || len(g.Driver) > 20 ||
		len(g.Log) != measure.GeneratorLogLines || len(g.Log[0]) > 256 {
		t.Error("the generator's report is not bounded")
	}
	if p := after.Progress; len(p.Stage) > 200 || p.Percent != 100 || p.RemainingSeconds != 0 {
		t.Errorf("progress is not bounded: %+v", p)
	}
}

// TestVerdictsAreBounded checks that long names and reasons fit into the API.
func TestVerdictsAreBounded(t *testing.T) {
	var verdicts []v1alpha1.Verdict
	for range maxVerdicts + 1 {
		verdicts = append(verdicts, v1alpha1.Verdict{Message: strings.Repeat("m", 9999)})
	}
	if got := boundedVerdicts(verdicts); len(got) != maxVerdicts || len(got[0].Message) > 512 || len(verdicts[0].Message) != 9999 {
		t.Errorf("%d verdicts, the first with a message of %d bytes", len(got), len(got[0].Message))
	}
}

func TestTagsInTheStatus(t *testing.T) {
	s := newScope(launched, withRecords(done), functions(ready, ready), withRecords(func(r *records) {
		r.generator = &measure.GeneratorState{Chain: &measure.Description{Driver: "XDP"}}
	}))
	tagged := *s.plan
	tagged.Instructions.Chain.Ports[0].VLAN = 100
	s.plan = &tagged
	g := summarize(s, decide(s)).Generator
	if g == nil || g.WestVLAN != 100 || g.EastVLAN != 0 {
		t.Errorf("the generator's report is %+v", g)
	}
}

func TestHeadline(t *testing.T) {
	rate, delay := int64(126404), int64(4818)
	tests := map[string]struct {
		summary *v1alpha1.ResultSummary
		cause   v1alpha1.UpperBoundCause
		want    string
	}{
		"nothing":    {nil, "", ""},
		"throughput": {&v1alpha1.ResultSummary{Size: "64", Goal: "NDR", FramesPerSecond: &rate}, v1alpha1.CauseDeviceLoss, "NDR of size 64 is 126404 frames/s; "},
		"a floor":    {&v1alpha1.ResultSummary{Size: "64", Goal: "NDR", FramesPerSecond: &rate}, v1alpha1.CauseGeneratorCeiling, "NDR of size 64 is at least 126404 frames/s; "},
		"no limit":   {&v1alpha1.ResultSummary{Size: "64", Goal: "NDR", FramesPerSecond: &rate}, v1alpha1.CauseMaximumLoad, "NDR of size 64 is at least 126404 frames/s; "},
		"both": {&v1alpha1.ResultSummary{Size: "64", Goal: "NDR", FramesPerSecond: &rate, Load: "idle", P99Nanoseconds: &delay}, v1alpha1.CauseDeviceLoss,
			"NDR of size 64 is 126404 frames/s; p99 latency of size 64 at load idle is 4818 ns; "},
	}
	for name, test := range tests {
		frames := []v1alpha1.FrameResult{{Size: "64", Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: rate, UpperBoundCause: test.cause}}}}
		if got := headline(test.summary, frames); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPartialResultsStayAfterAFailure(t *testing.T) {
	s := newScope(launched, withRecords(open))
	s.figures.Frames = []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64}}
	s.figures.Summary = &v1alpha1.ResultSummary{Size: "64"}
	s.figures.Sessions = []v1alpha1.Session{{Measurer: "a", Trials: 3, DiscardedTrials: 1}, {Measurer: "b", Trials: 2}}
	after := summarize(s, decide(s))
	if len(after.Results) != 1 || after.Summary == nil || len(after.Sessions) != 2 || after.ResultsRef.Name != s.names.Results {
		t.Errorf("partial results are gone: %+v", after)
	}
}

func TestInconclusiveMessage(t *testing.T) {
	const why = "1 of 1 acceptance checks are inconclusive: fast for size 64: ThroughputFramesPerSecond of NDR is 900, at least 1000 required; " +
		"it may be higher: the generator may be the limit (GeneratorCeiling): give the generator more CPU, or do what the warning GeneratorCeiling says"
	s := newScope(launched, withRecords(done), functions(ready, ready), undecided)
	after := summarize(s, decide(s))
	if got := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionSucceeded).Message; got != why {
		t.Errorf("the message is %q, want %q", got, why)
	}
	if v := after.Acceptance[0]; v.Result != v1alpha1.VerdictInconclusive || len(v.Doubts) != 1 || v.Doubts[0] != v1alpha1.DoubtGeneratorCeiling {
		t.Errorf("the verdict is %+v", v)
	}
	allowed(s)
	after = summarize(s, decide(s))
	if got := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionSucceeded).Message; !strings.Contains(got, why+"; spec.experiment.onInconclusive allows this") {
		t.Errorf("the message is %q", got)
	}
}

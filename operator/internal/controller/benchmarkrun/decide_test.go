package benchmarkrun

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
)

// criterion adds one that the device misses.
func criterion(s *scope) {
	s.run.Spec.Experiment.Acceptance = []v1alpha1.Criterion{{Name: "fast", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, AtLeast: ptr.To[int64](1000)}}
	s.run.Spec.Experiment.Traffic.FrameBytes, s.figures.Frames = []int32{64}, ndr(900)
}

// undecided adds one that the device may meet: the figure is a floor below it.
func undecided(s *scope) {
	criterion(s)
	s.figures.Frames[0].Throughput[0].UpperBoundCause = v1alpha1.CauseGeneratorCeiling
}

// allowed lets a run succeed that is inconclusive.
func allowed(s *scope) { s.run.Spec.Experiment.OnInconclusive = v1alpha1.OnInconclusiveAllow }

// decisionTest is a scope and what decide makes of it.
type decisionTest struct {
	scope  *scope
	action action
	// reason is that of the outcome, of the wait, or of the chain that is not ready.
	reason string
	after  time.Duration
}

// checkDecisions compares decide's results with the wanted ones.
func checkDecisions(t *testing.T, tests map[string]decisionTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := decide(test.scope)
			reason := ""
			switch {
			case d.outcome != nil:
				reason = d.outcome.reason
			case d.wait != nil:
				reason = d.wait.reason
			case d.chain != nil:
				reason = d.chain.reason
			}
			if d.action != test.action || reason != test.reason || d.after != test.after {
				t.Errorf("got %s %q after %s, want %s %q after %s", d.action, reason, d.after, test.action, test.reason, test.after)
			}
		})
	}
}

// digested makes the status have the digest of a plan.
func digested(digest string) with {
	return func(s *scope) { s.run.Status.Plan = &v1alpha1.PlanSummary{Digest: "sha256:0", StoredDigest: digest} }
}

func notReady(s *scope) {
	s.testbed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "no node"}}
}

func awaitsArchive(s *scope) { s.awaitsArchive = true }

func archivedTrials(s *scope) { s.archived = []chain.Object{configMapNamed(s.names.Results)} }

func archived(s *scope) {
	s.run.Status.Conditions = append(s.run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonStored})
}

func TestDecide(t *testing.T) {
	const success, failure = metav1.ConditionTrue, metav1.ConditionFalse
	checkDecisions(t, map[string]decisionTest{
		"no finalizer":                     {newScope(noFinalizer), actAddFinalizer, "", 0},
		"finished and no finalizer":        {newScope(noFinalizer, finished(success, "Succeeded")), actAddFinalizer, "", 0},
		"deleted, nothing made":            {newScope(deleted), actRemoveFinalizer, "", 0},
		"deleted, finalizer gone":          {newScope(deleted, noFinalizer), actWait, "", 0},
		"deleted with a Job":               {newScope(launched, deleted), actStopPods, "", podCheckInterval},
		"deleted with pods alone":          {newScope(admitted, deleted, functions(ready, ready)), actStopPods, "", podCheckInterval},
		"deleted, pods gone":               {newScope(admitted, deleted), actRelease, "", 0},
		"finished with a Job":              {newScope(launched, finished(success, "Succeeded")), actStopPods, "", podCheckInterval},
		"finished, pods gone":              {newScope(admitted, finished(failure, "PodStuck")), actRelease, "", 0},
		"finished and released":            {newScope(finished(success, "Succeeded")), actWait, "", 0},
		"time to live is left":             {newScope(finished(success, "Succeeded"), ttl(60), after(20*time.Second)), actWait, "", 40 * time.Second},
		"time to live is over":             {newScope(finished(success, "Succeeded"), ttl(60), after(time.Minute)), actExpire, "", 0},
		"time to live is over, archiving":  {newScope(finished(success, "Succeeded"), awaitsArchive, ttl(60), after(2*time.Minute)), actWait, "", 9 * time.Minute},
		"not archived for long":            {newScope(finished(success, "Succeeded"), awaitsArchive, ttl(60), after(time.Hour)), actWait, "", 0},
		"archived":                         {newScope(finished(success, "Succeeded"), awaitsArchive, archived, ttl(60), after(time.Hour)), actExpire, "", 0},
		"trials that are archived":         {newScope(finished(success, "Succeeded"), archived, ttl(60), after(20*time.Second), archivedTrials), actRemoveTrials, "", 40 * time.Second},
		"archived trials of an old run":    {newScope(finished(success, "Succeeded"), archived, ttl(60), after(time.Hour), archivedTrials), actExpire, "", 0},
		"archived trials, pods left":       {newScope(launched, finished(success, "Succeeded"), archivedTrials), actStopPods, "", podCheckInterval},
		"time to live of 0 waits for pods": {newScope(launched, finished(success, "Succeeded"), ttl(0)), actStopPods, "", podCheckInterval},
		"no testbed":                       {newScope(noTestbed), actWait, v1alpha1.ReasonTestbedNotFound, 0},
		"no default testbed":               {newScope(noTestbed, namesNone), actWait, v1alpha1.ReasonNoDefaultTestbed, 0},
		"namespace not allowed":            {newScope(refused), actWait, v1alpha1.ReasonNamespaceNotAllowed, 0},
		"testbed is being deleted":         {newScope(testbedDeleted), actWait, v1alpha1.ReasonTestbedNotFound, 0},
		"holds a testbed being deleted":    {newScope(admitted, testbedDeleted), actPlan, "", 0},
		"testbed vanished under it":        {newScope(launched, noTestbed), actStopPods, v1alpha1.ReasonTestbedNotFound, podCheckInterval},
		"testbed not ready":                {newScope(notReady), actWait, v1alpha1.ReasonTestbedNotReady, 0},
		"suspended":                        {newScope(suspended), actWait, v1alpha1.ReasonSuspended, 0},
		"suspended while it runs":          {newScope(launched, suspended), actStopPods, v1alpha1.ReasonSuspended, podCheckInterval},
		"suspended, pods gone":             {newScope(admitted, withPlan, withRecords(open), suspended), actRelease, v1alpha1.ReasonSuspended, 0},
		"queued":                           {newScope(), actWait, v1alpha1.ReasonQueued, 0},
		"admission lost":                   {newScope(launched, func(s *scope) { s.testbed.Status.ActiveRuns = nil }), actStopPods, v1alpha1.ReasonQueued, podCheckInterval},
		"admission not written down":       {newScope(held), actAdmit, "", 0},
		"no plan":                          {newScope(admitted), actPlan, "", 0},
		"the plan's digest is written":     {newScope(admitted, digested("sha256:1")), actStorePlan, "", 0},
		"planned by an older operator":     {newScope(admitted, withPlan, digested("")), actFinish, v1alpha1.ReasonVersionMismatch, 0},
		"the digest is not stored":         {newScope(admitted, digested("")), actFinish, v1alpha1.ReasonVersionMismatch, 0},
		"another plan":                     {newScope(admitted, digested("sha256:1"), func(s *scope) { s.planErr = errOtherPlan }), actFinish, v1alpha1.ReasonPlanChanged, 0},
		"a plan before the operator's":     {newScope(admitted, func(s *scope) { s.planErr = errOtherPlan }), actFinish, v1alpha1.ReasonPlanChanged, 0},
		"plan damaged":                     {newScope(admitted, func(s *scope) { s.planErr = errors.New("damaged") }), actFinish, v1alpha1.ReasonResultsLost, 0},
		"plan of another version":          {newScope(admitted, func(s *scope) { s.planErr = fmt.Errorf("%w: it has layout 7", plan.ErrVersion) }), actFinish, v1alpha1.ReasonVersionMismatch, 0},
		"testbed recreated":                {newScope(admitted, withPlan, func(s *scope) { s.testbed.UID = "other" }), actFinish, v1alpha1.ReasonTestbedNotFound, 0},
		"planned":                          {newScope(admitted, withPlan), actLaunchMeasurer, "", 0},
		"results without a Job":            {newScope(admitted, withPlan, withRecords(nil)), actLaunchMeasurer, "", 0},
		"resumed after trials":             {newScope(admitted, withPlan, withRecords(calibrated)), actLaunchMeasurer, "", 0},
		"results deleted":                  {newScope(admitted, withPlan, withJob()), actFinish, v1alpha1.ReasonResultsLost, 0},
		"results deleted while suspended": {newScope(admitted, withPlan, func(s *scope) { s.run.Status.ResultsRef = &v1alpha1.LocalReference{Name: "gone"} }),
			actFinish, v1alpha1.ReasonResultsLost, 0},
		"results damaged":        {newScope(launched, func(s *scope) { s.records, s.recordsErr = nil, errors.New("trial 3 is missing") }), actFinish, v1alpha1.ReasonResultsLost, 0},
		"measurer has given up":  {newScope(launched, withRecords(gaveUp(v1alpha1.ReasonCannotLoadBPF))), actFinish, v1alpha1.ReasonCannotLoadBPF, 0},
		"gave up, Job gone":      {newScope(admitted, withPlan, withRecords(gaveUp(v1alpha1.ReasonPortMissing))), actFinish, v1alpha1.ReasonPortMissing, 0},
		"no path, chain healthy": {newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonNoPathThroughChain)), functions(ready, ready)), actFinish, v1alpha1.ReasonNoPathThroughChain, 0},
		"no path, chain broken":  {newScope(launched, withRecords(open), withRecords(gaveUp(v1alpha1.ReasonNoPathThroughChain)), functions(ready, restarted(1, "Error"))), actFinish, v1alpha1.ReasonChainFailed, 0},
		"deadline":               {newScope(launched, withJob(jobFailed(batchv1.JobReasonDeadlineExceeded))), actFinish, v1alpha1.ReasonDeadlineExceeded, 0},
		"back-off limit":         {newScope(launched, withJob(jobFailed(batchv1.JobReasonBackoffLimitExceeded)), measurers(pod("m", ended(1, "Error", "")))), actFinish, v1alpha1.ReasonMeasurerFailed, 0},
		"termination message":    {newScope(launched, withJob(jobFailed(batchv1.JobReasonPodFailurePolicy)), measurers(pod("m", ended(42, "Error", `{"reason":"CannotLoadBPF","message":"no"}`)))), actFinish, v1alpha1.ReasonCannotLoadBPF, 0},
		"Job complete, not done": {newScope(launched, withJob(batchv1.JobCondition{Type: batchv1.JobComplete, Status: "True"})), actFinish, v1alpha1.ReasonMeasurerFailed, 0},
		"no measurer's pod yet":  {newScope(launched), actWait, v1alpha1.ReasonPending, podCheckInterval},
		"no measurer's pod ever": {newScope(launched, after(300*time.Second)), actFinish, v1alpha1.ReasonPodStuck, 0},
		"measurer pending":       {newScope(launched, measurers(pod("m")), after(time.Minute)), actWait, v1alpha1.ReasonPending, 240 * time.Second},
		"measurer unschedulable": {newScope(launched, measurers(pod("m", unscheduled("0/1 nodes"))), after(300*time.Second)), actFinish, v1alpha1.ReasonUnschedulable, 0},
		"measurer without image": {newScope(launched, measurers(pod("m", waiting("ErrImageNeverPull", "not present")))), actFinish, v1alpha1.ReasonImageUnavailable, 0},
		"measurer runs":          {newScope(launched, measurers(pod("m", running)), after(time.Hour)), actWait, "", maxUse(newScope().run) - time.Hour},
		"calibrated":             {newScope(launched, measurers(pod("m", running)), withRecords(calibrated)), actLaunchChain, "", 0},
		"one function missing":   {newScope(launched, withRecords(calibrated), functions(ready, ready), func(s *scope) { s.chainPods = s.chainPods[:1] }), actLaunchChain, "", 0},
		"observer missing":       {newScope(launched, withRecords(calibrated), functions(ready, ready), withObserver, withoutPod), actLaunchChain, "", 0},
		"observer ready":         {newScope(launched, withRecords(calibrated), functions(ready, ready), withObserver), actOpenChain, "", 0},
		"observer starts":        {newScope(launched, withRecords(calibrated), functions(ready, ready), withObserver, observed(running), measurers(pod("m", running)), after(100*time.Second)), actWait, v1alpha1.ReasonPending, 200 * time.Second},
		"observer never ready":   {newScope(launched, withRecords(calibrated), functions(ready, ready), withObserver, observed(running), after(300*time.Second)), actFinish, v1alpha1.ReasonChainNotReady, 0},
		"observer crashes later": {newScope(launched, withRecords(open), functions(ready, ready), withObserver, observed(restarted(1, "Error")), measurers(pod("m", running))), actWait, "", maxUse(newScope().run)},
		"chain starts":           {newScope(launched, withRecords(calibrated), functions(ready, running), measurers(pod("m", running)), after(100*time.Second)), actWait, v1alpha1.ReasonPending, 200 * time.Second},
		"chain never ready":      {newScope(launched, withRecords(calibrated), functions(ready, unready("no neighbor")), after(300*time.Second)), actFinish, v1alpha1.ReasonChainNotReady, 0},
		"function unschedulable": {newScope(launched, withRecords(calibrated), functions(ready, unscheduled("no CPU")), after(300*time.Second)), actFinish, v1alpha1.ReasonUnschedulable, 0},
		"image pull backs off":   {newScope(launched, withRecords(calibrated), functions(ready, waiting("ImagePullBackOff", "x: not found")), after(10*time.Second)), actWait, v1alpha1.ReasonPending, 20 * time.Second},
		"image pull has failed":  {newScope(launched, withRecords(calibrated), functions(ready, waiting("ErrImagePull", "x: not found")), after(30*time.Second)), actFinish, v1alpha1.ReasonImageUnavailable, 0},
		// A run that was suspended and resumed finds what is being deleted, which is older than startupSeconds.
		"resumed, chain still goes": {newScope(launched, withRecords(calibrated), functions(leaving(ready), leaving(ended(143, "Error", ""))), after(time.Hour)),
			actWait, v1alpha1.ReasonRedeploying, 330 * time.Second},
		"resumed, chain never goes": {newScope(launched, withRecords(calibrated), functions(leaving(ready), leaving(ready)), after(time.Hour+330*time.Second)),
			actFinish, v1alpha1.ReasonPodStuck, 0},
		"resumed, measurer still goes": {newScope(launched, withJob(jobFailed(batchv1.JobReasonBackoffLimitExceeded)), jobLeaving, measurers(pod("m", leaving(ended(143, "Error", "")))), after(time.Hour)),
			actWait, v1alpha1.ReasonPending, 300 * time.Second},
		"resumed, measurer never goes":                   {newScope(launched, jobLeaving, after(time.Hour+300*time.Second)), actFinish, v1alpha1.ReasonPodStuck, 0},
		"Job without an end":                             {newScope(launched, measurers(pod("m", running)), after(maxUse(newScope().run))), actFinish, v1alpha1.ReasonDeadlineExceeded, 0},
		"suspended Job":                                  {newScope(launched, heldBy(""), after(maxUse(newScope().run))), actFinish, v1alpha1.ReasonDeadlineExceeded, 0},
		"done after the time":                            {newScope(launched, withRecords(done), functions(ready, ready), after(maxUse(newScope().run))), actFinish, v1alpha1.ReasonSucceeded, 0},
		"finished, the Job is held":                      {newScope(launched, jobLeaving, finished(success, "Succeeded"), after(time.Hour+heldTimeout-1)), actStopPods, "", podCheckInterval},
		"finished, the Job stays held":                   {newScope(launched, jobLeaving, finished(success, "Succeeded"), after(time.Hour+heldTimeout)), actRelease, "", 0},
		"held Job, its pod is left":                      {newScope(launched, jobLeaving, finished(success, "Succeeded"), measurers(pod("m", running)), after(time.Hour+heldTimeout)), actStopPods, "", podCheckInterval},
		"chain ready":                                    {newScope(launched, withRecords(calibrated), functions(ready, ready)), actOpenChain, "", 0},
		"measuring":                                      {newScope(launched, withRecords(open), functions(ready, ready), measurers(pod("m", running))), actWait, "", maxUse(newScope().run)},
		"function crashed":                               {newScope(launched, withRecords(open), functions(ready, restarted(139, "Error"))), actFinish, v1alpha1.ReasonChainFailed, 0},
		"function evicted":                               {newScope(launched, withRecords(open), functions(ready, evicted)), actFinish, v1alpha1.ReasonChainFailed, 0},
		"function unready":                               {newScope(launched, withRecords(open), functions(unready("link down"), ready)), actFinish, v1alpha1.ReasonChainFailed, 0},
		"function just unready":                          {newScope(launched, withRecords(open), functions(unreadySince(epoch), ready)), actWait, "", 3 * time.Second},
		"done, one just unready":                         {newScope(launched, withRecords(done), functions(ready, unreadySince(epoch))), actWait, "", 3 * time.Second},
		"function gone":                                  {newScope(launched, withRecords(open)), actFinish, v1alpha1.ReasonChainFailed, 0},
		"done and healthy":                               {newScope(launched, withRecords(done), functions(ready, ready)), actFinish, v1alpha1.ReasonSucceeded, 0},
		"done and not accepted":                          {newScope(launched, withRecords(done), functions(ready, ready), criterion), actFinish, v1alpha1.ReasonNotAccepted, 0},
		"done and inconclusive":                          {newScope(launched, withRecords(done), functions(ready, ready), undecided), actFinish, v1alpha1.ReasonInconclusive, 0},
		"done, inconclusive is allowed":                  {newScope(launched, withRecords(done), functions(ready, ready), undecided, allowed), actFinish, v1alpha1.ReasonSucceeded, 0},
		"done and not accepted, inconclusive is allowed": {newScope(launched, withRecords(done), functions(ready, ready), criterion, allowed), actFinish, v1alpha1.ReasonNotAccepted, 0},
		"done, a function broken":                        {newScope(launched, withRecords(done), functions(ready, restarted(1, "OOMKilled"))), actFinish, v1alpha1.ReasonChainFailed, 0},
		"done for another version": {newScope(launched, withRecords(done), functions(ready, ready), func(s *scope) { s.foreign = errors.New("a trial would follow") }),
			actFinish, v1alpha1.ReasonVersionMismatch, 0},
		"a measurer of another version": {newScope(launched, heldBy("2"), planned("1")), actFinish, v1alpha1.ReasonVersionMismatch, 0},
		"a measurer older than versions, that gave up": {newScope(launched, heldBy(""), withRecords(gaveUp(v1alpha1.ReasonEndpointFailed)), planned("1")),
			actFinish, v1alpha1.ReasonVersionMismatch, 0},
		"a measurer whose records cannot be read": {newScope(launched, heldBy("2"), planned("1"), func(s *scope) { s.records, s.recordsErr = nil, errors.New("key \"progress.json\"") }),
			actFinish, v1alpha1.ReasonVersionMismatch, 0},
		"a measurer of the plan's version": {newScope(launched, heldBy("1"), planned("1")), actWait, "", podCheckInterval},
		"no measurer yet":                  {newScope(launched, planned("1")), actWait, v1alpha1.ReasonPending, podCheckInterval},
		"a plan without a version":         {newScope(launched, heldBy("2")), actWait, "", podCheckInterval},
		"done, chain never open":           {newScope(launched, withRecords(func(r *records) { r.done = true })), actFinish, v1alpha1.ReasonResultsLost, 0},
	})
}

// TestDecideNamesTheFirstProblem checks that of several problems, the one whose time is over first ends the run, and the
// events that explain it are those of the same workload.
func TestDecideNamesTheFirstProblem(t *testing.T) {
	lost := newScope(launched, withRecords(open), functions(unreadySince(epoch), restarted(139, "Error")))
	if got := decide(lost).outcome; got == nil || !strings.HasPrefix(got.message, `function "two": container "c" ended with exit code 139`) {
		t.Errorf("one function is not ready and another crashed: %+v", got)
	}
	late := newScope(launched, withRecords(calibrated), functions(running, waiting("ErrImagePull", "x: not found")), after(300*time.Second))
	if got := decide(late).outcome; got == nil || got.reason != v1alpha1.ReasonImageUnavailable {
		t.Errorf("one function is not ready and the other has no image: %+v", got)
	}
	if object := late.stuck(); object == nil || object.GetName() != late.names.Function("two") {
		t.Errorf("the events are read of %v", object)
	}
}

// TestDecideNamesTheImage checks that the message says what a user has to build again, and what only has to be named.
func TestDecideNamesTheImage(t *testing.T) {
	trex := func(s *scope) { s.plan.Instructions.Driver.Name = "TRex" }
	for words, s := range map[string]*scope{
		"build the image again from this operator's version, with make trex-image": newScope(launched, heldBy("2"), planned("1"), trex),
		"use the image of the operator's version":                                  newScope(launched, heldBy("2"), planned("1")),
	} {
		if got := decide(s).outcome.message; !strings.Contains(got, words) || !strings.Contains(got, `"registry.test/measurer:1"`) {
			t.Errorf("got %q, want %q in it", got, words)
		}
	}
}

func TestDecideNamesWhatIsMissing(t *testing.T) {
	tests := map[string]struct {
		scope *scope
		want  string
	}{
		"testbed":    {newScope(noTestbed), `the cluster has no Testbed "bench": create it, or apply the run again with another spec.experiment.testbedRef`},
		"no default": {newScope(noTestbed, namesNone), `the run names no Testbed, and none is the cluster's default: annotate one with vnfbench.io/is-default-testbed=true, or apply the run again with spec.experiment.testbedRef`},
		"namespace":  {newScope(refused), `Testbed "bench" does not take runs of namespace "lab": allow it in the testbed's spec.namespaces, or apply the run again with another spec.experiment.testbedRef`},
		"one before": {newScope(func(s *scope) { s.before = 1 }), `1 run before it on Testbed "bench"`},
		"two before": {newScope(func(s *scope) { s.before = 2 }), `2 runs before it on Testbed "bench"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := decide(test.scope).wait.message; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

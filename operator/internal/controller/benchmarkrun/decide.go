package benchmarkrun

import (
	"cmp"
	"errors"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/plan"
)

// action is the one thing that a reconciliation does.
type action string

const (
	// actWait does nothing: a watch or after triggers the run again.
	actWait action = "Wait"
	// actAddFinalizer keeps the run until its children are gone.
	actAddFinalizer action = "AddFinalizer"
	// actRemoveFinalizer permits the run's deletion.
	actRemoveFinalizer action = "RemoveFinalizer"
	// actAdmit records that the run holds its testbed, before its first child is made.
	actAdmit action = "Admit"
	// actPlan makes the plan, tries the pods against admission, and writes the plan's digest.
	actPlan action = "Plan"
	// actStorePlan stores the plan that has the digest.
	actStorePlan action = "StorePlan"
	// actLaunchMeasurer applies networks, the measurer's rights, its results and its Job.
	actLaunchMeasurer action = "LaunchMeasurer"
	// actLaunchChain applies the functions of the chain.
	actLaunchChain action = "LaunchChain"
	// actRestoreRights applies the measurer's rights again, which someone deleted.
	actRestoreRights action = "RestoreRights"
	// actFollowAPIServer lets the measurer reach the API server where it is now.
	actFollowAPIServer action = "FollowAPIServer"
	// actOpenChain lets the measurer continue to the chain.
	actOpenChain action = "OpenChain"
	// actReplaceChain deletes the functions of the chain, for the next to be launched.
	actReplaceChain action = "ReplaceChain"
	// actFinish writes the verdict: it only changes the run's status.
	actFinish action = "Finish"
	// actStopPods deletes the Job and the pods.
	actStopPods action = "StopPods"
	// actRelease deletes what the pods needed, and releases the testbed.
	actRelease action = "Release"
	// actRemoveTrials deletes the trials that the archive has.
	actRemoveTrials action = "RemoveTrials"
	// actExpire deletes the run, whose time to live is over.
	actExpire action = "Expire"
)

// decision is what decide found.
type decision struct {
	action action
	// after is when to check again, because a time has to pass that no watch reports. 0: a
	// watch reports the next change.
	after time.Duration
	// wait is why the run does not continue. nil: it continues.
	wait *cause
	// outcome is the verdict, with actFinish.
	outcome *cause
	// measured is true, with actFinish, if there are figures.
	measured bool
	// chain is the state of the chain while it is not ready.
	chain *cause
	// unarchived is true if the run's time to live is over, and it is kept until it is archived.
	unarchived bool
}

// cause is a documented reason with its sentence.
type cause struct{ reason, message string }

func newCause(reason, format string, args ...any) *cause {
	return &cause{reason, sentence(format, args...)}
}

func fail(f *cause) decision { return decision{action: actFinish, outcome: f} }

// decide names exactly one next action. It is pure: it only knows what is in the scope.
func decide(s *scope) decision {
	switch {
	case !s.run.DeletionTimestamp.IsZero():
		return decideDeletion(s)
	case !s.hasFinalizer():
		return decision{action: actAddFinalizer}
	case queue.Finished(s.run):
		return decideFinished(s)
	}
	if waiting := whyNotAdmitted(s); waiting != nil {
		return tearDownThen(s, decision{action: actWait, wait: waiting})
	}
	return decideAdmitted(s)
}

func decideDeletion(s *scope) decision {
	if !s.hasFinalizer() {
		return decision{action: actWait}
	}
	return tearDownThen(s, decision{action: actRemoveFinalizer})
}

func decideFinished(s *scope) decision {
	next := decision{action: actWait}
	if ttl := s.run.Spec.TTLSecondsAfterFinished; ttl != nil && s.run.Status.CompletionTime != nil {
		next.after = s.run.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second).Sub(s.now)
		switch {
		case next.after <= 0 && s.awaitsArchive && !queue.Archived(s.run):
			// The change of the condition triggers the run.
			next = decision{action: actWait, after: max(0, next.after+queue.ArchiveOverdue)}
			next.unarchived = next.after == 0
		case next.after <= 0:
			next = decision{action: actExpire}
		}
	}
	if next.action == actWait && len(s.archived) > 0 {
		next.action = actRemoveTrials
	}
	return tearDownThen(s, next)
}

// tearDownThen releases the testbed first: it deletes pods before what they need.
func tearDownThen(s *scope, next decision) decision {
	switch {
	case s.podsRemain():
		// The end of a Job that was orphaned triggers no run.
		return decision{action: actStopPods, wait: next.wait, after: cmp.Or(s.heldFor(), podCheckInterval)}
	case queue.Occupies(s.run):
		return decision{action: actRelease, wait: next.wait}
	}
	return next
}

// whyNotAdmitted returns why the run does not hold its testbed, or nil.
func whyNotAdmitted(s *scope) *cause {
	name := s.testbedName()
	switch {
	case s.run.Spec.Suspend:
		return newCause(v1alpha1.ReasonSuspended, "spec.suspend is true: set it to false to continue")
	case name == "":
		return newCause(v1alpha1.ReasonNoDefaultTestbed, "the run names no Testbed, and none is the cluster's default: annotate one with %s=true, or apply the run again with spec.experiment.testbedRef", v1alpha1.AnnotationDefaultTestbed)
	case s.testbed == nil || !s.testbed.DeletionTimestamp.IsZero() && !queue.Holds(s.testbed, s.run):
		return newCause(v1alpha1.ReasonTestbedNotFound, "the cluster has no Testbed %q: create it, or apply the run again with another spec.experiment.testbedRef", name)
	case queue.Holds(s.testbed, s.run):
		return nil
	case s.refused:
		return newCause(v1alpha1.ReasonNamespaceNotAllowed, "Testbed %q does not take runs of namespace %q: allow it in the testbed's spec.namespaces, or apply the run again with another spec.experiment.testbedRef", name, s.run.Namespace)
	case s.testbedProblem() != "":
		return newCause(v1alpha1.ReasonTestbedNotReady, "Testbed %q is not ready: %s", name, s.testbedProblem())
	}
	before, exact := queue.Shown(s.before)
	switch {
	case before == 1:
		return newCause(v1alpha1.ReasonQueued, "1 run before it on Testbed %q", name)
	case exact:
		return newCause(v1alpha1.ReasonQueued, "%d runs before it on Testbed %q", before, name)
	}
	return newCause(v1alpha1.ReasonQueued, "at least %d runs before it on Testbed %q", before, name)
}

func decideAdmitted(s *scope) decision {
	switch {
	case !queue.Occupies(s.run):
		return decision{action: actAdmit}
	case s.baselineProblem() != "":
		return fail(newCause(v1alpha1.ReasonBaselineUnusable, "%s", s.baselineProblem()))
	case s.run.Status.Plan != nil && s.run.Status.Plan.StoredDigest == "":
		return fail(newCause(v1alpha1.ReasonVersionMismatch, "status.plan has no storedDigest: an older operator planned the run, or the CustomResourceDefinitions are older than this operator: apply those of its version, and the run under a new name"))
	case s.plan == nil && s.planErr == nil && s.run.Status.Plan == nil:
		return decision{action: actPlan}
	case s.plan == nil && s.planErr == nil:
		return decision{action: actStorePlan}
	case errors.Is(s.planErr, plan.ErrVersion):
		return fail(newCause(v1alpha1.ReasonVersionMismatch, "the operator was replaced during the run, and this version cannot read the plan's ConfigMap %q: %v: apply the run under a new name", s.names.Plan, s.planErr))
	case errors.Is(s.planErr, errOtherPlan):
		return fail(newCause(v1alpha1.ReasonPlanChanged, "the plan's ConfigMap %q was made or changed by another writer: delete it, see who may write ConfigMaps here, and apply the run under a new name", s.names.Plan))
	case s.planErr != nil:
		return fail(newCause(v1alpha1.ReasonResultsLost, "the plan's ConfigMap %q cannot be used: %v", s.names.Plan, s.planErr))
	case s.plan.Testbed.UID != s.testbed.UID:
		return fail(newCause(v1alpha1.ReasonTestbedNotFound, "Testbed %q was recreated after this run was planned, and figures of two testbeds do not mix: apply the run under a new name", s.testbed.Name))
	case s.otherMeasurer() != nil:
		return fail(s.otherMeasurer())
	case s.records == nil && s.recordsErr == nil && s.launched():
		return fail(newCause(v1alpha1.ReasonResultsLost, "the results' ConfigMap %q was deleted during the run", s.names.Results))
	case s.recordsErr != nil:
		return fail(newCause(v1alpha1.ReasonResultsLost, "the results' ConfigMap %q was changed by another writer: %v", s.names.Results, s.recordsErr))
	case s.records == nil || s.job == nil && s.records.failure == nil && !s.records.done:
		return decision{action: actLaunchMeasurer}
	}
	d := decideMeasuring(s)
	if d.action == actWait && s.plan.APIServerDiscovered {
		d.after = sooner(d.after, serversInterval)
	}
	return d
}

// isAboutChain are the measurer's reasons that a broken function explains better.
var isAboutChain = map[string]bool{
	v1alpha1.ReasonNoPathThroughChain: true, v1alpha1.ReasonNextHopUnresolved: true, v1alpha1.ReasonChainFailed: true, v1alpha1.ReasonEndpointFailed: true,
}

// decideMeasuring checks the measurer and the chain, once both could exist.
func decideMeasuring(s *scope) decision {
	var broken *problem
	if s.records.chainOpen {
		_, broken = s.firstProblem(s.chainWorkloads())
	}
	switch failure := s.records.failure; {
	case broken != nil && !broken.expired(s.now):
		return decision{action: actWait, after: broken.deadline.Sub(s.now)}
	case failure != nil && !(broken != nil && isAboutChain[failure.Reason]):
		return fail(newCause(failure.Reason, "%s", s.withGuest(failure.Reason, failure.Message)))
	case broken != nil:
		return fail(&cause{broken.reason, broken.message})
	case s.records.done && s.foreign != nil:
		return fail(newCause(v1alpha1.ReasonVersionMismatch, "the operator was replaced during the run, and the measurer of the version before measured differently than this version would: %v: apply the run under a new name", s.foreign))
	case s.records.done && s.records.chainOpen:
		return decision{action: actFinish, outcome: s.verdict(), measured: true}
	case s.records.done:
		return fail(newCause(v1alpha1.ReasonResultsLost, "the results' ConfigMap %q says that the measurement is over, and the chain was never ready", s.names.Results))
	}
	if !s.job.DeletionTimestamp.IsZero() {
		return decideNextJob(s)
	}
	if ended := s.jobEnd(); ended != nil {
		return fail(ended)
	}
	if s.jobLeft() <= 0 {
		return fail(newCause(v1alpha1.ReasonDeadlineExceeded, "Job %q has not ended within spec.experiment.deadlineSeconds, %d, and twice startupSeconds: see who changes Jobs here, and apply the run under a new name", s.job.Name, s.run.Spec.Experiment.DeadlineSeconds))
	}
	if refused := s.refusedPod(); refused != nil && refused.expired(s.now) {
		return fail(&cause{refused.reason, refused.message})
	}
	if s.rightsLost {
		return decision{action: actRestoreRights}
	}
	if s.policyLate {
		// No watch reports the policy.
		return decision{action: actFollowAPIServer, after: conflictDelay}
	}
	if s.records.wantsAnother() {
		return replaceChain(s)
	}
	return decideStart(s)
}

// decideNextJob waits until a Job that is being deleted is gone, for at most startupSeconds. Its end does not affect
// the next Job, which is made then.
func decideNextJob(s *scope) decision {
	left := leavingProblem("Job", s.job, s.startup())
	if left.expired(s.now) {
		return fail(newCause(left.reason, "%s: see which finalizer keeps it, and apply the run under a new name", left.message))
	}
	return decision{action: actWait, after: left.deadline.Sub(s.now), chain: &cause{v1alpha1.ReasonPending, left.message}}
}

// decideStart launches what is missing, limits the time of its start, and opens the chain.
func decideStart(s *scope) decision {
	workloads := s.starting()
	if !workloads[0].IsMeasurer() {
		if old := s.oldChain(); len(old) > 0 {
			return decideReplacement(s, old)
		}
	}
	_, first := s.firstProblem(workloads)
	switch {
	case len(s.missing(workloads)) > 0:
		return decision{action: actLaunchChain}
	case first == nil && workloads[0].IsMeasurer() && s.awaitsPod():
		return decision{action: actWait, after: podCheckInterval}
	case first == nil && workloads[0].IsMeasurer():
		return decision{action: actWait, after: s.jobLeft()}
	case first == nil:
		if differs := s.disallowedDifference(); differs != nil {
			return fail(differs)
		}
		return decision{action: actOpenChain}
	case first.expired(s.now):
		return fail(&cause{first.reason, withEvents(first.message, s.events)})
	}
	after := first.deadline.Sub(s.now)
	if s.awaitsPod() {
		after = min(after, podCheckInterval)
	}
	return decision{action: actWait, after: after, chain: &cause{v1alpha1.ReasonPending, first.message}}
}

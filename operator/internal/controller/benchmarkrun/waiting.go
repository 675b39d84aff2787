package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// noPriorityClass is how the API server begins to say that a pod's PriorityClass does not exist. Only the installation
// names one.
const noPriorityClass = "no PriorityClass with name"

// retryInterval is how often a run tries again while it waits for a cause to pass.
const retryInterval = 10 * time.Second

// waitOut returns the wait for the cause of an error that may pass by itself. The wait lasts for startupSeconds
// from its start; the run keeps its testbed, so that the cause does not end the next runs too.
func (s *scope) waitOut(err error) (decision, bool) {
	cause := s.passing(err)
	if cause == "" {
		return decision{}, false
	}
	after := min(retryInterval, s.waitsSince(err).Add(s.startup()).Sub(s.now))
	return decision{action: actWait, after: after, chain: newCause(v1alpha1.ReasonWaiting, "waiting for %s: %v", cause, err)}, after > 0
}

// waitsSince returns when the wait began: the status has it since then. The wait for nodes began when the testbed
// was no longer ready, before the run got it.
func (s *scope) waitsSince(err error) time.Time {
	since := s.now
	if c := meta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionChainReady); c != nil && c.Reason == v1alpha1.ReasonWaiting {
		since = c.LastTransitionTime.Time
	}
	if ready := queue.Ready(s.testbed); ready != nil && ready.Status == metav1.ConditionFalse && ready.LastTransitionTime.Time.Before(since) && isAbout(ready.Reason, measure.ReasonOf(err)) {
		since = ready.LastTransitionTime.Time
	}
	return since
}

// isAbout reports whether a testbed that is not ready for one reason has what the run fails with for another.
func isAbout(ready, failure string) bool {
	return ready == failure || ready == v1alpha1.ReasonNodesNotReady && failure == v1alpha1.ReasonNoMatchingNode
}

// passing returns what an error waits for, or "" if waiting does not help.
func (s *scope) passing(err error) string {
	var failure *measure.Failure
	switch {
	case err == nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ""
	case errors.As(err, &failure):
		switch failure.Reason {
		case v1alpha1.ReasonIssuerNotReadable:
			return "the keys of the cluster's issuer of tokens"
		case v1alpha1.ReasonAPIServerNotReadable:
			return "the addresses of the API server"
		}
		if failure.Passing || failure.Reason == v1alpha1.ReasonNoMatchingNode && s.nodesLeft() {
			return "the nodes of the testbed"
		}
		return ""
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return fmt.Sprintf("room in a quota of namespace %q", s.run.Namespace)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), noPriorityClass):
		return "the PriorityClass of the installation, which is missing"
	case apierrors.IsInternalError(err), apierrors.IsNotFound(err), apierrors.IsUnauthorized(err):
		return "the API server or a webhook of the cluster"
	}
	return ""
}

// nodesLeft reports whether the testbed's nodes no longer match it, and its own condition does not say so yet: it
// decides whether a user has to change something.
func (s *scope) nodesLeft() bool {
	ready := queue.Ready(s.testbed)
	return ready != nil && ready.Reason != v1alpha1.ReasonNoMatchingNode && !plan.Matches(s.testbed, s.input.Nodes)
}

// planOf makes a plan. Every error has a reason, so that no run holds its testbed permanently because of one.
func planOf(ctx context.Context, in plan.Input) (*plan.Plan, error) {
	made, err := plan.Make(in)
	if problem := (*plan.Panic)(nil); errors.As(err, &problem) {
		ctrl.LoggerFrom(ctx).Error(err, "Planning the run", "stack", string(problem.Stack))
	}
	if err != nil && measure.ReasonOf(err) == "" {
		err = measure.Failf(v1alpha1.ReasonInvalidConfiguration, "", "the plan cannot be made, which is a fault of the operator: %w", err)
	}
	return made, err
}

// refusal turns an error that no retry corrects into the run's outcome.
func refusal(err error) *cause {
	var failure *measure.Failure
	var taken *apply.Taken
	switch {
	case err == nil:
		return nil
	case errors.As(err, &taken):
		return newCause(v1alpha1.ReasonObjectTaken, "the run does not change what another writer has: delete %s %q, see who makes such objects here, and apply the run under a new name: %v", taken.Kind, taken.Name, taken.Err)
	case errors.As(err, &failure):
		message := failure.Err.Error()
		if failure.Remedy != "" {
			message += "; " + failure.Remedy
		}
		return newCause(failure.Reason, "%s", message)
	case meta.IsNoMatchError(err):
		return newCause(v1alpha1.ReasonNetworkAttachmentMissing, "the cluster does not know the kind NetworkAttachmentDefinition: install Multus")
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusInternalServerError:
		return newCause(v1alpha1.ReasonLaunchFailed, "an object of the run could not be made for startupSeconds: %v", err)
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return nil
	default:
		if code >= 400 && code < 500 {
			return newCause(v1alpha1.ReasonPodForbidden, "%s%v", admissionRemedy(err), err)
		}
	}
	return nil
}

// admissionRemedy returns what comes before the API server's own message, which is long.
func admissionRemedy(err error) string {
	switch {
	case strings.Contains(err.Error(), "violates PodSecurity"):
		return "label the namespace pod-security.kubernetes.io/enforce=privileged, or use another one: "
	case strings.Contains(err.Error(), noPriorityClass):
		return "make the PriorityClass, or change runPriorityClassName of the chart: "
	}
	return ""
}

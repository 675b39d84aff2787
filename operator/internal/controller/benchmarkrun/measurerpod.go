package benchmarkrun

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

// podCheckInterval is how often a run checks whether its Job can create a pod: no watch reports it.
const podCheckInterval = 20 * time.Second

// awaitsPod reports whether the Job has to create the measurer's pod, the first one or a replacement.
func (s *scope) awaitsPod() bool {
	if s.job == nil || !s.job.DeletionTimestamp.IsZero() || s.jobEnd() != nil {
		return false
	}
	return len(s.measurers) == 0 || hasEnded(&s.measurers[0])
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// readJobEvents reads what the Job controller reports while it has to create a pod.
func (r *Reconciler) readJobEvents(ctx context.Context, s *scope) (err error) {
	if !s.measures() || !s.awaitsPod() || s.now.Before(s.job.CreationTimestamp.Add(podCheckInterval)) {
		return nil
	}
	s.jobEvents, err = r.eventsOf(ctx, s.job)
	return err
}

// refusedPod returns the problem of a Job that cannot create the measurer's pod, or nil. What may pass has startupSeconds.
func (s *scope) refusedPod() *problem {
	if !s.awaitsPod() {
		return nil
	}
	since := s.lastPod()
	var first *corev1.Event
	for i := range s.jobEvents {
		e := &s.jobEvents[i]
		if e.Type != corev1.EventTypeWarning || e.Reason != "FailedCreate" || eventTime(*e).Before(since) {
			continue
		}
		if isDenied(e.Message) {
			return s.podRefused(e, time.Time{})
		}
		if first == nil || eventStart(e).Before(eventStart(first)) {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	began := since
	if start := eventStart(first); start.After(since) {
		began = start
	}
	return s.podRefused(first, began.Add(s.startup()))
}

func (s *scope) podRefused(e *corev1.Event, deadline time.Time) *problem {
	return &problem{v1alpha1.ReasonPodForbidden, sentence("Job %q cannot create the measurer's pod: %s", s.job.Name, e.Message), deadline}
}

// lastPod returns when the Job last created a pod, as far as it is known. What failed before is over.
func (s *scope) lastPod() time.Time {
	last := s.job.CreationTimestamp.Time
	if len(s.measurers) > 0 {
		last = s.measurers[0].CreationTimestamp.Time
	}
	for _, e := range s.jobEvents {
		if e.Reason == "SuccessfulCreate" && eventTime(e).After(last) {
			last = eventTime(e)
		}
	}
	return last
}

// isDenied reports whether a rule refuses a pod, which no retry changes. The Job controller reports each failure of
// the API server likewise. A quota may get room, the PriorityClass may be made, and admission itself may not be ready yet.
func isDenied(message string) bool {
	has := func(text string) bool { return strings.Contains(message, text) }
	return (has("is forbidden") || has("denied the request")) &&
		!has("exceeded quota") && !has(noPriorityClass) && !has("status unknown for quota") && !has("not yet ready to handle request")
}

// eventStart returns when what an event reports happened first.
func eventStart(e *corev1.Event) time.Time {
	if !e.FirstTimestamp.IsZero() {
		return e.FirstTimestamp.Time
	}
	return eventTime(*e)
}

// rights returns the Role and the RoleBinding of the measurer.
func (s *scope) rights() []chain.Object {
	needs := slices.Clone(s.measurerWorkload()[0].Needs)
	return slices.DeleteFunc(needs, func(object chain.Object) bool { return rightsKind(object) == "" })
}

// rightsKind returns the kind of a Role or a RoleBinding, and "" for any other object.
func rightsKind(object chain.Object) string {
	switch object.(type) {
	case *rbacv1.Role:
		return "Role"
	case *rbacv1.RoleBinding:
		return "RoleBinding"
	}
	return ""
}

// readRights finds out whether the rights of a measurer that has a pod are still there. They were made before it.
func (r *Reconciler) readRights(ctx context.Context, s *scope) error {
	if s.plan == nil || s.job == nil || s.holder == nil && len(s.measurers) == 0 {
		return nil
	}
	for _, object := range s.rights() {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(rightsKind(object)))
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.run.Namespace, Name: object.GetName()}, found)
		if apierrors.IsNotFound(err) {
			s.rightsLost = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package testbed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/plan"
)

func (r *Reconciler) act(ctx context.Context, s *scope, d decision) error {
	switch d.action {
	case actAddFinalizer:
		return r.patchMetadata(ctx, s, func(t *v1alpha1.Testbed) { controllerutil.AddFinalizer(t, v1alpha1.Finalizer) })
	case actCleanUp:
		return r.cleanUp(ctx, s, d)
	case actRemoveFinalizer:
		return r.removeFinalizer(ctx, s, d.left)
	}
	return nil
}

func (r *Reconciler) patchMetadata(ctx context.Context, s *scope, change func(*v1alpha1.Testbed)) error {
	before := client.MergeFromWithOptions(s.testbed.DeepCopy(), client.MergeFromWithOptimisticLock{})
	change(s.testbed)
	return client.IgnoreNotFound(r.Client.Patch(ctx, s.testbed, before))
}

// cleanUp starts to remove bridges from each node. It skips a node for which no Job can be made. The testbed is
// deleted when no Job of another node is active.
func (r *Reconciler) cleanUp(ctx context.Context, s *scope, d decision) error {
	namespaces := s.bridgeNodes()
	var refused []string
	for _, node := range d.nodes {
		places := s.cleanupNamespaces(namespaces[node])
		if s.cleanups[node] != nil || s.onlyHome() {
			places = []string{s.home} // the run's namespace had its time, or its Job has not removed the bridges
		}
		made, err := r.makeCleanup(ctx, s, node, places)
		if err != nil {
			return err
		}
		if !made {
			refused = append(refused, node)
		}
	}
	if d.busy || len(refused) < len(d.nodes) {
		return nil
	}
	return r.removeFinalizer(ctx, s, slices.Concat(d.left, refused))
}

// makeCleanup makes the Job for a node in the first of the namespaces that takes it, and reports whether one does.
func (r *Reconciler) makeCleanup(ctx context.Context, s *scope, node string, namespaces []string) (bool, error) {
	for _, namespace := range namespaces {
		job := chain.BridgeCleanup(s.testbed, namespace, node, r.Defaults)
		if err := controllerutil.SetControllerReference(s.testbed, job, r.Client.Scheme()); err != nil {
			return false, err
		}
		err := apply.Object(ctx, r.Client, job)
		var taken *apply.Taken
		switch {
		case err == nil:
			return true, nil
		case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || errors.As(err, &taken):
			ctrl.LoggerFrom(ctx).Error(err, "Making a Job that removes bridges", "node", node, "namespace", namespace)
		default:
			return false, err
		}
	}
	return false, nil
}

// removeFinalizer removes the finalizer. It names bridges that could not be removed.
func (r *Reconciler) removeFinalizer(ctx context.Context, s *scope, left []string) error {
	for node, job := range s.cleanups {
		if err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &job.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the cleanup Job of node %q: %w", node, err)
		}
	}
	if err := r.patchMetadata(ctx, s, func(t *v1alpha1.Testbed) { controllerutil.RemoveFinalizer(t, v1alpha1.Finalizer) }); err != nil {
		return err
	}
	if len(left) > 0 {
		r.Recorder.Eventf(s.testbed, nil, corev1.EventTypeWarning, v1alpha1.ReasonBridgeCleanupIncomplete, string(actCleanUp),
			"bridges %s may be left on node %s: remove them with \"ip link delete\"", strings.Join(plan.BridgeNames(s.testbed), ", "), strings.Join(left, ", "))
	}
	return nil
}

// emitEvents records what changed: who got the testbed, and whether it is ready.
func (r *Reconciler) emitEvents(s *scope, before, after *v1alpha1.TestbedStatus) {
	held := map[string]bool{}
	for _, a := range before.ActiveRuns {
		held[a.UID] = true
	}
	for _, a := range after.ActiveRuns {
		if !held[a.UID] {
			r.Recorder.Eventf(s.testbed, nil, corev1.EventTypeNormal, v1alpha1.ReasonAdmitted, "Admit", "run %q holds the testbed", a.Namespace+"/"+a.Name)
		}
	}
	was, is := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	level := corev1.EventTypeNormal
	switch is.Reason {
	case v1alpha1.ReasonNoMatchingNode, v1alpha1.ReasonNodesNotReady, v1alpha1.ReasonResourceMissing,
		v1alpha1.ReasonInsufficientHugepages, v1alpha1.ReasonImageMissing, v1alpha1.ReasonInvalidGeneratorConfiguration, v1alpha1.ReasonInvalidNamespaceSelector:
		level = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(s.testbed, nil, level, is.Reason, "Observe", "%s", is.Message)
}

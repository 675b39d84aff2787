package testbed

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/plan"
)

// readCleanups reads the Jobs that remove bridges. In a namespace where the operator may not read them any more there
// are none.
func (r *Reconciler) readCleanups(ctx context.Context, s *scope) error {
	for node, used := range s.bridgeNodes() {
		for _, namespace := range s.cleanupNamespaces(used) {
			job := &batchv1.Job{}
			err := r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: plan.CleanupName(s.testbed, node)}, job)
			switch {
			case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
			case err != nil:
				return fmt.Errorf("reading Job %q: %w", plan.CleanupName(s.testbed, node), err)
			case metav1.IsControlledBy(job, s.testbed): // and none that a user made under this name
				s.cleanups[node] = job
				if believed, err := r.believes(ctx, s, job, node); err != nil {
					return err
				} else if believed {
					s.clean[node] = true
				}
			}
		}
	}
	return nil
}

// believes reports whether a Job has removed a node's bridges. Users may make Jobs in the namespaces of runs, and name
// the testbed as their owner: there it counts only if it is the one that the operator makes.
func (r *Reconciler) believes(ctx context.Context, s *scope, job *batchv1.Job, node string) (bool, error) {
	if !jobIs(job, batchv1.JobComplete) || job.Namespace == s.home {
		return jobIs(job, batchv1.JobComplete), nil
	}
	// The API server fills in its defaults.
	want := chain.BridgeCleanup(s.testbed, job.Namespace, node, r.Defaults)
	want.Name, want.GenerateName = "", want.Name+"-"
	switch err := r.Client.Create(ctx, want, client.DryRunAll, apply.Owner); {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err):
		ctrl.LoggerFrom(ctx).Error(err, "Trying the Job that removes bridges", "node", node, "namespace", job.Namespace)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("trying the Job that removes the bridges of node %q: %w", node, err)
	}
	return equality.Semantic.DeepEqual(ownSpec(want), ownSpec(job)), nil
}

// ownSpec returns a Job's spec without what the API server derives from its name and UID.
func ownSpec(job *batchv1.Job) *batchv1.JobSpec {
	spec := job.Spec.DeepCopy()
	spec.Selector = nil
	for _, label := range []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"} {
		delete(spec.Template.Labels, label)
	}
	return spec
}

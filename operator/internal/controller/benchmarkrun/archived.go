package benchmarkrun

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
)

// readArchived finds the ConfigMaps with the trials of a run whose whole document the archive has, where they are to be deleted. The cache has which
// ConfigMaps there are. What is no longer in it is deleted, or is found when the operator starts again.
func (r *Reconciler) readArchived(ctx context.Context, s *scope) error {
	c := meta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionArchived)
	if !r.Defaults.RemovesTrials || queue.Occupies(s.run) || c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonStored {
		return nil
	}
	// The head comes last: what a failure leaves is found by it.
	for _, name := range append(s.names.Chunks(), s.names.Results) {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.run.Namespace, Name: name}, found)
		if apierrors.IsNotFound(err) || err == nil && !belongsTo(s.run, found) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking for ConfigMap %q: %w", name, err)
		}
		s.archived = append(s.archived, configMapNamed(name))
	}
	return nil
}

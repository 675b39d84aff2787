package benchmarkrun

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
)

// createKeys makes the encryption gateways' keys, once for each launch of the
// chain. What exists is kept and never read: the controller has the rights to
// create and to delete Secrets, and none to get, list or change one, so it
// cannot read a key that it did not just make.
func (r *Reconciler) createKeys(ctx context.Context, s *scope) error {
	secret, err := chain.KeysSecret(s.plan, rand.Reader)
	if err != nil || secret == nil {
		return err
	}
	if err := controllerutil.SetControllerReference(s.run, secret, r.Client.Scheme()); err != nil {
		return err
	}
	if err := r.Client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Secret %q: %w", secret.Name, err)
	}
	return nil
}

// deleteKeys deletes them with the chain.
func (r *Reconciler) deleteKeys(ctx context.Context, s *scope) error {
	if !hasGateway(s) {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: s.names.Keys}}
	if err := r.Client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Secret %q: %w", secret.Name, err)
	}
	return nil
}

func hasGateway(s *scope) bool {
	for _, function := range s.run.Spec.Chain {
		if function.Function == v1alpha1.FunctionEncryptionGateway {
			return true
		}
	}
	return false
}

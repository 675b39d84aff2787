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
	secrets, err := chain.KeysSecrets(s.plan, rand.Reader)
	if err != nil {
		return err
	}
	kept := 0
	for _, secret := range secrets {
		if err := controllerutil.SetControllerReference(s.run, secret, r.Client.Scheme()); err != nil {
			return err
		}
		switch err := r.Client.Create(ctx, secret); {
		case apierrors.IsAlreadyExists(err):
			kept++
		case err != nil:
			return fmt.Errorf("creating Secret %q: %w", secret.Name, err)
		}
	}
	if kept == 0 || kept == len(secrets) {
		return nil
	}
	// Someone was interrupted between two of them, before any pod was there;
	// keys that were not made together do not fit each other.
	if err := r.deleteKeys(ctx, s); err != nil {
		return err
	}
	return fmt.Errorf("%d of %d Secrets with keys were left by a launch that was interrupted; all are made again", kept, len(secrets))
}

// deleteKeys deletes them with the chain.
func (r *Reconciler) deleteKeys(ctx context.Context, s *scope) error {
	for _, function := range gateways(s) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: s.names.Keys(function.Name)}}
		if err := r.Client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Secret %q: %w", secret.Name, err)
		}
	}
	return nil
}

func gateways(s *scope) []v1alpha1.NetworkFunction {
	var found []v1alpha1.NetworkFunction
	for _, function := range s.run.Spec.Experiment.Chain {
		if function.Function == v1alpha1.FunctionEncryptionGateway {
			found = append(found, function)
		}
	}
	return found
}

package benchmarkrun

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/measure"
)

// createKeys makes the encryption gateways' keys, once for each launch of the chain.
// Existing keys are kept and never read: the controller has the rights to create and to
// delete Secrets, and none to get, list or change one, so it cannot read a key that it did
// not just make.
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
		made, err := r.createSecret(ctx, s, secret)
		if err != nil {
			return err
		}
		if !made {
			kept++
		}
	}
	if kept == 0 || kept == len(secrets) {
		return nil
	}
	// An operator was interrupted between two of them, before any pod existed; keys that were
	// not made together do not match.
	if err := r.deleteSecrets(ctx, s); err != nil {
		return err
	}
	return fmt.Errorf("%d of %d Secrets with keys were left by a launch that was interrupted; all are made again", kept, len(secrets))
}

// createSeeds makes the missing seeds of users' own VMs and containers. It makes them from the run's
// spec, because no plan holds such text.
func (r *Reconciler) createSeeds(ctx context.Context, s *scope) error {
	for i := range s.plan.Functions {
		function := &s.plan.Functions[i]
		if !function.IsCustom() || s.vm(function.Name) != nil || s.function(function.Name) != nil {
			continue
		}
		seed, err := chain.Seed(s.plan, function, s.run.Spec.Experiment.Chain[i].Custom)
		if err != nil {
			return err
		}
		if seed == nil {
			continue
		}
		if err := r.applyAll(ctx, s, []chain.Object{seed}); err != nil {
			return err
		}
	}
	return nil
}

// deleteSecrets deletes keys, seeds and what virtual machines boot with, together with the chain: the next one needs
// other keys, and gets the issuer's keys of that day. The run's spec names them, because a plan may be lost.
func (r *Reconciler) deleteSecrets(ctx context.Context, s *scope) error {
	// The workload that uses each Secret, by the name of the Secret.
	users := map[string]string{}
	for _, function := range s.run.Spec.Experiment.Chain {
		workload := s.names.Function(function.Name)
		if function.Function == v1alpha1.FunctionEncryptionGateway {
			users[s.names.Keys(function.Name)] = workload
		}
		if custom := function.Custom; function.Runtime == v1alpha1.RuntimeVirtualMachine || custom != nil {
			if custom == nil || custom.UserData != "" || custom.NetworkData != "" {
				users[workload] = workload
			}
		}
	}
	for _, n := range s.run.Spec.Experiment.NoisyNeighbors {
		if n.Runtime == v1alpha1.RuntimeVirtualMachine {
			users[s.names.Neighbor(n.Name)] = s.names.Neighbor(n.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		if err := r.deleteSecret(ctx, s, name, s.isThere(users[name])); err != nil {
			return err
		}
	}
	return nil
}

// isThere reports whether a workload of the chain exists and no one has deleted it.
func (s *scope) isThere(workload string) bool {
	if vm := s.vmNamed(workload); vm != nil {
		return vm.DeletionTimestamp.IsZero()
	}
	pod := s.pod(workload)
	return pod != nil && pod.DeletionTimestamp.IsZero()
}

// deleteSecret deletes a Secret that the status records, on condition that it has the UID there. The operator may not read whose a Secret is.
// It deletes it by its name alone where it ended between making it and recording the UID, and where the workload that uses it is there and
// nothing is recorded: an older operator, which recorded nothing, made both.
func (r *Reconciler) deleteSecret(ctx context.Context, s *scope, name string, isUsed bool) error {
	uid, recorded := s.run.Status.Secrets[name]
	if !recorded && !isUsed {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: name}}
	var options []client.DeleteOption
	if uid != "" {
		options = append(options, client.Preconditions{UID: new(types.UID(uid))})
	}
	err := r.Client.Delete(ctx, secret, options...)
	if client.IgnoreNotFound(err) != nil && !(uid != "" && apierrors.IsConflict(err)) {
		return fmt.Errorf("deleting Secret %q: %w", name, err)
	}
	return r.recordSecret(ctx, s, name, nil, "")
}

// createSecret makes a Secret, and reports whether it did. The run's status has its name before, and its UID afterwards. It does not
// apply it: the answer to a patch would show any Secret of the namespace, so the operator does not hold that verb. A Secret that exists
// already was made for the same plan if the status had its name before; otherwise another writer made it.
func (r *Reconciler) createSecret(ctx context.Context, s *scope, secret *corev1.Secret) (made bool, err error) {
	// The cache may not have what was recorded last.
	run := &v1alpha1.BenchmarkRun{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.run), run); err != nil {
		return false, fmt.Errorf("reading which Secrets the run has: %w", err)
	}
	s.run.Status.Secrets = run.Status.Secrets
	_, recorded := run.Status.Secrets[secret.Name]
	if !recorded {
		if err := r.recordSecret(ctx, s, secret.Name, new(v1alpha1.ObjectUID("")), run.ResourceVersion); err != nil {
			return false, err
		}
	}
	err = r.Client.Create(ctx, secret, apply.Owner)
	switch {
	case apierrors.IsAlreadyExists(err) && recorded:
		return false, nil
	case apierrors.IsAlreadyExists(err):
		taken := &apply.Taken{Kind: "Secret", Name: secret.Name, Err: fmt.Errorf("the run's status.secrets did not have it: %w", err)}
		return false, errors.Join(taken, r.recordSecret(ctx, s, secret.Name, nil, ""))
	case err != nil:
		return false, fmt.Errorf("creating Secret %q: %w", secret.Name, err)
	}
	return true, r.recordSecret(ctx, s, secret.Name, new(v1alpha1.ObjectUID(secret.UID)), "")
}

// recordSecret stores the UID of a Secret in the run's status at once: "" while it is not known, and nil removes the Secret. It does so in the
// given version of the run; "": in any, whatever else has changed there.
func (r *Reconciler) recordSecret(ctx context.Context, s *scope, name string, uid *v1alpha1.ObjectUID, version string) error {
	metadata := map[string]any{"uid": s.run.UID}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata, "status": map[string]any{"secrets": map[string]any{name: uid}}})
	if err != nil {
		return err
	}
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: s.run.Namespace, Name: s.run.Name}}
	if err := r.Client.Status().Patch(ctx, run, client.RawPatch(types.MergePatchType, data)); err != nil {
		return fmt.Errorf("recording the UID of Secret %q: %w", name, err)
	}
	s.run.Status.Secrets = run.Status.Secrets
	if _, stored := run.Status.Secrets[name]; uid != nil && !stored {
		return measure.Failf(v1alpha1.ReasonVersionMismatch, "apply those of its version, and the run under a new name",
			"the API server does not store status.secrets: the CustomResourceDefinitions are older than this operator")
	}
	return nil
}

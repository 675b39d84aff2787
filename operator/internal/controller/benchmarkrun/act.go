package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/controller/apply"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// act performs the one action of a decision. A launch that the API server refuses
// permanently turns the decision into a verdict; every other error is tried again.
func (r *Reconciler) act(ctx context.Context, s *scope, d decision) (decision, error) {
	var err error
	switch d.action {
	case actAddFinalizer:
		err = r.setFinalizer(ctx, s, controllerutil.AddFinalizer)
	case actRemoveFinalizer:
		if err = r.unlessTerminating(ctx, s, r.deleteRecords(ctx, s)); err == nil {
			err = r.setFinalizer(ctx, s, controllerutil.RemoveFinalizer)
		}
	case actPlan:
		err = r.makePlan(ctx, s)
	case actStorePlan:
		err = r.storePlan(ctx, s)
	case actLaunchMeasurer:
		var busy *cause
		if busy, err = r.takeNodes(ctx, s); busy != nil {
			if err == nil {
				err = r.planElsewhere(ctx, s)
			}
			return decision{action: actWait, after: nodesInterval, chain: busy}, err
		}
		if err == nil {
			err = r.launchMeasurer(ctx, s)
		}
	case actLaunchChain:
		err = r.launchChain(ctx, s)
	case actOpenChain:
		err = r.openChainGate(ctx, s)
	case actReplaceChain:
		err = r.replaceChain(ctx, s)
	case actRestoreRights:
		err = r.applyAll(ctx, s, s.rights())
	case actFollowAPIServer:
		err = r.applyAll(ctx, s, []chain.Object{s.measurerPolicy()})
	case actStopPods:
		err = r.unlessTerminating(ctx, s, r.stopPods(ctx, s))
	case actRelease:
		err = r.unlessTerminating(ctx, s, r.release(ctx, s))
	case actRemoveTrials:
		err = r.deleteAll(ctx, s, s.archived)
	case actExpire:
		err = client.IgnoreNotFound(r.Client.Delete(ctx, s.run, client.Preconditions{UID: &s.run.UID}))
	}
	switch d.action {
	case actPlan, actStorePlan, actLaunchMeasurer, actLaunchChain, actRestoreRights, actFollowAPIServer:
		if waits, ok := s.waitOut(err); ok {
			return waits, nil
		}
		if refused := vmRefusal(err, refusal(err)); refused != nil {
			return fail(refused), nil
		}
	}
	return d, err
}

// unlessTerminating drops the refusal of a step in a namespace that is being deleted. With
// watchNamespaces the operator's rights go with the namespace, which deletes all that the run has. The run's
// finalizer must go too: it would keep the namespace.
func (r *Reconciler) unlessTerminating(ctx context.Context, s *scope, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	namespace := &corev1.Namespace{}
	got := r.Client.Get(ctx, client.ObjectKey{Name: s.run.Namespace}, namespace)
	if apierrors.IsNotFound(got) || got == nil && !namespace.DeletionTimestamp.IsZero() {
		return nil
	}
	return err
}

// setFinalizer reads the run without the cache, which has no finalizers of others: the patch replaces the list.
func (r *Reconciler) setFinalizer(ctx context.Context, s *scope, change func(client.Object, string) bool) error {
	run := &v1alpha1.BenchmarkRun{}
	switch err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.run), run); {
	case apierrors.IsNotFound(err) || err == nil && run.UID != s.run.UID:
		return nil
	case err != nil:
		return fmt.Errorf("reading the run's finalizers: %w", err)
	}
	read, after := run.ResourceVersion, run.DeepCopy()
	if !change(after, v1alpha1.Finalizer) {
		return nil
	}
	if err := reporting.StoreFinalizers(ctx, r.Client, run, after.Finalizers); err != nil {
		return client.IgnoreNotFound(err)
	}
	change(s.run, v1alpha1.Finalizer)
	if s.run.ResourceVersion == read {
		// The status that follows may be stored. One that follows from an older run meets a conflict.
		s.run.ResourceVersion = run.ResourceVersion
	}
	return nil
}

// makePlan decides everything, and lets the API server judge the run's pods without making them.
// The status then gets the digest of the plan, before the plan is stored: nothing else shows later
// who made it. Nothing that uses the testbed exists before.
func (r *Reconciler) makePlan(ctx context.Context, s *scope) error {
	made, err := planOf(ctx, *s.input)
	if err != nil {
		return err
	}
	if s.issuerErr != nil && made.AgentAudience != "" {
		return s.issuerErr
	}
	if s.serversErr != nil && made.APIServerDiscovered {
		return s.serversErr
	}
	return r.tryPlan(ctx, s, made, plan.Sum(chain.PlanConfigMap(made).Data))
}

// tryPlan tries a plan's objects against admission.
func (r *Reconciler) tryPlan(ctx context.Context, s *scope, made *plan.Plan, digest string) error {
	// Admission refuses pods whose service account does not exist.
	if err := r.applyAll(ctx, s, []chain.Object{chain.ServiceAccount(made)}); err != nil {
		return err
	}
	for _, w := range chain.Render(made, s.issuer) {
		object := w.DryRun()
		if err := r.Client.Create(ctx, object, client.DryRunAll); err != nil && !apierrors.IsAlreadyExists(err) {
			return aboutWorkload(&w, fmt.Errorf("trying %w", aboutObject(object, err)))
		}
	}
	for _, network := range chain.Networks(made) {
		if err := r.applyAll(ctx, s, []chain.Object{network}, client.DryRunAll); err != nil {
			return err
		}
	}
	s.made, s.storedDigest = made, digest
	return nil
}

// storePlan stores the plan whose digest the status has. If the plan would be another one by now,
// the status gets the digest of that first, unless the run was already measured by the other.
func (r *Reconciler) storePlan(ctx context.Context, s *scope) error {
	made, err := planOf(ctx, *s.input)
	if err != nil {
		return err
	}
	configMap := chain.PlanConfigMap(made)
	switch digest := plan.Sum(configMap.Data); {
	case digest == s.run.Status.Plan.StoredDigest:
		s.made, s.storedDigest = made, digest
		return r.applyAll(ctx, s, []chain.Object{configMap})
	case s.records != nil:
		return measure.Failf(v1alpha1.ReasonResultsLost, "apply the run under a new name",
			"the plan's ConfigMap %q was deleted during the run, and today's plan would be another one", s.names.Plan)
	default:
		// The new plan may have other nodes.
		if err := r.releaseNodes(ctx, s); err != nil {
			return err
		}
		return r.tryPlan(ctx, s, made, digest)
	}
}

// launchMeasurer makes the empty results, and the measurer that fills them.
func (r *Reconciler) launchMeasurer(ctx context.Context, s *scope) error {
	switch {
	case !s.plan.APIServerDiscovered:
	case s.serversErr != nil:
		return s.serversErr
	case len(s.servers) == 0:
		return errors.New("the addresses of the API server were not read")
	}
	if err := r.applyAll(ctx, s, []chain.Object{chain.ResultsConfigMap(s.plan)}); err != nil {
		return err
	}
	return r.launch(ctx, s, s.measurerWorkload())
}

// launchChain makes the Secrets that do not follow from the plan, and the chain.
func (r *Reconciler) launchChain(ctx context.Context, s *scope) error {
	switch {
	case s.issuerErr != nil:
		return s.issuerErr
	case s.issuer == nil && s.plan.AgentAudience != "":
		return errors.New("the keys by which the chain's agents know the measurer were not read")
	}
	if err := r.createSeeds(ctx, s); err != nil {
		return err
	}
	if err := r.createKeys(ctx, s); err != nil {
		return err
	}
	return r.launch(ctx, s, s.numbered())
}

// launch makes those of the workloads that do not exist yet.
func (r *Reconciler) launch(ctx context.Context, s *scope, workloads []chain.Workload) error {
	for _, w := range s.missing(workloads) {
		if err := r.applyAll(ctx, s, w.Objects()); err != nil {
			return aboutWorkload(&w, err)
		}
	}
	return nil
}

func (r *Reconciler) applyAll(ctx context.Context, s *scope, objects []chain.Object, options ...client.ApplyOption) error {
	for _, object := range objects {
		if err := controllerutil.SetControllerReference(s.run, object, r.Client.Scheme()); err != nil {
			return err
		}
		if secret, ok := object.(*corev1.Secret); ok {
			if _, err := r.createSecret(ctx, s, secret); err != nil {
				return err
			}
			continue
		}
		if err := apply.Object(ctx, r.Client, object, options...); err != nil {
			return aboutObject(object, err)
		}
	}
	return nil
}

// chainOwner is the field manager of the results' keys that the controller writes, so that
// neither writer changes the other's keys.
const chainOwner client.FieldOwner = "vnfbench-chain"

// openChainGate sets the key that lets the measurer continue to the chain, with
// the addresses where it may ask and where the ends of TCP connections are, and adds the
// deployment.
func (r *Reconciler) openChainGate(ctx context.Context, s *scope) error {
	data := map[string]string{measure.KeyChain: measure.ChainReady, measure.KeySources: encodeSources(s.sources())}
	ends, err := s.endpointAddresses()
	if err != nil {
		return err
	}
	if ends != "" {
		data[measure.KeyEndpoints] = ends
	}
	return r.applyGate(ctx, s, s.records.version, data, s.opened())
}

// closeChainGate removes all these keys except the deployments, so that the measurer waits for
// the next chain.
func (r *Reconciler) closeChainGate(ctx context.Context, s *scope, version string) error {
	return r.applyGate(ctx, s, version, map[string]string{}, s.records.deployments)
}

// applyGate sets the keys of the gate, in the version of the results that they follow from; "": in any.
func (r *Reconciler) applyGate(ctx context.Context, s *scope, version string, data map[string]string, deployments []measure.Deployment) error {
	if len(deployments) > 0 {
		text, err := deploymentsText(deployments)
		if err != nil {
			return err
		}
		data[measure.KeyDeployments] = text
	}
	gate := configMapNamed(s.names.Results)
	// With the UID, the API server does not make the object if it was deleted. With the version, it
	// refuses what follows from an older one.
	gate.Namespace, gate.UID, gate.ResourceVersion, gate.Data = s.run.Namespace, s.records.uid, version, data
	return apply.Object(ctx, r.Client, gate, chainOwner, client.ForceOwnership)
}

// stopPods deletes the Job with its pods, and the chain's pods and virtual machines.
func (r *Reconciler) stopPods(ctx context.Context, s *scope) error {
	if s.records != nil && s.records.chainOpen && !queue.Finished(s.run) && s.run.DeletionTimestamp.IsZero() {
		// In any version: who changes the ConfigMap without end would keep a run that is suspended on its testbed.
		if err := r.closeChainGate(ctx, s, ""); err != nil {
			return err
		}
	}
	if s.job != nil && s.job.DeletionTimestamp.IsZero() {
		err := r.Client.Delete(ctx, s.job, client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &s.job.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Job %q: %w", s.job.Name, err)
		}
	}
	if err := r.stopChain(ctx, s); err != nil {
		return err
	}
	return r.deletePods(ctx, s, s.measurers)
}

// release deletes what the workloads needed, and gives the nodes back; the plan and the results stay.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	failed := []error{r.deleteSecrets(ctx, s)}
	for _, w := range s.workloads() {
		failed = append(failed, r.deleteAll(ctx, s, w.Needs))
	}
	// The last pod is gone, so another testbed's run may have the nodes, whatever else stays.
	return errors.Join(append(failed, r.deleteNetworks(ctx, s), r.releaseNodes(ctx, s))...)
}

// deleteNetworks finds the run's networks by their label: only the plan has their names, and it
// may be lost. A network that stays lets other pods of the namespace join the testbed's bridges.
func (r *Reconciler) deleteNetworks(ctx context.Context, s *scope) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(chain.NetworkAttachmentDefinition)
	_, err := r.pages.read(ctx, r.Reader, list, 0, func() error {
		for i := range list.Items {
			network := &list.Items[i]
			if !belongsTo(s.run, network) {
				continue
			}
			network.SetGroupVersionKind(chain.NetworkAttachmentDefinition)
			if err := r.Client.Delete(ctx, network, client.Preconditions{UID: &network.UID}); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting NetworkAttachmentDefinition %q: %w", network.Name, err)
			}
		}
		return nil
	}, s.ofRun())
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting the run's NetworkAttachmentDefinitions: %w", err)
	}
	return nil
}

// deleteRecords deletes what outlives the pods, with the run itself. The label leads to the chunks that there are: no run
// has more than one page, and where others have the label too, it looks for each name. The garbage collector deletes a
// chunk that lost its label.
func (r *Reconciler) deleteRecords(ctx context.Context, s *scope) error {
	var found []string
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	whole, err := r.pages.read(ctx, r.Reader, list, 1, func() error {
		for i := range list.Items {
			found = append(found, list.Items[i].Name)
		}
		return nil
	}, s.ofRun())
	if err != nil {
		return fmt.Errorf("listing the run's ConfigMaps: %w", err)
	}
	objects := []chain.Object{configMapNamed(s.names.Plan), configMapNamed(s.names.Results)}
	for _, name := range s.names.Chunks() {
		if !whole || slices.Contains(found, name) {
			objects = append(objects, configMapNamed(name))
		}
	}
	return r.deleteAll(ctx, s, objects)
}

// deleteAll deletes those of the objects that belong to the run. An object of the same name that the
// run did not make stays. deleteNetworks deletes the networks.
func (r *Reconciler) deleteAll(ctx context.Context, s *scope, objects []chain.Object) error {
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, r.Client.Scheme())
		if err != nil {
			return err
		}
		switch kind.Kind {
		case chain.NetworkAttachmentDefinition.Kind:
			continue
		case "Secret":
			if err := r.deleteSecret(ctx, s, object.GetName(), false); err != nil {
				return err
			}
			continue
		}
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(kind)
		err = r.Reader.Get(ctx, client.ObjectKey{Namespace: s.run.Namespace, Name: object.GetName()}, found)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			continue
		case err != nil:
			return fmt.Errorf("reading %s %q: %w", kind.Kind, object.GetName(), err)
		case !belongsTo(s.run, found):
			continue
		}
		if err := r.Client.Delete(ctx, found, client.Preconditions{UID: &found.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s %q: %w", kind.Kind, object.GetName(), err)
		}
	}
	return nil
}

// belongsTo reports whether the run made an object. With --cascade=orphan the garbage collector takes the owner off all
// that a deleted run has: its label is left.
func belongsTo(run *v1alpha1.BenchmarkRun, object metav1.Object) bool {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return owner.UID == run.UID
	}
	return object.GetLabels()[v1alpha1.LabelRun] == string(run.UID)
}

func configMapNamed(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

package benchmarkrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/measure"
)

// A node is measured on by one run at a time, whatever its testbed. A run holds the Lease of each of
// its nodes, in the operator's namespace, from before its first pod until after its last one.

// nodesInterval is how often a run looks again whether its nodes are free.
const nodesInterval = 5 * time.Second

// maxLeaseBytes is the longest name of an object.
const maxLeaseBytes = 253

// leaseName returns the name of a node's Lease.
func leaseName(node string) string {
	const prefix = "node-"
	if len(prefix)+len(node) <= maxLeaseBytes {
		return prefix + node
	}
	sum := sha256.Sum256([]byte(node))
	return prefix + hex.EncodeToString(sum[:])
}

// holderIdentity returns how a Lease names the run: "namespace/name/uid".
func holderIdentity(run metav1.Object) string {
	return run.GetNamespace() + "/" + run.GetName() + "/" + string(run.GetUID())
}

// nodes returns the nodes of the run's plan, in order, so that two runs do not wait for each other.
func (s *scope) nodes() []string {
	if s.run.Status.Plan == nil {
		return nil
	}
	nodes := []string{s.run.Status.Plan.GeneratorNode, s.run.Status.Plan.DeviceNode}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// takeNodes takes the nodes of the plan for the run. If another run has one of them, it takes none and
// returns what the run waits for.
func (r *Reconciler) takeNodes(ctx context.Context, s *scope) (*cause, error) {
	for _, node := range s.nodes() {
		busy, err := r.takeNode(ctx, s, node)
		if err != nil {
			return nil, fmt.Errorf("taking node %q: %w", node, err)
		}
		if busy != "" {
			return newCause(v1alpha1.ReasonNodeBusy, "%s", busy), r.releaseNodes(ctx, s)
		}
	}
	return nil, nil
}

// takeNode makes the node's Lease that of the run. It returns who has the node otherwise.
func (r *Reconciler) takeNode(ctx context.Context, s *scope, node string) (busy string, err error) {
	mine, now := holderIdentity(s.run), metav1.NewMicroTime(s.now)
	lease := &coordinationv1.Lease{}
	err = r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: leaseName(node)}, lease)
	switch {
	case apierrors.IsNotFound(err):
		lease.Namespace, lease.Name = r.Namespace, leaseName(node)
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &mine, AcquireTime: &now}
		return "", afterRace(r.Client.Create(ctx, lease))
	case err != nil:
		return "", err
	case lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == mine:
		return "", s.overused(lease)
	}
	if busy, err = r.holderOf(ctx, s, node, lease); busy != "" || err != nil {
		return busy, err
	}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &mine, AcquireTime: &now}
	return "", r.Client.Update(ctx, lease)
}

// afterRace returns a conflict for an object that another writer made first: the run looks again.
func afterRace(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return apierrors.NewConflict(coordinationv1.Resource("leases"), "node", err)
	}
	return err
}

// holderOf returns which run measures on the node of a Lease, or "" if none does: it is gone, or has
// released its testbed.
func (r *Reconciler) holderOf(ctx context.Context, s *scope, node string, lease *coordinationv1.Lease) (string, error) {
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", nil
	}
	parts := strings.Split(*lease.Spec.HolderIdentity, "/")
	if len(parts) != 3 {
		return fmt.Sprintf("waiting for node %q: Lease %q of namespace %q has the holder %q, which is no run: delete it if nothing measures there", node, lease.Name, lease.Namespace, *lease.Spec.HolderIdentity), nil
	}
	run := &v1alpha1.BenchmarkRun{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: parts[0], Name: parts[1]}, run)
	switch {
	case apierrors.IsNotFound(err) || err == nil && run.UID != types.UID(parts[2]):
		if s.now.Before(endOf(lease)) {
			return fmt.Sprintf("waiting for node %q until %s: run %q was deleted in a namespace that the operator does not watch, and its pods have this time to end; if none of them is left, delete Lease %q of namespace %q",
				node, endOf(lease).UTC().Format(time.RFC3339), parts[0]+"/"+parts[1], lease.Name, lease.Namespace), nil
		}
		return "", nil
	case err != nil:
		return "", err
	case !queue.Occupies(run):
		return "", nil
	case !r.watches(run.Namespace) && s.now.After(longestUse(run, lease)):
		// No operator reports the release of a run in a namespace that is no longer watched.
		return "", nil
	}
	return fmt.Sprintf("waiting for node %q, on which run %q of Testbed %q measures", node, run.Namespace+"/"+run.Name, run.TestbedName()), nil
}

// endOf returns until when the Lease of a run that is gone keeps the node; the zero time if Abandoned did not let the run go.
func endOf(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
}

// watches reports whether the operator reconciles the runs of a namespace.
func (r *Reconciler) watches(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// longestUse returns when the last pod of a run has ended: the Job of the measurer has a deadline, and all
// that the run starts has its time to start and to end.
func longestUse(run *v1alpha1.BenchmarkRun, lease *coordinationv1.Lease) time.Time {
	since := lease.CreationTimestamp.Time
	if lease.Spec.AcquireTime != nil {
		since = lease.Spec.AcquireTime.Time
	}
	return since.Add(maxUse(run))
}

// overused returns an error if the run has used a node for longer than its Jobs may take: another writer deletes them, and each
// new one counts its time from its own start.
func (s *scope) overused(lease *coordinationv1.Lease) error {
	if !s.now.After(longestUse(s.run, lease)) {
		return nil
	}
	return measure.Failf(v1alpha1.ReasonDeadlineExceeded, "see who deletes Jobs here, and apply the run under a new name",
		"the run has its nodes for longer than spec.experiment.deadlineSeconds, %d, and twice startupSeconds, and Job %q is gone", s.run.Spec.Experiment.DeadlineSeconds, s.names.Job)
}

// releaseNodes deletes the Leases that the run holds.
func (r *Reconciler) releaseNodes(ctx context.Context, s *scope) error {
	var failed []error
	for _, node := range s.nodes() {
		lease := &coordinationv1.Lease{}
		err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: leaseName(node)}, lease)
		if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == holderIdentity(s.run) {
			err = r.Client.Delete(ctx, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
		}
		if client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("releasing node %q: %w", node, err))
		}
	}
	return errors.Join(failed...)
}

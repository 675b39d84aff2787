package benchmarkrun

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
)

// elsewhereInterval is how often a waiting run is planned again although the same nodes are busy: another one may have
// got room. Each time takes some 40 requests.
const elsewhereInterval = time.Minute

// looks remember when runs that wait for their nodes were planned again. The zero value is empty.
type looks struct {
	mu   sync.Mutex
	runs map[types.UID]look
}

// look is when a run was planned again last, and which nodes were busy.
type look struct {
	at   time.Time
	busy string
}

// isDue reports whether a run is to be planned again, and remembers that it is.
func (l *looks) isDue(run types.UID, busy map[string]bool, now time.Time) bool {
	var names []string
	for node := range busy {
		if busy[node] {
			names = append(names, node)
		}
	}
	slices.Sort(names)
	next := look{now, strings.Join(names, " ")}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Runs that no longer wait.
	maps.DeleteFunc(l.runs, func(_ types.UID, last look) bool { return !now.Before(last.at.Add(2 * elsewhereInterval)) })
	if last, found := l.runs[run]; found && last.busy == next.busy && now.Before(last.at.Add(elsewhereInterval)) {
		return false
	}
	if l.runs == nil {
		l.runs = map[types.UID]look{}
	}
	l.runs[run] = next
	return true
}

// busyNodes returns on which of the nodes other runs measure. Where the operator may not list Leases, it counts none:
// taking the node then says so.
func (r *Reconciler) busyNodes(ctx context.Context, s *scope, nodes []string) (map[string]bool, error) {
	busy := map[string]bool{}
	if len(nodes) == 0 {
		return busy, nil
	}
	var leases coordinationv1.LeaseList
	if err := r.Reader.List(ctx, &leases, client.InNamespace(r.Namespace)); apierrors.IsForbidden(err) {
		return busy, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing the Leases of nodes: %w", err)
	}
	for _, node := range nodes[:min(len(nodes), maxCountedNodes)] {
		i := slices.IndexFunc(leases.Items, func(l coordinationv1.Lease) bool { return l.Name == leaseName(node) })
		if i < 0 || leases.Items[i].Spec.HolderIdentity != nil && *leases.Items[i].Spec.HolderIdentity == holderIdentity(s.run) {
			continue
		}
		holder, err := r.holderOf(ctx, s, node, &leases.Items[i])
		if err != nil {
			return nil, fmt.Errorf("reading who measures on node %q: %w", node, err)
		}
		busy[node] = holder != ""
	}
	return busy, nil
}

// planElsewhere makes the plan again for a run that waits for its nodes and has not started, if others are idle. The
// stored plan goes: the status gets the digest of the next one, and only that one is believed.
func (r *Reconciler) planElsewhere(ctx context.Context, s *scope) error {
	if s.records != nil || s.recordsErr != nil {
		return nil
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	choice := plan.Choice(s.testbed, nodes.Items)
	busy, err := r.busyNodes(ctx, s, choice)
	if err != nil || allBusy(choice, busy) || !r.looks.isDue(s.run.UID, busy, s.now) {
		return err
	}
	input, err := r.input(ctx, s, nodes.Items, busy)
	if err != nil {
		return err
	}
	made, err := planOf(ctx, *input)
	if err == nil && (busy[made.GeneratorNode] || busy[made.DeviceNode]) {
		return nil
	}
	before := s.storedDigest
	if err == nil {
		err = r.tryPlan(ctx, s, made, plan.Sum(chain.PlanConfigMap(made).Data))
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Keeping the plan of a run that waits for its nodes", "err", err)
		return nil
	}
	if s.storedDigest == before {
		return nil
	}
	if err := r.deleteAll(ctx, s, []chain.Object{configMapNamed(s.names.Plan)}); err != nil {
		return err
	}
	s.plan = nil
	return nil
}

// allBusy reports whether none of the nodes is idle.
func allBusy(nodes []string, busy map[string]bool) bool {
	for _, node := range nodes {
		if !busy[node] {
			return false
		}
	}
	return true
}

package testbed

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// scope is everything that was read for one reconciliation of one testbed.
type scope struct {
	now     time.Time
	testbed *v1alpha1.Testbed
	nodes   []corev1.Node
	// namespaces are the cluster's, of which the testbed allows some.
	namespaces []corev1.Namespace
	// runs are those that name the testbed, as the cache has them: no one may change them.
	runs []v1alpha1.BenchmarkRun
	// needed are the runs that others compare with or that an execution has not recorded; read only if there are more finished runs
	// than historyLimit.
	needed map[types.NamespacedName]bool
	// home is the operator's own namespace.
	home string
	// cleanups are the Jobs that remove bridges, by node, of several the one that was made last; read only while the
	// testbed is being deleted.
	cleanups map[string]*batchv1.Job
	// clean are the nodes of which a Job that is believed has removed the bridges.
	clean map[string]bool
	// defaults are the settings of the operator's installation.
	defaults plan.Defaults
}

func (s *scope) deleting() bool { return !s.testbed.DeletionTimestamp.IsZero() }

func (s *scope) hasFinalizer() bool {
	return controllerutil.ContainsFinalizer(s.testbed, v1alpha1.Finalizer)
}

func (s *scope) run(uid string) *v1alpha1.BenchmarkRun {
	for i := range s.runs {
		if string(s.runs[i].UID) == uid {
			return &s.runs[i]
		}
	}
	return nil
}

// hasBridges reports whether generator and device meet on a bridge.
func (s *scope) hasBridges() bool {
	ports := s.testbed.Spec.Ports
	return ports.West.Attachment == v1alpha1.PortBridge || ports.East.Attachment == v1alpha1.PortBridge
}

// bridgeNodes returns all nodes that may have bridges, those of the status and those of existing
// plans, each with the namespace of the run that used it last. A plan connects the chain to
// bridges with ports of any kind, so existing networks at the ends change nothing.
func (s *scope) bridgeNodes() map[string]string {
	nodes := map[string]string{}
	for _, node := range s.testbed.Status.BridgeNodes {
		nodes[node.Name] = node.Namespace
	}
	latest := map[string]time.Time{}
	for i := range s.runs {
		run := &s.runs[i]
		if run.Status.Plan == nil {
			continue
		}
		var started time.Time
		if run.Status.StartTime != nil {
			started = run.Status.StartTime.Time
		}
		for _, node := range []string{run.Status.Plan.GeneratorNode, run.Status.Plan.DeviceNode} {
			if at, seen := latest[node]; !seen || started.After(at) {
				nodes[node], latest[node] = run.Namespace, started
			}
		}
	}
	return nodes
}

// recordedBridgeNodes returns the bridgeNodes as the status names them, in order. A node that is gone took its bridges
// along: clusters that make a node for each run would fill the status with names.
func (s *scope) recordedBridgeNodes() []v1alpha1.BridgeNode {
	var recorded []v1alpha1.BridgeNode
	for node, namespace := range s.bridgeNodes() {
		if !s.nodeExists(node) && !s.inPlans(node) {
			continue
		}
		recorded = append(recorded, v1alpha1.BridgeNode{Name: node, Namespace: namespace})
	}
	slices.SortFunc(recorded, func(a, b v1alpha1.BridgeNode) int { return strings.Compare(a.Name, b.Name) })
	return recorded
}

// cleanupNamespaces returns where a Job can remove bridges, in the order in which it is tried: the namespace of
// the run that used the node last, which accepted that run's pods, while it exists; and the operator's own.
func (s *scope) cleanupNamespaces(used string) []string {
	exists := slices.ContainsFunc(s.namespaces, func(n corev1.Namespace) bool { return n.Name == used && n.DeletionTimestamp.IsZero() })
	if !exists || used == s.home {
		return []string{s.home}
	}
	return []string{used, s.home}
}

// onlyHome reports whether the time is over in which Jobs in namespaces of runs may remove bridges.
func (s *scope) onlyHome() bool {
	return s.deleting() && !s.now.Before(s.testbed.DeletionTimestamp.Add(cleanupTimeout))
}

// inPlans reports whether a run that exists was planned on a node.
func (s *scope) inPlans(node string) bool {
	return slices.ContainsFunc(s.runs, func(r v1alpha1.BenchmarkRun) bool {
		return r.Status.Plan != nil && (r.Status.Plan.GeneratorNode == node || r.Status.Plan.DeviceNode == node)
	})
}

func (s *scope) nodeExists(name string) bool {
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool { return n.Name == name })
}

// runsByName returns the runs in the order of their names. Pointers: there may be thousands, and each is large.
func (s *scope) runsByName() []*v1alpha1.BenchmarkRun {
	runs := make([]*v1alpha1.BenchmarkRun, len(s.runs))
	for i := range s.runs {
		runs[i] = &s.runs[i]
	}
	slices.SortFunc(runs, func(a, b *v1alpha1.BenchmarkRun) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	return runs
}

// calibration returns the latest that a run has made, or the stored one if it is later.
func (s *scope) calibration() *v1alpha1.Calibration {
	latest := s.testbed.Status.Calibration
	for _, run := range s.runsByName() {
		status := &run.Status
		if status.Generator == nil || len(status.Generator.Calibration) == 0 || status.StartTime == nil {
			continue
		}
		if latest == nil || !status.StartTime.Time.Before(latest.Time.Time) {
			latest = &v1alpha1.Calibration{Time: *status.StartTime, RunRef: &v1alpha1.NamespacedRunReference{Namespace: run.Namespace, Name: run.Name}, Frames: status.Generator.Calibration}
		}
	}
	// A copy: the answer to the patch of the status is decoded into it.
	return latest.DeepCopy()
}

// fingerprints adds to each node what the latest run on it has read: of the existing runs,
// or what the status held before.
func (s *scope) fingerprints(nodes []v1alpha1.TestbedNode) []v1alpha1.TestbedNode {
	runs := s.runsByName()
	for i := range nodes {
		node := &nodes[i]
		for _, before := range s.testbed.Status.Nodes {
			if before.Name == node.Name {
				node.Fingerprint = before.Fingerprint
			}
		}
		var latest time.Time
		for _, run := range runs {
			status := &run.Status
			if status.Plan == nil || status.StartTime == nil || status.StartTime.Time.Before(latest) {
				continue
			}
			if found := fingerprintOn(node.Name, status); found != nil {
				node.Fingerprint, latest = found.DeepCopy(), status.StartTime.Time
			}
		}
	}
	return nodes
}

// fingerprintOn returns a node's fingerprint as a run read it, or nil.
func fingerprintOn(node string, status *v1alpha1.BenchmarkRunStatus) *v1alpha1.Fingerprint {
	if status.Plan.DeviceNode == node && status.Device != nil && status.Device.Fingerprint != nil {
		return status.Device.Fingerprint
	}
	if status.Plan.GeneratorNode == node && status.Generator != nil {
		return status.Generator.Fingerprint
	}
	return nil
}

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

// annotationBridgeNodes names the nodes on which runs of the testbed may have left
// bridges, each as "namespace/node" with the namespace of the run that was there
// last, separated by commas.
const annotationBridgeNodes = "vnfbench.io/bridge-nodes"

// scope is everything that was read for one reconciliation of one testbed.
type scope struct {
	now     time.Time
	testbed *v1alpha1.Testbed
	nodes   []corev1.Node
	// namespaces are the cluster's, of which the testbed allows some.
	namespaces []corev1.Namespace
	// runs are those that name the testbed, as the cache has them: no one may change them.
	runs []v1alpha1.BenchmarkRun
	// baselines are the runs that others compare with; read only if there are more finished runs than historyLimit.
	baselines map[types.NamespacedName]bool
	// cleanups are the Jobs that remove bridges, by node; read only while the testbed is being deleted.
	cleanups map[string]*batchv1.Job
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

// recordedNodes returns the nodes that the annotation names, each with the namespace of the
// run that was on it last.
func (s *scope) recordedNodes() map[string]string {
	recorded := map[string]string{}
	for _, place := range s.recordedPlaces() {
		namespace, node, _ := strings.Cut(place, "/")
		recorded[node] = namespace
	}
	return recorded
}

// recordedPlaces returns the annotation's entries, in order.
func (s *scope) recordedPlaces() []string {
	return strings.FieldsFunc(s.testbed.Annotations[annotationBridgeNodes], func(r rune) bool { return r == ',' })
}

// bridgeNodes returns all nodes that may have bridges, those recorded and those of existing
// plans, each with a namespace in which a Job can remove them. A plan connects the chain to
// bridges with ports of any kind, so existing networks at the ends change nothing.
func (s *scope) bridgeNodes() map[string]string {
	nodes := s.recordedNodes()
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

// bridgePlaces returns the bridgeNodes as the annotation names them, in order.
func (s *scope) bridgePlaces() []string {
	var places []string
	for node, namespace := range s.bridgeNodes() {
		places = append(places, namespace+"/"+node)
	}
	slices.Sort(places)
	return places
}

func (s *scope) nodeExists(name string) bool {
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool { return n.Name == name })
}

// calibration returns the latest that a run has made, or the stored one if it is later.
func (s *scope) calibration() *v1alpha1.Calibration {
	latest := s.testbed.Status.Calibration
	runs := slices.Clone(s.runs)
	slices.SortFunc(runs, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	for i := range runs {
		status := &runs[i].Status
		if status.Generator == nil || len(status.Generator.Calibration) == 0 || status.StartTime == nil {
			continue
		}
		if latest == nil || !status.StartTime.Time.Before(latest.Time.Time) {
			latest = &v1alpha1.Calibration{Time: *status.StartTime, RunRef: &v1alpha1.NamespacedRunReference{Namespace: runs[i].Namespace, Name: runs[i].Name}, Frames: status.Generator.Calibration}
		}
	}
	// A copy: the answer to the patch of the status is decoded into it.
	return latest.DeepCopy()
}

// fingerprints adds to each node what the latest run on it has read: of the existing runs,
// or what the status held before.
func (s *scope) fingerprints(nodes []v1alpha1.TestbedNode) []v1alpha1.TestbedNode {
	runs := slices.Clone(s.runs)
	slices.SortFunc(runs, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	for i := range nodes {
		node := &nodes[i]
		for _, before := range s.testbed.Status.Nodes {
			if before.Name == node.Name {
				node.Fingerprint = before.Fingerprint
			}
		}
		var latest time.Time
		for j := range runs {
			status := &runs[j].Status
			if status.Plan == nil || status.StartTime == nil || status.StartTime.Time.Before(latest) {
				continue
			}
			if found := fingerprintOn(node.Name, status); found != nil {
				node.Fingerprint, latest = found.DeepCopy(), status.StartTime.Time
			}
		}
		if node.Fingerprint != nil {
			// Ports belong to the run and not to the node.
			node.Fingerprint.Interfaces = nil
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

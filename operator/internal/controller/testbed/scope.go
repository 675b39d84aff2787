package testbed

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// annotationBridgeNodes names the nodes, separated by commas, on which runs of
// the testbed may have left bridges.
const annotationBridgeNodes = "vnfbench.io/bridge-nodes"

// scope is everything that was read for one reconciliation of one testbed.
type scope struct {
	now     time.Time
	testbed *v1alpha1.Testbed
	nodes   []corev1.Node
	// runs name the testbed.
	runs []v1alpha1.BenchmarkRun
	// pods are those of all its runs, terminating ones included.
	pods []corev1.Pod
	// cleanups are the Jobs that remove bridges, by node; read only while the testbed is being deleted.
	cleanups map[string]*batchv1.Job
	// defaults are what the operator was installed with.
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

func (s *scope) hasPods(uid string) bool {
	return slices.ContainsFunc(s.pods, func(p corev1.Pod) bool { return p.Labels[v1alpha1.LabelRun] == uid })
}

// calibrates reports whether the generator's ports can be joined without a device.
func (s *scope) calibrates() bool {
	ports := s.testbed.Spec.Ports
	return ports.West.Attachment == v1alpha1.PortBridge && ports.East.Attachment == v1alpha1.PortBridge
}

// hasBridges reports whether generator and device meet on a bridge.
func (s *scope) hasBridges() bool {
	ports := s.testbed.Spec.Ports
	return ports.West.Attachment == v1alpha1.PortBridge || ports.East.Attachment == v1alpha1.PortBridge
}

// recordedNodes returns those that the annotation names, in order.
func (s *scope) recordedNodes() []string {
	return strings.FieldsFunc(s.testbed.Annotations[annotationBridgeNodes], func(r rune) bool { return r == ',' })
}

// bridgeNodes returns all nodes on which bridges may be: those recorded and those
// of the plans that there are. A plan joins bridges to the chain of functions
// with ports of any kind, so existing networks at the ends change nothing.
func (s *scope) bridgeNodes() []string {
	nodes := s.recordedNodes()
	for i := range s.runs {
		if p := s.runs[i].Status.Plan; p != nil {
			nodes = append(nodes, p.GeneratorNode, p.DeviceNode)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func (s *scope) nodeExists(name string) bool {
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool { return n.Name == name })
}

// calibration returns the latest that a run has made, or the stored one where it is later.
func (s *scope) calibration() *v1alpha1.Calibration {
	latest := s.testbed.Status.Calibration
	runs := slices.Clone(s.runs)
	slices.SortFunc(runs, func(a, b v1alpha1.BenchmarkRun) int { return cmp.Compare(a.Name, b.Name) })
	for i := range runs {
		status := &runs[i].Status
		if status.Generator == nil || len(status.Generator.Calibration) == 0 || status.StartTime == nil {
			continue
		}
		if latest == nil || !status.StartTime.Time.Before(latest.Time.Time) {
			latest = &v1alpha1.Calibration{Time: *status.StartTime, Run: runs[i].Name, Frames: status.Generator.Calibration}
		}
	}
	return latest
}

// fingerprints adds to each node what the latest run on it has read: of the
// runs that there are, or what the status held before.
func (s *scope) fingerprints(nodes []v1alpha1.TestbedNode) []v1alpha1.TestbedNode {
	runs := slices.Clone(s.runs)
	slices.SortFunc(runs, func(a, b v1alpha1.BenchmarkRun) int { return cmp.Compare(a.Name, b.Name) })
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
			// They belong to the run and not to the node.
			node.Fingerprint.Interfaces = nil
		}
	}
	return nodes
}

// fingerprintOn returns a node's as a run read it, or nil.
func fingerprintOn(node string, status *v1alpha1.BenchmarkRunStatus) *v1alpha1.Fingerprint {
	if status.Plan.DeviceNode == node && status.Device != nil && status.Device.Fingerprint != nil {
		return status.Device.Fingerprint
	}
	if status.Plan.GeneratorNode == node && status.Generator != nil {
		return status.Generator.Fingerprint
	}
	return nil
}

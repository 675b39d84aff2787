package testbed

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"vnfbench.io/operator/api/v1alpha1"
)

// maximumNodes is how many fingerprints the status holds.
const maximumNodes = 16

// matchingNodes are the nodes that can take a part of a run, by name, or a
// sentence that says why there is none.
func (s *scope) matchingNodes() (nodes []corev1.Node, why string) {
	spec := s.testbed.Spec
	generators := matching(s.nodes, spec.Generator.NodeSelector, spec.Generator.Tolerations)
	devices := matching(s.nodes, spec.DeviceUnderTest.NodeSelector, spec.DeviceUnderTest.Tolerations)
	together := slices.DeleteFunc(slices.Clone(generators), func(n corev1.Node) bool { return !slices.ContainsFunc(devices, named(n.Name)) })
	switch {
	case len(generators) == 0:
		return nil, "no ready, schedulable node matches spec.generator.nodeSelector and its tolerations: label or untaint one, or change the selector"
	case len(devices) == 0:
		return nil, "no ready, schedulable node matches spec.deviceUnderTest.nodeSelector and its tolerations: label or untaint one, or change the selector"
	case s.hasBridges() && len(together) == 0:
		return nil, "a Bridge port needs generator and device on one node, and no node matches both selectors: let them overlap, or use networks that reach from node to node"
	case s.hasBridges():
		return together, ""
	}
	all := append(generators, slices.DeleteFunc(devices, func(n corev1.Node) bool { return slices.ContainsFunc(generators, named(n.Name)) })...)
	slices.SortFunc(all, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return all, ""
}

func named(name string) func(corev1.Node) bool {
	return func(n corev1.Node) bool { return n.Name == name }
}

func matching(nodes []corev1.Node, selector map[string]string, tolerations []corev1.Toleration) []corev1.Node {
	var found []corev1.Node
	for i := range nodes {
		n := &nodes[i]
		if labels.SelectorFromSet(selector).Matches(labels.Set(n.Labels)) && !n.Spec.Unschedulable && isReady(n) && tolerated(n, tolerations) {
			found = append(found, *n)
		}
	}
	slices.SortFunc(found, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func tolerated(node *corev1.Node, tolerations []corev1.Toleration) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		covers := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), taint, true) }
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(tolerations, covers) {
			return false
		}
	}
	return true
}

// fingerprint is what figures of a node depend on.
func fingerprint(nodes []corev1.Node) []v1alpha1.TestbedNode {
	var prints []v1alpha1.TestbedNode
	for _, n := range nodes[:min(len(nodes), maximumNodes)] {
		info := n.Status.NodeInfo
		prints = append(prints, v1alpha1.TestbedNode{
			Name: n.Name, KernelVersion: info.KernelVersion, OSImage: info.OSImage,
			ContainerRuntimeVersion: info.ContainerRuntimeVersion,
			AllocatableMilliCPU:     n.Status.Allocatable.Cpu().MilliValue(),
		})
	}
	return prints
}

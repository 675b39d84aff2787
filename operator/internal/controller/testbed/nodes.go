package testbed

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/placement"
	"vnfbench.io/operator/internal/plan"
)

// maxNodes is the number of fingerprints that the status holds.
const maxNodes = 16

// matchingNodes returns the nodes that can run a part of a run now, by name. If there is
// none, reason says whether time can correct it: with NodesNotReady runs wait; with
// NoMatchingNode a user has to change something, and runs fail. With any other reason there
// are nodes, and runs fail: those that use the missing resource, or all if the generator
// cannot be made.
func (s *scope) matchingNodes() (nodes []corev1.Node, reason, why string) {
	if _, err := queue.Allowed(s.testbed, s.namespaces); err != nil {
		return nil, v1alpha1.ReasonInvalidNamespaceSelector, fmt.Sprintf("no namespace's runs may use the testbed: %v: correct it", err)
	}
	if nodes, why = s.nodesBy(available); why == "" {
		if mistake := plan.CheckGenerator(s.testbed, s.defaults); mistake != nil {
			return nodes, mistake.Reason, fmt.Sprintf("%v; %s", mistake.Err, mistake.Remedy)
		}
		if missing := plan.MissingResource(s.testbed, s.nodes); missing != nil {
			return nodes, missing.Reason, fmt.Sprintf("%v; %s", missing.Err, missing.Remedy)
		}
		return nodes, "", ""
	}
	if _, why = s.nodesBy(suitable); why != "" {
		return nil, v1alpha1.ReasonNoMatchingNode, why
	}
	return nil, v1alpha1.ReasonNodesNotReady, "every node that matches is cordoned or not ready at the moment: uncordon one, or wait for it"
}

// nodesBy returns the nodes for generator and device by one criterion, or a sentence that
// says which selector finds none.
func (s *scope) nodesBy(fits func(*corev1.Node, map[string]string, []corev1.Toleration) bool) (nodes []corev1.Node, why string) {
	var generators, devices, both int
	for i := range s.nodes {
		n, spec := &s.nodes[i], &s.testbed.Spec
		generator := fits(n, spec.Generator.NodeSelector, spec.Generator.Tolerations)
		device := fits(n, spec.SystemUnderTest.NodeSelector, spec.SystemUnderTest.Tolerations)
		generators, devices = generators+count(generator), devices+count(device)
		both += count(generator && device)
		if generator && device || (generator || device) && !s.hasBridges() {
			nodes = append(nodes, *n)
		}
	}
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case generators == 0:
		return nil, fmt.Sprintf("none of %d nodes matches spec.generator.nodeSelector with its tolerations: label or untaint one, or change the selector", len(s.nodes))
	case devices == 0:
		return nil, fmt.Sprintf("none of %d nodes matches spec.systemUnderTest.nodeSelector with its tolerations: label or untaint one, or change the selector", len(s.nodes))
	case both == 0 && s.hasBridges():
		return nil, fmt.Sprintf("a Bridge port needs generator and device on one node, and none of %d nodes matches both selectors: let them overlap, or use networks that reach from node to node", len(s.nodes))
	}
	return nodes, ""
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// suitable reports whether a node could run a pod, now or later.
func suitable(node *corev1.Node, selector map[string]string, tolerations []corev1.Toleration) bool {
	obstacle := placement.Find(node, selector, tolerations)
	return obstacle == nil || obstacle.Passing
}

// available reports whether a node can run a pod now.
func available(node *corev1.Node, selector map[string]string, tolerations []corev1.Toleration) bool {
	return placement.Find(node, selector, tolerations) == nil
}

// describe returns what the cluster knows about the nodes.
func describe(nodes []corev1.Node) []v1alpha1.TestbedNode {
	var prints []v1alpha1.TestbedNode
	for _, n := range nodes[:min(len(nodes), maxNodes)] {
		info := n.Status.NodeInfo
		prints = append(prints, v1alpha1.TestbedNode{
			Name: n.Name, KernelVersion: info.KernelVersion, OSImage: info.OSImage,
			ContainerRuntimeVersion: info.ContainerRuntimeVersion,
			AllocatableMilliCPU:     n.Status.Allocatable.Cpu().MilliValue(),
		})
	}
	return prints
}

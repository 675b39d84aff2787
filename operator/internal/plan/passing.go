package plan

import (
	"errors"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/placement"
)

// markPassing marks a failure that ends by itself when the nodes have recovered.
func markPassing(err error, in Input, p *Plan, needs []need) error {
	in.Nodes = recovered(in.Nodes)
	found, whyNot := eligible(in, p)
	if whyNot != nil {
		return err
	}
	_, fits := found.first(needs...)
	var failure *measure.Failure
	if fits && errors.As(err, &failure) {
		failure.Passing = true
	}
	return err
}

// Matches reports whether a node matches the testbed's selectors at the moment.
func Matches(testbed *v1alpha1.Testbed, nodes []corev1.Node) bool {
	_, err := matchingNodes(Input{Testbed: testbed, Nodes: nodes})
	return err == nil
}

// recovered returns the nodes as they are when all has passed that passes by itself: they take pods again,
// their device plugins are back, and KubeVirt's agent is.
func recovered(nodes []corev1.Node) []corev1.Node {
	var out []corev1.Node
	for i := range nodes {
		node := placement.Recovered(&nodes[i])
		for name := range node.Status.Capacity {
			recoverResource(node, name)
		}
		for name := range node.Status.Allocatable {
			recoverResource(node, name)
		}
		if _, known := node.Labels[kubevirtv1.NodeSchedulable]; known {
			node.Labels[kubevirtv1.NodeSchedulable] = "true"
		}
		out = append(out, *node)
	}
	return out
}

// recoverResource makes all of a device plugin's devices allocatable. The kubelet keeps the name of a resource
// whose plugin is gone, with the number 0: how many come back is not known.
func recoverResource(node *corev1.Node, name corev1.ResourceName) {
	if !strings.Contains(string(name), "/") {
		return
	}
	capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
	switch {
	case capacity.IsZero() && allocatable.IsZero():
		capacity = *resource.NewQuantity(math.MaxInt32, resource.DecimalSI)
	case capacity.Cmp(allocatable) <= 0:
		return
	}
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = corev1.ResourceList{}
	}
	node.Status.Allocatable[name] = capacity
}

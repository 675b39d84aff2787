package plan

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// choose returns one of the pairs that have all that is needed, of which there is at least one: where no other run
// measures, that of the plan which the status names already, or else the first, by name, whose nodes have enough left next to
// their other pods. If there is none, it looks so among all nodes. Else it is the first, where pods wait until the scheduler finds room.
func (c candidates) choose(in Input, p *Plan, needs []need) pair {
	for _, among := range []candidates{c.idle(in.Busy), c} {
		if before := in.Run.Status.Plan; before != nil {
			if chosen, ok := among.withNames(before.GeneratorNode, before.DeviceNode).first(needs...); ok {
				return chosen
			}
		}
		left, err := among.reducedBy(in.Requested).forVMs(p.vms())
		if err != nil {
			continue
		}
		if chosen, ok := left.first(append(slices.Clip(needs), podsNeed(p))...); ok {
			// Those of reducedBy are copies.
			chosen, _ = c.withNames(chosen.generator.Name, chosen.device.Name).first(needs...)
			return chosen
		}
	}
	chosen, _ := c.first(needs...)
	return chosen
}

// idle keeps the nodes that are not busy.
func (c candidates) idle(busy map[string]bool) candidates {
	isBusy := func(n *corev1.Node) bool { return busy[n.Name] }
	return c.except(isBusy, isBusy)
}

// withNames keeps the nodes of two names.
func (c candidates) withNames(generator, device string) candidates {
	return c.except(
		func(n *corev1.Node) bool { return n.Name != generator },
		func(n *corev1.Node) bool { return n.Name != device },
	)
}

func (c candidates) except(generators, devices func(*corev1.Node) bool) candidates {
	return candidates{
		generators: slices.DeleteFunc(slices.Clone(c.generators), generators),
		devices:    slices.DeleteFunc(slices.Clone(c.devices), devices),
		together:   c.together,
	}
}

// reducedBy returns copies of the nodes that have only what their pods leave.
func (c candidates) reducedBy(requested map[string]corev1.ResourceList) candidates {
	left := map[string]*corev1.Node{}
	reduce := func(nodes []*corev1.Node) []*corev1.Node {
		var out []*corev1.Node
		for _, node := range nodes {
			if left[node.Name] == nil {
				left[node.Name] = withoutRequested(node, requested[node.Name])
			}
			out = append(out, left[node.Name])
		}
		return out
	}
	return candidates{generators: reduce(c.generators), devices: reduce(c.devices), together: c.together}
}

func withoutRequested(node *corev1.Node, requested corev1.ResourceList) *corev1.Node {
	left := node.DeepCopy()
	for name, amount := range requested {
		// What the kubelet does not report is not known, and so it has no bound.
		if quantity, known := left.Status.Allocatable[name]; known {
			quantity.Sub(amount)
			left.Status.Allocatable[name] = quantity
		}
	}
	return left
}

// podsNeed is the number of the run's pods: the kubelet bounds that of a node.
func podsNeed(p *Plan) need {
	n := need{
		resource: string(corev1.ResourcePods), generator: int64(1 + len(p.Endpoints)), functions: int64(len(p.Functions) + len(p.Neighbors)),
		allocatable: func(node *corev1.Node) int64 {
			quantity, known := node.Status.Allocatable[corev1.ResourcePods]
			if !known {
				return math.MaxInt64
			}
			return quantity.Value()
		},
	}
	if p.Observer != nil {
		n.functions++
	}
	return n
}

// Choice returns the names of the nodes among which a plan can choose, in order; none where there is no choice.
// Only of those must a plan know what other pods request.
func Choice(testbed *v1alpha1.Testbed, nodes []corev1.Node) []string {
	found, err := matchingNodes(Input{Testbed: testbed, Nodes: nodes})
	if err != nil || len(found.generators) == 1 && len(found.devices) == 1 {
		return nil
	}
	var names []string
	for _, node := range slices.Concat(found.generators, found.devices) {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

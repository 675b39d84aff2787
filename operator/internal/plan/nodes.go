package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/placement"
)

// pair is two nodes on which a run can be.
type pair struct{ generator, device *corev1.Node }

// candidates are the nodes that the testbed's selectors allow, by name.
type candidates struct {
	generators, devices []*corev1.Node
	// together says that generator and device must be one node; both lists are equal then.
	together bool
}

// need is what the run's pods request of one resource.
type need struct {
	// resource is the name in an error, unit what follows its numbers.
	resource, unit       string
	generator, functions int64
	allocatable          func(*corev1.Node) int64
	// reason and remedy of the error where no node has enough.
	reason, remedy string
}

func milliCPU(node *corev1.Node) int64    { return node.Status.Allocatable.Cpu().MilliValue() }
func memoryBytes(node *corev1.Node) int64 { return node.Status.Allocatable.Memory().Value() }

// storageBytes is what the node has for what pods write; no bound where the kubelet does not report it.
func storageBytes(node *corev1.Node) int64 {
	quantity, known := node.Status.Allocatable[corev1.ResourceEphemeralStorage]
	if !known {
		return math.MaxInt64
	}
	return quantity.Value()
}

// chooseNodes takes a pair of nodes that matches the testbed's selectors and is large enough for the
// run's pods: choose says which of several.
func chooseNodes(in Input, p *Plan) (generator, device *corev1.Node, err error) {
	needs, others := needsOf(in, p)
	found, err := eligible(in, p)
	if err == nil {
		if lacking, among := found.lacking(needs); lacking != nil {
			err = fail(lacking.reason, lacking.remedy,
				"the traffic pod%s requests %d%s of %s and %s %d%s in total, but %s",
				endsToo(p), lacking.generator, lacking.unit, lacking.resource, others, lacking.functions, lacking.unit, among.largest(lacking.allocatable, lacking.unit))
		}
	}
	if err != nil {
		return nil, nil, markPassing(err, in, p, needs)
	}
	chosen := found.choose(in, p, needs)
	return chosen.generator, chosen.device, nil
}

// eligible returns the nodes that the testbed's selectors allow and that take the run's virtual machines.
func eligible(in Input, p *Plan) (candidates, error) {
	found, err := matchingNodes(in)
	if err != nil {
		return found, err
	}
	return found.forVMs(p.vms())
}

// needsOf returns what the run's pods request, and how an error names those other than the traffic pod.
func needsOf(in Input, p *Plan) (needs []need, others string) {
	cpu := podNeed("cpu", "m", v1alpha1.ReasonInsufficientCPU, p.Generator.Resources.RequestMilliCPU, milliCPU, p.Functions)
	memory := podNeed("memory", " bytes", v1alpha1.ReasonInsufficientMemory, p.Generator.Resources.MemoryBytes, memoryBytes, p.Functions)
	for _, end := range p.Endpoints {
		cpu.generator += end.Resources.RequestMilliCPU
		memory.generator += end.Resources.MemoryBytes
	}
	for _, function := range p.Functions {
		cpu.functions += function.Resources.RequestMilliCPU
		memory.functions += function.Resources.MemoryBytes
	}
	others = "the functions"
	if p.Observer != nil {
		others = "the functions with their observer"
		cpu.functions += p.Observer.Resources.RequestMilliCPU
		memory.functions += p.Observer.Resources.MemoryBytes
	}
	storage := need{
		resource: "ephemeral-storage", unit: " bytes", allocatable: storageBytes, reason: v1alpha1.ReasonInsufficientStorage,
		remedy: "lower disk in the run's spec.experiment.noisyNeighbors, of which 1.5 times is requested, or let the testbed's node selectors match a node with more storage",
	}
	for _, neighbor := range p.Neighbors {
		cpu.functions += neighbor.Resources.RequestMilliCPU
		memory.functions += neighbor.Resources.MemoryBytes
		storage.functions += neighbor.ScratchBytes
	}
	if len(p.Neighbors) > 0 {
		others += " and the neighbors"
		cpu.remedy, memory.remedy = orNeighbors(cpu.remedy, "cpu"), orNeighbors(memory.remedy, "memory")
	}
	needs = append(deviceNeeds(p), wholeNICNeeds(in, p)...)
	needs = append(needs, hugepagesNeeds(in.Testbed, p.Generator.Hugepages, p.Functions)...)
	return append(needs, cpu, memory, storage), others
}

// endsToo names the pods that run with the traffic pod, where there are some.
func endsToo(p *Plan) string {
	if len(p.Endpoints) == 0 {
		return ""
	}
	return " with the ends of the TCP connections"
}

func podNeed(field, unit, reason string, generator int64, allocatable func(*corev1.Node) int64, functions []Function) need {
	return need{
		resource: field, unit: unit, generator: generator, allocatable: allocatable, reason: reason,
		remedy: fmt.Sprintf("lower the testbed's spec.generator.%s or the functions' %s%s in the run's spec.experiment.chain, or let the testbed's node selectors match a larger node", field, field, ofVMs(functions, field)),
	}
}

// lacking adds one need at a time. It returns the first need that leaves no pair of nodes, and
// the nodes that meet the needs before it; nil where a pair has all.
func (c candidates) lacking(needs []need) (*need, candidates) {
	for i := range needs {
		if _, ok := c.first(needs[:i+1]...); ok {
			continue
		}
		among := c
		for _, met := range needs[:i] {
			among = among.with(met)
		}
		return &needs[i], among
	}
	return nil, c
}

// first returns the first pair that has all that is needed.
func (c candidates) first(needs ...need) (pair, bool) {
	for _, generator := range c.generators {
		for _, device := range c.devices {
			if c.together && generator != device {
				continue
			}
			p := pair{generator, device}
			if !slices.ContainsFunc(needs, func(n need) bool { return !n.fits(p) }) {
				return p, true
			}
		}
	}
	return pair{}, false
}

// with keeps the nodes that have what is needed of one resource.
func (c candidates) with(n need) candidates {
	kept := candidates{together: c.together}
	for _, node := range c.generators {
		if c.together && n.fits(pair{node, node}) || !c.together && n.generator <= n.allocatable(node) {
			kept.generators = append(kept.generators, node)
		}
	}
	for _, node := range c.devices {
		if c.together && n.fits(pair{node, node}) || !c.together && n.functions <= n.allocatable(node) {
			kept.devices = append(kept.devices, node)
		}
	}
	return kept
}

func (n need) fits(p pair) bool {
	if p.generator == p.device {
		return n.generator+n.functions <= n.allocatable(p.device)
	}
	return n.generator <= n.allocatable(p.generator) && n.functions <= n.allocatable(p.device)
}

// largest returns what the largest nodes have, for an error.
func (c candidates) largest(allocatable func(*corev1.Node) int64, unit string) string {
	compare := func(a, b *corev1.Node) int { return cmp.Compare(allocatable(a), allocatable(b)) }
	device := slices.MaxFunc(c.devices, compare)
	if c.together {
		return fmt.Sprintf("the largest node for both, %q, has %d%s allocatable", device.Name, allocatable(device), unit)
	}
	generator := slices.MaxFunc(c.generators, compare)
	return fmt.Sprintf("the largest node for the one, %q, has %d%s allocatable, and for the others, %q, %d%s",
		generator.Name, allocatable(generator), unit, device.Name, allocatable(device), unit)
}

// matchingNodes returns all nodes that the selectors allow. A bridge joins only pods of one node,
// so with a bridge generator and device share a node.
func matchingNodes(in Input) (candidates, error) {
	spec := in.Testbed.Spec
	generators, whyNot := matching(in.Nodes, spec.Generator.NodeSelector, spec.Generator.Tolerations)
	if len(generators) == 0 {
		return candidates{}, noNode("generator", len(in.Nodes), whyNot)
	}
	devices, whyNot := matching(in.Nodes, spec.SystemUnderTest.NodeSelector, spec.SystemUnderTest.Tolerations)
	if len(devices) == 0 {
		return candidates{}, noNode("systemUnderTest", len(in.Nodes), whyNot)
	}
	if !isBridge(spec.Ports.West) && !isBridge(spec.Ports.East) {
		return candidates{generators: generators, devices: devices}, nil
	}
	both := slices.DeleteFunc(slices.Clone(generators), func(n *corev1.Node) bool { return !slices.Contains(devices, n) })
	if len(both) == 0 {
		return candidates{}, fail(v1alpha1.ReasonNoMatchingNode,
			"let the testbed's spec.generator.nodeSelector and spec.systemUnderTest.nodeSelector match a common node, or give spec.ports networks that reach from node to node",
			"a port with attachment Bridge needs generator and device on one node, but none of %d nodes matches both: %d can take the generator, %d the device",
			len(in.Nodes), len(generators), len(devices))
	}
	return candidates{generators: both, devices: both, together: true}, nil
}

func noNode(part string, nodes int, whyNot []string) error {
	detail := "the cluster has no node"
	if nodes > 0 {
		detail = strings.Join(whyNot, ", ")
	}
	return fail(v1alpha1.ReasonNoMatchingNode,
		fmt.Sprintf("change the testbed's spec.%s.nodeSelector or spec.%s.tolerations, or the nodes", part, part),
		"none of %d nodes can take what spec.%s.nodeSelector places: %s", nodes, part, detail)
}

// matching returns the nodes that can take a pod, by name, with those last that pods avoid where they can, and how many cannot for
// each cause.
func matching(nodes []corev1.Node, selector map[string]string, tolerations []corev1.Toleration) (found []*corev1.Node, whyNot []string) {
	numbers := map[string]int{}
	for i := range nodes {
		if obstacle := placement.Find(&nodes[i], selector, tolerations); obstacle != nil {
			numbers[obstacle.Cause]++
			continue
		}
		found = append(found, &nodes[i])
	}
	for _, cause := range slices.Sorted(maps.Keys(numbers)) {
		whyNot = append(whyNot, fmt.Sprintf("%d %s", numbers[cause], cause))
	}
	order := func(n *corev1.Node) int {
		if placement.Avoided(n, tolerations) {
			return 1
		}
		return 0
	}
	slices.SortFunc(found, func(a, b *corev1.Node) int { return cmp.Or(order(a)-order(b), strings.Compare(a.Name, b.Name)) })
	return found, whyNot
}

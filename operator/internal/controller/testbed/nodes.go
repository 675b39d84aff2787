package testbed

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/queue"
	"vnfbench.io/operator/internal/placement"
	"vnfbench.io/operator/internal/plan"
)

// maxNodes is the number of fingerprints that the status holds.
const maxNodes = 16

// obstacle is why the testbed is not ready.
type obstacle struct {
	reason, why string
	// bound is how long runs wait for it to pass. Those that do not wait are admitted, fail, and report it.
	bound bound
}

type bound int

const (
	notAtAll bound = iota
	// forStartup is for startupSeconds of the next run, since the obstacle was found or the last run gave the testbed back.
	forStartup
	// always is without a bound: it is certain that the obstacle can pass.
	always
)

// obstacle returns the nodes that can run a part of a run now, by name, and why the testbed is not ready; nil if it
// is. Resources can be missing where there are nodes.
func (s *scope) obstacle() (nodes []corev1.Node, found *obstacle) {
	if _, err := queue.Allowed(s.testbed, s.namespaces); err != nil {
		return nil, &obstacle{reason: v1alpha1.ReasonInvalidNamespaceSelector, why: fmt.Sprintf("no namespace's runs may use the testbed: %v: correct it", err)}
	}
	nodes, why := s.nodesBy(available)
	if why == "" {
		if mistake := cmp.Or(plan.CheckGenerator(s.testbed, s.defaults), plan.CheckMACAddresses(s.testbed)); mistake != nil {
			return nodes, &obstacle{reason: mistake.Reason, why: fmt.Sprintf("%v; %s", mistake.Err, mistake.Remedy)}
		}
		missing := plan.MissingResource(s.testbed, s.nodes)
		if missing == nil {
			return nodes, nil
		}
		found = &obstacle{reason: missing.Reason, why: fmt.Sprintf("%v; %s", missing.Err, missing.Remedy)}
		if missing.Passing {
			found.bound = forStartup
		}
		if plan.MissingResource(s.testbed, maintained(s.nodes)) == nil {
			found = &obstacle{v1alpha1.ReasonNodesNotReady, "the nodes that have what runs take are cordoned or not ready at the moment: uncordon one, or wait for it. At the moment " + found.why, always}
		}
		return nodes, found
	}
	switch _, why = s.nodesBy(suitable); {
	case why == "":
		return nil, &obstacle{v1alpha1.ReasonNodesNotReady, "every node that matches is cordoned or not ready at the moment: uncordon one, or wait for it", always}
	case s.matched():
		return nil, &obstacle{v1alpha1.ReasonNodesNotReady, "a node that matched no longer does: " + why, forStartup}
	}
	return nil, &obstacle{reason: v1alpha1.ReasonNoMatchingNode, why: why}
}

// maintained returns the nodes as they are when those that are cordoned or not ready take pods again.
func maintained(nodes []corev1.Node) []corev1.Node {
	var out []corev1.Node
	for i := range nodes {
		out = append(out, *placement.Recovered(&nodes[i]))
	}
	return out
}

// matched reports whether the condition Ready has found nodes for the spec as it is. Who changes another field while
// nodes are away does not end the wait for them.
func (s *scope) matched() bool {
	before := queue.Ready(s.testbed)
	if before == nil {
		return false
	}
	switch before.Reason {
	case v1alpha1.ReasonNoMatchingNode, v1alpha1.ReasonInvalidNamespaceSelector, v1alpha1.ReasonDeleting:
		return false
	case v1alpha1.ReasonNodesNotReady, v1alpha1.ReasonResourceMissing:
		return true
	}
	return before.ObservedGeneration == s.testbed.Generation
}

// timeLeft returns how long a run waits for an obstacle, which is found again after that; 0 if it does not wait. freed says
// that another run gives the testbed back now: that may have failed because of the obstacle, and the time begins again.
func (s *scope) timeLeft(o *obstacle, run *v1alpha1.BenchmarkRun, freed bool) time.Duration {
	switch {
	case o == nil || o.bound == notAtAll:
		return 0
	case o.bound == always:
		return math.MaxInt64
	}
	since := s.now
	if before := queue.Ready(s.testbed); before != nil && before.Status == metav1.ConditionFalse && before.Reason == o.reason && !freed {
		since = before.LastTransitionTime.Time
	}
	return max(0, since.Add(time.Duration(run.Spec.Experiment.StartupSeconds)*time.Second).Sub(s.now))
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

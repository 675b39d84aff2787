package testbed

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	// waits says how long runs wait for it to pass. Those that do not wait are admitted, fail, and report it.
	waits waiting
}

type waiting int

const (
	notAtAll waiting = iota
	// forStartup is for startupSeconds of the next run, since the obstacle was found.
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
		if mistake := plan.CheckGenerator(s.testbed, s.defaults); mistake != nil {
			return nodes, &obstacle{reason: mistake.Reason, why: fmt.Sprintf("%v; %s", mistake.Err, mistake.Remedy)}
		}
		missing := plan.MissingResource(s.testbed, s.nodes)
		if missing == nil {
			return nodes, nil
		}
		found = &obstacle{reason: missing.Reason, why: fmt.Sprintf("%v; %s", missing.Err, missing.Remedy)}
		if missing.Passing {
			found.waits = forStartup
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

// matched reports whether the condition Ready has found nodes for the spec as it is.
func (s *scope) matched() bool {
	before := s.readyBefore()
	if before == nil || before.ObservedGeneration != s.testbed.Generation {
		return false
	}
	switch before.Reason {
	case v1alpha1.ReasonNoMatchingNode, v1alpha1.ReasonInvalidNamespaceSelector, v1alpha1.ReasonDeleting:
		return false
	}
	return true
}

// readyBefore returns the condition Ready as it is stored, or nil.
func (s *scope) readyBefore() *metav1.Condition {
	return meta.FindStatusCondition(s.testbed.Status.Conditions, v1alpha1.ConditionReady)
}

// wait returns how long a run waits for an obstacle, which is found again after that; 0 if it does not wait.
func (s *scope) wait(o *obstacle, run *v1alpha1.BenchmarkRun) time.Duration {
	switch {
	case o == nil || o.waits == notAtAll:
		return 0
	case o.waits == always:
		return math.MaxInt64
	}
	since := s.now
	if before := s.readyBefore(); before != nil && before.Status == metav1.ConditionFalse && before.Reason == o.reason {
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

// Package placement reports whether a node can take a pod, and if not, why, and
// whether waiting alone can change that. A node, a selector and tolerations go
// in; an Obstacle or nil comes out.
package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
)

// Obstacle keeps a pod off a node.
type Obstacle struct {
	// Cause follows a number of nodes: "are cordoned".
	Cause string
	// Passing reports whether it may pass without a change of the testbed.
	Passing bool
}

// systemTaints is the prefix of taints that Kubernetes adds to nodes and removes again.
const systemTaints = "node.kubernetes.io/"

func isSystem(taint *corev1.Taint) bool { return strings.HasPrefix(taint.Key, systemTaints) }

// Find returns the first obstacle, lasting ones before passing ones; nil when the
// node can take the pod now.
func Find(node *corev1.Node, selector map[string]string, tolerations []corev1.Toleration) *Obstacle {
	system := node.Status.NodeInfo.OperatingSystem
	switch {
	case !labels.SelectorFromSet(selector).Matches(labels.Set(node.Labels)):
		return &Obstacle{Cause: fmt.Sprintf("do not match {%s}", labels.FormatLabels(selector))}
	case system != "" && system != "linux":
		return &Obstacle{Cause: "do not run Linux"}
	case repelled(node, tolerations, func(t *corev1.Taint) bool { return !isSystem(t) }):
		return &Obstacle{Cause: "have a taint that is not tolerated"}
	case node.Spec.Unschedulable:
		return &Obstacle{Cause: "are cordoned", Passing: true}
	case !Ready(node):
		return &Obstacle{Cause: "are not ready", Passing: true}
	case repelled(node, tolerations, isSystem):
		return &Obstacle{Cause: "are kept free by Kubernetes", Passing: true}
	}
	return nil
}

// Ready reports whether the node is ready by its own condition.
func Ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Avoided reports whether a taint that is not tolerated asks pods to run elsewhere where they can (PreferNoSchedule).
func Avoided(node *corev1.Node, tolerations []corev1.Toleration) bool {
	return isTainted(node, tolerations, func(taint *corev1.Taint) bool { return taint.Effect == corev1.TaintEffectPreferNoSchedule })
}

// repelled reports whether a taint that counts, and keeps pods away, is not tolerated.
func repelled(node *corev1.Node, tolerations []corev1.Toleration, counts func(*corev1.Taint) bool) bool {
	return isTainted(node, tolerations, func(taint *corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && counts(taint)
	})
}

// isTainted reports whether a taint that counts is not tolerated.
func isTainted(node *corev1.Node, tolerations []corev1.Toleration, counts func(*corev1.Taint) bool) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		covers := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taint, true) }
		return counts(&taint) && !slices.ContainsFunc(tolerations, covers)
	})
}

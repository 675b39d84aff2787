package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFind(t *testing.T) {
	blue := map[string]string{"color": "blue"}
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
	}
	unready := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }
	tests := map[string]struct {
		change      []func(*corev1.Node)
		selector    map[string]string
		tolerations []corev1.Toleration
		want        *Obstacle
	}{
		"free":                {},
		"matching":            {selector: blue},
		"other label":         {selector: map[string]string{"color": "red"}, want: &Obstacle{"do not match {color=red}", false}},
		"other system":        {change: []func(*corev1.Node){func(n *corev1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" }}, want: &Obstacle{"do not run Linux", false}},
		"tainted":             {change: []func(*corev1.Node){taint("mine", corev1.TaintEffectNoSchedule)}, want: &Obstacle{"have a taint that is not tolerated", false}},
		"preference":          {change: []func(*corev1.Node){taint("mine", corev1.TaintEffectPreferNoSchedule)}},
		"tolerated":           {change: []func(*corev1.Node){taint("mine", corev1.TaintEffectNoExecute)}, tolerations: []corev1.Toleration{{Key: "mine", Operator: corev1.TolerationOpExists}}},
		"cordoned":            {change: []func(*corev1.Node){func(n *corev1.Node) { n.Spec.Unschedulable = true }}, want: &Obstacle{"are cordoned", true}},
		"not ready":           {change: []func(*corev1.Node){unready}, want: &Obstacle{"are not ready", true}},
		"pressed":             {change: []func(*corev1.Node){taint("node.kubernetes.io/disk-pressure", corev1.TaintEffectNoSchedule)}, want: &Obstacle{"are kept free by Kubernetes", true}},
		"lasting comes first": {change: []func(*corev1.Node){unready, taint("mine", corev1.TaintEffectNoSchedule)}, want: &Obstacle{"have a taint that is not tolerated", false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: blue}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			for _, change := range test.change {
				change(node)
			}
			got := Find(node, test.selector, test.tolerations)
			if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

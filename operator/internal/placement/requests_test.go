package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func container(cpu string, always bool) corev1.Container {
	c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
	if always {
		c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	}
	return c
}

// TestRequested follows the example of the Kubernetes documentation on sidecar containers.
func TestRequested(t *testing.T) {
	of := func(changes ...func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("100m", false), container("200m", false)}}}
		for _, change := range changes {
			change(&p)
		}
		return p
	}
	inits := func(list ...corev1.Container) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.InitContainers = list }
	}
	tests := map[string]struct {
		pods        []corev1.Pod
		cpu, number int64
	}{
		"none":              {nil, 0, 0},
		"two pods":          {[]corev1.Pod{of(), of()}, 600, 2},
		"one has ended":     {[]corev1.Pod{of(), of(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })}, 300, 1},
		"a large init":      {[]corev1.Pod{of(inits(container("1", false)))}, 1000, 1},
		"a small init":      {[]corev1.Pod{of(inits(container("1m", false)))}, 300, 1},
		"a sidecar":         {[]corev1.Pod{of(inits(container("50m", true)))}, 350, 1},
		"an init after it":  {[]corev1.Pod{of(inits(container("50m", true), container("400m", false)))}, 450, 1},
		"an init before it": {[]corev1.Pod{of(inits(container("400m", false), container("50m", true)))}, 400, 1},
		"overhead": {[]corev1.Pod{of(func(p *corev1.Pod) {
			p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m")}
		})}, 305, 1},
		"requests of the whole": {[]corev1.Pod{of(func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
		})}, 2000, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var requests Requests
			for i := range test.pods {
				requests.Add(&test.pods[i])
			}
			got := requests.Total()
			if got.Cpu().MilliValue() != test.cpu || got.Pods().Value() != test.number {
				t.Errorf("%dm for %d pods", got.Cpu().MilliValue(), got.Pods().Value())
			}
		})
	}
}

func TestRecovered(t *testing.T) {
	node := &corev1.Node{}
	node.Spec.Unschedulable = true
	node.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}, {Key: "mine", Effect: corev1.TaintEffectNoSchedule}}
	if got := Find(Recovered(node), nil, nil); got == nil || got.Passing {
		t.Errorf("got %+v, want the lasting taint", got)
	}
	node.Spec.Taints = node.Spec.Taints[:1]
	if got := Find(Recovered(node), nil, nil); got != nil || !node.Spec.Unschedulable {
		t.Errorf("got %+v", got)
	}
}

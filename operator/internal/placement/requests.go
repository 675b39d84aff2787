package placement

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Recovered returns a copy of a node from which the passing obstacles are gone.
func Recovered(node *corev1.Node) *corev1.Node {
	node = node.DeepCopy()
	node.Spec.Unschedulable = false
	var lasting []corev1.Taint
	for _, taint := range node.Spec.Taints {
		if !isSystem(&taint) {
			lasting = append(lasting, taint)
		}
	}
	node.Spec.Taints = lasting
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node
}

// Requests are what pods request of a node in total. The zero value is none.
type Requests struct {
	total corev1.ResourceList
	pods  int64
}

// Add adds what a pod requests. A pod that has ended requests nothing.
func (r *Requests) Add(pod *corev1.Pod) {
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return
	}
	if r.total == nil {
		r.total = corev1.ResourceList{}
	}
	add(r.total, requestedBy(&pod.Spec))
	r.pods++
}

// Total returns the sum, and the number of pods as "pods".
func (r *Requests) Total() corev1.ResourceList {
	total := corev1.ResourceList{}
	maps.Copy(total, r.total)
	total[corev1.ResourcePods] = *resource.NewQuantity(r.pods, resource.DecimalSI)
	return total
}

// requestedBy computes a pod's requests as the scheduler does: of its containers and sidecars together, or of an
// init container with the sidecars that have started before it, if that is more.
func requestedBy(pod *corev1.PodSpec) corev1.ResourceList {
	total, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for _, c := range pod.Containers {
		add(total, c.Resources.Requests)
	}
	for _, c := range pod.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(total, c.Resources.Requests)
			add(sidecars, c.Resources.Requests)
			continue
		}
		starting := maps.Clone(sidecars)
		add(starting, c.Resources.Requests)
		raise(most, starting)
	}
	raise(total, most)
	if pod.Resources != nil {
		maps.Copy(total, pod.Resources.Requests)
	}
	add(total, pod.Overhead)
	return total
}

func add(total, more corev1.ResourceList) {
	for name, quantity := range more {
		sum := total[name].DeepCopy()
		sum.Add(quantity)
		total[name] = sum
	}
}

func raise(total, least corev1.ResourceList) {
	for name, quantity := range least {
		if has := total[name]; quantity.Cmp(has) > 0 {
			total[name] = quantity.DeepCopy()
		}
	}
}

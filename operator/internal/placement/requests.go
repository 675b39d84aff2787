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

// Requested returns what pods request of a node in total, and their number as "pods". Pods that have ended
// request nothing.
func Requested(pods []corev1.Pod) corev1.ResourceList {
	total, number := corev1.ResourceList{}, int64(0)
	for i := range pods {
		if phase := pods[i].Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
			continue
		}
		add(total, requestedBy(&pods[i].Spec))
		number++
	}
	total[corev1.ResourcePods] = *resource.NewQuantity(number, resource.DecimalSI)
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

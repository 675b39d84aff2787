// Package chain renders a plan as Kubernetes objects. A plan.Plan goes in.
// Networks, the functions' pods, and the measurer's Job with its rights come out,
// complete except for their owner references. The same plan always gives the same
// objects, so that they can be applied repeatedly.
package chain

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain/kinds"
	"vnfbench.io/operator/internal/plan"
)

// Values of v1alpha1.LabelComponent.
const (
	ComponentMeasurer = kinds.ComponentMeasurer
	ComponentFunction = kinds.ComponentFunction
	ComponentObserver = kinds.ComponentObserver
	ComponentEndpoint = kinds.ComponentEndpoint
	ComponentNeighbor = kinds.ComponentNeighbor
	ComponentCleanup  = kinds.ComponentCleanup
)

const (
	labelName      = "app.kubernetes.io/name"
	labelManagedBy = "app.kubernetes.io/managed-by"
	application    = "vnfbench"
)

// Object is the interface of every object of a run.
type Object interface {
	metav1.Object
	runtime.Object
}

// Unstructured returns an object for server-side apply: what the API server or another
// controller fills in is left out, so that it is not claimed.
func Unstructured(object Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting %s %q: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "spec", "template", "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

func metadata(p *plan.Plan, name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   p.Run.Namespace,
		Name:        name,
		Labels:      labelsOf(p, component),
		Annotations: map[string]string{v1alpha1.AnnotationRun: p.Run.Name},
	}
}

// undisturbed are the annotations by which the cluster autoscaler and Karpenter leave a pod on its node. Another node would
// be another measurement.
var undisturbed = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}

// podMetadata returns the metadata of a pod, or of a virtual machine, which gives its annotations to its pod.
func podMetadata(p *plan.Plan, name, component string) metav1.ObjectMeta {
	meta := metadata(p, name, component)
	maps.Copy(meta.Annotations, undisturbed)
	return meta
}

func labelsOf(p *plan.Plan, component string) map[string]string {
	return map[string]string{
		labelName:               application,
		labelManagedBy:          application,
		v1alpha1.LabelRun:       string(p.Run.UID),
		v1alpha1.LabelTestbed:   string(p.Testbed.UID),
		v1alpha1.LabelComponent: component,
	}
}

// selectorOf matches the pods of one component of one run.
func selectorOf(p *plan.Plan, component string) map[string]string {
	return map[string]string{v1alpha1.LabelRun: string(p.Run.UID), v1alpha1.LabelComponent: component}
}

// nodeAffinity pins a pod by required affinity and not by spec.nodeName, so that the
// scheduler still counts its resources and reports why when it does not fit.
func nodeAffinity(name string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{
					Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name},
				}},
			}},
		},
	}}
}

// variablePodAddress has the pod's address on the pod network.
const variablePodAddress = "POD_IP"

func podAddress() corev1.EnvVar { return fromField(variablePodAddress, "status.podIP") }

// listenAddress returns where an agent listens: on the pod's address alone, and not on its measured
// ports. The kubelet fills in the address, which may be of IPv6.
func listenAddress(port int32) string {
	return fmt.Sprintf("[$(%s)]:%d", variablePodAddress, port)
}

// restrictedSecurityContext returns the security context of a container that has only the
// given capabilities.
//
// They only apply to user 0: Kubernetes cannot give them to another user, and file
// capabilities end at allowPrivilegeEscalation false. The container's root has no other
// right: no other capability, no writable file system, no system call outside of the
// runtime's profile. The Pod Security level "baseline" forbids these capabilities, so the
// namespace has to be "privileged".
func restrictedSecurityContext(capabilities ...corev1.Capability) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsUser:                new(int64(0)),
		Privileged:               new(false),
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: capabilities},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func requirements(r plan.Resources) corev1.ResourceRequirements {
	memory := *resource.NewQuantity(r.MemoryBytes, resource.BinarySI)
	requirements := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(r.RequestMilliCPU, resource.DecimalSI),
			corev1.ResourceMemory: memory,
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: memory},
	}
	if r.LimitMilliCPU > 0 {
		requirements.Limits[corev1.ResourceCPU] = *resource.NewMilliQuantity(r.LimitMilliCPU, resource.DecimalSI)
	}
	return requirements
}

// withDevices adds the ports' resources of device plugins. Kubernetes requires such
// resources as a limit, and takes the request from there.
func withDevices(r corev1.ResourceRequirements, devices map[string]int64) corev1.ResourceRequirements {
	for name, number := range devices {
		quantity := *resource.NewQuantity(number, resource.DecimalSI)
		r.Requests[corev1.ResourceName(name)] = quantity
		r.Limits[corev1.ResourceName(name)] = quantity
	}
	return r
}

func pullSecrets(names []string) []corev1.LocalObjectReference {
	var references []corev1.LocalObjectReference
	for _, name := range names {
		references = append(references, corev1.LocalObjectReference{Name: name})
	}
	return references
}

// indentedJSON returns a file of a ConfigMap, indented for readers.
func indentedJSON(value any) string {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		// Strings, integers and network addresses always marshal.
		panic(err)
	}
	return string(data) + "\n"
}

// compactJSON returns JSON for use inside another object.
func compactJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		// Strings, integers and network addresses always marshal.
		panic(err)
	}
	return string(data)
}

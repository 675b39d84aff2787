package chain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/internal/generator"
	"vnfbench.io/operator/internal/plan"
)

// Where the traffic pod has what its generator needs in addition to the measurer's files.
const (
	// networkStatusPath, below instructionsDirectory, is the annotation in which Multus reports
	// the name, MAC address and PCI device of each port. The kubelet makes the file before
	// Multus writes, so it is empty at first.
	networkStatusPath = "pod/network-status"
	// annotationNetworkStatus is that annotation.
	annotationNetworkStatus = "k8s.v1.cni.cncf.io/network-status"

	hugepagesDirectory = "/dev/hugepages"
)

// addGenerator gives the measurer's pod what the plan lists for its generator:
// capabilities, directories to write to, devices and hugepages.
func addGenerator(p *plan.Plan, pod *corev1.PodSpec) {
	container := &pod.Containers[0]
	container.SecurityContext = restrictedSecurityContext(p.Generator.Capabilities...)
	for _, directory := range p.Generator.Directories {
		mount(pod, directory.Name, directory.Path, emptyDir(corev1.StorageMediumDefault, resource.NewQuantity(directory.MaxBytes, resource.BinarySI)))
	}
	if p.Generator.OwnsPorts {
		pod.Volumes[0].VolumeSource = instructionsWithPorts(p)
	}
	addHugepages(pod, p.Generator.Hugepages)
}

// mount gives the first container of a pod a volume to write to.
func mount(pod *corev1.PodSpec, name, path string, source corev1.VolumeSource) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	container := &pod.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

// addHugepages gives the first container of a pod its hugepages, if it has any.
func addHugepages(pod *corev1.PodSpec, pages *generator.Hugepages) {
	if pages == nil {
		return
	}
	quantity, resources := *resource.NewQuantity(pages.Bytes, resource.BinarySI), &pod.Containers[0].Resources
	resources.Requests[pages.Resource()], resources.Limits[pages.Resource()] = quantity, quantity
	medium := corev1.StorageMediumHugePagesPrefix + corev1.StorageMedium(pages.PageSize)
	// The pod's request limits the volume.
	mount(pod, "hugepages", hugepagesDirectory, emptyDir(medium, nil))
}

func emptyDir(medium corev1.StorageMedium, size *resource.Quantity) corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium, SizeLimit: size}}
}

// instructionsWithPorts returns the instructions, with Multus' report on the pod's ports: a
// device that the kernel has released has no interface that could be found by its name. One
// volume holds both, because no mount point could be made inside a read-only one.
func instructionsWithPorts(p *plan.Plan) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: p.Names().Plan},
			Items:                []corev1.KeyToPath{{Key: plan.KeyInstructions, Path: plan.KeyInstructions}},
		}},
		networkStatus(networkStatusPath),
	}}}
}

// networkStatus returns Multus' report on the pod's ports as a file.
func networkStatus(path string) corev1.VolumeProjection {
	return corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
		Path:     path,
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotationNetworkStatus + "']"},
	}}}}
}

package chain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/plan"
)

const (
	containerNeighbor = "neighbor"
	// neighborUser owns nothing on any node.
	neighborUser = 65532
	// neighborGrace gives stress-ng the time to end its workers.
	neighborGrace = 5

	volumeScratch = "scratch"
)

// neighborVM returns a VM that boots the neighbors' guest. The measurer
// communicates with it as with a pod.
func neighborVM(p *plan.Plan, n plan.Neighbor) *kubevirtv1.VirtualMachineInstance {
	meta := podMetadata(p, p.Names().Neighbor(n.Load.Name), ComponentNeighbor)
	spec := vmSpec(p, n.VM, n.Tolerations)
	for _, end := range neighborEnds(n) {
		spec.Domain.Devices.Interfaces = append(spec.Domain.Devices.Interfaces, bridgedInterface(end, n.Attachment))
		spec.Networks = append(spec.Networks, multusNetwork(end))
	}
	spec.Volumes = []kubevirtv1.Volume{{Name: volumeConfig, VolumeSource: kubevirtv1.VolumeSource{
		CloudInitNoCloud: &kubevirtv1.CloudInitNoCloudSource{UserDataSecretRef: &corev1.LocalObjectReference{Name: meta.Name}},
	}}}
	if n.ScratchBytes > 0 {
		spec.Domain.Resources.Requests[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(n.ScratchBytes, resource.BinarySI)
		scratch := virtioDisk(volumeScratch)
		scratch.Serial = neighbor.ScratchSerial
		spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, scratch)
		spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: volumeScratch, VolumeSource: kubevirtv1.VolumeSource{
			EmptyDisk: &kubevirtv1.EmptyDiskSource{Capacity: *resource.NewQuantity(n.ScratchBytes, resource.BinarySI)},
		}})
	}
	spec.Domain.Firmware = kernelOf(p, n.Image)
	return instance(meta, spec)
}

// neighborSecret returns its user data, in which nothing is secret: its ports, and who may ask it.
func neighborSecret(p *plan.Plan, n plan.Neighbor, rule *caller.Rule) *corev1.Secret {
	config := neighbor.GuestConfig{Ports: []neighbor.GuestPort{}, Caller: rule}
	for _, end := range neighborEnds(n) {
		config.Ports = append(config.Ports, neighbor.GuestPort{Name: end.Interface, MAC: end.MAC, MTUBytes: end.MTUBytes})
	}
	return userData(metadata(p, p.Names().Neighbor(n.Load.Name), ComponentNeighbor), config)
}

// neighborEnds returns its ports, west before east; none if it sends no frames.
func neighborEnds(n plan.Neighbor) []plan.End {
	if n.Network == nil {
		return nil
	}
	return []plan.End{n.Network.West, n.Network.East}
}

func neighborPod(p *plan.Plan, n plan.Neighbor, rule *caller.Rule) *corev1.Pod {
	meta := podMetadata(p, p.Names().Neighbor(n.Load.Name), ComponentNeighbor)
	if n.Network != nil {
		var list []attachment
		for _, end := range neighborEnds(n) {
			list = append(list, attachment{Name: end.Network, Namespace: p.Run.Namespace, Interface: end.Interface, MAC: end.MAC})
		}
		meta.Annotations[annotationNetworks] = compactJSON(list)
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			// A neighbor that ended does not return as another load in the middle of a trial: the run
			// reports that it is gone.
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(neighborGrace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			Affinity:                      nodeAffinity(p.DeviceNode),
			Tolerations:                   n.Tolerations,
			ImagePullSecrets:              pullSecrets(p.ImagePullSecrets),
			SecurityContext:               &corev1.PodSecurityContext{FSGroup: new(int64(neighborUser))},
			Containers: []corev1.Container{{
				Name:            containerNeighbor,
				Image:           n.Image,
				ImagePullPolicy: p.ImagePullPolicy,
				Command:         []string{"neighbor", "--listen", listenAddress(neighbor.Port)},
				Env:             agentVariables(rule),
				Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: neighbor.Port, Protocol: corev1.ProtocolTCP}},
				Resources:       withScratch(requirements(n.Resources), n.ScratchBytes),
				VolumeMounts:    []corev1.VolumeMount{{Name: volumeScratch, MountPath: neighbor.Scratch}},
				SecurityContext: neighborRights(n),
				// Only a startup probe: no probe runs during a trial.
				StartupProbe: &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
						Path: "/readyz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
					}},
					PeriodSeconds:    1,
					TimeoutSeconds:   10,
					SuccessThreshold: 1,
					FailureThreshold: observerStartSeconds,
				},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
			Volumes: []corev1.Volume{{Name: volumeScratch, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				SizeLimit: resource.NewQuantity(n.ScratchBytes, resource.BinarySI),
			}}}},
		},
	}
}

// withScratch requests what a neighbor may write, so that it is not the node's other pods that the
// kubelet evicts for it.
func withScratch(r corev1.ResourceRequirements, bytes int64) corev1.ResourceRequirements {
	r.Requests[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(bytes, resource.BinarySI)
	return r
}

// neighborRights returns no capability, except for the neighbor that sends frames.
func neighborRights(n plan.Neighbor) *corev1.SecurityContext {
	if n.Load.Kind == measure.NeighborNetwork {
		// NET_RAW: to send frames out of a port unchanged.
		return restrictedSecurityContext("NET_RAW")
	}
	rights := restrictedSecurityContext()
	rights.RunAsUser, rights.RunAsGroup, rights.RunAsNonRoot = new(int64(neighborUser)), new(int64(neighborUser)), new(true)
	return rights
}

func neighborNetworks(p *plan.Plan) []*unstructured.Unstructured {
	var networks []*unstructured.Unstructured
	for _, n := range p.Neighbors {
		sysctls := quietSysctls
		if n.IsVM() {
			sysctls = vmSysctls
		}
		for _, end := range neighborEnds(n) {
			networks = append(networks, definition(p, n.Network.Bridge, end, ComponentNeighbor, sysctls))
		}
	}
	return networks
}

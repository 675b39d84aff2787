package chain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// Where the traffic pod with TRex has what it needs besides the measurer's own.
const (
	// networkStatusPath, below instructionsDirectory, is the annotation in which
	// Multus reports each port's name, MAC address and PCI device. The kubelet
	// makes the file before Multus writes, so that it is empty at first.
	networkStatusPath = "pod/network-status"
	// annotationNetworkStatus is that annotation.
	annotationNetworkStatus = "k8s.v1.cni.cncf.io/network-status"

	hugepagesDirectory = "/dev/hugepages"
	// dpdkDirectory holds the sockets and files of DPDK's runtime.
	dpdkDirectory = "/var/run/dpdk"
	scratch       = "/tmp"
)

// Bounds of what TRex may write into the node's file system.
var (
	scratchSize = resource.MustParse("64Mi")
	dpdkSize    = resource.MustParse("64Mi")
)

// configureTRexPod makes the measurer's pod one that runs TRex as a child of the
// measurer: other capabilities, and what the server writes to.
func configureTRexPod(p *plan.Plan, pod *corev1.PodSpec) {
	settings := p.Instructions.Driver.TRex
	if settings == nil {
		return
	}
	container := &pod.Containers[0]
	container.SecurityContext = restrictedSecurityContext(trexCapabilities...)
	mount := func(name, path string, source corev1.VolumeSource) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
	}
	mount("scratch", scratch, emptyDir(corev1.StorageMediumDefault, &scratchSize))
	mount("dpdk", dpdkDirectory, emptyDir(corev1.StorageMediumDefault, &dpdkSize))
	if settings.Mode != measure.TRexDPDK {
		return
	}
	pod.Volumes[0].VolumeSource = instructionsWithPorts(p)
	if pages := p.Generator.Hugepages; pages != nil {
		quantity := *resource.NewQuantity(pages.Bytes, resource.BinarySI)
		container.Resources.Requests[pages.Resource()], container.Resources.Limits[pages.Resource()] = quantity, quantity
		medium := corev1.StorageMediumHugePagesPrefix + corev1.StorageMedium(pages.PageSize)
		// What the pod asks for bounds the volume.
		mount("hugepages", hugepagesDirectory, emptyDir(medium, nil))
	}
}

// trexCapabilities are those of the server and of the measurer that starts it.
//
// NET_RAW opens the packet sockets of mode AFPacket, and the raw queues of NICs
// that share themselves with the kernel (mlx5). NET_ADMIN sets the ports'
// promiscuous mode and lets the measurer close the server's control ports in the
// pod's network namespace. IPC_LOCK keeps in place what NIC or kernel and TRex
// share, beyond the limit of locked memory: hugepages with mode DPDK, and with
// mode AFPacket the sockets' rings, of 16 MiB a port, which DPDK locks too
// (MAP_LOCKED in rte_eth_af_packet.c). TRex insists on user 0.
var trexCapabilities = []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW"}

func emptyDir(medium corev1.StorageMedium, size *resource.Quantity) corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium, SizeLimit: size}}
}

// instructionsWithPorts returns the instructions, and with them what Multus says
// of the pod's ports: a device that the kernel has let go of has no interface
// that could be known by its name. One volume holds both, because no mount point
// could be made inside of a read-only one.
func instructionsWithPorts(p *plan.Plan) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: p.Names().Plan},
			Items:                []corev1.KeyToPath{{Key: plan.KeyInstructions, Path: plan.KeyInstructions}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path:     networkStatusPath,
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotationNetworkStatus + "']"},
		}}}},
	}}}
}

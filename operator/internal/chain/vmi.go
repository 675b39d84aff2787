package chain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/plan"
)

const (
	// keyUserData is the key of the secret that KubeVirt gives the guest as NoCloud user data.
	keyUserData = "userdata"

	// networkManagement is the VM's NIC on the pod network, only for the probe; KubeVirt
	// chooses its MAC address.
	networkManagement = "default"

	volumeConfig = "config"
	volumeDisk   = "disk"
	volumeKeys   = "keys"

	// labelKeys is the label by which the guest finds the disk of its keys.
	labelKeys = "vnfkeys"

	// Files of the guest's image.
	guestKernel = "/boot/vmlinuz"
	guestInitrd = "/boot/initrd.img"
	// guestArguments make the console that KubeVirt logs the kernel's, with errors only, so
	// that the function's own lines are its end.
	guestArguments = "console=ttyS0 quiet"

	// ContainerConsole is the launcher's container whose log is the guest's console.
	ContainerConsole = "guest-console-log"
)

// Names of ports that are not one of QEMU's models.
const (
	modelSRIOV      = "sriov"
	modelHostDevice = "hostdev"
)

// nicModels are libvirt's names of the attachments; the API has no constants for the
// emulated ones.
var nicModels = map[v1alpha1.Attachment]string{
	v1alpha1.AttachmentVirtio:  kubevirtv1.VirtIO,
	v1alpha1.AttachmentE1000:   "e1000",
	v1alpha1.AttachmentE1000e:  "e1000e",
	v1alpha1.AttachmentRTL8139: "rtl8139",

	v1alpha1.AttachmentSRIOV:      modelSRIOV,
	v1alpha1.AttachmentHostDevice: modelHostDevice,
}

// NICModel returns KubeVirt's name of an attachment.
func NICModel(attachment v1alpha1.Attachment) string { return nicModels[attachment] }

// vmSecret returns the function's configuration as user data. It is a secret, and not
// part of the VM's spec, because a function's configuration may hold private keys.
func vmSecret(p *plan.Plan, function plan.Function, rule *caller.Rule) *corev1.Secret {
	config := function.Config
	config.Caller = rule
	return userData(metadata(p, p.Names().Function(function.Name), ComponentFunction), config)
}

// vm returns a function's virtual machine.
func vm(p *plan.Plan, function plan.Function) *kubevirtv1.VirtualMachineInstance {
	meta := podMetadata(p, p.Names().Function(function.Name), ComponentFunction)
	shape := function.VM
	spec := vmSpec(p, shape, function.Tolerations)
	spec.Domain.Devices.Interfaces = append(spec.Domain.Devices.Interfaces, vmInterfaces(p, function)...)
	spec.Domain.Devices.HostDevices = vmDevices(p, function)
	spec.Networks = append(spec.Networks, vmNetworks(p, function)...)
	spec.Volumes = []kubevirtv1.Volume{{Name: volumeConfig, VolumeSource: kubevirtv1.VolumeSource{
		CloudInitNoCloud: &kubevirtv1.CloudInitNoCloudSource{UserDataSecretRef: &corev1.LocalObjectReference{Name: meta.Name}},
	}}}
	boot(p, function, &spec)
	if function.Config.Needs().Keys {
		spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, virtioDisk(volumeKeys))
		spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: volumeKeys, VolumeSource: kubevirtv1.VolumeSource{
			Secret: &kubevirtv1.SecretVolumeSource{SecretName: p.Names().Keys(function.Name), VolumeLabel: labelKeys},
		}})
	}
	return instance(meta, spec)
}

// instance returns a VirtualMachineInstance and not a VirtualMachine: an instance that ends
// must not restart, because figures from before and after a restart do not belong together.
// KubeVirt puts its labels and annotations on the launcher's pod, so what applies to the
// pods of its component applies to that pod.
func instance(meta metav1.ObjectMeta, spec kubevirtv1.VirtualMachineInstanceSpec) *kubevirtv1.VirtualMachineInstance {
	return &kubevirtv1.VirtualMachineInstance{
		TypeMeta:   metav1.TypeMeta{APIVersion: kubevirtv1.GroupVersion.String(), Kind: kubevirtv1.VirtualMachineInstanceGroupVersionKind.Kind},
		ObjectMeta: meta,
		Spec:       spec,
	}
}

// vmSpec returns the spec that every VM of a run has: its processors and memory,
// a disk of its configuration, and a NIC on the pod network, on which it reports that it is
// ready.
func vmSpec(p *plan.Plan, shape *plan.VM, tolerations []corev1.Toleration) kubevirtv1.VirtualMachineInstanceSpec {
	return kubevirtv1.VirtualMachineInstanceSpec{
		Affinity:                      nodeAffinity(p.DeviceNode),
		Tolerations:                   tolerations,
		TerminationGracePeriodSeconds: new(int64(functionGrace)),
		// A VM that moves in the middle of a trial spoils it.
		EvictionStrategy: new(kubevirtv1.EvictionStrategyNone),
		Domain: kubevirtv1.DomainSpec{
			CPU:       vmCPU(shape),
			Memory:    vmMemory(shape),
			Resources: vmResources(shape),
			Devices: kubevirtv1.Devices{
				Disks:                      []kubevirtv1.Disk{virtioDisk(volumeConfig)},
				Interfaces:                 []kubevirtv1.Interface{managementInterface()},
				NetworkInterfaceMultiQueue: new(shape.Queues > 1),
				Rng:                        &kubevirtv1.Rng{},
				AutoattachGraphicsDevice:   new(false),
				AutoattachMemBalloon:       new(false),
				AutoattachInputDevice:      new(false),
				AutoattachSerialConsole:    new(true),
				LogSerialConsole:           new(true),
				// No slots for devices that are never added.
				DisableHotplug: true,
			},
		},
		Networks:       []kubevirtv1.Network{{Name: networkManagement, NetworkSource: kubevirtv1.NetworkSource{Pod: &kubevirtv1.PodNetwork{}}}},
		ReadinessProbe: vmProbe(),
	}
}

// boot sets what the VM boots from.
func boot(p *plan.Plan, function plan.Function, spec *kubevirtv1.VirtualMachineInstanceSpec) {
	if function.VM.Boot == v1alpha1.BootDisk {
		spec.Domain.Devices.Disks = append([]kubevirtv1.Disk{virtioDisk(volumeDisk)}, spec.Domain.Devices.Disks...)
		spec.Volumes = append([]kubevirtv1.Volume{{Name: volumeDisk, VolumeSource: kubevirtv1.VolumeSource{
			ContainerDisk: &kubevirtv1.ContainerDiskSource{Image: function.Image, ImagePullPolicy: p.ImagePullPolicy, ImagePullSecret: onePullSecret(p)},
		}}}, spec.Volumes...)
		return
	}
	spec.Domain.Firmware = kernelOf(p, function.Image)
}

// kernelOf returns the kernel of a guest's image as firmware.
func kernelOf(p *plan.Plan, image string) *kubevirtv1.Firmware {
	return &kubevirtv1.Firmware{KernelBoot: &kubevirtv1.KernelBoot{
		KernelArgs: guestArguments,
		Container: &kubevirtv1.KernelBootContainer{
			Image: image, ImagePullPolicy: p.ImagePullPolicy, ImagePullSecret: onePullSecret(p),
			KernelPath: guestKernel, InitrdPath: guestInitrd,
		},
	}}
}

// onePullSecret returns the first, or "": KubeVirt takes one for an image.
func onePullSecret(p *plan.Plan) string {
	if len(p.ImagePullSecrets) == 0 {
		return ""
	}
	return p.ImagePullSecrets[0]
}

func virtioDisk(name string) kubevirtv1.Disk { return diskOn(kubevirtv1.DiskBusVirtio, name) }

func diskOn(bus kubevirtv1.DiskBus, name string) kubevirtv1.Disk {
	return kubevirtv1.Disk{Name: name, DiskDevice: kubevirtv1.DiskDevice{Disk: &kubevirtv1.DiskTarget{Bus: bus}}}
}

// vmCPU returns CPUs without room for hotplug, which KubeVirt offers by default and
// which would change the VM's layout.
func vmCPU(shape *plan.VM) *kubevirtv1.CPU {
	cpu := &kubevirtv1.CPU{
		Sockets: 1, MaxSockets: 1, Cores: uint32(shape.VCPUs), Threads: 1,
		DedicatedCPUPlacement: shape.Dedicated(),
		IsolateEmulatorThread: shape.Isolated(),
	}
	if shape.NUMA == v1alpha1.NUMAGuestMappingPassthrough {
		cpu.NUMA = &kubevirtv1.NUMA{GuestMappingPassthrough: &kubevirtv1.NUMAGuestMappingPassthrough{}}
	}
	if shape.Realtime == v1alpha1.RealtimeEnabled {
		cpu.Realtime = &kubevirtv1.Realtime{}
	}
	return cpu
}

func vmMemory(shape *plan.VM) *kubevirtv1.Memory {
	memory := resource.NewQuantity(shape.MemoryBytes, resource.BinarySI)
	m := &kubevirtv1.Memory{Guest: memory, MaxGuest: memory}
	if shape.Hugepages != "" {
		m.Hugepages = &kubevirtv1.Hugepages{PageSize: string(shape.Hugepages)}
	}
	return m
}

// vmResources returns what would otherwise depend on the cluster's settings. With
// dedicated CPUs the pod's requests are its limits.
func vmResources(shape *plan.VM) kubevirtv1.ResourceRequirements {
	memory := *resource.NewQuantity(shape.MemoryBytes, resource.BinarySI)
	if shape.Dedicated() {
		return kubevirtv1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: memory},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
		}
	}
	return kubevirtv1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(shape.RequestMilliCPU(), resource.DecimalSI),
		corev1.ResourceMemory: memory,
	}}
}

// managementInterface returns the NIC that is first on the guest's bus.
func managementInterface() kubevirtv1.Interface {
	return kubevirtv1.Interface{
		Name: networkManagement, Model: kubevirtv1.VirtIO,
		InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Masquerade: &kubevirtv1.InterfaceMasquerade{}},
		Ports:                  []kubevirtv1.Port{{Name: "http", Protocol: string(corev1.ProtocolTCP), Port: portHTTP}},
	}
}

// bridgedInterface returns a port that is bound to its network by a bridge in the
// launcher's pod, so that the guest has the port's MAC address.
func bridgedInterface(end plan.End, attachment v1alpha1.Attachment) kubevirtv1.Interface {
	return kubevirtv1.Interface{
		Name: end.Interface, Model: NICModel(attachment), MacAddress: end.MAC,
		InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Bridge: &kubevirtv1.InterfaceBridge{}},
	}
}

// vmInterfaces returns the traffic ports in the guest's order on the bus, west before
// east: bridged, or virtual functions of the node, for which KubeVirt itself requests the
// resource in the network's annotation.
func vmInterfaces(p *plan.Plan, function plan.Function) []kubevirtv1.Interface {
	var interfaces []kubevirtv1.Interface
	for _, end := range p.PortsOf(function.Name) {
		if end.PassedThrough() {
			continue
		}
		if attachmentOf(function, end) == v1alpha1.AttachmentSRIOV {
			interfaces = append(interfaces, kubevirtv1.Interface{
				Name: end.Interface, MacAddress: end.MAC,
				InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{SRIOV: &kubevirtv1.InterfaceSRIOV{}},
			})
			continue
		}
		interfaces = append(interfaces, bridgedInterface(end, attachmentOf(function, end)))
	}
	return interfaces
}

func attachmentOf(function plan.Function, end plan.End) v1alpha1.Attachment {
	if end.Interface == plan.InterfaceWest {
		return function.WestAttachment
	}
	return function.EastAttachment
}

func vmNetworks(p *plan.Plan, function plan.Function) []kubevirtv1.Network {
	var networks []kubevirtv1.Network
	for _, end := range p.PortsOf(function.Name) {
		if end.PassedThrough() {
			continue
		}
		networks = append(networks, multusNetwork(end))
	}
	return networks
}

func multusNetwork(end plan.End) kubevirtv1.Network {
	return kubevirtv1.Network{
		Name:          end.Interface,
		NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: end.NetworkKey()}},
	}
}

// vmDevices returns whole NICs, west before east.
func vmDevices(p *plan.Plan, function plan.Function) []kubevirtv1.HostDevice {
	var devices []kubevirtv1.HostDevice
	for _, end := range p.PortsOf(function.Name) {
		if end.PassedThrough() {
			devices = append(devices, kubevirtv1.HostDevice{Name: end.Interface, DeviceName: end.ResourceName})
		}
	}
	return devices
}

// ModelOf returns what KubeVirt was asked for as a port: one of QEMU's models, or a device
// of the node; "" if there is no such port.
func ModelOf(vm *kubevirtv1.VirtualMachineInstance, port string) string {
	for _, nic := range vm.Spec.Domain.Devices.Interfaces {
		switch {
		case nic.Name != port:
		case nic.SRIOV != nil:
			return modelSRIOV
		default:
			return nic.Model
		}
	}
	for _, device := range vm.Spec.Domain.Devices.HostDevices {
		if device.Name == port {
			return modelHostDevice
		}
	}
	return ""
}

// vmAnswerSeconds is how long a guest may take to report that it is ready. A guest
// that has received more frames than it can forward has no time for a question until it has
// finished them, and a search offers such loads: it is not broken. A guest that knows that
// it no longer forwards says so at once, and KubeVirt knows one that ended.
const vmAnswerSeconds = 60

// vmProbe returns a probe that asks the function as a pod's does.
func vmProbe() *kubevirtv1.Probe {
	return &kubevirtv1.Probe{
		Handler: kubevirtv1.Handler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/readyz", Port: intstr.FromInt32(portHTTP), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds:    1,
		TimeoutSeconds:   vmAnswerSeconds,
		SuccessThreshold: 1,
		FailureThreshold: 1,
	}
}

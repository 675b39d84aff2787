package chain

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

// keyNetworkData is the key of the secret that KubeVirt gives the guest as
// network configuration.
const keyNetworkData = "networkdata"

var diskBuses = map[v1alpha1.DiskBus]kubevirtv1.DiskBus{
	v1alpha1.DiskBusVirtio: kubevirtv1.DiskBusVirtio,
	v1alpha1.DiskBusSATA:   kubevirtv1.DiskBusSATA,
	v1alpha1.DiskBusSCSI:   kubevirtv1.DiskBusSCSI,
}

// Seed returns the secret with what a user's own VM reads, its placeholders filled in;
// nil if the run's spec has no text for it. It is made from the spec, because no plan holds
// such text.
func Seed(p *plan.Plan, function *plan.Function, spec *v1alpha1.CustomFunction) (*corev1.Secret, error) {
	userData, networkData, err := function.Seed(spec)
	if err != nil || userData == "" && networkData == "" {
		return nil, err
	}
	data := map[string][]byte{}
	if userData != "" {
		data[keyUserData] = []byte(userData)
	}
	if networkData != "" {
		data[keyNetworkData] = []byte(networkData)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metadata(p, p.Names().Function(function.Name), ComponentFunction),
		Immutable:  new(true),
		Data:       data,
	}, nil
}

// customVM returns the user's own VM: the shape of any VM, with another
// disk, another seed, and a probe that the user chooses.
func customVM(p *plan.Plan, function plan.Function) *kubevirtv1.VirtualMachineInstance {
	vmi, custom := vm(p, function), function.VM.Custom
	spec, bus := &vmi.Spec, diskBuses[custom.DiskBus]
	spec.Domain.Devices.Disks = []kubevirtv1.Disk{diskOn(bus, volumeDisk)}
	// A BIOS only tries the first disk that it finds.
	spec.Domain.Devices.Disks[0].BootOrder = new(uint(1))
	spec.Volumes = []kubevirtv1.Volume{{Name: volumeDisk, VolumeSource: customDisk(p, custom)}}
	if custom.HasSeed() {
		spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, diskOn(bus, volumeConfig))
		spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: volumeConfig, VolumeSource: customSeed(vmi.Name, custom)})
	}
	if custom.MachineType != "" {
		spec.Domain.Machine = &kubevirtv1.Machine{Type: custom.MachineType}
	}
	customFirmware(custom.Firmware, &spec.Domain)
	customNICs(custom, spec)
	spec.ReadinessProbe = customProbe(custom.Readiness)
	return vmi
}

// customDisk returns the disk from which the VM boots. A claim is below a layer that
// ends with the VM.
func customDisk(p *plan.Plan, custom *plan.Custom) kubevirtv1.VolumeSource {
	switch {
	case custom.PersistentVolumeClaim != "":
		return kubevirtv1.VolumeSource{Ephemeral: &kubevirtv1.EphemeralVolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: custom.PersistentVolumeClaim},
		}}
	case custom.DataVolume != "":
		return kubevirtv1.VolumeSource{DataVolume: &kubevirtv1.DataVolumeSource{Name: custom.DataVolume}}
	}
	disk := &kubevirtv1.ContainerDiskSource{Image: custom.ContainerDisk, ImagePullPolicy: p.ImagePullPolicy, ImagePullSecret: custom.ImagePullSecret}
	if custom.ImagePullPolicy != "" {
		disk.ImagePullPolicy = custom.ImagePullPolicy
	}
	if disk.ImagePullSecret == "" {
		disk.ImagePullSecret = onePullSecret(p)
	}
	return kubevirtv1.VolumeSource{ContainerDisk: disk}
}

// customSeed names the secrets with user data and network data: the run's own, or the
// user's.
func customSeed(own string, custom *plan.Custom) kubevirtv1.VolumeSource {
	var userData, networkData *corev1.LocalObjectReference
	switch {
	case custom.UserDataSecret != "":
		userData = &corev1.LocalObjectReference{Name: custom.UserDataSecret}
	case custom.UserDataDigest != "":
		userData = &corev1.LocalObjectReference{Name: own}
	}
	if custom.NetworkDataDigest != "" {
		networkData = &corev1.LocalObjectReference{Name: own}
	}
	if custom.CloudInit == v1alpha1.CloudInitConfigDrive {
		return kubevirtv1.VolumeSource{CloudInitConfigDrive: &kubevirtv1.CloudInitConfigDriveSource{UserDataSecretRef: userData, NetworkDataSecretRef: networkData}}
	}
	return kubevirtv1.VolumeSource{CloudInitNoCloud: &kubevirtv1.CloudInitNoCloudSource{UserDataSecretRef: userData, NetworkDataSecretRef: networkData}}
}

func customFirmware(firmware v1alpha1.Firmware, domain *kubevirtv1.DomainSpec) {
	if firmware == v1alpha1.FirmwareBIOS {
		domain.Firmware = &kubevirtv1.Firmware{Bootloader: &kubevirtv1.Bootloader{BIOS: &kubevirtv1.BIOS{}}}
		return
	}
	secure := firmware == v1alpha1.FirmwareEFISecureBoot
	domain.Firmware = &kubevirtv1.Firmware{Bootloader: &kubevirtv1.Bootloader{EFI: &kubevirtv1.EFI{SecureBoot: &secure}}}
	if secure {
		domain.Features = &kubevirtv1.Features{SMM: &kubevirtv1.FeatureState{Enabled: new(true)}}
	}
}

// customNICs puts the ports in the user's order. Only the target of the probe listens on
// the management NIC.
func customNICs(custom *plan.Custom, spec *kubevirtv1.VirtualMachineInstanceSpec) {
	devices := &spec.Domain.Devices
	devices.Interfaces[0].MacAddress = custom.ManagementMAC
	if custom.InterfaceOrder == v1alpha1.InterfaceOrderEastWest {
		slices.Reverse(devices.Interfaces[1:])
		slices.Reverse(spec.Networks[1:])
	}
	if custom.ManagementNIC == v1alpha1.ManagementNICNone {
		devices.Interfaces, spec.Networks = devices.Interfaces[1:], spec.Networks[1:]
		devices.AutoattachPodInterface = new(false)
		return
	}
	// Masquerade forwards every port of the pod if none is named.
	devices.Interfaces[0].Ports = []kubevirtv1.Port{{Name: "probe", Protocol: string(corev1.ProtocolTCP), Port: portHTTP}}
	if custom.Readiness.Port != 0 {
		devices.Interfaces[0].Ports[0].Port = custom.Readiness.Port
	}
}

// customProbe returns nil if the generator's probe frames decide when the chain is ready.
func customProbe(readiness v1alpha1.CustomReadiness) *kubevirtv1.Probe {
	port := intstr.FromInt32(readiness.Port)
	probe := vmProbe()
	switch readiness.Kind {
	case v1alpha1.ReadinessHTTP:
		probe.Handler = kubevirtv1.Handler{HTTPGet: &corev1.HTTPGetAction{Path: readiness.Path, Port: port, Scheme: corev1.URISchemeHTTP}}
	case v1alpha1.ReadinessTCP:
		probe.Handler = kubevirtv1.Handler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	default:
		return nil
	}
	return probe
}

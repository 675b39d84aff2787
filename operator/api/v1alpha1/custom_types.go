package v1alpha1

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// CloudInit is the kind of disk on which a guest gets its user data.
// +kubebuilder:validation:Enum=NoCloud;ConfigDrive
type CloudInit string

const (
	// CloudInitNoCloud is a disk with the label "cidata".
	CloudInitNoCloud CloudInit = "NoCloud"
	// CloudInitConfigDrive is OpenStack's disk with the label "config-2".
	CloudInitConfigDrive CloudInit = "ConfigDrive"
)

// Firmware is what starts a virtual machine.
// +kubebuilder:validation:Enum=BIOS;EFI;EFISecureBoot
type Firmware string

const (
	// FirmwareBIOS is SeaBIOS.
	FirmwareBIOS Firmware = "BIOS"
	// FirmwareEFI is OVMF without Secure Boot.
	FirmwareEFI Firmware = "EFI"
	// FirmwareEFISecureBoot is OVMF with Secure Boot, which needs system management mode.
	FirmwareEFISecureBoot Firmware = "EFISecureBoot"
)

// DiskBus is what a virtual machine's disks are attached to.
// +kubebuilder:validation:Enum=Virtio;SATA;SCSI
type DiskBus string

const (
	// DiskBusVirtio needs a paravirtual driver in the guest.
	DiskBusVirtio DiskBus = "Virtio"
	// DiskBusSATA is an emulated AHCI controller.
	DiskBusSATA DiskBus = "SATA"
	// DiskBusSCSI is a virtio-scsi controller.
	DiskBusSCSI DiskBus = "SCSI"
)

// ManagementNIC says whether a virtual machine has a NIC on the pod network.
// +kubebuilder:validation:Enum=First;None
type ManagementNIC string

const (
	// ManagementNICFirst puts it before the traffic ports.
	ManagementNICFirst ManagementNIC = "First"
	// ManagementNICNone leaves it out.
	ManagementNICNone ManagementNIC = "None"
)

// InterfaceOrder is the order of the traffic ports on the guest's bus.
// +kubebuilder:validation:Enum=WestEast;EastWest
type InterfaceOrder string

const (
	// InterfaceOrderWestEast puts west before east.
	InterfaceOrderWestEast InterfaceOrder = "WestEast"
	// InterfaceOrderEastWest puts east before west.
	InterfaceOrderEastWest InterfaceOrder = "EastWest"
)

// ReadinessKind is what shows that a user's virtual machine or container has started.
// +kubebuilder:validation:Enum=Probe;HTTP;TCP;Exec
type ReadinessKind string

const (
	// ReadinessProbe leaves it to the generator's probe frames.
	ReadinessProbe ReadinessKind = "Probe"
	// ReadinessHTTP asks over HTTP on the management NIC, or at the pod's address.
	ReadinessHTTP ReadinessKind = "HTTP"
	// ReadinessTCP opens a TCP connection there.
	ReadinessTCP ReadinessKind = "TCP"
	// ReadinessExec runs a command in the container.
	ReadinessExec ReadinessKind = "Exec"
)

// CustomFunction is the user's own container in a pod, or virtual machine with exactly one disk.
// +kubebuilder:validation:XValidation:rule="[has(self.container), has(self.containerDisk), has(self.persistentVolumeClaimRef), has(self.dataVolumeRef)].filter(x, x).size() == 1",message="exactly one of container, containerDisk, persistentVolumeClaimRef and dataVolumeRef is required"
// +kubebuilder:validation:XValidation:rule="has(self.containerDisk) || has(self.container) || !has(self.imagePullSecretRef)",message="imagePullSecretRef is only for an image; leave it out",fieldPath=".imagePullSecretRef"
// +kubebuilder:validation:XValidation:rule="has(self.containerDisk) || has(self.container) || !has(self.imagePullPolicy)",message="imagePullPolicy is only for an image; leave it out",fieldPath=".imagePullPolicy"
// +kubebuilder:validation:XValidation:rule="has(self.container) || !has(self.readiness) || !has(self.readiness.command)",message="kind Exec is only for container; set another",fieldPath=".readiness.kind"
// +kubebuilder:validation:XValidation:rule="!has(self.userData) || !has(self.userDataSecretRef)",message="give userData or userDataSecretRef, not both",fieldPath=".userDataSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.cloudInit) || has(self.userData) || has(self.userDataSecretRef) || has(self.networkData)",message="cloudInit says how the guest gets userData, userDataSecretRef or networkData; give one of them, or leave cloudInit out",fieldPath=".cloudInit"
// +kubebuilder:validation:XValidation:rule="!has(self.managementNIC) || self.managementNIC == 'First' || !has(self.readiness) || !has(self.readiness.kind) || self.readiness.kind == 'Probe'",message="HTTP and TCP use the management NIC: set managementNIC First, or kind Probe",fieldPath=".readiness"
type CustomFunction struct {
	// container runs in a pod.
	// +optional
	Container *CustomContainer `json:"container,omitempty"`

	// containerDisk is an image that holds the disk in its folder /disk.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ContainerDisk string `json:"containerDisk,omitempty"`

	// imagePullSecretRef names the Secret for the image's registry. Absent: the operator's.
	// +optional
	ImagePullSecretRef *LocalReference `json:"imagePullSecretRef,omitempty"`

	// imagePullPolicy of the image. Absent: the operator's.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// persistentVolumeClaimRef names a claim that holds the disk. The guest writes to a layer
	// above it that is deleted with the run: the claim does not change.
	// +optional
	PersistentVolumeClaimRef *LocalReference `json:"persistentVolumeClaimRef,omitempty"`

	// dataVolumeRef names a DataVolume that holds the disk; KubeVirt waits until it is filled. The
	// guest's changes stay in it: to keep it unchanged, name its claim in persistentVolumeClaimRef.
	// +optional
	DataVolumeRef *LocalReference `json:"dataVolumeRef,omitempty"`

	// userData is cloud-init user data, or a container's file /etc/vnfbench/userdata, with placeholders
	// such as "{{ .West.AddressIPv4 }}" for values of the plan, in a Secret that is made for the run.
	// Every reader of the run can read it here: put passwords in userDataSecretRef.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	UserData string `json:"userData,omitempty"`

	// userDataSecretRef names a Secret whose key userdata is given unchanged: the
	// operator may not read it, so it fills in no placeholders.
	// +optional
	UserDataSecretRef *LocalReference `json:"userDataSecretRef,omitempty"`

	// networkData is cloud-init network configuration, with the same
	// placeholders as userData. Absent: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	NetworkData string `json:"networkData,omitempty"`

	// cloudInit is NoCloud or ConfigDrive. Absent: NoCloud where there is user
	// data or network data, and no such disk otherwise.
	// +optional
	CloudInit CloudInit `json:"cloudInit,omitempty"`

	// firmware is BIOS, EFI or EFISecureBoot. Absent: BIOS.
	// +optional
	Firmware Firmware `json:"firmware,omitempty"`

	// machineType is QEMU's, such as "q35". Absent: KubeVirt's default.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$`
	MachineType string `json:"machineType,omitempty"`

	// diskBus is Virtio, SATA or SCSI, for the disk and that of cloudInit. Absent: Virtio.
	// +optional
	DiskBus DiskBus `json:"diskBus,omitempty"`

	// managementNIC is First (a NIC on the pod network before the traffic ports,
	// with an address by DHCP), or None. Absent: First.
	// +optional
	ManagementNIC ManagementNIC `json:"managementNIC,omitempty"`

	// interfaceOrder is WestEast or EastWest, the order of the traffic ports on
	// the guest's bus. Absent: WestEast.
	// +optional
	InterfaceOrder InterfaceOrder `json:"interfaceOrder,omitempty"`

	// readiness says when the machine counts as started. Absent: kind Probe.
	// +optional
	Readiness *CustomReadiness `json:"readiness,omitempty"`
}

// CustomReadiness says when the user's machine or container counts as started. In every case the
// generator's probe frames must get through the chain within startupSeconds before anything is
// measured.
// +kubebuilder:validation:XValidation:rule="(has(self.kind) && self.kind in ['HTTP', 'TCP']) == has(self.port)",message="port is required with kind HTTP and TCP, and forbidden with any other",fieldPath=".port"
// +kubebuilder:validation:XValidation:rule="(has(self.kind) && self.kind == 'Exec') == has(self.command)",message="command is required with kind Exec, and forbidden with any other",fieldPath=".command"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || (has(self.kind) && self.kind == 'HTTP')",message="path is only for kind HTTP; leave it out",fieldPath=".path"
type CustomReadiness struct {
	// kind is Probe (it runs; probe frames show the rest), or HTTP or TCP (it also answers on its
	// management NIC or pod address), or Exec (command succeeds in the container). ChainFailed ends
	// the run when these three stop. Default Probe.
	// +optional
	// +kubebuilder:default=Probe
	Kind ReadinessKind `json:"kind,omitempty"`

	// bootSeconds is how long it must have run before it counts as started. It is
	// added to startupSeconds. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	BootSeconds int32 `json:"bootSeconds,omitempty"`

	// port of the check, with kind HTTP and TCP.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// path of the request, with kind HTTP. Absent: "/".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// command of the check, with kind Exec.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	Command []string `json:"command,omitempty"`
}

// Image returns the image that the container runs or that holds the disk; "" for a disk without one.
func (c *CustomFunction) Image() string {
	if c.Container != nil {
		return c.Container.Image
	}
	return c.ContainerDisk
}

// Effective returns the function with every default filled in. Callers may change what they get.
func (c *CustomFunction) Effective() CustomFunction {
	e := *c.DeepCopy()
	e.CloudInit = cmp.Or(e.CloudInit, CloudInitNoCloud)
	e.Firmware = cmp.Or(e.Firmware, FirmwareBIOS)
	e.DiskBus = cmp.Or(e.DiskBus, DiskBusVirtio)
	e.ManagementNIC = cmp.Or(e.ManagementNIC, ManagementNICFirst)
	e.InterfaceOrder = cmp.Or(e.InterfaceOrder, InterfaceOrderWestEast)
	if e.Container != nil {
		e.Container.Forwarding = cmp.Or(e.Container.Forwarding, ForwardingUserSpace)
	}
	if e.Readiness == nil {
		e.Readiness = &CustomReadiness{}
	}
	e.Readiness.Kind = cmp.Or(e.Readiness.Kind, ReadinessProbe)
	if e.Readiness.Kind == ReadinessHTTP {
		e.Readiness.Path = cmp.Or(e.Readiness.Path, "/")
	}
	return e
}

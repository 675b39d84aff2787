package v1alpha1

import corev1 "k8s.io/api/core/v1"

// SystemUnderTest says where network functions run.
type SystemUnderTest struct {
	// nodeSelector chooses the nodes that may run network functions. Absent:
	// every schedulable node. With a Bridge port the generator must be able to
	// run on the same node.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations of the network functions' pods. Absent: none.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// functionImage runs reference functions in pods. Absent: the image that the
	// operator was installed with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	FunctionImage string `json:"functionImage,omitempty"`

	// guestImage runs reference functions in virtual machines: an image with the
	// guest's kernel and initial RAM disk, or its disk; see platform.boot of a
	// function. Absent: the image that the operator was installed with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	GuestImage string `json:"guestImage,omitempty"`

	// realtime is Disabled or Enabled. With Enabled a run's virtual machines may request
	// platform.realtime, with which the node runs their vCPUs before all other threads.
	// Default Disabled.
	// +optional
	// +kubebuilder:default=Disabled
	Realtime Realtime `json:"realtime,omitempty"`

	// attachments are the kinds of port that these nodes offer. A run that requests another
	// is refused in its condition Planned. Default: Veth.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="attachments names a value twice: leave one out"
	// +kubebuilder:default={Veth}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	Attachments []Attachment `json:"attachments,omitempty"`

	// sriov names the pools of virtual functions for function ports with
	// attachment SRIOV. Absent: the outer ports take from the pools of spec.ports,
	// and there is none for ports between functions.
	// +optional
	SRIOV *DeviceSRIOV `json:"sriov,omitempty"`

	// hostDevices are the whole NICs for the chain's outer ports with attachment HostDevice.
	// +optional
	HostDevices *DeviceHostDevices `json:"hostDevices,omitempty"`

	// macAddresses fixes those of functions Custom, for images and licenses bound to them.
	// Absent: planned.
	// +optional
	// +listType=map
	// +listMapKey=function
	// +kubebuilder:validation:MaxItems=16
	MACAddresses []FunctionMACAddresses `json:"macAddresses,omitempty"`

	// observer is Enabled, EnabledWithCycles or Disabled. Default Enabled: a pod without
	// privileges that sees the node's processes (hostPID) reads what the node's CPUs and
	// virtual machines did during each trial, and the node's fingerprint. With
	// EnabledWithCycles it begins with the capabilities PERFMON and SETUID, and counts cycles
	// too. With Disabled these parts of a result are absent.
	// +optional
	// +kubebuilder:default=Enabled
	Observer ObserverMode `json:"observer,omitempty"`
}

// DeviceSRIOV names the pools of virtual functions that functions take from.
// +kubebuilder:validation:XValidation:rule="[has(self.westResourceName), has(self.eastResourceName), has(self.innerResourceName)].exists(x, x)",message="name at least one of westResourceName, eastResourceName and innerResourceName, or leave sriov out"
// +kubebuilder:validation:XValidation:rule="!has(self.firstInnerVLAN) || has(self.innerResourceName)",message="firstInnerVLAN is for the pool innerResourceName: set that, or leave firstInnerVLAN out",fieldPath=".firstInnerVLAN"
type DeviceSRIOV struct {
	// westResourceName is the pool of the chain's first port. Absent: that of spec.ports.west.sriov.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="westResourceName is a prefix and a name, such as openshift.io/west"
	WestResourceName string `json:"westResourceName,omitempty"`

	// eastResourceName is the pool of the chain's last port. Absent: that of spec.ports.east.sriov.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="eastResourceName is a prefix and a name, such as openshift.io/east"
	EastResourceName string `json:"eastResourceName,omitempty"`

	// innerResourceName is the pool of ports between functions: virtual
	// functions of one NIC, whose own switch joins those with the same VLAN.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="innerResourceName is a prefix and a name, such as openshift.io/inner"
	InnerResourceName string `json:"innerResourceName,omitempty"`

	// firstInnerVLAN separates the links between functions: the first has this tag, the next
	// one more, and so on. Default 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4080
	FirstInnerVLAN *int32 `json:"firstInnerVLAN,omitempty"`
}

// DeviceHostDevices are whole NICs of the chain's node.
type DeviceHostDevices struct {
	// west is the NIC of the chain's first port.
	// +optional
	West *DeviceHostDevice `json:"west,omitempty"`

	// east is the NIC of the chain's last port.
	// +optional
	East *DeviceHostDevice `json:"east,omitempty"`
}

// DeviceHostDevice names a whole NIC of the chain's node: for a function in a pod by its PCI
// address, for one in a virtual machine by KubeVirt's resource and its own MAC address.
// +kubebuilder:validation:XValidation:rule="has(self.pciAddress) || has(self.resourceName)",message="name the NIC by pciAddress for functions in pods, or by resourceName and macAddress for virtual machines"
// +kubebuilder:validation:XValidation:rule="!has(self.resourceName) || has(self.macAddress)",message="macAddress is required with resourceName: the guest finds its ports by their MAC addresses",fieldPath=".macAddress"
// +kubebuilder:validation:XValidation:rule="has(self.resourceName) || !has(self.macAddress)",message="macAddress is only for virtual machines: set resourceName too, or leave macAddress out",fieldPath=".macAddress"
type DeviceHostDevice struct {
	// pciAddress is that of the NIC, such as "0000:03:00.1", for functions in pods. It does
	// not choose a node: nodeSelector must match the one that has the NIC.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`
	// +kubebuilder:validation:MaxLength=12
	PCIAddress string `json:"pciAddress,omitempty"`

	// resourceName is KubeVirt's for the NIC, for functions in virtual machines:
	// that of spec.configuration.permittedHostDevices.pciHostDevices in the
	// KubeVirt resource, such as "vnfbench.io/dut-west".
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="resourceName is a prefix and a name, such as vnfbench.io/dut-west"
	ResourceName string `json:"resourceName,omitempty"`

	// macAddress is the NIC's own, such as "3c:fd:fe:00:00:01". It cannot be changed before the
	// guest starts.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$`
	// +kubebuilder:validation:MaxLength=17
	MACAddress string `json:"macAddress,omitempty"`
}

// FunctionMACAddresses are those of one function, no two of a testbed equal.
// +kubebuilder:validation:MinProperties=2
type FunctionMACAddresses struct {
	// function is the name of a function Custom.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Function string `json:"function,omitempty"`

	// management NIC's, such as "52:54:00:12:34:56". Absent: KubeVirt's choice.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$`
	// +kubebuilder:validation:MaxLength=17
	Management string `json:"management,omitempty"`

	// west port's. Absent: planned.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$`
	// +kubebuilder:validation:MaxLength=17
	West string `json:"west,omitempty"`

	// east port's. Absent: planned.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$`
	// +kubebuilder:validation:MaxLength=17
	East string `json:"east,omitempty"`
}

// MACAddressesOf returns the fixed hardware addresses of a function Custom, and none for any other.
func (s *SystemUnderTest) MACAddressesOf(function NetworkFunction) FunctionMACAddresses {
	for _, fixed := range s.MACAddresses {
		if function.Function == FunctionCustom && fixed.Function == function.Name {
			return fixed
		}
	}
	return FunctionMACAddresses{}
}

// ObserverMode says whether the chain's node is observed.
// +kubebuilder:validation:Enum=Enabled;EnabledWithCycles;Disabled
type ObserverMode string

const (
	// ObserverEnabled puts an observer next to the chain.
	ObserverEnabled ObserverMode = "Enabled"
	// ObserverEnabledWithCycles lets it count the cycles of the node's processors too.
	ObserverEnabledWithCycles ObserverMode = "EnabledWithCycles"
	// ObserverDisabled leaves it out.
	ObserverDisabled ObserverMode = "Disabled"
)

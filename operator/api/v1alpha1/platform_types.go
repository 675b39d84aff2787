package v1alpha1

import (
	"cmp"
)

// CPUPlacement says whether a virtual machine shares its cores.
// +kubebuilder:validation:Enum=Shared;Dedicated;DedicatedWithIsolatedEmulator
type CPUPlacement string

const (
	// CPUPlacementShared lets the node's scheduler place the vCPUs.
	CPUPlacementShared CPUPlacement = "Shared"
	// CPUPlacementDedicated gives each vCPU its own core.
	CPUPlacementDedicated CPUPlacement = "Dedicated"
	// CPUPlacementDedicatedWithIsolatedEmulator adds one core for QEMU's own threads.
	CPUPlacementDedicatedWithIsolatedEmulator CPUPlacement = "DedicatedWithIsolatedEmulator"
)

// HugepageSize is a size of page that the node's kernel offers.
// +kubebuilder:validation:Enum="2Mi";"1Gi"
type HugepageSize string

// NUMAPolicy says whether the guest sees the node's NUMA layout.
// +kubebuilder:validation:Enum=None;GuestMappingPassthrough
type NUMAPolicy string

const (
	// NUMANone shows the guest one NUMA node.
	NUMANone NUMAPolicy = "None"
	// NUMAGuestMappingPassthrough shows the guest the NUMA nodes of its cores.
	NUMAGuestMappingPassthrough NUMAPolicy = "GuestMappingPassthrough"
)

// Realtime says whether vCPU threads run with real-time priority.
// +kubebuilder:validation:Enum=Disabled;Enabled
type Realtime string

const (
	// RealtimeDisabled leaves vCPU threads to the ordinary scheduler.
	RealtimeDisabled Realtime = "Disabled"
	// RealtimeEnabled gives vCPU threads real-time priority and locks the memory.
	RealtimeEnabled Realtime = "Enabled"
)

// Boot is what a virtual machine starts from.
// +kubebuilder:validation:Enum=Kernel;Disk
type Boot string

const (
	// BootKernel starts /boot/vmlinuz and /boot/initrd.img of the image.
	BootKernel Boot = "Kernel"
	// BootDisk starts the disk in the image's folder /disk.
	BootDisk Boot = "Disk"
)

// OnDifference says what happens to a run whose virtual machine differs from what was requested.
// +kubebuilder:validation:Enum=Warn;Fail
type OnDifference string

const (
	// OnDifferenceWarn adds a warning to the figures.
	OnDifferenceWarn OnDifference = "Warn"
	// OnDifferenceFail ends the run before it measures.
	OnDifferenceFail OnDifference = "Fail"
)

// Platform is the shape of a virtual machine.
// +kubebuilder:validation:XValidation:rule="self.numa == 'None' || self.cpuPlacement != 'Shared'",message="numa GuestMappingPassthrough needs dedicated CPUs; set cpuPlacement Dedicated or DedicatedWithIsolatedEmulator",fieldPath=".numa"
// +kubebuilder:validation:XValidation:rule="self.numa == 'None' || has(self.hugepages)",message="numa GuestMappingPassthrough needs hugepages; set hugepages 2Mi or 1Gi",fieldPath=".numa"
// +kubebuilder:validation:XValidation:rule="self.realtime == 'Disabled' || self.numa == 'GuestMappingPassthrough'",message="realtime needs the node's NUMA layout, and with it dedicated CPUs and hugepages; set numa GuestMappingPassthrough",fieldPath=".realtime"
type Platform struct {
	// vcpus of the virtual machine. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	VCPUs int32 `json:"vcpus,omitempty"`

	// memory of the virtual machine, at least 128Mi. Default 512Mi.
	// +optional
	// +kubebuilder:default="512Mi"
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('128Mi')) && !quantity(string(self)).isGreaterThan(quantity('16Ti'))",message="memory must be 128Mi to 16Ti; the reference guest needs 128Mi to boot"
	Memory ByteQuantity `json:"memory,omitempty"`

	// cpuPlacement is Shared, Dedicated (each vCPU has its own core), or
	// DedicatedWithIsolatedEmulator (QEMU's own threads have one too). The node needs the
	// kubelet's static CPU manager for the latter two. Default Shared.
	// +optional
	// +kubebuilder:default=Shared
	CPUPlacement CPUPlacement `json:"cpuPlacement,omitempty"`

	// numa is None, or GuestMappingPassthrough: the guest sees the NUMA nodes of
	// its cores. The latter needs dedicated CPUs and hugepages. Default None.
	// +optional
	// +kubebuilder:default=None
	NUMA NUMAPolicy `json:"numa,omitempty"`

	// hugepages backs the memory with pages of this size, 2Mi or 1Gi. The node must have
	// reserved enough of them. Absent: ordinary pages.
	// +optional
	Hugepages HugepageSize `json:"hugepages,omitempty"`

	// realtime is Disabled, or Enabled: vCPU threads have real-time priority. The latter
	// needs numa GuestMappingPassthrough, and a node that KubeVirt labels as capable of it.
	// Default Disabled.
	// +optional
	// +kubebuilder:default=Disabled
	Realtime Realtime `json:"realtime,omitempty"`

	// boot is Kernel (/boot/vmlinuz and /boot/initrd.img of the image) or Disk
	// (the disk in the image's folder /disk). Default Kernel.
	// +optional
	// +kubebuilder:default=Kernel
	Boot Boot `json:"boot,omitempty"`

	// onDifference is what happens when KubeVirt reports another machine than was requested: Warn adds
	// the warning VirtualMachineMismatch to the figures, Fail ends the run with that reason before it
	// measures. Default Warn.
	// +optional
	// +kubebuilder:default=Warn
	OnDifference OnDifference `json:"onDifference,omitempty"`
}

// Dedicated reports whether each vCPU has its own core.
func (p Platform) Dedicated() bool { return p.CPUPlacement != CPUPlacementShared }

// EffectivePlatform returns a virtual machine's shape with every default filled in. Callers may
// change what they get.
func (f *NetworkFunction) EffectivePlatform() Platform {
	var p Platform
	if f.Platform != nil {
		p = *f.Platform.DeepCopy()
	}
	p.Memory = cmp.Or(p.Memory, "512Mi")
	p.VCPUs = cmp.Or(p.VCPUs, 1)
	p.CPUPlacement = cmp.Or(p.CPUPlacement, CPUPlacementShared)
	p.NUMA = cmp.Or(p.NUMA, NUMANone)
	p.Realtime = cmp.Or(p.Realtime, RealtimeDisabled)
	p.Boot = cmp.Or(p.Boot, BootKernel)
	p.OnDifference = cmp.Or(p.OnDifference, OnDifferenceWarn)
	return p
}

// EffectiveAttachment returns the attachment of a port of the function, or the runtime's default
// where the spec has none.
func (f *NetworkFunction) EffectiveAttachment(port FunctionPort) Attachment {
	switch {
	case port.Attachment != "":
		return port.Attachment
	case f.Runtime == RuntimeVirtualMachine:
		return AttachmentVirtio
	}
	return AttachmentVeth
}

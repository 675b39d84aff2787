package measure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"vnfbench.io/operator/api/v1alpha1"
)

// Fingerprint is everything about a node, apart from its work, that figures depend on. All
// of it can be read without privileges. A field is empty if it could not be read or the
// node has no such thing.
type Fingerprint struct {
	// Digest is "sha256:" and hexadecimal digits over everything else: nodes with equal digests
	// are the same platform.
	Digest string `json:"digest"`
	// CPUModel and Microcode are those of the first processor.
	CPUModel  string `json:"cpuModel,omitempty"`
	Microcode string `json:"microcode,omitempty"`
	// CPUs are logical processors online, Cores physical ones, Sockets packages.
	CPUs    int `json:"cpus,omitempty"`
	Cores   int `json:"cores,omitempty"`
	Sockets int `json:"sockets,omitempty"`
	// SMT is the kernel's word for simultaneous multithreading, such as "on",
	// "off" or "notsupported".
	SMT string `json:"smt,omitempty"`
	// NUMANodes is the number of nodes that the kernel knows.
	NUMANodes int `json:"numaNodes,omitempty"`
	// Kernel is the release and version of the running kernel.
	Kernel string `json:"kernel,omitempty"`
	// KernelParameters are those of the kernel's command line that affect timing, in their
	// order. The others may be private.
	KernelParameters []string `json:"kernelParameters,omitempty"`
	// ScalingDriver sets the CPUs' frequencies; ScalingGovernors decide on them, each listed
	// once. Empty in most virtual machines.
	ScalingDriver    string   `json:"scalingDriver,omitempty"`
	ScalingGovernors []string `json:"scalingGovernors,omitempty"`
	// Turbo is "Enabled" or "Disabled".
	Turbo string `json:"turbo,omitempty"`
	// IsolatedCPUs and TicklessCPUs are the kernel's lists, such as "2-7".
	IsolatedCPUs string `json:"isolatedCPUs,omitempty"`
	TicklessCPUs string `json:"ticklessCPUs,omitempty"`
	// Mitigations are the kernel's words on each vulnerability of the CPU, by its name.
	// Vulnerabilities that do not affect it are left out.
	Mitigations map[string]string `json:"mitigations,omitempty"`
	// Hugepages are the numbers of reserved pages, by their size in kibibytes.
	Hugepages map[int]int `json:"hugepages,omitempty"`
	// TransparentHugepages is "always", "madvise" or "never".
	TransparentHugepages string `json:"transparentHugepages,omitempty"`
	ClockSource          string `json:"clockSource,omitempty"`
	// Hypervisor is the CPU's own flag for a node that is a virtual machine.
	Hypervisor bool `json:"hypervisor,omitempty"`
	// Product is the node's maker and name in its firmware (DMI).
	Product string `json:"product,omitempty"`
}

// PortDriver is what drives a network interface (ethtool).
type PortDriver struct {
	Interface string `json:"interface"`
	Driver    string `json:"driver"`
	Firmware  string `json:"firmware,omitempty"`
	// Bus is the device's address, such as "0000:03:00.1".
	Bus string `json:"bus,omitempty"`
	// SpeedMegabitsPerSecond is that of the link, and Queues are those in each direction; 0 if
	// the driver does not report it.
	SpeedMegabitsPerSecond int64 `json:"speedMegabitsPerSecond,omitempty"`
	Queues                 int   `json:"queues,omitempty"`
	// RPSCPUMask is the hexadecimal mask of the CPUs that the kernel steers packets to which arrive there, of all
	// queues; empty where it steers none.
	RPSCPUMask string `json:"rpsCPUMask,omitempty"`
	// PCI is nil for an interface that is no PCI device.
	PCI *PCIDevice `json:"pci,omitempty"`
}

// PCIDevice is what the kernel shows of a PCI device. What it does not show is the zero value.
type PCIDevice struct {
	// Function is empty for a device without SR-IOV.
	Function v1alpha1.PCIFunction `json:"function,omitempty"`
	// PhysicalFunction is the address of the device that a virtual function is of.
	PhysicalFunction string `json:"physicalFunction,omitempty"`
	// NUMANode and IOMMUGroup are numbers from 0 on.
	NUMANode   *int32 `json:"numaNode,omitempty"`
	IOMMUGroup *int32 `json:"iommuGroup,omitempty"`
	// LinkMegatransfersPerSecond and LinkLanes are the speed and the width of the PCIe link as it is now. Of a virtual
	// function, they are those of its physical function.
	LinkMegatransfersPerSecond int32 `json:"linkMegatransfersPerSecond,omitempty"`
	LinkLanes                  int32 `json:"linkLanes,omitempty"`
}

// Sealed returns the fingerprint with its digest.
func (f Fingerprint) Sealed() Fingerprint {
	bare := f
	bare.Digest = ""
	data, err := json.Marshal(bare)
	if err != nil {
		// Strings, numbers and maps of them always marshal.
		panic(err)
	}
	sum := sha256.Sum256(data)
	f.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return f
}

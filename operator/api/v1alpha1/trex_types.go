package v1alpha1

// TRexMode is what TRex drives its ports with.
// +kubebuilder:validation:Enum=DPDK;AFPacket
type TRexMode string

const (
	// TRexDPDK takes the ports' devices from the kernel.
	TRexDPDK TRexMode = "DPDK"
	// TRexAFPacket leaves the ports to Linux and sends through packet sockets.
	TRexAFPacket TRexMode = "AFPacket"
)

// TRexGenerator sets driver TRex.
// +kubebuilder:validation:XValidation:rule="self.mode != 'DPDK' || has(self.hugepages)",message="mode DPDK keeps its frames in hugepages: set hugepages.memory, such as 2Gi, or use mode AFPacket",fieldPath=".hugepages"
// +kubebuilder:validation:XValidation:rule="self.mode != 'AFPacket' || !has(self.hugepages)",message="mode AFPacket uses no hugepages: leave them out, or use mode DPDK",fieldPath=".hugepages"
// +kubebuilder:validation:XValidation:rule="self.mode != 'AFPacket' || self.coresPerPort == 1",message="mode AFPacket has one queue for each port, which one thread serves: leave coresPerPort at 1, or use mode DPDK",fieldPath=".coresPerPort"
type TRexGenerator struct {
	// mode is DPDK or AFPacket. DPDK drives devices that a device plugin gives and that the
	// kernel has released: ports with attachment SRIOV, or existing networks with such a
	// resource. AFPacket sends through packet sockets on Linux interfaces of any attachment.
	// It is far slower; use it to try things out. Default DPDK.
	// +optional
	// +kubebuilder:default=DPDK
	Mode TRexMode `json:"mode,omitempty"`

	// coresPerPort is the number of threads that send at each of the two ports, each on its
	// own CPU. With mode AFPacket it is 1. Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	CoresPerPort int32 `json:"coresPerPort,omitempty"`

	// hugepages are required with mode DPDK, and forbidden with AFPacket.
	// +optional
	Hugepages *TRexHugepages `json:"hugepages,omitempty"`

	// extraConfiguration is merged over the platform configuration that the measurer writes
	// for TRex, and overrides it: YAML text of a mapping with TRex's own names, such as
	// "rx_desc: 4096". It may not set the server's interfaces and TCP ports. Absent: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ExtraConfiguration string `json:"extraConfiguration,omitempty"`
}

// TRexHugepages is memory in large pages, which a node reserves when it starts.
type TRexHugepages struct {
	// memory in hugepages, a multiple of pageSize and at least 1Gi.
	// +required
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('1Gi')) && !quantity(string(self)).isGreaterThan(quantity('16Ti'))",message="memory must be 1Gi to 16Ti"
	Memory ByteQuantity `json:"memory,omitempty"`

	// pageSize is 1Gi or 2Mi. The node must have reserved pages of this size. Default 1Gi.
	// +optional
	// +kubebuilder:default="1Gi"
	PageSize HugepageSize `json:"pageSize,omitempty"`
}

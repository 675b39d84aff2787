package v1alpha1

// GeneratorReport says how the traffic was made.
type GeneratorReport struct {
	// driver is XDP or TRex.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Driver string `json:"driver,omitempty"`

	// imageID of the measurer, as the node's container runtime reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ImageID string `json:"imageID,omitempty"`

	// measurerVersion is that of the measurer's program.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MeasurerVersion string `json:"measurerVersion,omitempty"`

	// transmitPath is the way out that the port supports: Direct or InnerVeth with driver
	// XDP, DPDK or AFPacket with TRex.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	TransmitPath string `json:"transmitPath,omitempty"`

	// receiveMode is how frames were received: Native or Generic with driver XDP; with TRex,
	// Hardware where the NIC sorts and counts them, or Software.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ReceiveMode string `json:"receiveMode,omitempty"`

	// westVLAN is the 802.1Q tag of the generator's frames at its west port. Absent: no tag.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	WestVLAN int32 `json:"westVLAN,omitempty"`

	// eastVLAN is that at the east port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	EastVLAN int32 `json:"eastVLAN,omitempty"`

	// threads is how many cores sent.
	// +optional
	Threads int32 `json:"threads,omitempty"`

	// scheduling is how the kernel scheduled the threads that sent: Fair or RealTime.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Scheduling string `json:"scheduling,omitempty"`

	// hop decides who is to blame for a frame without room. Inline (a bridge to a pod on the core that
	// sends): the device. Tap (a bridge to a virtual machine or encryption gateway of the node) and
	// Separate: the generator or its path. Absent: not planned yet.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Hop string `json:"hop,omitempty"`

	// hopReason says why, in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	HopReason string `json:"hopReason,omitempty"`

	// ringFrames is how many frames that were due could wait if hop is Inline.
	// Absent: the generator has no such ring.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RingFrames int32 `json:"ringFrames,omitempty"`

	// frameCostNanoseconds is the time that the generator took of a core for each small frame.
	// Absent: not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FrameCostNanoseconds int64 `json:"frameCostNanoseconds,omitempty"`

	// ports are the generator's two ports, as driver XDP found them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2
	Ports []GeneratorPort `json:"ports,omitempty"`

	// fallbacks are sentences, one for each thing that a port or the node did not support.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Fallbacks []string `json:"fallbacks,omitempty"`

	// log is the last lines of the generator's own program, such as TRex. Absent with driver
	// XDP.
	// +optional
	// +kubebuilder:validation:MaxItems=40
	// +kubebuilder:validation:items:MaxLength=256
	Log []string `json:"log,omitempty"`

	// cpus is how many CPUs the generator may use. Absent: not known.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CPUs int32 `json:"cpus,omitempty"`

	// isolatedCPUs is how many of them are isolated from the kernel's scheduler. Absent:
	// none, or not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	IsolatedCPUs int32 `json:"isolatedCPUs,omitempty"`

	// scalingGovernors are those of the CPUs, each once. Absent: the kernel
	// does not scale their frequency, or it is not known.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=32
	ScalingGovernors []string `json:"scalingGovernors,omitempty"`

	// calibration is the generator's own performance just before this run.
	// Absent where the testbed's ports do not allow it.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Calibration []CalibrationFrame `json:"calibration,omitempty"`

	// fingerprint of the node that makes the traffic.
	// +optional
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`

	// interfaces are what drives the generator's measured ports.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	Interfaces []NetworkInterface `json:"interfaces,omitempty"`
}

// GeneratorPort is a port of the generator.
type GeneratorPort struct {
	// name of the interface in the traffic pod.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name,omitempty"`

	// refusedFrames is Counted where the port's counters show every frame that it did not take,
	// and Unproven where it may drop frames without a count. Absent: it did not send.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	RefusedFrames string `json:"refusedFrames,omitempty"`

	// interruptMicroseconds is for how long the port may delay an interrupt for frames
	// that arrive. Absent: it has no such setting.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InterruptMicroseconds *int64 `json:"interruptMicroseconds,omitempty"`

	// adaptiveInterrupts says that the port chooses that time by the traffic.
	// +optional
	AdaptiveInterrupts bool `json:"adaptiveInterrupts,omitempty"`

	// nextHop that the port resolved. Absent: it sends to the planned hardware address.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	NextHop string `json:"nextHop,omitempty"`

	// nextHopMACAddress answered.
	// +optional
	// +kubebuilder:validation:MaxLength=17
	NextHopMACAddress string `json:"nextHopMACAddress,omitempty"`
}

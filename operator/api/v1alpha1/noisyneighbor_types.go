package v1alpha1

// NoisyNeighborComparison says whether a run is also measured without its neighbors.
// +kubebuilder:validation:Enum=With;WithAndWithout
type NoisyNeighborComparison string

const (
	// NeighborsWith measures everything with the neighbors.
	NeighborsWith NoisyNeighborComparison = "With"
	// NeighborsWithAndWithout measures everything twice, first without them.
	NeighborsWithAndWithout NoisyNeighborComparison = "WithAndWithout"
)

// NoisyNeighborKind is what a neighbor loads.
// +kubebuilder:validation:Enum=CPU;Memory;Disk;Network
type NoisyNeighborKind string

// The kinds of neighbors.
const (
	// NeighborCPU computes, by stress-ng's stressor cpu.
	NeighborCPU NoisyNeighborKind = "CPU"
	// NeighborMemory writes and reads memory, by stress-ng's stressor vm.
	NeighborMemory NoisyNeighborKind = "Memory"
	// NeighborDisk writes and reads files and has them flushed, by stress-ng's stressor hdd.
	NeighborDisk NoisyNeighborKind = "Disk"
	// NeighborNetwork sends frames over its own bridge.
	NeighborNetwork NoisyNeighborKind = "Network"
)

// Defaults of a neighbor's fields that only some kinds have.
const (
	DefaultNeighborLoadPercent = 100
	DefaultNeighborFrameBytes  = 512
)

// NoisyNeighbor is a load on the chain's node, next to the chain.
// +kubebuilder:validation:XValidation:rule="self.kind == 'CPU' || !has(self.loadPercent)",message="loadPercent is only for kind CPU: leave it out",fieldPath=".loadPercent"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Memory' || !has(self.memory)",message="memory is only for kind Memory: leave it out",fieldPath=".memory"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Disk' || !has(self.disk)",message="disk is only for kind Disk: leave it out",fieldPath=".disk"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Network' || ![has(self.framesPerSecond), has(self.bitsPerSecond), has(self.frameBytes), has(self.directions), has(self.attachment)].exists(h, h)",message="framesPerSecond, bitsPerSecond, frameBytes, directions and attachment are for Network"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Network' || has(self.framesPerSecond) != has(self.bitsPerSecond)",message="a Network neighbor needs a load: give either framesPerSecond or bitsPerSecond",fieldPath=".framesPerSecond"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Network' || !has(self.workers) || self.workers == 1",message="a Network neighbor sends with one thread for each direction: leave workers out",fieldPath=".workers"
// +kubebuilder:validation:XValidation:rule="!has(self.attachment) || self.attachment != 'RTL8139' || !has(self.frameBytes) || self.frameBytes <= 1518",message="an RTL8139 carries frames of at most 1518 bytes: lower frameBytes, or use another attachment",fieldPath=".frameBytes"
type NoisyNeighbor struct {
	// name of the neighbor, unique in the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// kind is CPU, Memory, Disk or Network.
	// +required
	Kind NoisyNeighborKind `json:"kind,omitempty"`

	// runtime is Pod or VirtualMachine. Default Pod. A virtual machine boots the neighbors'
	// own guest under KubeVirt.
	// +optional
	// +kubebuilder:default=Pod
	Runtime Runtime `json:"runtime,omitempty"`

	// workers is the number of processes. Default 1. A pod is limited to one CPU for each, and a
	// tenth; a virtual machine has one vCPU for each, and one for each direction of frames.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Workers int32 `json:"workers,omitempty"`

	// cpu that the pod requests, also that of a virtual machine: its weight against other pods of the
	// node. Absent: 100m, for each vCPU of a virtual machine.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('1m')) && !quantity(string(self)).isGreaterThan(quantity('1024'))",message="cpu must be 1m to 1024: leave it out for 100m"
	CPU CPUQuantity `json:"cpu,omitempty"`

	// loadPercent of a CPU that each worker of a CPU neighbor takes. Absent: 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	LoadPercent *int32 `json:"loadPercent,omitempty"`

	// memory that all workers of a Memory neighbor write to together, at least 4Mi. The pod requests a
	// little more, and a virtual machine has it in addition to its guest's. Absent: 256Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('4Mi')) && !quantity(string(self)).isGreaterThan(quantity('16Ti'))",message="memory must be 4Mi to 16Ti"
	Memory ByteQuantity `json:"memory,omitempty"`

	// disk that all workers of a Disk neighbor write together before they start again, at
	// least 4Mi, in an emptyDir or on a virtual machine's disk of 1.5 times that size.
	// Absent: 256Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('[eE]') && isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('4Mi')) && !quantity(string(self)).isGreaterThan(quantity('1Ti'))",message="disk must be 4Mi to 1Ti"
	Disk ByteQuantity `json:"disk,omitempty"`

	// framesPerSecond of a Network neighbor, for each direction.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// bitsPerSecond of a Network neighbor, for each direction, instead of framesPerSecond:
	// the bits of frames with their check sequence. Rounded down to whole frames.
	// +optional
	// +kubebuilder:validation:Minimum=100000
	// +kubebuilder:validation:Maximum=100000000000
	BitsPerSecond *int64 `json:"bitsPerSecond,omitempty"`

	// frameBytes of a Network neighbor, with the check sequence. Absent: 512.
	// +optional
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9018
	FrameBytes *int32 `json:"frameBytes,omitempty"`

	// directions in which a Network neighbor sends between its two ports: Both, Forward or
	// Reverse. Absent: Both.
	// +optional
	Directions Directions `json:"directions,omitempty"`

	// attachment of a Network neighbor's ports. Absent: Veth for a pod, Virtio for a virtual
	// machine.
	// +optional
	Attachment Attachment `json:"attachment,omitempty"`
}

// NoisyNeighborsReport says what the neighbors did, and what they changed.
type NoisyNeighborsReport struct {
	// loads are what the neighbors did during the trials that count.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	Loads []NoisyNeighborReport `json:"loads,omitempty"`

	// comparison has the figures without and with the neighbors, for
	// measurements.noisyNeighbors WithAndWithout.
	// +optional
	// +kubebuilder:validation:MaxItems=512
	Comparison []NoisyNeighborDifference `json:"comparison,omitempty"`
}

// NoisyNeighborReport is what one neighbor did during the trials that count and for which that is
// known.
type NoisyNeighborReport struct {
	// name of the neighbor.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name,omitempty"`

	// kind is CPU, Memory, Disk or Network.
	// +required
	Kind NoisyNeighborKind `json:"kind,omitempty"`

	// runtime of the neighbor. Absent with an operator that knew only pods.
	// +optional
	Runtime Runtime `json:"runtime,omitempty"`

	// trials that the figures are based on.
	// +required
	// +kubebuilder:validation:Minimum=0
	Trials int32 `json:"trials"`

	// intendedMilliCPU is the load of a CPU neighbor.
	// +optional
	IntendedMilliCPU *int64 `json:"intendedMilliCPU,omitempty"`

	// milliCPU that the neighbor took: what a pod's container counted, without the kernel's work on
	// frames, or what a virtual machine's guest counted, with its kernel's work and without its
	// hypervisor's.
	// +optional
	MilliCPU *int64 `json:"milliCPU,omitempty"`

	// intendedFramesPerSecond of a Network neighbor, of all directions.
	// +optional
	IntendedFramesPerSecond *int64 `json:"intendedFramesPerSecond,omitempty"`

	// sentFramesPerSecond of a Network neighbor, of all directions.
	// +optional
	SentFramesPerSecond *int64 `json:"sentFramesPerSecond,omitempty"`

	// receivedFramesPerSecond at a Network neighbor's other port, of all directions.
	// +optional
	ReceivedFramesPerSecond *int64 `json:"receivedFramesPerSecond,omitempty"`

	// stressors are what stress-ng counted in its whole time next to the chain, known when
	// the measurement is over.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	Stressors []StressorReport `json:"stressors,omitempty"`
}

// StressorReport is what one stressor counted.
type StressorReport struct {
	// name of the stressor in stress-ng.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name,omitempty"`

	// operations are stress-ng's bogo-ops. Compare them only between runs with the same
	// stress-ng.
	// +required
	Operations int64 `json:"operations"`

	// operationsPerSecond are per second of real time.
	// +required
	OperationsPerSecond int64 `json:"operationsPerSecond"`
}

// NoisyNeighborDifference is one figure without and with the neighbors: of the worse direction,
// and for a fixed load of the worst repeat.
type NoisyNeighborDifference struct {
	FigureKey `json:",inline"`

	// without the neighbors, in the metric's unit. Absent: there is no such figure.
	// +optional
	Without *int64 `json:"without,omitempty"`

	// with the neighbors, in the metric's unit. Absent: there is no such figure, or not yet.
	// +optional
	With *int64 `json:"with,omitempty"`

	// differencePartsPerMillion is (with - without) / without. Absent where one is missing, without is
	// 0, or the trials of the two had different times.
	// +optional
	DifferencePartsPerMillion *int64 `json:"differencePartsPerMillion,omitempty"`

	// differenceLowPartsPerMillion is the lower end of the 95 % interval. Absent: a pair has 0 or a floor.
	// +optional
	DifferenceLowPartsPerMillion *int64 `json:"differenceLowPartsPerMillion,omitempty"`

	// differenceHighPartsPerMillion is its upper end.
	// +optional
	DifferenceHighPartsPerMillion *int64 `json:"differenceHighPartsPerMillion,omitempty"`

	// pairs of repeats without and with the neighbors. Absent: there are none.
	// +optional
	Pairs int32 `json:"pairs,omitempty"`

	// withoutFirst is that of the first pair.
	// +optional
	WithoutFirst *int64 `json:"withoutFirst,omitempty"`

	// withoutLast is that of the last pair.
	// +optional
	WithoutLast *int64 `json:"withoutLast,omitempty"`
}

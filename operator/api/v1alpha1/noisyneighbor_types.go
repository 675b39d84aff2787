package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// NoisyNeighborComparison says whether neighbours are measured alone or against
// their absence.
// +kubebuilder:validation:Enum=With;WithAndWithout
type NoisyNeighborComparison string

const (
	// NeighborsWith has everything measured beside the neighbours.
	NeighborsWith NoisyNeighborComparison = "With"
	// NeighborsWithAndWithout has everything measured twice, without them first.
	NeighborsWithAndWithout NoisyNeighborComparison = "WithAndWithout"
)

// NoisyNeighborKind is what a neighbour loads.
// +kubebuilder:validation:Enum=CPU;Memory;Disk;Network
type NoisyNeighborKind string

// The kinds of neighbours.
const (
	// NeighborCPU computes, by stress-ng's stressor cpu.
	NeighborCPU NoisyNeighborKind = "CPU"
	// NeighborMemory writes and reads memory, by stress-ng's stressor vm.
	NeighborMemory NoisyNeighborKind = "Memory"
	// NeighborDisk writes and reads files and has them flushed, by stress-ng's stressor hdd.
	NeighborDisk NoisyNeighborKind = "Disk"
	// NeighborNetwork sends frames over a bridge of its own.
	NeighborNetwork NoisyNeighborKind = "Network"
)

// Defaults of a neighbour's fields that belong to some kinds alone.
const (
	DefaultNeighborLoadPercent = 100
	DefaultNeighborFrameBytes  = 512
)

// NoisyNeighbor is a load on the device's node beside the chain.
// +kubebuilder:validation:XValidation:rule="self.kind == 'CPU' || !has(self.loadPercent)",message="loadPercent is for kind CPU alone: leave it out",fieldPath=".loadPercent"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Memory' || !has(self.memory)",message="memory is for kind Memory alone: leave it out",fieldPath=".memory"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Disk' || !has(self.disk)",message="disk is for kind Disk alone: leave it out",fieldPath=".disk"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Network' || ![has(self.framesPerSecond), has(self.bitsPerSecond), has(self.frameBytes), has(self.directions), has(self.attachment)].exists(h, h)",message="framesPerSecond, bitsPerSecond, frameBytes, directions and attachment are for Network"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Network' || has(self.framesPerSecond) != has(self.bitsPerSecond)",message="a Network neighbour needs its load: give either framesPerSecond or bitsPerSecond",fieldPath=".framesPerSecond"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Network' || !has(self.workers) || self.workers == 1",message="a Network neighbour sends with one thread for each direction: leave workers out",fieldPath=".workers"
// +kubebuilder:validation:XValidation:rule="!has(self.attachment) || self.attachment != 'RTL8139' || !has(self.frameBytes) || self.frameBytes <= 1518",message="an RTL8139 carries frames of at most 1518 bytes: lower frameBytes, or take another attachment",fieldPath=".frameBytes"
// +kubebuilder:validation:XValidation:rule="!has(self.cpu) || quantity(string(self.cpu)).compareTo(quantity('1m')) >= 0",message="cpu must be at least 1m: leave it out for 100m",fieldPath=".cpu"
// +kubebuilder:validation:XValidation:rule="!has(self.memory) || quantity(string(self.memory)).compareTo(quantity('4Mi')) >= 0",message="memory must be at least 4Mi",fieldPath=".memory"
// +kubebuilder:validation:XValidation:rule="!has(self.disk) || quantity(string(self.disk)).compareTo(quantity('4Mi')) >= 0",message="disk must be at least 4Mi",fieldPath=".disk"
type NoisyNeighbor struct {
	// name of the neighbour, unique in the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// kind is CPU, Memory, Disk or Network.
	// +required
	Kind NoisyNeighborKind `json:"kind,omitempty"`

	// runtime is Pod or VirtualMachine. Default Pod. A virtual machine boots the
	// neighbours' own guest under KubeVirt.
	// +optional
	// +kubebuilder:default=Pod
	Runtime Runtime `json:"runtime,omitempty"`

	// workers is how many processes load at once. Default 1. A pod is limited
	// to a CPU for each, and a tenth for what starts them; a virtual machine has a
	// vCPU for each, and one for each direction of frames.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Workers int32 `json:"workers,omitempty"`

	// cpu that the pod requests, the one of a virtual machine too, which is its
	// weight against the other pods of the node where they want more than there
	// is. Absent: 100m, for each vCPU of a virtual machine.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// loadPercent of a CPU that each worker of a CPU neighbour takes. Absent: 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	LoadPercent *int32 `json:"loadPercent,omitempty"`

	// memory that all workers of a Memory neighbour write to together, at
	// least 4Mi; the pod requests it and a little more, and a virtual machine has
	// it beside what its guest needs. Absent: 256Mi.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// disk that all workers of a Disk neighbour write together before they begin
	// anew, at least 4Mi, in an emptyDir or on a virtual machine's disk of that
	// size and a half. Absent: 256Mi.
	// +optional
	Disk *resource.Quantity `json:"disk,omitempty"`

	// framesPerSecond of a Network neighbour, for each direction.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// bitsPerSecond of a Network neighbour, for each direction, in the place of
	// framesPerSecond: the bits of frames with their check sequence. Whole frames
	// per second, rounded down.
	// +optional
	// +kubebuilder:validation:Minimum=100000
	// +kubebuilder:validation:Maximum=100000000000
	BitsPerSecond *int64 `json:"bitsPerSecond,omitempty"`

	// frameBytes of a Network neighbour, with the check sequence. Absent: 512.
	// +optional
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9018
	FrameBytes *int32 `json:"frameBytes,omitempty"`

	// directions in which a Network neighbour sends between its two ports: Both,
	// Forward or Reverse. Absent: Both.
	// +optional
	Directions Directions `json:"directions,omitempty"`

	// attachment of a Network neighbour's ports. Absent: Veth for a pod, Virtio
	// for a virtual machine.
	// +optional
	Attachment Attachment `json:"attachment,omitempty"`
}

// NoisyNeighborsReport says what the neighbours did, and what they changed.
type NoisyNeighborsReport struct {
	// loads are what the neighbours did beside the trials that count.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Loads []NoisyNeighborReport `json:"loads,omitempty"`

	// comparison has the figures without and with the neighbours side by side,
	// with measurements.noisyNeighbors WithAndWithout.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Comparison []NoisyNeighborDifference `json:"comparison,omitempty"`
}

// NoisyNeighborReport is what one neighbour did beside the trials that count and of
// which that is known.
type NoisyNeighborReport struct {
	// name of the neighbour.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name,omitempty"`

	// kind is CPU, Memory, Disk or Network.
	// +required
	Kind NoisyNeighborKind `json:"kind,omitempty"`

	// runtime that the neighbour had. Absent where an operator before it knew pods alone.
	// +optional
	Runtime Runtime `json:"runtime,omitempty"`

	// trials that the figures rest on.
	// +required
	// +kubebuilder:validation:Minimum=0
	Trials int32 `json:"trials"`

	// intendedMilliCPU that a CPU neighbour was asked to take.
	// +optional
	IntendedMilliCPU *int64 `json:"intendedMilliCPU,omitempty"`

	// milliCPU that the neighbour took. Of a pod it is its container's account, and
	// the kernel's work on frames is not in it. Of a virtual machine it is its
	// guest's own, with its kernel's work, and without what its hypervisor took.
	// +optional
	MilliCPU *int64 `json:"milliCPU,omitempty"`

	// intendedFramesPerSecond of a Network neighbour, of all directions.
	// +optional
	IntendedFramesPerSecond *int64 `json:"intendedFramesPerSecond,omitempty"`

	// sentFramesPerSecond of a Network neighbour, of all directions.
	// +optional
	SentFramesPerSecond *int64 `json:"sentFramesPerSecond,omitempty"`

	// receivedFramesPerSecond at a Network neighbour's other port, of all directions.
	// +optional
	ReceivedFramesPerSecond *int64 `json:"receivedFramesPerSecond,omitempty"`

	// stressors are stress-ng's own account of the whole time beside the chain,
	// known when the measurement is over.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Stressors []StressorReport `json:"stressors,omitempty"`
}

// StressorReport is one stressor's account.
type StressorReport struct {
	// name of the stressor, by stress-ng.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name,omitempty"`

	// operations are stress-ng's bogo-ops: they compare runs with the same
	// stress-ng, and nothing else.
	// +required
	Operations int64 `json:"operations"`

	// operationsPerSecond are formed over real time.
	// +required
	OperationsPerSecond int64 `json:"operationsPerSecond"`
}

// NoisyNeighborDifference is one figure without and with the neighbours: the worse
// direction's, and the worst repeat's of a fixed load.
type NoisyNeighborDifference struct {
	FigureKey `json:",inline"`

	// without the neighbours, in the metric's unit. Absent: there is no such figure.
	// +optional
	Without *int64 `json:"without,omitempty"`

	// with the neighbours, in the metric's unit. Absent: there is no such figure (yet).
	// +optional
	With *int64 `json:"with,omitempty"`

	// differencePartsPerMillion is (with - without) / without. Absent where one
	// of the two is missing, or without is 0.
	// +optional
	DifferencePartsPerMillion *int64 `json:"differencePartsPerMillion,omitempty"`
}

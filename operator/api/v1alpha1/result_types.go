package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PlanSummary says where the run is measured, and identifies its plan.
type PlanSummary struct {
	// digest of the whole plan: equal digests mean equal experiments.
	// +required
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest,omitempty"`

	// storedDigest is the SHA-256 of the plan's ConfigMap as the operator made it. It acts on no other.
	// Absent in runs that an older operator planned.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	StoredDigest string `json:"storedDigest,omitempty"`

	// generatorNode is where traffic is made.
	// +required
	// +kubebuilder:validation:MaxLength=253
	GeneratorNode string `json:"generatorNode,omitempty"`

	// deviceNode is where the chain runs.
	// +required
	// +kubebuilder:validation:MaxLength=253
	DeviceNode string `json:"deviceNode,omitempty"`

	// orderSeed is the seed of measurements.order. Absent with order Declared.
	// +optional
	OrderSeed *int64 `json:"orderSeed,omitempty"`
}

// Progress of a measurement.
type Progress struct {
	// stage is one short sentence, such as "throughput, 64 bytes".
	// +required
	// +kubebuilder:validation:MaxLength=200
	Stage string `json:"stage,omitempty"`

	// trials that have ended.
	// +required
	Trials int32 `json:"trials"`

	// percent of the expected time that has passed.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent"`

	// remainingSeconds is an estimate; a search may need fewer or more trials.
	// +required
	// +kubebuilder:validation:Minimum=0
	RemainingSeconds int64 `json:"remainingSeconds"`

	// measurerRestarts is how many times the measurer was restarted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MeasurerRestarts int32 `json:"measurerRestarts,omitempty"`
}

// Session is what one measurer made.
type Session struct {
	// measurer is the pod.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Measurer string `json:"measurer,omitempty"`

	// startedAt is when it began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// trials that it made.
	// +required
	Trials int32 `json:"trials"`

	// discardedTrials of these do not count.
	// +optional
	DiscardedTrials int32 `json:"discardedTrials,omitempty"`
}

// FigureNote says why a figure is no value of the device.
// +kubebuilder:validation:Enum=AtLeast;AtMost;Doubtful
type FigureNote string

// Values of FigureNote.
const (
	// NoteAtLeast is on a figure that the device may exceed: a floor.
	NoteAtLeast FigureNote = "AtLeast"
	// NoteAtMost is on a figure that the device may be below.
	NoteAtMost FigureNote = "AtMost"
	// NoteDoubtful is on a figure with doubts, which the results name.
	NoteDoubtful FigureNote = "Doubtful"
)

// ResultSummary has the figures of the first size.
type ResultSummary struct {
	// size names what was sent.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Size string `json:"size,omitempty"`

	// goal whose throughput is given: the first of the run's goals.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Goal string `json:"goal,omitempty"`

	// framesPerSecond is the goal's throughput, for each direction; for packets in fragments,
	// in whole packets.
	// +optional
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// rateNote says why framesPerSecond is no value. Absent: it is one.
	// +optional
	RateNote FigureNote `json:"rateNote,omitempty"`

	// load at which p99Nanoseconds was measured: the last of the run's latency loads.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Load string `json:"load,omitempty"`

	// p99Nanoseconds is the worse direction's p99 one-way latency.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`

	// p99Note says why p99Nanoseconds is no value. Absent: it is one.
	// +optional
	P99Note FigureNote `json:"p99Note,omitempty"`
}

// FrameResult has the results for one frame size, mix or packet.
type FrameResult struct {
	// size names what was sent, unique in the run: a frame size such as "64", a mix such as "imix", or
	// a packet in fragments such as "udp-4096". Figures refer to it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Size string `json:"size,omitempty"`

	// frameBytes is the frame's size with its check sequence; for a mix the mean size,
	// rounded to the nearest byte.
	// +required
	FrameBytes int32 `json:"frameBytes,omitempty"`

	// mix is the name of the mix. Absent: all frames had one size.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Mix string `json:"mix,omitempty"`

	// packet is set where packets were sent in fragments: rates, loads and counts of this entry are
	// then those of whole packets, and frameBytes is the frame that one would be in one piece.
	// +optional
	Packet *PacketResult `json:"packet,omitempty"`

	// throughput holds one entry for each goal.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	Throughput []ThroughputResult `json:"throughput,omitempty"`

	// latency holds one entry for each load.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Latency []LatencyResult `json:"latency,omitempty"`

	// fixedLoad holds one entry for each profile of this frame size.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	FixedLoad []FixedLoadResult `json:"fixedLoad,omitempty"`

	// frameLossRate is the loss at falling loads.
	// +optional
	FrameLossRate *FrameLossRateResult `json:"frameLossRate,omitempty"`

	// backToBack is the longest burst without loss. Absent where the device does not limit
	// the throughput.
	// +optional
	BackToBack *BackToBackResult `json:"backToBack,omitempty"`

	// receiveRate is the forwarding rate at the maximum load.
	// +optional
	ReceiveRate *ReceiveRateResult `json:"receiveRate,omitempty"`

	// recovery is the time after an overload in which the device still lost frames.
	// +optional
	Recovery *RecoveryResult `json:"recovery,omitempty"`

	// soak is a load over hours.
	// +optional
	Soak *SoakResult `json:"soak,omitempty"`

	// firstFrame is the delay of the first frame of this size, in the warm-up, in each direction.
	// Absent without a warm-up, and for a direction that lost it.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	FirstFrame []FirstFrameResult `json:"firstFrame,omitempty"`
}

// FirstFrameResult is one direction's first frame.
type FirstFrameResult struct {
	// direction is Forward (west to east) or Reverse.
	// +required
	// +kubebuilder:validation:Enum=Forward;Reverse
	Direction string `json:"direction,omitempty"`

	// delayNanoseconds is its one-way delay.
	// +required
	DelayNanoseconds int64 `json:"delayNanoseconds"`
}

// MaxWarningBytes is the longest message of a warning.
const MaxWarningBytes = 512

// Warning is a doubt about figures.
type Warning struct {
	// code is a documented constant, such as GeneratorCeiling.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Code string `json:"code,omitempty"`

	// size that it is about. Absent: the whole run.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Size string `json:"size,omitempty"`

	// message is one sentence.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

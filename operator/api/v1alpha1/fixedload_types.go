package v1alpha1

// FixedLoad measures at stated loads for a stated time, in repeats.
type FixedLoad struct {
	// profiles are measured one after the other.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Profiles []LoadProfile `json:"profiles,omitempty"`

	// durationSeconds is the time of each repeat that counts. Default 60.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	DurationSeconds int32 `json:"durationSeconds,omitempty"`

	// discardSeconds is the time at the same load right before each repeat that does not
	// count. Default 20; 0 skips it.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	DiscardSeconds *int32 `json:"discardSeconds,omitempty"`

	// repeats is how often each profile is measured. Default 3. With noisyNeighbors WithAndWithout
	// an odd number becomes the next even one.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Repeats int32 `json:"repeats,omitempty"`
}

// LoadProfile is a size at a stated rate.
// +kubebuilder:validation:XValidation:rule="has(self.framesPerSecond) != has(self.layer2BitsPerSecond)",message="give either framesPerSecond or layer2BitsPerSecond"
type LoadProfile struct {
	// name of the profile, unique in the run among its latency loads too.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// size is a frame's in bytes such as "64", the name of a mix or of a packet such as "udp-4096", of
	// spec.experiment.traffic.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Size string `json:"size,omitempty"`

	// framesPerSecond of each direction; it may not exceed line rate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// layer2BitsPerSecond of each direction: the bits of frames with their check sequence,
	// without preamble and gap. Rounded down to whole frames.
	// +optional
	// +kubebuilder:validation:Minimum=512
	// +kubebuilder:validation:Maximum=1000000000000
	Layer2BitsPerSecond *int64 `json:"layer2BitsPerSecond,omitempty"`
}

// FixedLoadResult is the result of one profile.
type FixedLoadResult struct {
	// profile is the name of the profile.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Profile string `json:"profile,omitempty"`

	// intendedFramesPerSecond is the load of each direction.
	// +required
	IntendedFramesPerSecond int64 `json:"intendedFramesPerSecond"`

	// bias is the delay without a device at the same load. Absent: not known.
	// +optional
	Bias *LatencyBias `json:"bias,omitempty"`

	// worst has, for each figure separately, the worst of all repeats and directions.
	// +required
	Worst WorstCase `json:"worst,omitzero"`

	// repeats in their order.
	// +required
	// +kubebuilder:validation:MaxItems=10
	Repeats []RepeatResult `json:"repeats,omitempty"`

	// doubts about the figures, such as LoadNotReached.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`

	// awayPartsPerMillion is the largest share of a trial in which other work held a sending core.
	// Absent: at most 1 ms at once, and less in all than the receive ring holds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	AwayPartsPerMillion int64 `json:"awayPartsPerMillion,omitempty"`
}

// RepeatResult is one repeat of a profile.
type RepeatResult struct {
	// repeat counts from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Repeat int32 `json:"repeat,omitempty"`

	// trialMilliseconds is the time in which frames were sent: longer than asked for where a queue grew.
	// +required
	TrialMilliseconds int64 `json:"trialMilliseconds"`

	// directions holds Forward, Reverse or both.
	// +required
	// +kubebuilder:validation:MaxItems=2
	Directions []DirectionResult `json:"directions,omitempty"`
}

// WorstCase has the largest value of each figure. With lossPartsPerMillion 1000000 a direction
// received nothing, and the delays are those of what did arrive.
type WorstCase struct {
	// lossPartsPerMillion is lost frames for each million sent.
	// +required
	LossPartsPerMillion int64 `json:"lossPartsPerMillion"`
	// latencyMeanNanoseconds is the largest mean one-way delay.
	// +required
	LatencyMeanNanoseconds int64 `json:"latencyMeanNanoseconds"`
	// latencyP99Nanoseconds is the largest 99th percentile of the one-way delay.
	// +required
	LatencyP99Nanoseconds int64 `json:"latencyP99Nanoseconds"`
	// latencyMaxNanoseconds is the largest one-way delay of a frame.
	// +required
	LatencyMaxNanoseconds int64 `json:"latencyMaxNanoseconds"`
	// delayVariationMaxNanoseconds is the largest |IPDV| (RFC 5481 section 4.1). Absent: not
	// counted, as with driver TRex.
	// +optional
	DelayVariationMaxNanoseconds *int64 `json:"delayVariationMaxNanoseconds,omitempty"`
	// jitterP99Nanoseconds is the largest p99 of the jitter. Absent with driver TRex.
	// +optional
	JitterP99Nanoseconds *int64 `json:"jitterP99Nanoseconds,omitempty"`
	// oneWayBudgetPartsPerMillion is latencyMaxNanoseconds as a share of the 150 ms of ITU-T G.114.
	// +required
	OneWayBudgetPartsPerMillion int64 `json:"oneWayBudgetPartsPerMillion"`
}

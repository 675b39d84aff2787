package v1alpha1

// Soak holds one load of one size for hours, with a figure for each interval.
// +kubebuilder:validation:XValidation:rule="has(self.framesPerSecond) != has(self.goal)",message="give either framesPerSecond or goal with percent"
// +kubebuilder:validation:XValidation:rule="has(self.goal) == has(self.percent)",message="goal and percent go together"
// +kubebuilder:validation:XValidation:rule="(self.durationSeconds - 1) / 288 < self.intervalSeconds",message="more than 288 intervals: raise intervalSeconds to at least durationSeconds / 288",fieldPath=".intervalSeconds"
// +kubebuilder:validation:XValidation:rule="self.intervalSeconds <= self.durationSeconds",message="intervalSeconds must be at most durationSeconds",fieldPath=".intervalSeconds"
type Soak struct {
	// size is a frame's in bytes such as "64", the name of a mix or of a packet such as "udp-4096", of
	// spec.experiment.traffic.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Size string `json:"size,omitempty"`

	// framesPerSecond of each direction, at most line rate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// goal whose throughput the load is a share of.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Goal string `json:"goal,omitempty"`

	// percent of the goal's throughput.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`

	// durationSeconds is the total time in which frames are sent. Default 3600. The run's
	// deadlineSeconds must be longer.
	// +optional
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604799
	DurationSeconds int32 `json:"durationSeconds,omitempty"`

	// intervalSeconds is the time that each figure covers; at most 288 intervals. Default
	// 300, which is 288 a day.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`

	// stopAboveLossPartsPerMillion ends the soak after an interval that lost more, in the
	// worse direction. Absent: no loss ends it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	StopAboveLossPartsPerMillion *int32 `json:"stopAboveLossPartsPerMillion,omitempty"`
}

// SoakEnd says why a soak has no further intervals.
// +kubebuilder:validation:MaxLength=64
type SoakEnd string

const (
	// SoakCompleted means that the whole time was measured.
	SoakCompleted SoakEnd = "Completed"
	// SoakLoss means that an interval lost more than stopAboveLossPartsPerMillion.
	SoakLoss SoakEnd = "Loss"
)

// SoakResult is a load over hours.
type SoakResult struct {
	// intendedFramesPerSecond is the load of each direction.
	// +required
	IntendedFramesPerSecond int64 `json:"intendedFramesPerSecond"`
	// share says of which throughput the load is a share. Absent: the load is given as a rate.
	// +optional
	Share *LoadShare `json:"share,omitempty"`
	// bias is the delay without a device at the same load. Absent: not known.
	// +optional
	Bias *LatencyBias `json:"bias,omitempty"`
	// end says why there are no further intervals: Completed or Loss.
	// +required
	End SoakEnd `json:"end,omitempty"`
	// sendingSeconds is the time in which frames were sent.
	// +required
	SendingSeconds int64 `json:"sendingSeconds"`
	// lossPartsPerMillion of all intervals together, of the worse direction.
	// +required
	LossPartsPerMillion int64 `json:"lossPartsPerMillion"`
	// worst has, for each figure separately, the worst of all intervals and directions.
	// +required
	Worst WorstCase `json:"worst,omitzero"`
	// intervals in their order.
	// +required
	// +kubebuilder:validation:MaxItems=288
	Intervals []SoakInterval `json:"intervals,omitempty"`

	// lateness is the wait before the departure in all intervals, the largest of each figure.
	// +optional
	Lateness *DelayQuantiles `json:"lateness,omitempty"`

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

// SoakInterval is one interval; each figure is that of the worse direction.
type SoakInterval struct {
	// startSeconds after the first interval's start, pauses between intervals included.
	// +required
	StartSeconds int64 `json:"startSeconds"`
	// lossPartsPerMillion is lost frames for each million sent.
	// +required
	LossPartsPerMillion int64 `json:"lossPartsPerMillion"`
	// p50Nanoseconds is the median one-way delay.
	// +required
	P50Nanoseconds int64 `json:"p50Nanoseconds"`
	// p99Nanoseconds is the 99th percentile.
	// +required
	P99Nanoseconds int64 `json:"p99Nanoseconds"`
	// maxNanoseconds is the largest.
	// +required
	MaxNanoseconds int64 `json:"maxNanoseconds"`
	// jitterP99Nanoseconds is the p99 of the jitter. Absent with driver TRex.
	// +optional
	JitterP99Nanoseconds *int64 `json:"jitterP99Nanoseconds,omitempty"`
}

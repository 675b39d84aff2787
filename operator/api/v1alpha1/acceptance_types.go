package v1alpha1

// Metric is a figure that a criterion can look at.
// +kubebuilder:validation:MaxLength=64
type Metric string

// The metrics. Those of throughput belong to a goal, BackToBackFrames and
// ReceiveRateFramesPerSecond to the frame size alone, those of TCP to a number of
// connections, those of connections to one of their loads, all others to a load,
// where the worse direction counts.
const (
	MetricThroughputFramesPerSecond     Metric = "ThroughputFramesPerSecond"
	MetricThroughputLayer1BitsPerSecond Metric = "ThroughputLayer1BitsPerSecond"
	MetricLatencyMin                    Metric = "LatencyMinNanoseconds"
	MetricLatencyMean                   Metric = "LatencyMeanNanoseconds"
	MetricLatencyP50                    Metric = "LatencyP50Nanoseconds"
	MetricLatencyP90                    Metric = "LatencyP90Nanoseconds"
	MetricLatencyP99                    Metric = "LatencyP99Nanoseconds"
	MetricLatencyP999                   Metric = "LatencyP999Nanoseconds"
	MetricLatencyP9999                  Metric = "LatencyP9999Nanoseconds"
	MetricLatencyMax                    Metric = "LatencyMaxNanoseconds"
	MetricDelayVariationP99             Metric = "DelayVariationP99Nanoseconds"
	MetricPacketDelayVariationP99       Metric = "PacketDelayVariationP99Nanoseconds"
	MetricPacketDelayVariationP999      Metric = "PacketDelayVariationP999Nanoseconds"
	MetricJitter                        Metric = "JitterNanoseconds"
	MetricTaggedFrameMean               Metric = "TaggedFrameMeanNanoseconds"
	MetricLoss                          Metric = "LossPartsPerMillion"
	MetricReordered                     Metric = "ReorderedFrames"
	MetricDuplicate                     Metric = "DuplicateFrames"
	MetricBackToBack                    Metric = "BackToBackFrames"
	MetricReceiveRate                   Metric = "ReceiveRateFramesPerSecond"
	MetricTCPGoodput                    Metric = "TCPGoodputBitsPerSecond"
	MetricTCPRetransmits                Metric = "TCPRetransmits"
	MetricTCPRoundTripTimeMean          Metric = "TCPRoundTripTimeMeanNanoseconds"
	MetricConnectionsEstablished        Metric = "ConnectionsEstablishedPerSecond"
	MetricConnectionsHeld               Metric = "ConnectionsHeld"
	MetricConnectionsFailed             Metric = "ConnectionsFailedPartsPerMillion"
)

// Criterion is a threshold on one metric.
// +kubebuilder:validation:XValidation:rule="has(self.atLeast) != has(self.atMost)",message="exactly one of atLeast and atMost is required"
// +kubebuilder:validation:XValidation:rule="self.metric.startsWith('Throughput') == has(self.goal)",message="goal is required with a Throughput metric, and forbidden with any other",fieldPath=".goal"
// +kubebuilder:validation:XValidation:rule="(self.metric.startsWith('Throughput') || self.metric.startsWith('TCP') || self.metric in ['BackToBackFrames', 'ReceiveRateFramesPerSecond']) != has(self.load)",message="load is required with every metric but BackToBackFrames, ReceiveRateFramesPerSecond and the Throughput and TCP ones, and forbidden with those",fieldPath=".load"
// +kubebuilder:validation:XValidation:rule="!has(self.frameBytes) || !self.metric.startsWith('TCP')",message="frameBytes has no meaning for a TCP metric: leave it out, or name streams",fieldPath=".frameBytes"
// +kubebuilder:validation:XValidation:rule="!has(self.frameBytes) || !self.metric.startsWith('Connections')",message="frameBytes has no meaning for a Connections metric: leave it out",fieldPath=".frameBytes"
// +kubebuilder:validation:XValidation:rule="!has(self.streams) || self.metric.startsWith('TCP')",message="streams goes with the TCP metrics alone",fieldPath=".streams"
// +kubebuilder:validation:XValidation:rule="!has(self.statistic) || self.statistic != 'ConfidenceLimit' || self.metric in ['ThroughputFramesPerSecond', 'LatencyP50Nanoseconds', 'LatencyP99Nanoseconds', 'TCPGoodputBitsPerSecond', 'TCPRetransmits', 'ConnectionsEstablishedPerSecond']",message="statistic ConfidenceLimit goes with ThroughputFramesPerSecond, LatencyP50Nanoseconds, LatencyP99Nanoseconds, TCPGoodputBitsPerSecond, TCPRetransmits and ConnectionsEstablishedPerSecond alone",fieldPath=".statistic"
type Criterion struct {
	// name of the criterion, unique in the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$`
	Name string `json:"name,omitempty"`

	// metric that is looked at, named with its unit.
	// +required
	// +kubebuilder:validation:Enum=ThroughputFramesPerSecond;ThroughputLayer1BitsPerSecond;LatencyMinNanoseconds;LatencyMeanNanoseconds;LatencyP50Nanoseconds;LatencyP90Nanoseconds;LatencyP99Nanoseconds;LatencyP999Nanoseconds;LatencyP9999Nanoseconds;LatencyMaxNanoseconds;DelayVariationP99Nanoseconds;PacketDelayVariationP99Nanoseconds;PacketDelayVariationP999Nanoseconds;JitterNanoseconds;TaggedFrameMeanNanoseconds;LossPartsPerMillion;ReorderedFrames;DuplicateFrames;BackToBackFrames;ReceiveRateFramesPerSecond;TCPGoodputBitsPerSecond;TCPRetransmits;TCPRoundTripTimeMeanNanoseconds;ConnectionsEstablishedPerSecond;ConnectionsHeld;ConnectionsFailedPartsPerMillion
	Metric Metric `json:"metric,omitempty"`

	// goal whose throughput is meant, with the Throughput metrics.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Goal string `json:"goal,omitempty"`

	// load at which the metric is meant, with the metrics of a load: a latency
	// load, a profile of fixedLoad, whose worst repeat counts, or soak, whose worst
	// interval counts; with the Connections metrics a load of connections.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Load string `json:"load,omitempty"`

	// frameBytes is the frame size that is meant; of a packet in fragments, that
	// of its results. Absent: every one.
	// +optional
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=65573
	FrameBytes *int32 `json:"frameBytes,omitempty"`

	// streams is the number of connections that is meant, with the TCP metrics.
	// Absent: every one of measurements.tcp.streams.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Streams *int32 `json:"streams,omitempty"`

	// statistic is what is compared with the threshold: the figure itself, which
	// is the mean of the repeats (Mean), or the end of its 95 % confidence
	// interval that is nearer to missing the threshold (ConfidenceLimit: the lower
	// end with atLeast, the upper one with atMost). Default Mean.
	// ConfidenceLimit needs measurements.repeats of 2 or more.
	// +optional
	// +kubebuilder:default=Mean
	Statistic CriterionStatistic `json:"statistic,omitempty"`

	// atLeast is the smallest value that passes, in the metric's unit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AtLeast *int64 `json:"atLeast,omitempty"`

	// atMost is the largest value that passes, in the metric's unit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AtMost *int64 `json:"atMost,omitempty"`
}

// VerdictResult says how a criterion came out.
// +kubebuilder:validation:MaxLength=64
type VerdictResult string

const (
	// VerdictPassed means that the threshold was kept.
	VerdictPassed VerdictResult = "Passed"
	// VerdictFailed means that it was missed, or that there was no figure.
	VerdictFailed VerdictResult = "Failed"
)

// Verdict is a criterion's outcome for one frame size, one number of TCP
// connections, or one load of connections.
type Verdict struct {
	// criterion's name.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Criterion string `json:"criterion,omitempty"`

	// frameBytes is the frame size. Absent with a TCP or a Connections metric.
	// +optional
	FrameBytes int32 `json:"frameBytes,omitempty"`

	// streams is the number of connections, with a TCP metric.
	// +optional
	Streams int32 `json:"streams,omitempty"`

	// load of measurements.connections, with a Connections metric.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Load string `json:"load,omitempty"`

	// result is Passed or Failed.
	// +required
	Result VerdictResult `json:"result,omitempty"`

	// measured value in the metric's unit. Absent when there was none.
	// +optional
	Measured *int64 `json:"measured,omitempty"`

	// message is one sentence, such as "LatencyP99Nanoseconds at pdr50 is 31000, at most 20000 allowed".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

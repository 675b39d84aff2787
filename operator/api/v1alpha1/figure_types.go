package v1alpha1

// FigureKey names a figure. A criterion, a verdict, a baseline and a comparison
// name it by the same fields, and equal keys mean the same figure in every run.
type FigureKey struct {
	// metric is the figure's name, with its unit.
	// +required
	// +kubebuilder:validation:MinLength=1
	Metric Metric `json:"metric,omitempty"`

	// size such as "64" or "imix". In a criterion, absent: each.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Size string `json:"size,omitempty"`

	// goal of a throughput, with the Throughput metrics.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Goal string `json:"goal,omitempty"`

	// load of latency, connections, fixedLoad (worst repeat) or soak (worst interval).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=29
	Load string `json:"load,omitempty"`

	// streams is the number of TCP connections. In a criterion, absent: each.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	Streams int32 `json:"streams,omitempty"`
}

// Metric is the name of a figure. A later version may report metrics that an earlier one does not
// know.
// +kubebuilder:validation:MaxLength=64
type Metric string

// Metrics that criteria can name; newer measurements declare theirs next to their types. The
// Throughput metrics belong to a goal, those of bursts, receive rate and recovery only to the size,
// the TCP metrics to a number of connections, the Connections metrics to one of their loads, and all
// others to a load, where the worse direction counts.
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
	MetricLatencyOfSentP99              Metric = "LatencyOfSentP99Nanoseconds"
	MetricLatencyOfSentP999             Metric = "LatencyOfSentP999Nanoseconds"
	MetricDelayVariationP99             Metric = "DelayVariationP99Nanoseconds"
	MetricPacketDelayVariationP99       Metric = "PacketDelayVariationP99Nanoseconds"
	MetricPacketDelayVariationP999      Metric = "PacketDelayVariationP999Nanoseconds"
	MetricJitterMean                    Metric = "JitterMeanNanoseconds"
	MetricJitterP99                     Metric = "JitterP99Nanoseconds"
	MetricJitterMax                     Metric = "JitterMaxNanoseconds"
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

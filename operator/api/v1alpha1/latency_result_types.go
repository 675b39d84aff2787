package v1alpha1

// LatencyResult is the result of one load.
type LatencyResult struct {
	// load is the name of the load, followed by @baseline where it is measured at the baseline's rate.
	// +required
	// +kubebuilder:validation:MaxLength=29
	Load string `json:"load,omitempty"`

	// intendedFramesPerSecond is the load of each direction; with traffic.reversePercent, of the
	// forward one. With repeats it is their mean.
	// +required
	IntendedFramesPerSecond int64 `json:"intendedFramesPerSecond"`

	// trialMilliseconds is the time in which a trial sent frames: longer than asked for where a queue grew.
	// With repeats it is the longest.
	// +required
	TrialMilliseconds int64 `json:"trialMilliseconds"`

	// shortestTrialMilliseconds is that of the shortest repeat. Absent: all took as long.
	// +optional
	ShortestTrialMilliseconds *int64 `json:"shortestTrialMilliseconds,omitempty"`

	// share says of which throughput the load is a share. Absent: the load is given as a rate.
	// +optional
	Share *LoadShare `json:"share,omitempty"`

	// bias is the delay without a device at the same load. Absent: not known.
	// +optional
	Bias *LatencyBias `json:"bias,omitempty"`

	// directions holds Forward, Reverse or both.
	// +required
	// +kubebuilder:validation:MaxItems=2
	Directions []LatencyDirectionResult `json:"directions,omitempty"`

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

// DirectionResult is one direction of a load; all delays are one-way. Over repeats, frames are
// added up, extremes are those of all repeats, and every other delay is a mean.
type DirectionResult struct {
	// direction is Forward (west to east) or Reverse.
	// +required
	// +kubebuilder:validation:Enum=Forward;Reverse
	Direction string `json:"direction,omitempty"`

	// sentFrames is the offered load in frames.
	// +required
	SentFrames int64 `json:"sentFrames"`

	// receivedFrames counts each distinct frame once.
	// +required
	ReceivedFrames int64 `json:"receivedFrames"`

	// sentFragments and receivedFragments count the frames of packets in fragments,
	// each once. Absent without a packet.
	// +optional
	SentFragments *int64 `json:"sentFragments,omitempty"`

	// receivedFragments: see sentFragments.
	// +optional
	ReceivedFragments *int64 `json:"receivedFragments,omitempty"`

	// overflowFrames found the generator's receive ring full. Where generator.hop is Inline they
	// are lost, elsewhere not sent. Absent: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OverflowFrames int64 `json:"overflowFrames,omitempty"`

	// peakFramesPerSecond is the largest rate of departures over a millisecond.
	// Absent where the driver has no receive ring.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PeakFramesPerSecond int64 `json:"peakFramesPerSecond,omitempty"`

	// refusedFrames were dropped by the sending port, and count as overflowFrames do.
	// Absent: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RefusedFrames int64 `json:"refusedFrames,omitempty"`

	// lossPartsPerMillion is lost frames for each million sent.
	// +required
	LossPartsPerMillion int64 `json:"lossPartsPerMillion"`

	// reorderedFrames arrived after a later one (RFC 4737).
	// +required
	ReorderedFrames int64 `json:"reorderedFrames"`

	// duplicateFrames arrived more than once (RFC 5560).
	// +required
	DuplicateFrames int64 `json:"duplicateFrames"`

	// sequencedFrames are those whose order the generator looked at. Absent: all.
	// +optional
	SequencedFrames *int64 `json:"sequencedFrames,omitempty"`

	// firstFrameNanoseconds is the delay of the trial's first frame, which latency includes.
	// Absent: it was lost.
	// +optional
	FirstFrameNanoseconds *int64 `json:"firstFrameNanoseconds,omitempty"`

	// latency is the one-way delay (RFC 7679), with driver XDP from when a frame was due. Absent: no
	// frame arrived.
	// +optional
	Latency Delays `json:"latency,omitzero"`

	// latencyOfSent takes a lost frame as slower than any other. Absent without loss.
	// +optional
	LatencyOfSent *SentDelays `json:"latencyOfSent,omitempty"`

	// lateness is the part of latency before the departure: the wait in the receive ring.
	// Absent without one.
	// +optional
	Lateness *DelayQuantiles `json:"lateness,omitempty"`

	// delaySinceDeparture is the part of latency after the departure: the device's
	// own. Absent where the driver has no receive ring.
	// +optional
	DelaySinceDeparture *DelayQuantiles `json:"delaySinceDeparture,omitempty"`

	// delayVariation is |IPDV|, of consecutive frames' delays (RFC 5481 section 4.1). Absent without
	// two such frames, and with driver TRex.
	// +optional
	DelayVariation Delays `json:"delayVariation,omitzero"`

	// packetDelayVariationP99Nanoseconds is p99 minus the minimum (PDV, RFC 5481 section
	// 4.2).
	// +required
	PacketDelayVariationP99Nanoseconds int64 `json:"packetDelayVariationP99Nanoseconds"`

	// packetDelayVariationP999Nanoseconds is p99.9 minus the minimum. Absent where p99.9 is.
	// +optional
	PacketDelayVariationP999Nanoseconds *int64 `json:"packetDelayVariationP999Nanoseconds,omitempty"`

	// jitter is RFC 3550's interarrival jitter over the trial. Absent without two frames, and with
	// driver TRex.
	// +optional
	Jitter *Jitter `json:"jitter,omitempty"`
}

// LatencyDirectionResult is one direction of a latency load.
type LatencyDirectionResult struct {
	DirectionResult `json:",inline"`

	// taggedFrames are the delays of one frame of each stream (RFC 2544 section
	// 26.2). Absent unless measurements.latency.taggedFrame is set.
	// +optional
	TaggedFrames *TaggedFramesResult `json:"taggedFrames,omitempty"`

	// statistics of p50 and p99 latency over the repeats. Absent with fewer
	// than two, and where no frame arrived in one of them.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	Statistics []Statistics `json:"statistics,omitempty"`
}

// SentDelays are percentiles over frames that were sent. One is absent where lost frames take it, and
// p99.9 with fewer than 10000 frames in a trial.
type SentDelays struct {
	// p99Nanoseconds is the 99th percentile.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`
	// p999Nanoseconds is the 99.9th percentile.
	// +optional
	P999Nanoseconds *int64 `json:"p999Nanoseconds,omitempty"`
}

// Jitter has figures of J of RFC 3550, which each frame that arrives changes.
type Jitter struct {
	// meanNanoseconds of all values.
	// +required
	MeanNanoseconds int64 `json:"meanNanoseconds"`
	// p99Nanoseconds of every 17th value.
	// +required
	P99Nanoseconds int64 `json:"p99Nanoseconds"`
	// maxNanoseconds of all values.
	// +required
	MaxNanoseconds int64 `json:"maxNanoseconds"`
}

// TaggedFramesResult sums up the tagged frames of a load's streams, one of each.
type TaggedFramesResult struct {
	// sentFrames is the number of streams that sent a tagged frame.
	// +required
	SentFrames int64 `json:"sentFrames"`

	// receivedFrames is how many arrived; with 0 no other figure is valid.
	// +required
	ReceivedFrames int64 `json:"receivedFrames"`

	// minNanoseconds is the smallest delay.
	// +required
	MinNanoseconds int64 `json:"minNanoseconds"`

	// meanNanoseconds is the arithmetic mean, the figure that RFC 2544 asks for.
	// +required
	MeanNanoseconds int64 `json:"meanNanoseconds"`

	// maxNanoseconds is the largest delay.
	// +required
	MaxNanoseconds int64 `json:"maxNanoseconds"`

	// standardDeviationNanoseconds is that of the sample (n-1); 0 with fewer than two.
	// +required
	StandardDeviationNanoseconds int64 `json:"standardDeviationNanoseconds"`
}

// DelayQuantiles are three figures of a distribution, in nanoseconds.
type DelayQuantiles struct {
	// p50Nanoseconds is the median.
	// +required
	P50Nanoseconds int64 `json:"p50Nanoseconds"`
	// p99Nanoseconds is the 99th percentile.
	// +required
	P99Nanoseconds int64 `json:"p99Nanoseconds"`
	// maxNanoseconds is the largest.
	// +required
	MaxNanoseconds int64 `json:"maxNanoseconds"`
}

// Delays is a distribution, in nanoseconds.
type Delays struct {
	// samples is the number of frames; with 0 no other figure is valid.
	// +required
	Samples int64 `json:"samples"`
	// minNanoseconds is the smallest.
	// +required
	MinNanoseconds int64 `json:"minNanoseconds"`
	// meanNanoseconds is the arithmetic mean.
	// +required
	MeanNanoseconds int64 `json:"meanNanoseconds"`
	// p50Nanoseconds is the median.
	// +required
	P50Nanoseconds int64 `json:"p50Nanoseconds"`
	// p90Nanoseconds is the 90th percentile.
	// +required
	P90Nanoseconds int64 `json:"p90Nanoseconds"`
	// p99Nanoseconds is the 99th percentile.
	// +required
	P99Nanoseconds int64 `json:"p99Nanoseconds"`
	// p999Nanoseconds is the 99.9th, from 10,000 samples on.
	// +optional
	P999Nanoseconds *int64 `json:"p999Nanoseconds,omitempty"`
	// p9999Nanoseconds is the 99.99th, from 100,000 samples on.
	// +optional
	P9999Nanoseconds *int64 `json:"p9999Nanoseconds,omitempty"`
	// maxNanoseconds is the largest.
	// +required
	MaxNanoseconds int64 `json:"maxNanoseconds"`
}

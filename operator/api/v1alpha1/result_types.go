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

	// load at which p99Nanoseconds was measured: the last of the run's latency loads.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Load string `json:"load,omitempty"`

	// p99Nanoseconds is the worse direction's p99 one-way latency.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`
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
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Throughput []ThroughputResult `json:"throughput,omitempty"`

	// latency holds one entry for each load.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Latency []LatencyResult `json:"latency,omitempty"`

	// fixedLoad holds one entry for each profile of this frame size.
	// +optional
	// +listType=atomic
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
	// +listType=atomic
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

// LatencyResult is the result of one load.
type LatencyResult struct {
	// load is the name of the load.
	// +required
	// +kubebuilder:validation:MaxLength=20
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

	// bias is the delay without a device at the same load. Absent: it was not measured.
	// +optional
	Bias *LatencyBias `json:"bias,omitempty"`

	// directions holds Forward, Reverse or both.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	Directions []LatencyDirectionResult `json:"directions,omitempty"`

	// doubts about the figures, such as LoadNotReached.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`

	// awayPartsPerMillion is the largest share of a trial in which other work held a core that sends.
	// Absent: never for more than 1 ms.
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
	// +listType=atomic
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
	// p999Nanoseconds is the 99.9th percentile, from 10,000 samples on.
	// +optional
	P999Nanoseconds *int64 `json:"p999Nanoseconds,omitempty"`
	// p9999Nanoseconds is the 99.99th, from 100,000 samples on.
	// +optional
	P9999Nanoseconds *int64 `json:"p9999Nanoseconds,omitempty"`
	// maxNanoseconds is the largest.
	// +required
	MaxNanoseconds int64 `json:"maxNanoseconds"`
}

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

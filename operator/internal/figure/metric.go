package figure

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// Unit of a value.
type Unit string

// The units.
const (
	FramesPerSecond      Unit = "frames/s"
	FragmentsPerSecond   Unit = "fragments/s"
	BitsPerSecond        Unit = "bit/s"
	ConnectionsPerSecond Unit = "connections/s"
	OperationsPerSecond  Unit = "operations/s"
	Nanoseconds          Unit = "ns"
	Milliseconds         Unit = "ms"
	Seconds              Unit = "s"
	PartsPerMillion      Unit = "ppm"
	MilliCPU             Unit = "mCPU"
	NanosecondsPerFrame  Unit = "ns/frame"
	CyclesPerFrame       Unit = "cycles/frame"
	Bytes                Unit = "bytes"
	// Number counts what the metric's name says.
	Number Unit = "1"
)

// Better is which value of a metric is wanted.
type Better string

// The wanted values.
const (
	Higher Better = "Higher"
	Lower  Better = "Lower"
	// Neither is for a figure that describes a trial and does not judge the device.
	Neither Better = "Neither"
)

// Scope is which fields of a key a metric has.
type Scope string

// The scopes.
const (
	// OfGoal has a size and a goal.
	OfGoal Scope = "Goal"
	// OfLoad has a size and a load.
	OfLoad Scope = "Load"
	// OfSize has a size alone.
	OfSize Scope = "Size"
	// OfStreams has a number of TCP connections.
	OfStreams Scope = "Streams"
	// OfConnections has a load of connections.
	OfConnections Scope = "Connections"
	// OfTrials has the fields of the figure that the CPU was used for.
	OfTrials Scope = "Trials"
	// OfNeighbor has a neighbor.
	OfNeighbor Scope = "Neighbor"
)

// Use is a set of purposes of a metric, in addition to the report.
type Use int

// The uses.
const (
	// Judged metrics can be named by a criterion.
	Judged Use = 1 << iota
	// Compared metrics are compared with the baseline, and without and with neighbors.
	Compared
	// Default metrics are those of a baseline that names none.
	Default
	// Limited metrics have statistics, so that a criterion can name their confidence limit.
	Limited
	// Shown metrics are in the comparison for people.
	Shown
	// Shared metrics have a load that is a share of a throughput, and no figure without that.
	Shared
	// Exported metrics are in the metrics of the manager, as those are that are compared.
	Exported
)

// Metric describes every figure of one name.
type Metric struct {
	Name   v1alpha1.Metric
	Unit   Unit
	Better Better
	Of     Scope
	// Words for people, without the unit.
	Words string
	Uses  Use
}

// Is reports whether the metric has a use.
func (m Metric) Is(use Use) bool { return m.Uses&use != 0 }

// IsDiluted reports whether a figure is divided by more time than that in which frames were sent, by how much more depends on the trial.
// Such figures of two measurements do not compare; those for each frame do.
func (m Metric) IsDiluted() bool { return m.Of == OfTrials && m.Unit == MilliCPU }

// Metrics are all metrics, ordered by what they are of.
var Metrics = slices.Concat(ofGoalsAndLoads, ofSizes, ofOthers, ofLateness())

// ofGoalsAndLoads are the metrics of goals and of loads.
var ofGoalsAndLoads = []Metric{
	{v1alpha1.MetricThroughputFramesPerSecond, FramesPerSecond, Higher, OfGoal, "throughput", Judged | Compared | Default | Limited | Shown},
	{v1alpha1.MetricThroughputLayer1BitsPerSecond, BitsPerSecond, Higher, OfGoal, "throughput on layer 1", Judged | Shown | Exported},
	{"ThroughputLineRatePartsPerMillion", PartsPerMillion, Higher, OfGoal, "share of the line rate", 0},
	{"ThroughputFragmentsPerSecond", FragmentsPerSecond, Higher, OfGoal, "throughput in fragments", 0},
	{"ThroughputLowerBoundFramesPerSecond", FramesPerSecond, Higher, OfGoal, "lower bound", 0},
	{"ThroughputUpperBoundFramesPerSecond", FramesPerSecond, Higher, OfGoal, "upper bound", 0},
	{"ThroughputLossInversionFramesPerSecond", FramesPerSecond, Neither, OfGoal, "load above the upper bound that met the goal", 0},
	{"ThroughputPeakFramesPerSecond", FramesPerSecond, Neither, OfGoal, "largest rate over a millisecond", 0},
	{"ServiceTimeNanoseconds", Nanoseconds, Lower, OfGoal, "the device's time of a core for a frame", Shown},
	{"ServiceTimeLowNanoseconds", Nanoseconds, Lower, OfGoal, "the device's time for a frame, at least", 0},
	{"ServiceTimeHighNanoseconds", Nanoseconds, Lower, OfGoal, "the device's time for a frame, at most", 0},
	{"GeneratorTimeNanoseconds", Nanoseconds, Neither, OfGoal, "the generator's time of a core for a frame", 0},
	{"ThroughputLossPartsPerMillion", PartsPerMillion, Lower, OfGoal, "loss at the lower bound", Shown},
	{"ThroughputCensoredRepeats", Number, Lower, OfGoal, "repeats that are only a floor", 0},
	{"ThroughputOfRepeatFramesPerSecond", FramesPerSecond, Higher, OfGoal, "throughput of a repeat, at least", 0},
	{Regular, Number, Higher, OfGoal, "the search met its precision (1) or not (0)", 0},

	{"IntendedFramesPerSecond", FramesPerSecond, Neither, OfLoad, "intended load", Shown},
	{TrialTime, Milliseconds, Neither, OfLoad, "time of a trial", 0},
	{ShortestTrialTime, Milliseconds, Neither, OfLoad, "time of the shortest trial", 0},
	{"LoadSharePartsPerMillion", PartsPerMillion, Neither, OfLoad, "share of a throughput", 0},
	{"LoadShareOfFramesPerSecond", FramesPerSecond, Neither, OfLoad, "the throughput that the load is a share of", 0},
	{"AwayPartsPerMillion", PartsPerMillion, Neither, OfLoad, "time without a core to send", 0},
	{"SentFrames", Number, Neither, OfLoad, "sent frames", 0},
	{"ReceivedFrames", Number, Neither, OfLoad, "received frames", 0},
	{"SentFragments", Number, Neither, OfLoad, "sent fragments", 0},
	{"ReceivedFragments", Number, Neither, OfLoad, "received fragments", 0},
	{"PeakFramesPerSecond", FramesPerSecond, Neither, OfLoad, "largest rate over a millisecond", 0},
	{"OverflowFrames", Number, Lower, OfLoad, "frames that found the receive ring full", 0},
	{"RefusedFrames", Number, Lower, OfLoad, "frames that the sending port dropped", 0},
	{v1alpha1.MetricLoss, PartsPerMillion, Lower, OfLoad, "loss", Judged | Compared | Shown},
	{v1alpha1.MetricReordered, Number, Lower, OfLoad, "reordered frames", Judged},
	{v1alpha1.MetricDuplicate, Number, Lower, OfLoad, "duplicate frames", Judged},
	{"FirstFrameNanoseconds", Nanoseconds, Lower, OfLoad, "first frame", 0},
	{v1alpha1.MetricLatencyMin, Nanoseconds, Lower, OfLoad, "min", Judged},
	{v1alpha1.MetricLatencyMean, Nanoseconds, Lower, OfLoad, "mean", Judged | Compared},
	{v1alpha1.MetricLatencyP50, Nanoseconds, Lower, OfLoad, "p50", Judged | Limited | Shown | Exported},
	{v1alpha1.MetricLatencyP90, Nanoseconds, Lower, OfLoad, "p90", Judged | Exported},
	{v1alpha1.MetricLatencyP99, Nanoseconds, Lower, OfLoad, "p99", Judged | Compared | Limited | Shown},
	{v1alpha1.MetricLatencyP999, Nanoseconds, Lower, OfLoad, "p99.9", Judged | Exported},
	{v1alpha1.MetricLatencyP9999, Nanoseconds, Lower, OfLoad, "p99.99", Judged},
	{v1alpha1.MetricLatencyMax, Nanoseconds, Lower, OfLoad, "max", Judged | Shown | Exported},
	{v1alpha1.MetricLatencyOfSentP99, Nanoseconds, Lower, OfLoad, "p99 of sent frames", Judged},
	{v1alpha1.MetricLatencyOfSentP999, Nanoseconds, Lower, OfLoad, "p99.9 of sent frames", Judged},
	{"SequencedFrames", Number, Neither, OfLoad, "frames whose order the generator looked at", 0},
	{"LatencyBiasP50Nanoseconds", Nanoseconds, Neither, OfLoad, "delay without a device, p50", 0},
	{"LatencyBiasLowestP50Nanoseconds", Nanoseconds, Neither, OfLoad, "delay without a device, p50 of the trial with the lowest", 0},
	{"LatencyBiasHighestP50Nanoseconds", Nanoseconds, Neither, OfLoad, "delay without a device, p50 of the trial with the highest", 0},
	{"LatencyBiasP99Nanoseconds", Nanoseconds, Neither, OfLoad, "delay without a device, p99", 0},
	{"LatenessP50Nanoseconds", Nanoseconds, Neither, OfLoad, "wait before the departure, p50", Shown},
	{"LatenessP99Nanoseconds", Nanoseconds, Neither, OfLoad, "wait before the departure, p99", Shown},
	{"LatenessMaxNanoseconds", Nanoseconds, Neither, OfLoad, "wait before the departure, max", 0},
	{"DelaySinceDepartureP50Nanoseconds", Nanoseconds, Lower, OfLoad, "delay since the departure, p50", Shown},
	{"DelaySinceDepartureP99Nanoseconds", Nanoseconds, Lower, OfLoad, "delay since the departure, p99", Shown},
	{"DelaySinceDepartureMaxNanoseconds", Nanoseconds, Lower, OfLoad, "delay since the departure, max", 0},
	{"DelayVariationMinNanoseconds", Nanoseconds, Lower, OfLoad, "delay variation, min", 0},
	{"DelayVariationMeanNanoseconds", Nanoseconds, Lower, OfLoad, "delay variation, mean", 0},
	{"DelayVariationP50Nanoseconds", Nanoseconds, Lower, OfLoad, "delay variation, p50", 0},
	{"DelayVariationP90Nanoseconds", Nanoseconds, Lower, OfLoad, "delay variation, p90", 0},
	{v1alpha1.MetricDelayVariationP99, Nanoseconds, Lower, OfLoad, "delay variation, p99", Judged},
	{"DelayVariationP999Nanoseconds", Nanoseconds, Lower, OfLoad, "delay variation, p99.9", 0},
	{"DelayVariationP9999Nanoseconds", Nanoseconds, Lower, OfLoad, "delay variation, p99.99", 0},
	{"DelayVariationMaxNanoseconds", Nanoseconds, Lower, OfLoad, "delay variation, max", 0},
	{v1alpha1.MetricPacketDelayVariationP99, Nanoseconds, Lower, OfLoad, "packet delay variation, p99", Judged},
	{v1alpha1.MetricPacketDelayVariationP999, Nanoseconds, Lower, OfLoad, "packet delay variation, p99.9", Judged},
	{v1alpha1.MetricJitterMean, Nanoseconds, Lower, OfLoad, "jitter, mean", Judged | Exported},
	{v1alpha1.MetricJitterP99, Nanoseconds, Lower, OfLoad, "jitter, p99", Judged | Compared | Shown},
	{v1alpha1.MetricJitterMax, Nanoseconds, Lower, OfLoad, "jitter, max", Judged | Exported},
	{"TaggedFramesSent", Number, Neither, OfLoad, "tagged frames sent", 0},
	{"TaggedFramesReceived", Number, Neither, OfLoad, "tagged frames received", 0},
	{"TaggedFrameMinNanoseconds", Nanoseconds, Lower, OfLoad, "tagged frames, min", 0},
	{v1alpha1.MetricTaggedFrameMean, Nanoseconds, Lower, OfLoad, "tagged frames, mean", Judged},
	{"TaggedFrameMaxNanoseconds", Nanoseconds, Lower, OfLoad, "tagged frames, max", 0},
	{"TaggedFrameStandardDeviationNanoseconds", Nanoseconds, Lower, OfLoad, "tagged frames, standard deviation", 0},
	{"OneWayBudgetPartsPerMillion", PartsPerMillion, Lower, OfLoad, "share of the 150 ms of ITU-T G.114", 0},
	{"SoakSendingSeconds", Seconds, Neither, OfLoad, "time of sending", 0},
	{"SoakLossPartsPerMillion", PartsPerMillion, Lower, OfLoad, "loss of all intervals", Shown},
	{"IntervalStartMilliseconds", Milliseconds, Neither, OfLoad, "start of the interval", 0},
}

// ofOthers are the metrics of everything else, except those of sizeMeasurements.
var ofOthers = []Metric{
	{"WarmUpFirstFrameNanoseconds", Nanoseconds, Lower, OfSize, "first frame of the warm-up", 0},
	{"CalibrationMaximumFramesPerSecond", FramesPerSecond, Neither, OfSize, "the generator's maximum", 0},
	{"CalibrationLowestFramesPerSecond", FramesPerSecond, Neither, OfSize, "the generator's maximum in its slowest calibration trial", 0},
	{"CalibrationFinalFramesPerSecond", FramesPerSecond, Neither, OfSize, "the generator's rate after the measurement", 0},
	{"CalibrationLatencyBiasNanoseconds", Nanoseconds, Neither, OfSize, "the generator's own delay", 0},
	{"CalibrationLatencyBiasLowestNanoseconds", Nanoseconds, Neither, OfSize, "the generator's own delay in the trial with the lowest", 0},
	{"CalibrationLatencyBiasHighestNanoseconds", Nanoseconds, Neither, OfSize, "the generator's own delay in the trial with the highest", 0},

	{v1alpha1.MetricTCPGoodput, BitsPerSecond, Higher, OfStreams, "goodput", Judged | Compared | Default | Limited | Shown},
	{"TCPSentBitsPerSecond", BitsPerSecond, Neither, OfStreams, "sent payload", 0},
	{v1alpha1.MetricTCPRetransmits, Number, Lower, OfStreams, "retransmits", Judged | Compared | Limited | Shown},
	{"TCPEfficiencyPartsPerMillion", PartsPerMillion, Higher, OfStreams, "share of the payload sent once", 0},
	{"TCPRoundTripTimeMinNanoseconds", Nanoseconds, Lower, OfStreams, "min round trip", 0},
	{v1alpha1.MetricTCPRoundTripTimeMean, Nanoseconds, Lower, OfStreams, "mean round trip", Judged | Compared | Shown},
	{"TCPRoundTripTimeMaxNanoseconds", Nanoseconds, Lower, OfStreams, "max round trip", 0},
	{"TCPSenderCPUPartsPerMillion", PartsPerMillion, Neither, OfStreams, "CPU of the sender", 0},
	{"TCPReceiverCPUPartsPerMillion", PartsPerMillion, Neither, OfStreams, "CPU of the receiver", 0},
	{"TCPMaximumSegmentBytes", Bytes, Neither, OfStreams, "maximum segment size", 0},
	{TCPScalingEfficiency, PartsPerMillion, Higher, OfStreams, "share of what the fewest connections predict", 0},

	{"ConnectionsIntendedPerSecond", ConnectionsPerSecond, Neither, OfConnections, "intended", 0},
	{"ConnectionsAttemptedPerSecond", ConnectionsPerSecond, Neither, OfConnections, "attempted", 0},
	{v1alpha1.MetricConnectionsEstablished, ConnectionsPerSecond, Higher, OfConnections, "established", Judged | Compared | Default | Limited | Shown},
	{"ConnectionsIntendedConcurrent", Number, Neither, OfConnections, "intended at once", 0},
	{"ConnectionsConcurrent", Number, Neither, OfConnections, "most at once", 0},
	{v1alpha1.MetricConnectionsHeld, Number, Higher, OfConnections, "held", Judged | Compared | Default | Shown},
	{"ConnectionsAttempted", Number, Neither, OfConnections, "attempted in total", 0},
	{"ConnectionsEstablished", Number, Neither, OfConnections, "established in total", 0},
	{"ConnectionsCompleted", Number, Higher, OfConnections, "completed", 0},
	{"ConnectionsReset", Number, Lower, OfConnections, "reset", 0},
	{"ConnectionsTimedOut", Number, Lower, OfConnections, "timed out", 0},
	{"ConnectionsUnfinished", Number, Lower, OfConnections, "unfinished", 0},
	{v1alpha1.MetricConnectionsFailed, PartsPerMillion, Lower, OfConnections, "failed", Judged | Compared | Shown},
	{"ConnectionsForwardBitsPerSecond", BitsPerSecond, Higher, OfConnections, "payload of requests", 0},
	{"ConnectionsReverseBitsPerSecond", BitsPerSecond, Higher, OfConnections, "payload of responses", 0},
	{"ConnectionsRetransmits", Number, Lower, OfConnections, "retransmits", Shown},
	{"ConnectionsGeneratorCPUPartsPerMillion", PartsPerMillion, Neither, OfConnections, "CPU of the generator", 0},

	{"NodeCPUs", Number, Neither, OfTrials, "CPUs of the node", 0},
	{"NodeUserMilliCPU", MilliCPU, Lower, OfTrials, "node, user", 0},
	{"NodeSystemMilliCPU", MilliCPU, Lower, OfTrials, "node, system", 0},
	{"NodeIRQMilliCPU", MilliCPU, Lower, OfTrials, "node, interrupts", 0},
	{"NodeSoftirqMilliCPU", MilliCPU, Lower, OfTrials, "node, softirq", 0},
	{"NodeSoftirqThreadsMilliCPU", MilliCPU, Lower, OfTrials, "node, softirq deferred", 0},
	{"NodeGuestMilliCPU", MilliCPU, Lower, OfTrials, "node, guests", 0},
	{"NodeStealMilliCPU", MilliCPU, Lower, OfTrials, "node, steal", 0},
	{"ProcessMilliCPU", MilliCPU, Lower, OfTrials, "process", 0},
	{"GuestUserMilliCPU", MilliCPU, Lower, OfTrials, "in the guest, user", 0},
	{"GuestSystemMilliCPU", MilliCPU, Lower, OfTrials, "in the guest, system", 0},
	{"GuestIRQMilliCPU", MilliCPU, Lower, OfTrials, "in the guest, interrupts", 0},
	{"GuestSoftirqMilliCPU", MilliCPU, Lower, OfTrials, "in the guest, softirq", 0},
	{"GuestStealMilliCPU", MilliCPU, Lower, OfTrials, "in the guest, steal", 0},
	{"DomainVCPUMilliCPU", MilliCPU, Lower, OfTrials, "on the node, vCPUs", 0},
	{"DomainGuestMilliCPU", MilliCPU, Lower, OfTrials, "on the node, vCPUs in the guest", 0},
	{"DomainEmulatorMilliCPU", MilliCPU, Lower, OfTrials, "on the node, emulator", 0},
	{"DomainIOThreadMilliCPU", MilliCPU, Lower, OfTrials, "on the node, I/O threads", 0},
	{"DomainVhostMilliCPU", MilliCPU, Lower, OfTrials, "on the node, vhost", 0},
	{"DomainOtherMilliCPU", MilliCPU, Lower, OfTrials, "on the node, other", 0},
	{"CPUSendingPartsPerMillion", PartsPerMillion, Neither, OfTrials, "least share of the time of the CPU use in which frames were sent", 0},
	{"CPUSentFrames", Number, Neither, OfTrials, "frames that the CPU time is divided by", 0},
	{"NodeUserNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "node, user, for each frame", Shown | Exported},
	{"NodeSystemNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "node, system, for each frame", Shown | Exported},
	{"NodeIRQNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "node, interrupts, for each frame", Shown},
	{"NodeSoftirqNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "node, softirq, for each frame", Shown | Exported},
	{"NodeSoftirqThreadsNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "node, softirq deferred, for each frame", Shown},
	{"NodeGuestNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "node, guests, for each frame", Shown | Exported},
	{"NodeStealNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "node, steal, for each frame", Shown},
	{"NodeCyclesPerFrame", CyclesPerFrame, Lower, OfTrials, "node, cycles for each frame", Shown},
	{"ProcessNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "process, for each frame", Shown | Exported},
	{"GuestUserNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "in the guest, user, for each frame", Shown},
	{"GuestSystemNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "in the guest, system, for each frame", Shown},
	{"GuestIRQNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "in the guest, interrupts, for each frame", Shown},
	{"GuestSoftirqNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "in the guest, softirq, for each frame", Shown},
	{"GuestStealNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "in the guest, steal, for each frame", Shown},
	{"DomainVCPUNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "on the node, vCPUs, for each frame", Shown},
	{"DomainGuestNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "on the node, vCPUs in the guest, for each frame", Shown},
	{"DomainEmulatorNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "on the node, emulator, for each frame", Shown},
	{"DomainIOThreadNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "on the node, I/O threads, for each frame", Shown},
	{"DomainVhostNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "on the node, vhost, for each frame", Shown},
	{"DomainOtherNanosecondsPerFrame", NanosecondsPerFrame, Lower, OfTrials, "on the node, other, for each frame", Shown},
	{"FunctionDroppedFrames", Number, Lower, OfTrials, "dropped frames", Shown},
	{"FunctionSentFrames", Number, Neither, OfTrials, "frames sent in the same time", 0},
	{"FunctionCounter", Number, Neither, OfTrials, "counted", Shown},

	{"NeighborTrials", Number, Neither, OfNeighbor, "trials", 0},
	{"NeighborIntendedMilliCPU", MilliCPU, Neither, OfNeighbor, "intended CPU", 0},
	{"NeighborMilliCPU", MilliCPU, Neither, OfNeighbor, "CPU", 0},
	{"NeighborIntendedFramesPerSecond", FramesPerSecond, Neither, OfNeighbor, "intended frames", 0},
	{"NeighborSentFramesPerSecond", FramesPerSecond, Neither, OfNeighbor, "sent frames", 0},
	{"NeighborReceivedFramesPerSecond", FramesPerSecond, Neither, OfNeighbor, "received frames", 0},
	{"StressorOperations", Number, Neither, OfNeighbor, "operations", 0},
	{"StressorOperationsPerSecond", OperationsPerSecond, Neither, OfNeighbor, "operations", 0},
}

// Regular is 1 where a search met its precision, and 0 where not.
const Regular v1alpha1.Metric = "ThroughputRegular"

// TrialTime is the time of a load's trials, ShortestTrialTime that of the shortest where they differ.
const (
	TrialTime         v1alpha1.Metric = "TrialMilliseconds"
	ShortestTrialTime v1alpha1.Metric = "ShortestTrialMilliseconds"
)

// TCPScalingEfficiency is a TCP goodput as a share of its extrapolation from the
// fewest connections. It is not in a status; the report adds it.
const TCPScalingEfficiency v1alpha1.Metric = "TCPScalingEfficiencyPartsPerMillion"

var byName = func() map[v1alpha1.Metric]Metric {
	out := make(map[v1alpha1.Metric]Metric, len(Metrics))
	for _, m := range Metrics {
		out[m.Name] = m
	}
	return out
}()

// Describe returns the row of a metric. A metric that this version does not know,
// as in a baseline of a later version, has only its name.
func Describe(name v1alpha1.Metric) Metric {
	if m, ok := byName[name]; ok {
		return m
	}
	return Metric{Name: name, Better: Neither, Words: string(name)}
}

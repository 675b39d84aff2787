package measure

// Instructions are everything that the measurer needs to know about a run. The
// plan renders them as JSON into the traffic pod; equal instructions mean equal
// measurements.
type Instructions struct {
	// Run is "namespace/name", for logs alone.
	Run string `json:"run" digest:"-"`
	// Digest of the plan. Trials recorded under another digest are not replayed.
	Digest string `json:"digest" digest:"-"`
	// LinkBitsPerSecond is the rate of the link behind each port.
	LinkBitsPerSecond uint64 `json:"linkBitsPerSecond"`
	// Driver sets the driver.
	Driver DriverSettings `json:"driver"`
	// Chain is the path through the network functions.
	Chain Path `json:"chain"`
	// Calibration is the path port to port without a device; nil where the testbed has none.
	Calibration *Path `json:"calibration,omitempty"`
	// StartupSeconds is how long probes may take to come through the chain.
	StartupSeconds int `json:"startupSeconds"`
	// FrameBytes are measured one after the other, each a size, the mean of one of
	// Mixes, or that of one of Packets. Empty where TCP alone is measured.
	FrameBytes []int `json:"frameBytes"`
	// Mixes say which of FrameBytes are means.
	Mixes []Mix `json:"mixes,omitempty"`
	// Packets say which of FrameBytes are sent in fragments.
	Packets []Packet `json:"packets,omitempty"`
	// WarmUpNanoseconds of the uncounted trial before each frame size; 0 leaves it out.
	WarmUpNanoseconds int64 `json:"warmUpNanoseconds"`
	// Repeats is how often each frame size is measured from the start; 0 is 1.
	Repeats int `json:"repeats,omitempty"`
	// SettleNanoseconds is the wait after each trial.
	SettleNanoseconds int64 `json:"settleNanoseconds"`
	// Throughput is nil when it is not measured.
	Throughput *ThroughputInstructions `json:"throughput,omitempty"`
	// Latency is nil when it is not measured.
	Latency *LatencyInstructions `json:"latency,omitempty"`
	// FixedLoad is nil when it is not measured.
	FixedLoad *FixedLoadInstructions `json:"fixedLoad,omitempty"`
	// FrameLossRate is nil when it is not measured.
	FrameLossRate *FrameLossRateInstructions `json:"frameLossRate,omitempty"`
	// BackToBack is nil when it is not measured.
	BackToBack *BackToBackInstructions `json:"backToBack,omitempty"`
	// ReceiveRate is nil when it is not measured.
	ReceiveRate *ReceiveRateInstructions `json:"receiveRate,omitempty"`
	// Soak is nil when it is not measured.
	Soak *SoakInstructions `json:"soak,omitempty"`
	// TCP is nil when it is not measured.
	TCP *TCPInstructions `json:"tcp,omitempty"`
	// Connections is nil when they are not measured.
	Connections *ConnectionsInstructions `json:"connections,omitempty"`
	// Stateful is nil where the ends of TCP connections are machines beside the
	// generator, and not the generator itself.
	Stateful *Stateful `json:"stateful,omitempty"`
	// Neighbors load the chain's node while frames are sent through the chain.
	Neighbors []NeighborLoad `json:"neighbors,omitempty"`
	// NeighborsCompared has everything but the calibration measured without
	// Neighbors first.
	NeighborsCompared bool `json:"neighborsCompared,omitempty"`
}

// ThroughputInstructions set the search.
type ThroughputInstructions struct {
	// Method of the search, by the API's names; empty means MLRsearch.
	Method string `json:"method,omitempty"`
	// LossVerification is set with method TST009WithLossVerification alone.
	LossVerification *LossVerificationInstructions `json:"lossVerification,omitempty"`
	Goals            []GoalInstructions            `json:"goals"`
	// MinimumFramesPerSecond and MaximumFramesPerSecond bound the load of each
	// direction. Maximum 0 means line rate, or what the calibration reached.
	MinimumFramesPerSecond uint64 `json:"minimumFramesPerSecond"`
	MaximumFramesPerSecond uint64 `json:"maximumFramesPerSecond"`
	// MinimumLoad and MaximumLoad take their places where they are there.
	MinimumLoad *Load `json:"minimumLoad,omitempty"`
	MaximumLoad *Load `json:"maximumLoad,omitempty"`
	// MaximumSearchNanoseconds bounds the search for one frame size.
	MaximumSearchNanoseconds int64 `json:"maximumSearchNanoseconds"`
}

// LossVerificationInstructions say when a trial with loss is repeated.
type LossVerificationInstructions struct {
	MaximumRepeats int64 `json:"maximumRepeats"`
	// LossThresholdFrames is nil where no loss is too large for a repeat.
	LossThresholdFrames *uint64 `json:"lossThresholdFrames,omitempty"`
}

// GoalInstructions are one search goal (RFC 9971).
type GoalInstructions struct {
	Name                   string `json:"name"`
	LossPartsPerMillion    int64  `json:"lossPartsPerMillion"`
	ExceedPercent          int64  `json:"exceedPercent"`
	TrialNanoseconds       int64  `json:"trialNanoseconds"`
	DurationSumNanoseconds int64  `json:"durationSumNanoseconds"`
	WidthPartsPerMillion   int64  `json:"widthPartsPerMillion"`
}

// LatencyInstructions set the latency trials.
type LatencyInstructions struct {
	TrialNanoseconds int64 `json:"trialNanoseconds"`
	// Streams is how many trials each load has, and TaggedFrameNanoseconds when
	// in each of them a frame is tagged (RFC 2544 section 26.2); 0 is one trial,
	// in which no frame is.
	Streams                int               `json:"streams,omitempty"`
	TaggedFrameNanoseconds int64             `json:"taggedFrameNanoseconds,omitempty"`
	Loads                  []LoadInstruction `json:"loads"`
}

// Trials is how many each load has.
func (l LatencyInstructions) Trials() int { return max(1, l.Streams) }

// LoadInstruction is a latency load: a rate, in frames or by Rate, or a share of
// a goal's throughput.
type LoadInstruction struct {
	Name            string `json:"name"`
	FramesPerSecond uint64 `json:"framesPerSecond,omitempty"`
	Rate            *Load  `json:"rate,omitempty"`
	Goal            string `json:"goal,omitempty"`
	Percent         int64  `json:"percent,omitempty"`
}

// Stage is what a trial was made for.
type Stage string

const (
	// StageCalibrateRate is the highest rate port to port without a device.
	StageCalibrateRate Stage = "CalibrateRate"
	// StageCalibrateLatency is the generator's own latency at low load.
	StageCalibrateLatency Stage = "CalibrateLatency"
	// StageWarmUp is discarded but for its first frame's delay.
	StageWarmUp Stage = "WarmUp"
	// StageThroughput is a trial of the search.
	StageThroughput Stage = "Throughput"
	// StageLatency is a trial at a latency load.
	StageLatency Stage = "Latency"
)

// Record is one trial as it is stored, the moment it ends. The list of
// records is the whole memory of a measurement: what comes next and what the
// results are follows from the instructions and the records alone.
type Record struct {
	// Index counts from 0 without gaps.
	Index int   `json:"index"`
	Stage Stage `json:"stage"`
	// Load is the latency load's name in stage Latency.
	Load string `json:"load,omitempty"`
	// Repeat counts the measurements of a frame size from 0.
	Repeat  int     `json:"repeat,omitempty"`
	Trial   Trial   `json:"trial"`
	Outcome Outcome `json:"outcome"`
	// Neighbors says that the trial was made beside the instructions' neighbours.
	Neighbors bool `json:"neighbors,omitempty"`
	// Evidence is nil where none was asked for, or there was no room for it.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Measurer is the pod that made the trial.
	Measurer string `json:"measurer,omitempty"`
}

// Keys of the results' ConfigMap. The measurer patches them, the controller
// reads them; each value is JSON but for KeyDigest and KeyChain.
const (
	// KeyHolder names the measurer that may append: a Holder.
	KeyHolder = "holder.json"
	// KeyDigest is the digest of the plan that the trials belong to, as plain text.
	KeyDigest = "digest"
	// KeyTrialPrefix is followed by the record's index in six digits and ".json": a Record.
	KeyTrialPrefix = "trial-"
	// KeyProgress is a Progress.
	KeyProgress = "progress.json"
	// KeyGenerator is a GeneratorState: what the driver found out on both paths.
	KeyGenerator = "generator.json"
	// KeyFailure is a FailureState: the measurer has given up.
	KeyFailure = "failure.json"
	// KeyDone is present when every trial has been made.
	KeyDone = "done.json"
	// KeyChain is written by the controller: "Ready" lets the measurer go on
	// from calibration to the chain.
	KeyChain = "chain"
	// ChainReady is the value of KeyChain that lets the measurer go on.
	ChainReady = "Ready"
)

// Holder is who writes the results now.
type Holder struct {
	// Measurer is the pod's name, UID its UID.
	Measurer string `json:"measurer"`
	UID      string `json:"uid"`
	// Restarts is how many measurers held the results before this one.
	Restarts int `json:"restarts"`
	// Protocol is what the measurer was built with, as Protocol says; empty for one
	// that is older than the word.
	Protocol string `json:"protocol,omitempty"`
}

// Progress is how far the measurement is.
type Progress struct {
	// Stage is one short sentence for people.
	Stage string `json:"stage"`
	// Calibrated is true when the preflight and the calibration are over, so
	// that the chain may be launched.
	Calibrated bool `json:"calibrated"`
	Trials     int  `json:"trials"`
	// Percent of the expected time, 0 to 100.
	Percent          int   `json:"percent"`
	RemainingSeconds int64 `json:"remainingSeconds"`
}

// GeneratorState is what the driver found out.
type GeneratorState struct {
	// Chain describes the driver on the chain's path, Calibration on the path
	// without a device.
	Chain       *Description `json:"chain,omitempty"`
	Calibration *Description `json:"calibration,omitempty"`
	// Machine is how the CPUs are set; nil where it is not known.
	Machine *Machine `json:"machine,omitempty"`
	// Log is the last lines of the generator's own program, at most GeneratorLogLines
	// of GeneratorLogBytes each; none where the driver has no such program.
	Log []string `json:"log,omitempty"`
}

// What is kept of a generator's log.
const (
	GeneratorLogLines = 40
	GeneratorLogBytes = 240
)

// Machine is what a node's kernel says of the CPUs that make the traffic.
type Machine struct {
	// CPUs that the measurer may use.
	CPUs []int `json:"cpus,omitempty"`
	// OnlineCPUs is how many the node has; 0 where it is not known.
	OnlineCPUs int `json:"onlineCPUs,omitempty"`
	// IsolatedCPUs are those of CPUs on which the scheduler puts nothing by itself.
	IsolatedCPUs []int `json:"isolatedCPUs,omitempty"`
	// ScalingGovernors are those of CPUs, each once; none where the kernel does
	// not scale frequencies, as in most virtual machines.
	ScalingGovernors []string `json:"scalingGovernors,omitempty"`
	// Fingerprint is the whole node's; nil where it was not read.
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`
}

// FailureState is a Failure as it is stored, and as the measurer leaves it in
// its termination message.
type FailureState struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

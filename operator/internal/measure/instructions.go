package measure

import (
	"time"

	"vnfbench.io/operator/api/v1alpha1"
)

// Instructions are everything that the measurer needs to know about a run. The plan renders
// them as JSON into the traffic pod. Equal instructions mean equal measurements.
type Instructions struct {
	// Run is "namespace/name", used only in logs.
	Run string `json:"run" digest:"-"`
	// Digest is the plan's. Trials recorded under another digest are not replayed.
	Digest string `json:"digest" digest:"-"`
	// LinkBitsPerSecond is the rate of the link at each port.
	LinkBitsPerSecond uint64 `json:"linkBitsPerSecond"`
	// Driver chooses and configures the driver.
	Driver DriverSettings `json:"driver"`
	// Chain is the path through the network functions.
	Chain Path `json:"chain"`
	// Calibration is the path from port to port without a device; nil if the testbed has none.
	Calibration *Path `json:"calibration,omitempty"`
	// CalibrationTrials is how often the highest rate is measured without a device; 0 means 1.
	CalibrationTrials int `json:"calibrationTrials,omitempty"`
	// DelayCalibrationTrials is how often the delay is measured without a device, at each rate and again in each
	// session; 0 means once, in the first session alone.
	DelayCalibrationTrials int `json:"delayCalibrationTrials,omitempty"`
	// CalibrationMilliseconds is the duration of each trial without a device; 0 means 1000. The trials of a delay
	// share it, and take at least 300 each if there are several.
	CalibrationMilliseconds int32 `json:"calibrationMilliseconds,omitempty"`
	// CalibrateLoads asks for the delay without a device at each latency load, fixed load and soak too.
	CalibrateLoads bool `json:"calibrateLoads,omitempty"`
	// RateAgainAfterSeconds asks for the highest rate without a device again after everything else, if the last trial
	// with a device began at least that long after the first trial; 0 for never.
	RateAgainAfterSeconds int32 `json:"rateAgainAfterSeconds,omitempty"`
	// StartupSeconds is the time in which probes must pass through the chain.
	StartupSeconds int `json:"startupSeconds"`
	// DeadlineSeconds is how long the measurer may take; 0 for no limit. Only the time of prolonged trials
	// depends on it, which their figures state, and so it is no part of the digest.
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty" digest:"-"`
	// Sizes are measured one after the other. Empty if only TCP or connections are measured.
	Sizes []Size `json:"sizes"`
	// OrderSeed is the seed of the order of sizes and latency loads; 0 with the declared order. It
	// differs from run to run, and so is no part of the digest.
	OrderSeed int64 `json:"orderSeed,omitempty" digest:"-"`
	// Measurements are the run's, with everything filled in that it left out.
	v1alpha1.Measurements `json:"measurements"`
	// BaselineLoads are the rates of the baseline's judged figures at loads that are shares of a throughput. They are
	// no part of the digest, so that a run and its baseline have the same one if they measure the same device.
	BaselineLoads []BaselineLoad `json:"baselineLoads,omitempty" digest:"-"`
	// TCPPath is nil if no endpoints at the ends of the path make TCP connections.
	TCPPath *TCPPath `json:"tcpPath,omitempty"`
	// Stateful is nil if the ends of TCP connections are separate endpoints, and not the
	// generator itself.
	Stateful *Stateful `json:"stateful,omitempty"`
	// Neighbors load the chain's node while frames are sent through the chain.
	Neighbors []NeighborLoad `json:"neighbors,omitempty"`
}

// BaselineLoad is the rate at which an earlier run measured a latency load of a size.
type BaselineLoad struct {
	Size            string `json:"size"`
	Load            string `json:"load"`
	FramesPerSecond int64  `json:"framesPerSecond"`
}

// Stage is the purpose of a trial. A measurement has its stage in its file of package procedure;
// here are those that other packages know too.
type Stage string

const (
	// StageCalibrateRate measures the highest rate from port to port without a device.
	StageCalibrateRate Stage = "CalibrateRate"
	// StageCalibrateLatency measures the generator's own latency at low load.
	StageCalibrateLatency Stage = "CalibrateLatency"
	// StageCalibrateLoad measures it at a load whose delays are figures.
	StageCalibrateLoad Stage = "CalibrateLoad"
	// StageCalibrateRateAgain measures the highest rate again, after everything else.
	StageCalibrateRateAgain Stage = "CalibrateRateAgain"
	// StageWarmUp is discarded, except for its first frame's delay.
	StageWarmUp Stage = "WarmUp"
	// StageThroughput is a trial of the search.
	StageThroughput Stage = "Throughput"
	// StageLatency is a trial at a latency load.
	StageLatency Stage = "Latency"
)

// AfterChain reports whether a stage's trials without a device are made when there is a chain. No other figure depends on them.
func (s Stage) AfterChain() bool { return s == StageCalibrateLoad || s == StageCalibrateRateAgain }

// Calibrates reports whether a stage's trials have no device.
func (s Stage) Calibrates() bool {
	return s == StageCalibrateRate || s == StageCalibrateLatency || s.AfterChain()
}

// SoakLoad is the name of a soak's load in records and criteria.
const SoakLoad = "soak"

// MaximumResultsBytes limits all keys and values of a run's results together: those of the ConfigMap that
// the measurer writes to, and those of the chunks. The API server refuses a ConfigMap beyond 1 MiB; the rest
// is for the keys that are written at the end.
const MaximumResultsBytes = 900 << 10

// Record is one trial as it is stored when it ends. The list of records is the whole memory
// of a measurement: the next trial and the results follow only from the instructions and
// the records.
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
	// Neighbors is true if the instructions' neighbors loaded the node during the trial.
	Neighbors bool `json:"neighbors,omitempty"`
	// Evidence is nil if none was requested or there was no room for it.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Deployment is the number of the chain's launch that the trial was made with; 0 without a
	// chain.
	Deployment int `json:"deployment,omitempty"`
	// Measurer is the pod that made the trial.
	Measurer string `json:"measurer,omitempty"`
}

// Keys of the results' ConfigMap. The measurer patches them, the controller reads them.
// Each value is JSON except those of KeyDigest and KeyChain.
const (
	// KeyHolder holds a Holder, the measurer that may append.
	KeyHolder = "holder.json"
	// KeyDigest holds the digest of the plan that the trials belong to, as plain text.
	KeyDigest = "digest"
	// KeyTrialPrefix is followed by the record's index in six digits and ".json". The key holds
	// a Record.
	KeyTrialPrefix = "trial-"
	// KeyChunks holds the Chunks that are closed, in the order of their records.
	KeyChunks = "chunks.json"
	// KeyProgress holds a Progress.
	KeyProgress = "progress.json"
	// KeyGenerator holds a GeneratorState: what the driver found on both paths.
	KeyGenerator = "generator.json"
	// KeyFailure holds a FailureState: the measurer has given up.
	KeyFailure = "failure.json"
	// KeyDone is present when every trial has been made.
	KeyDone = "done.json"
	// KeyChain is written by the controller: "Ready" lets the measurer continue from
	// calibration to the chain.
	KeyChain = "chain"
	// KeyDeployments holds the latest Deployments of the chain, oldest first. The controller
	// writes it together with KeyChain; where that is "Ready", the last one is the chain's.
	KeyDeployments = "deployments.json"
	// ChainReady is the value of KeyChain that lets the measurer continue.
	ChainReady = "Ready"
)

// Holder is the current writer of the results.
type Holder struct {
	// Measurer is the pod's name, UID its UID.
	Measurer string `json:"measurer"`
	UID      string `json:"uid"`
	// Restarts is the number of measurers that held the results before this one.
	Restarts int `json:"restarts"`
	// Protocol is the measurer's, as Protocol returns it; empty for a measurer that is older
	// than this field.
	Protocol string `json:"protocol,omitempty"`
}

// Progress is how much of the measurement is done.
type Progress struct {
	// Stage is one short sentence for people.
	Stage string `json:"stage"`
	// Calibrated is true after the preflight and the calibration, when the chain may be
	// launched.
	Calibrated bool `json:"calibrated"`
	Trials     int  `json:"trials"`
	// Percent of the expected time, 0 to 100.
	Percent          int   `json:"percent"`
	RemainingSeconds int64 `json:"remainingSeconds"`
	// Deployment is the least number of a deployment that the next trial of the chain can be made
	// with; it does not fall. The controller replaces a deployment with a lower number.
	Deployment int `json:"deployment,omitempty"`
}

// Deployment is one launch of the chain that was ready.
type Deployment struct {
	// Number counts the launches of a run from 1.
	Number  int       `json:"number"`
	ReadyAt time.Time `json:"readyAt"`
	// Functions are in the chain's order.
	Functions []DeployedFunction `json:"functions"`
}

// DeployedFunction is the pod or the virtual machine that a function ran in.
type DeployedFunction struct {
	Name           string `json:"name"`
	VirtualMachine bool   `json:"virtualMachine,omitempty"`
	UID            string `json:"uid"`
	Node           string `json:"node"`
	ImageID        string `json:"imageID"`
}

// GeneratorState is what the driver found.
type GeneratorState struct {
	// Chain describes the driver on the chain's path, Calibration the driver on the path
	// without a device.
	Chain       *Description `json:"chain,omitempty"`
	Calibration *Description `json:"calibration,omitempty"`
	// MeasurerVersion is the version of the measurer's program.
	MeasurerVersion string `json:"measurerVersion,omitempty"`
	// Node is the configuration of the CPUs; nil if unknown.
	Node *NodeFacts `json:"node,omitempty"`
	// Log is the last lines of the generator's own program, at most GeneratorLogLines of
	// GeneratorLogBytes each; empty if the driver has no such program.
	Log []string `json:"log,omitempty"`
}

// Limits of what is kept of a generator's log.
const (
	GeneratorLogLines = 40
	GeneratorLogBytes = 240
)

// NodeFacts are what a node's kernel reports about the CPUs that make the traffic.
type NodeFacts struct {
	// CPUs are those that the measurer may use.
	CPUs []int `json:"cpus,omitempty"`
	// OnlineCPUs is the number of CPUs of the node; 0 if unknown.
	OnlineCPUs int `json:"onlineCPUs,omitempty"`
	// IsolatedCPUs are those of CPUs on which the scheduler puts nothing by itself.
	IsolatedCPUs []int `json:"isolatedCPUs,omitempty"`
	// ScalingGovernors are those of CPUs, each once; empty if the kernel does not scale
	// frequencies, as in most virtual machines.
	ScalingGovernors []string `json:"scalingGovernors,omitempty"`
	// Fingerprint is that of the whole node; nil if it was not read.
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`
	// Ports are the measured ones that the reader has.
	Ports []PortDriver `json:"ports,omitempty"`
}

// FailureState is a Failure as it is stored and as the measurer writes it into its
// termination message.
type FailureState struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

package v1alpha1

// MaxRepeats is the largest value of measurements.repeats.
const MaxRepeats = 20

// Measurements are what a run measures, for each frame size.
// +kubebuilder:validation:XValidation:rule="!has(self.seed) || !has(self.order) || self.order == 'Random'",message="seed goes with order Random: remove order Declared, or seed",fieldPath=".seed"
type Measurements struct {
	// profile names a set of measurements and fills in what is absent below: Quick (a first
	// answer), Standard, RFC2544, CSIT or TST009. Fields that are set take precedence, one by
	// one. Absent: only what is named below is measured, with the settings of Standard.
	// +optional
	Profile MeasurementProfile `json:"profile,omitempty"`

	// throughput searches for the highest load that meets each goal. Absent: not measured.
	// +optional
	Throughput *Throughput `json:"throughput,omitempty"`

	// latency measures delay, its variation and loss at given loads. Absent: not measured.
	// +optional
	Latency *Latency `json:"latency,omitempty"`

	// fixedLoad measures loss, delay and its variation at stated rates for a stated time, in
	// repeats. Absent: not measured.
	// +optional
	FixedLoad *FixedLoad `json:"fixedLoad,omitempty"`

	// frameLossRate measures loss from the maximum load down in steps (RFC 2544
	// section 26.3). Absent: not measured.
	// +optional
	FrameLossRate *FrameLossRate `json:"frameLossRate,omitempty"`

	// backToBack searches for the longest burst without loss (RFC 9004), for the frame sizes
	// whose throughput the device limits. It needs a throughput goal without loss. Absent:
	// not measured.
	// +optional
	BackToBack *BackToBack `json:"backToBack,omitempty"`

	// receiveRate measures the forwarding rate at the maximum load (RFC 2285
	// section 3.6.2), trial after trial. Absent: not measured.
	// +optional
	ReceiveRate *ReceiveRate `json:"receiveRate,omitempty"`

	// recovery bounds the time in which the device still loses frames after an overload (RFC
	// 2544 section 26.5). It needs throughput. Absent: not measured.
	// +optional
	Recovery *Recovery `json:"recovery,omitempty"`

	// soak holds one load of one size for hours, with a figure for each
	// interval. Absent: not measured.
	// +optional
	Soak *Soak `json:"soak,omitempty"`

	// tcp measures goodput, retransmits and round trip time of TCP connections,
	// after everything that is measured for each frame size. Absent: not measured.
	// +optional
	TCP *TCP `json:"tcp,omitempty"`

	// connections measures TCP connections per second and concurrent ones, with a transaction
	// in each. It needs a testbed with driver TRex. Experimental. Absent: not measured.
	// +optional
	Connections *Connections `json:"connections,omitempty"`

	// warmUpMilliseconds is the duration of the uncounted trial before each frame size.
	// Absent: the profile's, or 1000 without a profile. 0 skips it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=600000
	WarmUpMilliseconds *int32 `json:"warmUpMilliseconds,omitempty"`

	// settleMilliseconds is the wait after each trial for frames that are still on the way.
	// Absent: the profile's, or 100 without a profile. RFC 2544 section 23 asks for 2000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	SettleMilliseconds int32 `json:"settleMilliseconds,omitempty"`

	// noisyNeighbors says how spec.experiment.noisyNeighbors are measured: With measures
	// everything with them; WithAndWithout without and with them, in turns, and compares
	// the figures in status.noisyNeighbors. Default With, where there are neighbors.
	// +optional
	NoisyNeighbors NoisyNeighborComparison `json:"noisyNeighbors,omitempty"`

	// repeats is how many times everything is measured for each size, from the warm-up on; the
	// calibration is made once. The figures are means with statistics. Default 1. With noisyNeighbors
	// WithAndWithout an odd number becomes the next even one.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Repeats int32 `json:"repeats,omitempty"`

	// repeatScope is what a repeat makes again: Trials, on one deployment of the chain, or Chain,
	// the chain itself, so that the statistics are over deployments. Default Trials.
	// +optional
	RepeatScope RepeatScope `json:"repeatScope,omitempty"`

	// order of the sizes, and of the latency loads of each size and repeat: Random, so that a drift of
	// the testbed is not the effect of a size or a load, or Declared. Default Random.
	// +optional
	Order MeasurementOrder `json:"order,omitempty"`

	// seed of order Random. Equal seeds give equal orders. Absent: it follows from the run's UID.
	// status.plan.orderSeed has the one that was used.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	Seed *int64 `json:"seed,omitempty"`
}

// RepeatScope is what a repeat makes again.
// +kubebuilder:validation:Enum=Trials;Chain
type RepeatScope string

const (
	// RepeatTrials makes all repeats of a size after one another, on one deployment of the chain.
	RepeatTrials RepeatScope = "Trials"
	// RepeatChain deletes the chain before each repeat of all sizes, and launches it again.
	RepeatChain RepeatScope = "Chain"
)

// MeasurementOrder is how sizes and latency loads follow each other.
// +kubebuilder:validation:Enum=Declared;Random
type MeasurementOrder string

const (
	// OrderDeclared is that of the spec.
	OrderDeclared MeasurementOrder = "Declared"
	// OrderRandom follows from a seed.
	OrderRandom MeasurementOrder = "Random"
)

// HaveFrames reports whether something is measured for each size of frames.
func (m Measurements) HaveFrames() bool {
	return m.Throughput != nil || m.Latency != nil || m.FixedLoad != nil || m.FrameLossRate != nil ||
		m.BackToBack != nil || m.ReceiveRate != nil || m.Recovery != nil || m.Soak != nil
}

// fillGoals names the goals of measurements whose load is a share of a throughput.
func (m *Measurements) fillGoals() { m.Recovery.fillGoal(m.Throughput) }

// SearchMethod names how the throughput is searched.
// +kubebuilder:validation:Enum=MLRsearch;RFC2544;TST009;TST009WithLossVerification
type SearchMethod string

const (
	// MethodMLRsearch is the search of RFC 9971.
	MethodMLRsearch SearchMethod = "MLRsearch"
	// MethodRFC2544 halves between the loads with and without loss; shorter
	// trials may search, full-length ones confirm (RFC 2544 section 24).
	MethodRFC2544 SearchMethod = "RFC2544"
	// MethodTST009 is the binary search of ETSI GS NFV-TST 009 section 12.3.2.
	MethodTST009 SearchMethod = "TST009"
	// MethodTST009WithLossVerification repeats trials with loss before they
	// count (ETSI GS NFV-TST 009 section 12.3.3).
	MethodTST009WithLossVerification SearchMethod = "TST009WithLossVerification"
)

// Throughput searches for the highest load that meets each goal.
// +kubebuilder:validation:XValidation:rule="!has(self.maximumFramesPerSecond) || has(self.minimumLoad) || self.maximumFramesPerSecond > self.minimumFramesPerSecond",message="maximumFramesPerSecond must be above minimumFramesPerSecond",fieldPath=".maximumFramesPerSecond"
// +kubebuilder:validation:XValidation:rule="!has(self.minimumLoad) || !has(self.minimumFramesPerSecond) || self.minimumFramesPerSecond == 1000",message="give either minimumLoad or minimumFramesPerSecond",fieldPath=".minimumLoad"
// +kubebuilder:validation:XValidation:rule="!has(self.maximumLoad) || !has(self.maximumFramesPerSecond)",message="give either maximumLoad or maximumFramesPerSecond",fieldPath=".maximumLoad"
type Throughput struct {
	// method of the search. Absent: the profile's, or MLRsearch (RFC 9971), which searches for all
	// goals at once. The others search for one after the other and decide by single trials:
	// durationSumMilliseconds must equal trialMilliseconds, and exceedPercent be 0.
	// +optional
	Method SearchMethod `json:"method,omitempty"`

	// lossVerification sets when a trial with loss is repeated, only for method
	// TST009WithLossVerification. Absent: one repeat, whatever was lost.
	// +optional
	LossVerification *LossVerification `json:"lossVerification,omitempty"`

	// goals of the search, which share their trials. Absent: the profile's, or NDR (no loss)
	// and PDR (at most 1000 parts per million lost, which is 0.1 %).
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Goals []Goal `json:"goals,omitempty"`

	// minimumFramesPerSecond is the lowest load tried, for each direction. Default 1000.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	MinimumFramesPerSecond int64 `json:"minimumFramesPerSecond,omitempty"`

	// maximumFramesPerSecond is the highest load tried, for each direction, at most line
	// rate. Absent: line rate, or what the generator reached in its calibration if that is
	// less.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1000000000
	MaximumFramesPerSecond *int64 `json:"maximumFramesPerSecond,omitempty"`

	// minimumLoad is the lowest load tried in another unit, instead of
	// minimumFramesPerSecond.
	// +optional
	MinimumLoad *Load `json:"minimumLoad,omitempty"`

	// maximumLoad is the highest load tried in another unit, instead of
	// maximumFramesPerSecond.
	// +optional
	MaximumLoad *Load `json:"maximumLoad,omitempty"`

	// maximumSearchSeconds is how long one size's search may take, repeated trials included. Results that
	// are not certain by then are marked irregular. Absent: the profile's, or 1200.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaximumSearchSeconds int32 `json:"maximumSearchSeconds,omitempty"`
}

// LossVerification is how ETSI GS NFV-TST 009 section 12.3.3 distinguishes loss that comes again
// from loss that does not.
type LossVerification struct {
	// maximumRepeats is how many times a trial with too much loss is repeated before its load
	// fails; the first good trial ends it. Default 1: at most two trials, which RFC 9971
	// calls max(r) = 2.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaximumRepeats int32 `json:"maximumRepeats,omitempty"`

	// lossThresholdFrames is z of TST 009: a trial that loses more frames, in the worse
	// direction, fails its load without a repeat. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000
	LossThresholdFrames *int64 `json:"lossThresholdFrames,omitempty"`
}

// Goal is one of RFC 9971's search goals.
// +kubebuilder:validation:XValidation:rule="!has(self.durationSumMilliseconds) || self.durationSumMilliseconds >= self.trialMilliseconds",message="durationSumMilliseconds must be at least trialMilliseconds",fieldPath=".durationSumMilliseconds"
type Goal struct {
	// name of the goal, such as NDR or PDR.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$`
	Name string `json:"name,omitempty"`

	// lossPartsPerMillion is the highest loss ratio of a good trial, in lost frames per
	// million sent, of the worse direction. Default 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	LossPartsPerMillion int32 `json:"lossPartsPerMillion"`

	// exceedPercent is the share of the duration sum in which trials may
	// exceed the loss ratio. Default 0: every trial must be good.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	ExceedPercent int32 `json:"exceedPercent"`

	// trialMilliseconds is the duration of a full-length trial. Default 1000.
	// RFC 2544 section 24 asks for 60000.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=3600000
	TrialMilliseconds int32 `json:"trialMilliseconds,omitempty"`

	// durationSumMilliseconds is how long full-length trials at one load must last together
	// before it counts as a bound. Default 1000.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=36000000
	DurationSumMilliseconds int32 `json:"durationSumMilliseconds,omitempty"`

	// widthPartsPerMillion is the gap between the bounds, as parts of the
	// upper one; with methods TST009 and TST009WithLossVerification the step between their
	// loads, as parts of the highest. Default 20000 (2 %).
	// +optional
	// +kubebuilder:default=20000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=500000
	WidthPartsPerMillion int32 `json:"widthPartsPerMillion,omitempty"`
}

// LatencyPreset names a list of latency loads.
// +kubebuilder:validation:Enum=Standard;CSIT;NDR95;RFC2544
type LatencyPreset string

// The presets. Idle is 1000 frames/s, low enough to queue nowhere and high
// enough for percentiles.
const (
	// PresetStandard is idle, pdr50 and pdr90: 50 % and 90 % of PDR.
	PresetStandard LatencyPreset = "Standard"
	// PresetCSIT is idle, pdr10, pdr50 and pdr90, the loads of FD.io CSIT.
	PresetCSIT LatencyPreset = "CSIT"
	// PresetNDR95 is idle and ndr95: 95 % of NDR.
	PresetNDR95 LatencyPreset = "NDR95"
	// PresetRFC2544 is ndr100: the throughput rate (RFC 2544 section 26.2).
	PresetRFC2544 LatencyPreset = "RFC2544"
)

// Latency measures delay, its variation and loss at given loads.
// +kubebuilder:validation:XValidation:rule="!(has(self.preset) && has(self.loads))",message="give either preset or loads",fieldPath=".preset"
// +kubebuilder:validation:XValidation:rule="!has(self.taggedFrame) || !has(self.trialMilliseconds)",message="with taggedFrame leave trialMilliseconds out, and set taggedFrame.streamMilliseconds",fieldPath=".trialMilliseconds"
type Latency struct {
	// preset names the loads: Standard (idle, pdr50, pdr90), CSIT (idle, pdr10, pdr50, pdr90), NDR95
	// (idle, ndr95) or RFC2544 (ndr100). Idle is 1000 frames/s; the others are percentages of goal PDR
	// or NDR. Absent: Standard, unless loads are given.
	// +optional
	Preset LatencyPreset `json:"preset,omitempty"`

	// loads are measured one after the other. Absent: those of the preset.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Loads []LatencyLoad `json:"loads,omitempty"`

	// trialMilliseconds is the duration of each trial. Absent: the profile's, or 5000 without
	// a profile. RFC 2544 section 26.2 asks for 120000.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=3600000
	TrialMilliseconds int32 `json:"trialMilliseconds,omitempty"`

	// taggedFrame sends each load as several streams, and times one frame of each separately (RFC 2544
	// section 26.2). {} has the settings of the RFC, whose load is preset RFC2544. Other figures
	// cover all frames of all streams. It needs measurements.repeats of 1. Absent: no tagged frame.
	// +optional
	TaggedFrame *TaggedFrame `json:"taggedFrame,omitempty"`
}

// TaggedFrame is RFC 2544 section 26.2's way to measure latency.
// +kubebuilder:validation:XValidation:rule="self.afterMilliseconds < self.streamMilliseconds",message="the frame is tagged while its stream lasts: afterMilliseconds must be below streamMilliseconds",fieldPath=".afterMilliseconds"
type TaggedFrame struct {
	// streams is how often each load's stream is sent. Default 20, the least
	// that the RFC asks for.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Streams int32 `json:"streams,omitempty"`

	// streamMilliseconds is the duration of each stream. Default 120000, the
	// least that the RFC asks for.
	// +optional
	// +kubebuilder:default=120000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=3600000
	StreamMilliseconds int32 `json:"streamMilliseconds,omitempty"`

	// afterMilliseconds is the time from the start of the stream after which the next frame
	// is tagged. Default 60000, as the RFC asks for.
	// +optional
	// +kubebuilder:default=60000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3599999
	AfterMilliseconds int32 `json:"afterMilliseconds,omitempty"`
}

// LatencyLoad is a load at which latency is measured: a rate, or a share of a found throughput.
// +kubebuilder:validation:XValidation:rule="[has(self.framesPerSecond), has(self.rate), has(self.goal)].filter(g, g).size() == 1",message="give either framesPerSecond or goal with percent, or rate in another unit"
// +kubebuilder:validation:XValidation:rule="has(self.goal) == has(self.percent)",message="goal and percent go together"
type LatencyLoad struct {
	// name of the load, unique in the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// framesPerSecond of each direction, at most line rate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// rate of each direction in another unit, at most line rate.
	// +optional
	Rate *Load `json:"rate,omitempty"`

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
}

package v1alpha1

// Measurements are what a run measures, for each frame size.
// +kubebuilder:validation:XValidation:rule="has(self.throughput) || has(self.latency)",message="at least one of throughput and latency is required"
// +kubebuilder:validation:XValidation:rule="!has(self.latency) || !has(self.latency.loads) || self.latency.loads.all(l, !has(l.goal) || (has(self.throughput) && self.throughput.goals.exists(g, g.name == l.goal)))",message="a load is a share of a goal that throughput.goals does not have: add the goal, or give the load in framesPerSecond",fieldPath=".latency"
type Measurements struct {
	// throughput searches for the highest load that meets each goal. Absent: not measured.
	// +optional
	Throughput *Throughput `json:"throughput,omitempty"`

	// latency measures delay, its variation and loss at given loads. Absent: not measured.
	// +optional
	Latency *Latency `json:"latency,omitempty"`

	// warmUpMilliseconds is the time of the trial before each frame size that
	// is not counted. Default 1000; 0 leaves it out.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=600000
	WarmUpMilliseconds *int32 `json:"warmUpMilliseconds,omitempty"`

	// settleMilliseconds is the wait after each trial for frames still under
	// way. Default 100. RFC 2544 section 23 asks for 2000.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	SettleMilliseconds int32 `json:"settleMilliseconds,omitempty"`
}

// SearchMethod names how the throughput is searched.
// +kubebuilder:validation:Enum=MLRsearch;RFC2544;TST009;TST009WithLossVerification
type SearchMethod string

// MethodMLRsearch is RFC 9971's search.
const MethodMLRsearch SearchMethod = "MLRsearch"

// Throughput searches for the highest load that meets each goal.
// +kubebuilder:validation:XValidation:rule="!has(self.method) || self.method == 'MLRsearch'",message="methods RFC2544, TST009 and TST009WithLossVerification are not implemented yet; use MLRsearch",fieldPath=".method"
// +kubebuilder:validation:XValidation:rule="!has(self.maximumFramesPerSecond) || has(self.minimumLoad) || self.maximumFramesPerSecond > self.minimumFramesPerSecond",message="maximumFramesPerSecond must be above minimumFramesPerSecond",fieldPath=".maximumFramesPerSecond"
// +kubebuilder:validation:XValidation:rule="!has(self.minimumLoad) || !has(self.minimumFramesPerSecond) || self.minimumFramesPerSecond == 1000",message="give either minimumLoad or minimumFramesPerSecond",fieldPath=".minimumLoad"
// +kubebuilder:validation:XValidation:rule="!has(self.maximumLoad) || !has(self.maximumFramesPerSecond)",message="give either maximumLoad or maximumFramesPerSecond",fieldPath=".maximumLoad"
type Throughput struct {
	// method of the search. Default MLRsearch (RFC 9971), the only one implemented yet.
	// +optional
	// +kubebuilder:default=MLRsearch
	Method SearchMethod `json:"method,omitempty"`

	// goals are searched at once and share their trials. Default: NDR (no loss)
	// and PDR (at most 1000 parts per million lost, that is 0.1 %).
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={{name: NDR, lossPartsPerMillion: 0}, {name: PDR, lossPartsPerMillion: 1000}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Goals []Goal `json:"goals,omitempty"`

	// minimumFramesPerSecond is the lowest load tried, for each direction. Default 1000.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	MinimumFramesPerSecond int64 `json:"minimumFramesPerSecond,omitempty"`

	// maximumFramesPerSecond is the highest load tried, for each direction; it
	// may not exceed line rate. Absent: line rate, or what the generator
	// reaches by its calibration where that is less.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1000000000
	MaximumFramesPerSecond *int64 `json:"maximumFramesPerSecond,omitempty"`

	// minimumLoad is the lowest load tried in another unit, in the place of
	// minimumFramesPerSecond.
	// +optional
	MinimumLoad *Load `json:"minimumLoad,omitempty"`

	// maximumLoad is the highest load tried in another unit, in the place of
	// maximumFramesPerSecond.
	// +optional
	MaximumLoad *Load `json:"maximumLoad,omitempty"`

	// maximumSearchSeconds is how long the search for one frame size may take;
	// what is not certain by then is marked irregular. Default 1200.
	// +optional
	// +kubebuilder:default=1200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaximumSearchSeconds int32 `json:"maximumSearchSeconds,omitempty"`
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

	// lossPartsPerMillion is the highest loss ratio of a good trial, in lost
	// frames for each million sent, of the worse direction. Default 0.
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

	// durationSumMilliseconds is how long full-length trials at one load must
	// last together before it counts as a bound. Default 1000.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=36000000
	DurationSumMilliseconds int32 `json:"durationSumMilliseconds,omitempty"`

	// widthPartsPerMillion is the precision: the gap between the bounds, as
	// parts of the upper one. Default 20000 (2 %).
	// +optional
	// +kubebuilder:default=20000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=500000
	WidthPartsPerMillion int32 `json:"widthPartsPerMillion,omitempty"`
}

// Latency measures delay, its variation and loss at given loads.
type Latency struct {
	// loads are measured one after the other. Default: idle (1000 frames/s) and
	// 50 % and 90 % of PDR.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={{name: idle, framesPerSecond: 1000}, {name: pdr50, goal: PDR, percent: 50}, {name: pdr90, goal: PDR, percent: 90}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Loads []LatencyLoad `json:"loads,omitempty"`

	// trialMilliseconds is the duration of each trial. Default 5000. RFC 2544
	// section 26.2 asks for 120000.
	// +optional
	// +kubebuilder:default=5000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=3600000
	TrialMilliseconds int32 `json:"trialMilliseconds,omitempty"`
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

	// framesPerSecond of each direction; it may not exceed line rate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`

	// rate of each direction in another unit; it may not exceed line rate.
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

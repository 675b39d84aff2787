package v1alpha1

// Bounds of spec.regression and status.regression of a suite.
const (
	// MaxSeriesVerdicts is the number of series that the status lists, the regressions first.
	MaxSeriesVerdicts = 100
	// MaxRegressionGroups is the number of groups of figures that the status lists.
	MaxRegressionGroups = 20
	// MaxOtherRevisions is the number of revisions that the runs do not distinguish from that of a change.
	MaxOtherRevisions = 10
	// MaxRegressionQuestions is the number of questions that are confirmed for one execution: each takes at least four runs.
	MaxRegressionQuestions = 100
	// MaxVerdictMessageBytes bounds the message of one series.
	MaxVerdictMessageBytes = 512
)

// SuiteRegression says how the series of a suite are judged.
// +kubebuilder:validation:XValidation:rule="!has(self.gate) || !has(self.confirm) || self.confirm",message="gate needs confirm: without interleaved runs nothing is a regression, so the gate never fails; set confirm to true or remove gate",fieldPath=".gate"
type SuiteRegression struct {
	// marginPercent is the change of a figure that matters in practice, in percent: such a change is found, and one of less than half
	// of it is never reported. Default 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	MarginPercent int32 `json:"marginPercent,omitempty"`

	// gate selects series. A regression of one makes Succeeded of the suite False, with RegressionFound. So does, with NotConfirmed, a
	// series that is Inconclusive, and, with GateWithoutSeries, an entry that selects none. Absent: regressions are only reported.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Gate []RegressionGate `json:"gate,omitempty"`

	// acknowledgements are changes that are expected, accepted or fixed. Nothing else moves the level that figures are compared with.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	Acknowledgements []Acknowledgement `json:"acknowledgements,omitempty"`

	// confirm deploys the old and the new version again by turns where a change is suspected. If it is false, a suspected change is
	// Inconclusive. Default true.
	// +optional
	// +kubebuilder:default=true
	Confirm *bool `json:"confirm,omitempty"`

	// maximumExtraRuns is how many BenchmarkRuns the confirmations of one execution take at most: those for series that the gate selects
	// first, then the largest suspected losses. A change that needs more is Inconclusive. Default 48.
	// +optional
	// +kubebuilder:default=48
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=400
	MaximumExtraRuns int32 `json:"maximumExtraRuns,omitempty"`
}

// RegressionGate selects series, and the regressions of them that count.
type RegressionGate struct {
	// metric of the figure, as ThroughputFramesPerSecond. The metrics that have series can be named.
	// +required
	// +kubebuilder:validation:Enum=ThroughputFramesPerSecond;LatencyMeanNanoseconds;LatencyP99Nanoseconds;JitterP99Nanoseconds;TCPGoodputBitsPerSecond;TCPRoundTripTimeMeanNanoseconds;ConnectionsEstablishedPerSecond;ConnectionsHeld;BackToBackFrames;ReceiveRateFramesPerSecond
	Metric Metric `json:"metric,omitempty"`

	// goal of the figure, as NDR. Absent: every goal.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Goal string `json:"goal,omitempty"`

	// cells are names of cells. Absent: every cell.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Cells []string `json:"cells,omitempty"`

	// leastLossPercent is how much worse the figure is at least, in percent, compared with the best level since the last
	// accepted one. A delay can become more than 100 % worse. Default 0: each confirmed regression.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	LeastLossPercent int32 `json:"leastLossPercent,omitempty"`
}

// AcknowledgementKind is what an acknowledgement does.
// +kubebuilder:validation:Enum=Expected;Accepted;Fixed
type AcknowledgementKind string

// Acknowledgement is what someone says of a change.
// +kubebuilder:validation:XValidation:rule="has(self.revision) != has(self.run)",message="give either revision or run, where the change is"
type Acknowledgement struct {
	// kind is Expected, written before a change is measured, Accepted, written after it, or Fixed. The first two move
	// the level that figures are compared with. Fixed moves nothing: the runs show whether the old level is back.
	// +required
	Kind AcknowledgementKind `json:"kind,omitempty"`

	// experiment selects the series of an experiment, as "kubectl vnfbench series" names it. Absent: all.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Experiment string `json:"experiment,omitempty"`

	// testbed selects the series of a Testbed. Absent: all.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Testbed string `json:"testbed,omitempty"`

	// figure selects the series of a figure, as "ThroughputFramesPerSecond 64 NDR". Absent: all.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Figure string `json:"figure,omitempty"`

	// revision of the subject with which the change, or the fix, begins. Absent: run says it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Revision string `json:"revision,omitempty"`

	// run is the name of the BenchmarkRun with which the change, or the fix, begins. Absent: revision says it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run,omitempty"`

	// maximumLossPercent is the largest loss that is Expected or Accepted, in percent, 0 for none: then the figure may only become better.
	// Absent: each change is acknowledged.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MaximumLossPercent *int32 `json:"maximumLossPercent,omitempty"`

	// note says why.
	// +optional
	// +kubebuilder:validation:MaxLength=500
	Note string `json:"note,omitempty"`
}

// RegressionCause is what raised the question whether a figure has changed.
// +kubebuilder:validation:Enum=Step;Slow;PlatformChanged;GeneratorMoved
type RegressionCause string

// SuiteConfirmation says which question the runs of an execution answer. The operator makes such an execution: its cells are "old" and
// "new", and each repeat is a pair, which begins with the other one than the pair before.
type SuiteConfirmation struct {
	// suite is the name of the BenchmarkSuite.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Suite string `json:"suite,omitempty"`

	// cell is the name of the cell in which the change is suspected.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cell string `json:"cell,omitempty"`

	// run is the name of the BenchmarkRun after which it was suspected.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run,omitempty"`

	// cause is what raised the question.
	// +required
	Cause RegressionCause `json:"cause,omitempty"`

	// oldRun is the name of the BenchmarkRun whose version is the old one.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	OldRun string `json:"oldRun,omitempty"`

	// firstPair is the number of the first repeat among all pairs of the question, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	FirstPair int32 `json:"firstPair,omitempty"`

	// oldSubject is what the cell "old" tests; the template's subject is that of the cell "new". Absent: not known.
	// +optional
	OldSubject *Subject `json:"oldSubject,omitempty"`
}

// RegressionStatus is what is known of the series of a suite after its latest execution.
type RegressionStatus struct {
	// execution is the name of the BenchmarkSuiteRun after which the series were judged.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Execution string `json:"execution,omitempty"`

	// digest is that of spec.regression and of what was judged.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest,omitempty"`

	// message is one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// problem says why the series, or what measurements of the execution, could not be judged. The rest is what was known before. Absent: all
	// were judged.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Problem string `json:"problem,omitempty"`

	// gateProblem says which entries of spec.regression.gate select no series of the execution. Absent: each selects one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	GateProblem string `json:"gateProblem,omitempty"`

	// counts are the series by their verdict.
	// +optional
	Counts VerdictCounts `json:"counts,omitzero"`

	// groups has a sentence for each group of figures that moved together, the regressions first. At most 20.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	Groups []string `json:"groups,omitempty"`

	// verdicts are those of the series, the regressions first, then the improvements and what is Inconclusive. At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Verdicts []SeriesVerdict `json:"verdicts,omitempty"`

	// cells has the worst verdict of each cell that has series: Regression, then Inconclusive, NotEnoughData, Improvement and Pass. At most
	// 501.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=501
	Cells []CellVerdict `json:"cells,omitempty"`

	// extraRuns is how many BenchmarkRuns the confirmations of the execution have taken, with those of the active one.
	// +optional
	ExtraRuns int32 `json:"extraRuns,omitempty"`

	// confirmations is how many confirmations were made for the execution. The latest has this number at the end of its name.
	// +optional
	Confirmations int32 `json:"confirmations,omitempty"`

	// questions are those for which confirmations have ended.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Questions []RegressionQuestion `json:"questions,omitempty"`

	// confirmation is the one that the operator makes at the moment. Absent: none.
	// +optional
	Confirmation *AskedConfirmation `json:"confirmation,omitempty"`
}

// VerdictCounts are numbers of series.
type VerdictCounts struct {
	// pass is the number of series without a change.
	Pass int32 `json:"pass"`
	// regression is the number of series that became worse.
	Regression int32 `json:"regression"`
	// improvement is the number of series that became better.
	Improvement int32 `json:"improvement"`
	// inconclusive is the number of series with an open question.
	Inconclusive int32 `json:"inconclusive"`
	// notEnoughData is the number of series with too few runs.
	NotEnoughData int32 `json:"notEnoughData"`
}

// CellVerdict is the worst verdict of the series of a cell.
type CellVerdict struct {
	// name of the cell.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// verdict is Pass, Regression, Improvement, Inconclusive or NotEnoughData.
	// +required
	// +kubebuilder:validation:Enum=Pass;Regression;Improvement;Inconclusive;NotEnoughData
	Verdict string `json:"verdict,omitempty"`

	// gated is true where a series of the cell fails the suite.
	// +optional
	Gated bool `json:"gated,omitempty"`
}

// SeriesVerdict is the verdict of one series.
type SeriesVerdict struct {
	// experiment of the series.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Experiment string `json:"experiment,omitempty"`

	// cell is the name of the cell.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Cell string `json:"cell,omitempty"`

	// testbed is the name of the Testbed.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Testbed string `json:"testbed,omitempty"`

	// figure is the metric and what it is of, as "ThroughputFramesPerSecond 64 NDR".
	// +required
	// +kubebuilder:validation:MaxLength=512
	Figure string `json:"figure,omitempty"`

	// verdict is Pass, Regression, Improvement, Inconclusive or NotEnoughData.
	// +required
	// +kubebuilder:validation:Enum=Pass;Regression;Improvement;Inconclusive;NotEnoughData
	Verdict string `json:"verdict,omitempty"`

	// reason says why.
	// +required
	// +kubebuilder:validation:MaxLength=100
	Reason string `json:"reason,omitempty"`

	// message is one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// runs is how many runs have a value.
	// +optional
	Runs int32 `json:"runs,omitempty"`

	// variationPartsPerMillion is the standard deviation between runs, as a share of the value.
	// +optional
	VariationPartsPerMillion int64 `json:"variationPartsPerMillion,omitempty"`

	// gated is true for a series that fails the suite: spec.regression.gate selects it, and it has a regression of the least loss or is
	// Inconclusive.
	// +optional
	Gated bool `json:"gated,omitempty"`

	// change is the confirmed change that decides. Absent: none does.
	// +optional
	Change *SeriesChange `json:"change,omitempty"`
}

// SeriesChange is a confirmed change of a series.
type SeriesChange struct {
	// run is the first BenchmarkRun of the new level.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Run string `json:"run,omitempty"`

	// revision is that of its subject. Absent: not known.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Revision string `json:"revision,omitempty"`

	// otherRevisions are those that the change may have begun with instead.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=512
	OtherRevisions []string `json:"otherRevisions,omitempty"`

	// partsPerMillion is the change of the figure. The interval from lowPartsPerMillion to highPartsPerMillion holds it.
	PartsPerMillion int64 `json:"partsPerMillion"`
	// lowPartsPerMillion is the lower end of the interval.
	LowPartsPerMillion int64 `json:"lowPartsPerMillion"`
	// highPartsPerMillion is the upper end of the interval.
	HighPartsPerMillion int64 `json:"highPartsPerMillion"`

	// pairs is how many pairs of interleaved runs confirm it.
	// +optional
	Pairs int32 `json:"pairs,omitempty"`
}

// RegressionQuestion is a question whose confirmations have ended.
type RegressionQuestion struct {
	// run is the name of the BenchmarkRun after which the change was suspected.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Run string `json:"run,omitempty"`

	// cause is what raised the question.
	// +required
	Cause RegressionCause `json:"cause,omitempty"`

	// oldRun is the name of the BenchmarkRun whose version is the old one.
	// +required
	// +kubebuilder:validation:MaxLength=512
	OldRun string `json:"oldRun,omitempty"`

	// pairs is how many pairs were made, of all executions.
	// +optional
	Pairs int32 `json:"pairs,omitempty"`

	// closed is true where this execution asks for no more pairs: a confirmation was deleted, or cannot be made.
	// +optional
	Closed bool `json:"closed,omitempty"`

	// message says how the last confirmation ended.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// AskedConfirmation is a confirmation that the operator makes.
type AskedConfirmation struct {
	// name of the BenchmarkSuiteRun.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid of the BenchmarkSuiteRun. Absent: it is not made yet.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// run is the name of the BenchmarkRun after which the change was suspected, and whose version is the new one.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Run string `json:"run,omitempty"`

	// cause is what raised the question.
	// +required
	Cause RegressionCause `json:"cause,omitempty"`

	// oldRun is the name of the BenchmarkRun whose version is the old one.
	// +required
	// +kubebuilder:validation:MaxLength=512
	OldRun string `json:"oldRun,omitempty"`

	// firstPair is the number of its first pair, from 1.
	// +required
	FirstPair int32 `json:"firstPair,omitempty"`

	// pairs is how many pairs it has.
	// +required
	Pairs int32 `json:"pairs,omitempty"`

	// problem says why it cannot be made. Absent: it can.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Problem string `json:"problem,omitempty"`
}

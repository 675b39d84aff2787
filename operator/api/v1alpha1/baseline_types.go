package v1alpha1

// Baseline is an earlier run to compare with. The operator reads its figures when this run gets
// its testbed, so the earlier run may be deleted after that.
type Baseline struct {
	// runRef names a BenchmarkRun of the same namespace that was measured on the same
	// Testbed, with the same traffic and measurements. Its chain may differ.
	// +required
	RunRef LocalReference `json:"runRef,omitzero"`

	// maximumRegressionPercent is how much worse a figure of metrics may be. Where higher is worse and
	// the baseline has 0, only 0 passes. Default 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaximumRegressionPercent *int32 `json:"maximumRegressionPercent,omitempty"`

	// metrics whose figures are judged, of those in docs/methodology/baseline.md. The others are only
	// reported. Default: the rates.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="metrics names a value twice: leave one out"
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=13
	// +kubebuilder:default={ThroughputFramesPerSecond, BackToBackFrames, ReceiveRateFramesPerSecond, TCPGoodputBitsPerSecond, ConnectionsEstablishedPerSecond, ConnectionsHeld}
	Metrics []Metric `json:"metrics,omitempty"`
}

// BaselineLoadSuffix follows the name of a latency load at the baseline's rate. A load that a user names has no @.
const BaselineLoadSuffix = "@baseline"

// BaselineCriterion is the name of the verdicts on the baseline in status.acceptance.
const BaselineCriterion = "baseline"

// BaselineReport has the earlier run's figures next to this run's.
type BaselineReport struct {
	// runRef names the earlier run.
	// +required
	RunRef LocalReference `json:"runRef,omitzero"`

	// uid is the earlier run's.
	// +required
	// +kubebuilder:validation:MaxLength=128
	UID string `json:"uid,omitempty"`

	// planDigest is the digest of the earlier run's plan. If this run has the same, both
	// measured the same thing on the same nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	PlanDigest string `json:"planDigest,omitempty"`

	// generatorImageID is the image of the earlier run's measurer. Absent: not known.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	GeneratorImageID string `json:"generatorImageID,omitempty"`

	// platform is what the earlier run's figures hold for besides its chain: nodes, kernels,
	// processors, and the programs that measured. Absent: not known.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Platform []PlatformPart `json:"platform,omitempty"`

	// figures are those of the earlier run, at most 512.
	// +optional
	// +kubebuilder:validation:MaxItems=512
	Figures []BaselineFigure `json:"figures,omitempty"`
}

// PlatformPart is something besides the chain that figures hold for.
type PlatformPart struct {
	// name, such as kernel, deviceNode or generatorImage.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name,omitempty"`

	// value of it, cut to 200 bytes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Value string `json:"value,omitempty"`
}

// BaselineFigure is one figure of both runs: of the worse direction, and for a fixed load of the
// worst repeat.
type BaselineFigure struct {
	FigureKey `json:",inline"`

	// baseline is the earlier run's value, in the metric's unit.
	// +required
	Baseline int64 `json:"baseline"`

	// values are those of the earlier run's repeats, searches or trials, whose mean is
	// baseline. Absent: there is only one, or baseline is not a mean.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	Values []int64 `json:"values,omitempty"`

	// cause is the reason why the earlier run's value is not better, such as
	// GeneratorCeiling. Absent: unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Cause string `json:"cause,omitempty"`

	// regularity of the earlier run's search, with ThroughputFramesPerSecond. Absent: the metric
	// is another one.
	// +optional
	Regularity Regularity `json:"regularity,omitempty"`

	// doubts about the earlier run's value. A value that is a floor of the generator,
	// irregular or of a load that was not reached is not judged. Absent: there are none.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`

	// baselineLoadFramesPerSecond is the intended load of each direction at which the earlier
	// run measured the value. Absent: the metric has no such load.
	// +optional
	BaselineLoadFramesPerSecond *int64 `json:"baselineLoadFramesPerSecond,omitempty"`

	// measuredLoadFramesPerSecond is the same of this run. Absent: there is no such load, or
	// not yet.
	// +optional
	MeasuredLoadFramesPerSecond *int64 `json:"measuredLoadFramesPerSecond,omitempty"`

	// measured is this run's value. Absent: this run has no such figure, or not yet.
	// +optional
	Measured *int64 `json:"measured,omitempty"`

	// differencePartsPerMillion is (measured - baseline) / baseline. Absent where
	// measured is missing, or baseline is 0.
	// +optional
	DifferencePartsPerMillion *int64 `json:"differencePartsPerMillion,omitempty"`

	// pValuePartsPerMillion is the two-sided p-value of Welch's t-test. Absent: a run has fewer than
	// two values, or all values are the same.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	PValuePartsPerMillion *int64 `json:"pValuePartsPerMillion,omitempty"`
}

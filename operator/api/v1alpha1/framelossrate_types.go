package v1alpha1

// FrameLossRate measures loss at falling loads (RFC 2544 section 26.3).
type FrameLossRate struct {
	// stepPercent is how far each trial's load is below the one before, in percent of the
	// maximum. Default 10, the largest that RFC 2544 section 26.3 allows.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	StepPercent int32 `json:"stepPercent,omitempty"`

	// trialMilliseconds is the duration of each trial. Default 5000. RFC 2544
	// section 24 asks for 60000.
	// +optional
	// +kubebuilder:default=5000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=3600000
	TrialMilliseconds int32 `json:"trialMilliseconds,omitempty"`

	// maximumFramesPerSecond is the load called 100 %, for each direction, at most line rate.
	// Absent: line rate, or what the generator reached in its calibration if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	MaximumFramesPerSecond *int64 `json:"maximumFramesPerSecond,omitempty"`
}

// MaximumOrigin says what limits a maximum load.
// +kubebuilder:validation:MaxLength=64
type MaximumOrigin string

const (
	// MaximumLineRate means that it is the line rate of the testbed's link.
	MaximumLineRate MaximumOrigin = "LineRate"
	// MaximumSpec means that the spec gives it.
	MaximumSpec MaximumOrigin = "Spec"
	// MaximumCalibration means that it is what the generator reached without a device.
	MaximumCalibration MaximumOrigin = "Calibration"
)

// LossCurveEnd says why a curve has no further points.
// +kubebuilder:validation:MaxLength=64
type LossCurveEnd string

const (
	// EndTwoTrialsWithoutLoss means that two trials in a row lost nothing.
	EndTwoTrialsWithoutLoss LossCurveEnd = "TwoTrialsWithoutLoss"
	// EndLowestLoad means that the next step would be a load of 0.
	EndLowestLoad LossCurveEnd = "LowestLoad"
)

// FrameLossRateResult is the loss at falling loads.
type FrameLossRateResult struct {
	// maximumFramesPerSecond is the load called 100 %, of each direction.
	// +required
	MaximumFramesPerSecond int64 `json:"maximumFramesPerSecond"`

	// maximumOrigin says what limits it: LineRate, Spec or Calibration.
	// +required
	MaximumOrigin MaximumOrigin `json:"maximumOrigin,omitempty"`

	// end says why there are no further points: TwoTrialsWithoutLoss or LowestLoad.
	// +required
	End LossCurveEnd `json:"end,omitempty"`

	// points in their order, from 100 percent down.
	// +required
	// +kubebuilder:validation:MaxItems=50
	Points []LossPoint `json:"points,omitempty"`
}

// LossPoint is one trial of the curve.
type LossPoint struct {
	// percent of the maximum.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent,omitempty"`

	// intendedFramesPerSecond is the load asked of the generator, for each direction.
	// +required
	IntendedFramesPerSecond int64 `json:"intendedFramesPerSecond"`

	// offeredFramesPerSecond is what it sent, of the slower direction.
	// +required
	OfferedFramesPerSecond int64 `json:"offeredFramesPerSecond"`

	// forwardingFramesPerSecond is what arrived, of the slower direction.
	// +required
	ForwardingFramesPerSecond int64 `json:"forwardingFramesPerSecond"`

	// lossPartsPerMillion is frames that were lost or only filled the receive ring for each million sent, of the worse direction.
	// +required
	LossPartsPerMillion int64 `json:"lossPartsPerMillion"`

	// lateness is the wait before the departure in the trial, the largest of each figure.
	// +optional
	Lateness *DelayQuantiles `json:"lateness,omitempty"`

	// doubts about the trial, such as LoadNotReached.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`

	// awayPartsPerMillion is the share of the trial in which other work held a sending core.
	// Absent: never over 1 ms.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	AwayPartsPerMillion int64 `json:"awayPartsPerMillion,omitempty"`
}

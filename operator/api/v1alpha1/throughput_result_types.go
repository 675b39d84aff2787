package v1alpha1

// Regularity says whether a search met its precision (RFC 9971's regular and irregular goal results).
// +kubebuilder:validation:MaxLength=64
type Regularity string

const (
	// Regular means that both bounds exist and are close enough.
	Regular Regularity = "Regular"
	// Irregular means that a bound is missing or the gap is too wide.
	Irregular Regularity = "Irregular"
)

// UpperBoundCause says why the throughput is not higher. A later version may know further causes.
// +kubebuilder:validation:MaxLength=64
type UpperBoundCause string

const (
	// CauseDeviceLoss means that the device lost more than the goal allows.
	CauseDeviceLoss UpperBoundCause = "DeviceLoss"
	// CauseGeneratorCeiling means that the generator was the limit, or that its own
	// work or other work on its cores may have caused what is missing: the device
	// may do better than the figure.
	CauseGeneratorCeiling UpperBoundCause = "GeneratorCeiling"
	// CauseMaximumLoad means that the highest load tried still met the goal.
	CauseMaximumLoad UpperBoundCause = "MaximumLoad"
)

// ThroughputResult is what the search found for one goal. Rates are those of each direction, the
// slower where they differ; with traffic.reversePercent, of the forward one.
type ThroughputResult struct {
	// goal is the name of the goal.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Goal string `json:"goal,omitempty"`

	// regularity is Regular where the bounds are as close as the goal asks, and
	// otherwise Irregular.
	// +required
	Regularity Regularity `json:"regularity,omitempty"`

	// framesPerSecond is the conditional throughput at the relevant lower bound
	// (RFC 9971); the mean of the repeats, rounded down, and with censored repeats the
	// smallest of them.
	// +required
	FramesPerSecond int64 `json:"framesPerSecond"`

	// fragmentsPerSecond is framesPerSecond times the packet's fragments: frames on
	// the wire. Absent without a packet.
	// +optional
	FragmentsPerSecond *int64 `json:"fragmentsPerSecond,omitempty"`

	// layer1BitsPerSecond is framesPerSecond times frame and 20 bytes overhead, in bits; for
	// a mix with the exact mean, for a packet with all its fragments.
	// +required
	Layer1BitsPerSecond int64 `json:"layer1BitsPerSecond"`

	// lineRatePartsPerMillion is the share of the testbed's line rate.
	// +required
	LineRatePartsPerMillion int64 `json:"lineRatePartsPerMillion"`

	// lowerBoundFramesPerSecond is the relevant lower bound: the highest load
	// known to meet the goal; the smallest of the repeats.
	// +required
	LowerBoundFramesPerSecond int64 `json:"lowerBoundFramesPerSecond"`

	// upperBoundFramesPerSecond is the relevant upper bound, the largest of the repeats.
	// Absent if in one of them no load failed.
	// +optional
	UpperBoundFramesPerSecond *int64 `json:"upperBoundFramesPerSecond,omitempty"`

	// upperBoundCause says why the throughput is not higher: DeviceLoss,
	// GeneratorCeiling or MaximumLoad.
	// +optional
	UpperBoundCause UpperBoundCause `json:"upperBoundCause,omitempty"`

	// lossInversionFramesPerSecond is the highest load above the upper bound that met the goal;
	// the largest of the repeats. Absent: none did.
	// +optional
	LossInversionFramesPerSecond *int64 `json:"lossInversionFramesPerSecond,omitempty"`

	// lossPartsPerMillion at the relevant lower bound.
	// +required
	LossPartsPerMillion int64 `json:"lossPartsPerMillion"`

	// trials of this frame size that the search used, in all repeats.
	// +required
	Trials int32 `json:"trials"`

	// peakFramesPerSecond is the largest rate of departures over a millisecond in the
	// trials at both bounds. Absent where the driver has no receive ring.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PeakFramesPerSecond int64 `json:"peakFramesPerSecond,omitempty"`

	// lowerBoundLateness is the wait before the departure at the lower bound, the largest of each figure.
	// +optional
	LowerBoundLateness *DelayQuantiles `json:"lowerBoundLateness,omitempty"`

	// upperBoundLateness is the same at the upper bound.
	// +optional
	UpperBoundLateness *DelayQuantiles `json:"upperBoundLateness,omitempty"`

	// serviceTime is what the device takes of the core for a frame. Present only
	// where the device works on the core that sends (generator.hop is Inline), its
	// loss is the upperBoundCause, and the generator is calibrated.
	// +optional
	ServiceTime *ServiceTime `json:"serviceTime,omitempty"`

	// statistics of framesPerSecond over the repeats. Absent with fewer than two, and with
	// censored repeats.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	Statistics []Statistics `json:"statistics,omitempty"`

	// censored says how many of the repeats are only a floor. Absent: none of them, or there
	// are fewer than two.
	// +optional
	Censored *CensoredRepeats `json:"censored,omitempty"`

	// doubts about the figures, such as UnsteadyPacing.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`
}

// ServiceTime is a core's time for a frame at the limit, less the generator's own.
// With both directions on one core it is the mean of the two.
type ServiceTime struct {
	// nanoseconds is the middle of lowNanoseconds and highNanoseconds as they are without the
	// calibration trial after the measurement, which makes those two alone wider.
	// +required
	// +kubebuilder:validation:Minimum=0
	Nanoseconds int64 `json:"nanoseconds"`

	// lowNanoseconds is the time at the upper bound less that of the slowest
	// calibration trial.
	// +required
	// +kubebuilder:validation:Minimum=0
	LowNanoseconds int64 `json:"lowNanoseconds"`

	// highNanoseconds is the time at the lower bound, without the loss that the
	// goal allows, less that of the fastest calibration trial.
	// +required
	// +kubebuilder:validation:Minimum=0
	HighNanoseconds int64 `json:"highNanoseconds"`

	// generatorNanoseconds is what was subtracted: the core's time for a frame from
	// port to port without a device, in the fastest calibration trial before the measurement.
	// +required
	// +kubebuilder:validation:Minimum=0
	GeneratorNanoseconds int64 `json:"generatorNanoseconds"`
}

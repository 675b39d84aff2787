package v1alpha1

// DoubtCode names a doubt.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
type DoubtCode string

const (
	// DoubtGeneratorCeiling: the generator, and not the device, may bound the figure.
	DoubtGeneratorCeiling DoubtCode = WarningGeneratorCeiling
	// DoubtMaximumLoad: the highest load tried was still good.
	DoubtMaximumLoad DoubtCode = WarningMaximumLoad
	// DoubtLongestBurst: the longest burst that the search could try lost nothing.
	DoubtLongestBurst DoubtCode = "LongestBurst"
	// DoubtEndpointCeiling: an end of TCP connections may bound the figure.
	DoubtEndpointCeiling DoubtCode = WarningEndpointCeiling
	// DoubtIrregularResult: the search ended before its bounds were as close as the goal asks.
	DoubtIrregularResult DoubtCode = WarningIrregularResult
	// DoubtLoadNotReached: the generator did not send the whole load.
	DoubtLoadNotReached DoubtCode = WarningLoadNotReached
	// DoubtSoftirqStarved: frames may have been late because the kernel left network work of a core that sends undone.
	DoubtSoftirqStarved DoubtCode = WarningSoftirqStarved
	// DoubtPartlyInterrupted: a part of the loss may be due to other work on a core that sends.
	DoubtPartlyInterrupted DoubtCode = "PartlyInterrupted"
	// DoubtQueueGrowing: a queue still grew when a trial at the load ended.
	DoubtQueueGrowing DoubtCode = WarningQueueGrowing
	// DoubtLoadOfFloor: the load is a share of a throughput that is a floor or irregular.
	DoubtLoadOfFloor DoubtCode = "LoadOfFloor"
	// DoubtUnsteadyPacing: the generator did not send at a steady rate.
	DoubtUnsteadyPacing DoubtCode = WarningUnsteadyPacing
	// DoubtInterruptedTrials: frames went missing, or left late, while other work held the
	// generator's core.
	DoubtInterruptedTrials DoubtCode = WarningInterruptedTrials
	// DoubtLateFrames: frames still arrived when a trial had settled.
	DoubtLateFrames DoubtCode = WarningLateFrames
	// DoubtFramesUnaccounted: frames arrived that are none of a trial's, or too late to be known.
	DoubtFramesUnaccounted DoubtCode = WarningFramesUnaccounted
	// DoubtFramesUncounted: lost frames are in no counter of the generator or of a function's port. No verdict depends on it.
	DoubtFramesUncounted DoubtCode = "FramesUncounted"
	// DoubtStretchedTrials: trials took clearly longer than requested.
	DoubtStretchedTrials DoubtCode = WarningStretchedTrials
	// DoubtCalibrationDrift: without a device the generator reached another rate after the measurement than before it, and the device works
	// on the core that sends.
	DoubtCalibrationDrift DoubtCode = WarningCalibrationDrift
	// DoubtRefragmented: fragments arrived with other bounds than they were sent with.
	DoubtRefragmented DoubtCode = WarningRefragmented
	// DoubtFewSamples: too few frames arrived for the percentile.
	DoubtFewSamples DoubtCode = "FewSamples"
	// DoubtNotCounted: the generator or the kernel at an end does not count the figure.
	DoubtNotCounted DoubtCode = "NotCounted"
	// DoubtPartlyCounted: the generator looked at a part of the frames.
	DoubtPartlyCounted DoubtCode = "PartlyCounted"
	// DoubtNotMeasured: there is no figure, and the device is not the known cause.
	DoubtNotMeasured DoubtCode = "NotMeasured"
	// DoubtBaselineZero: the earlier run's figure is 0.
	DoubtBaselineZero DoubtCode = "BaselineZero"
	// DoubtBaselineUncertain: the earlier run's figure is a floor of the generator, irregular, or
	// of a load that was not reached; or a doubt about it may change the verdict.
	DoubtBaselineUncertain DoubtCode = "BaselineUncertain"
	// DoubtLoadsDiffer: two runs, or the repeats of one, measured at loads that differ too much.
	DoubtLoadsDiffer DoubtCode = "LoadsDiffer"
	// DoubtDrift: the repeats rise or fall one after the other.
	DoubtDrift DoubtCode = "Drift"
	// DoubtLossInversion: in every repeat a load above the upper bound met the goal.
	DoubtLossInversion DoubtCode = WarningLossInversion
	// DoubtTooFewRepeats: a method that halves was repeated too rarely for a confidence interval.
	DoubtTooFewRepeats DoubtCode = "TooFewRepeats"
	// DoubtChance: the repeats of the two runs differ no more than chance explains.
	DoubtChance DoubtCode = "Chance"
)

// LoadShare says of which throughput a load is a share.
type LoadShare struct {
	// goal whose throughput it is.
	// +required
	// +kubebuilder:validation:MaxLength=20
	Goal string `json:"goal,omitempty"`

	// percent of the throughput.
	// +required
	Percent int32 `json:"percent"`

	// throughputFramesPerSecond of each direction, over repeats the mean of those that loads are of.
	// +required
	ThroughputFramesPerSecond int64 `json:"throughputFramesPerSecond"`

	// upperBoundCause of the throughput. With GeneratorCeiling or MaximumLoad it is a floor, and the
	// load a smaller share. Absent: unknown.
	// +optional
	UpperBoundCause UpperBoundCause `json:"upperBoundCause,omitempty"`

	// regularity of the search for the throughput. Absent: unknown.
	// +optional
	Regularity Regularity `json:"regularity,omitempty"`
}

// LatencyBias is the generator's own part of a one-way delay, of the worse direction.
type LatencyBias struct {
	// p50Nanoseconds is the median of the trials' medians. It is not subtracted.
	// +required
	// +kubebuilder:validation:Minimum=0
	P50Nanoseconds int64 `json:"p50Nanoseconds"`
	// lowestP50Nanoseconds is the lowest of theirs. Absent: one trial.
	// +optional
	LowestP50Nanoseconds *int64 `json:"lowestP50Nanoseconds,omitempty"`
	// highestP50Nanoseconds is the highest.
	// +optional
	HighestP50Nanoseconds *int64 `json:"highestP50Nanoseconds,omitempty"`
	// p99Nanoseconds is the 99th percentile.
	// +required
	// +kubebuilder:validation:Minimum=0
	P99Nanoseconds int64 `json:"p99Nanoseconds"`
}

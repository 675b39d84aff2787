package v1alpha1

// ReceiveRate measures the forwarding rate at the maximum load, trial after trial.
type ReceiveRate struct {
	// trialMilliseconds is the duration of each trial. Default 1000.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=3600000
	TrialMilliseconds int32 `json:"trialMilliseconds,omitempty"`

	// trials is the number of trials. Default 10. With noisyNeighbors WithAndWithout an odd number
	// becomes the next even one.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Trials int32 `json:"trials,omitempty"`
}

// ReceiveRateResult is the forwarding rate at the maximum offered load.
type ReceiveRateResult struct {
	// intendedFramesPerSecond is the load of each direction.
	// +required
	IntendedFramesPerSecond int64 `json:"intendedFramesPerSecond"`

	// maximumOrigin says what limits the load: LineRate or Calibration.
	// +required
	MaximumOrigin MaximumOrigin `json:"maximumOrigin,omitempty"`

	// meanFramesPerSecond is the mean of the trials' forwarding rates (RFC 2285
	// section 3.6.2), each of the slower direction.
	// +required
	MeanFramesPerSecond int64 `json:"meanFramesPerSecond"`
	// minFramesPerSecond is the lowest trial's.
	// +required
	MinFramesPerSecond int64 `json:"minFramesPerSecond"`
	// maxFramesPerSecond is the highest trial's.
	// +required
	MaxFramesPerSecond int64 `json:"maxFramesPerSecond"`
	// standardDeviationFramesPerSecond is that of the sample (n - 1), rounded.
	// +required
	StandardDeviationFramesPerSecond int64 `json:"standardDeviationFramesPerSecond"`

	// upperBoundFramesPerSecond is the most that the device would have forwarded if other work had
	// not had the core that sends, the mean of the trials, if other work costs at most twice its
	// time (assumed). The mean is the least. Absent: not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpperBoundFramesPerSecond *int64 `json:"upperBoundFramesPerSecond,omitempty"`
	// heldPartsPerMillion is the largest share of a trial for which other work had the core that
	// sends, in pieces of any length. It is there with upperBoundFramesPerSecond.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	HeldPartsPerMillion *int64 `json:"heldPartsPerMillion,omitempty"`

	// trials in their order.
	// +required
	// +kubebuilder:validation:MaxItems=20
	Trials []ReceiveRateTrial `json:"trials,omitempty"`

	// lateness is the wait before the departure in the trials, the largest of each figure.
	// +optional
	Lateness *DelayQuantiles `json:"lateness,omitempty"`

	// doubts about the figures, such as LoadNotReached.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`
}

// ReceiveRateTrial is one trial at the maximum load.
type ReceiveRateTrial struct {
	// trial counts from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Trial int32 `json:"trial,omitempty"`
	// offeredFramesPerSecond is what was sent, of the slower direction.
	// +required
	OfferedFramesPerSecond int64 `json:"offeredFramesPerSecond"`
	// forwardingFramesPerSecond is what arrived, of the slower direction.
	// +required
	ForwardingFramesPerSecond int64 `json:"forwardingFramesPerSecond"`
	// lossPartsPerMillion is frames that were lost or only filled the receive ring for each million sent, of the worse direction.
	// +required
	LossPartsPerMillion int64 `json:"lossPartsPerMillion"`
}

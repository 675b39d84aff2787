package v1alpha1

// BackToBack searches for the longest burst at the maximum load that the chain
// forwards without loss (RFC 2544 section 26.4 as updated by RFC 9004).
type BackToBack struct {
	// repeats is the number of whole searches. Default 5. RFC 2544 section 26.4 asks for at
	// least 50; RFC 9004 section 6.3 leaves the number open. With noisyNeighbors WithAndWithout an
	// odd number becomes the next even one.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	Repeats int32 `json:"repeats,omitempty"`

	// stepFrames is the precision: every burst is a whole number of steps. Default 100.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	StepFrames int32 `json:"stepFrames,omitempty"`

	// maximumBurstMilliseconds is the longest burst, as a time at the maximum load. Default
	// 2000, the shortest trial that RFC 2544 section 26.4 allows.
	// +optional
	// +kubebuilder:default=2000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30000
	MaximumBurstMilliseconds int32 `json:"maximumBurstMilliseconds,omitempty"`

	// attempts is how many times a burst that loses frames is sent before it counts as too long.
	// Default 2 (binary search with loss verification).
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3
	Attempts int32 `json:"attempts,omitempty"`

	// maximumLostFrames is the loss, in the worse direction, above which a burst is not sent
	// again. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000
	MaximumLostFrames *int64 `json:"maximumLostFrames,omitempty"`
}

// BackToBackResult is the back-to-back frame benchmark of one frame size.
type BackToBackResult struct {
	// meanFrames is the benchmark: the mean of the longest bursts of all searches, rounded
	// down.
	// +required
	MeanFrames int64 `json:"meanFrames"`
	// minFrames is the smallest of them.
	// +required
	MinFrames int64 `json:"minFrames"`
	// maxFrames is the largest of them.
	// +required
	MaxFrames int64 `json:"maxFrames"`
	// standardDeviationFrames is that of the sample (n - 1), rounded to a whole frame.
	// +required
	StandardDeviationFrames int64 `json:"standardDeviationFrames"`
	// stepFrames is the precision of the searches.
	// +required
	StepFrames int64 `json:"stepFrames"`
	// longestBurstFrames is the longest burst that the searches could find. A burst that
	// reaches it may be longer in reality.
	// +required
	LongestBurstFrames int64 `json:"longestBurstFrames"`
	// bursts are the results of the searches in their order, in frames.
	// +required
	// +kubebuilder:validation:MaxItems=10
	Bursts []int64 `json:"bursts,omitempty"`
	// maximumFramesPerSecond is the rate within a burst, of each direction.
	// +required
	MaximumFramesPerSecond int64 `json:"maximumFramesPerSecond"`
	// maximumOrigin says what limits that rate: LineRate (as in RFC 9004), Spec or
	// Calibration.
	// +required
	MaximumOrigin MaximumOrigin `json:"maximumOrigin,omitempty"`
	// throughputFramesPerSecond is the throughput without loss that the correction uses.
	// +required
	ThroughputFramesPerSecond int64 `json:"throughputFramesPerSecond"`
	// impliedBufferNanoseconds is meanFrames divided by the maximum rate.
	// +required
	ImpliedBufferNanoseconds int64 `json:"impliedBufferNanoseconds"`
	// correctedBufferNanoseconds is the implied time minus what the chain forwarded during
	// the burst. Absent: the throughput is of another session.
	// +optional
	CorrectedBufferNanoseconds *int64 `json:"correctedBufferNanoseconds,omitempty"`

	// lateness is the wait before the departure in all bursts, the largest of each figure.
	// +optional
	Lateness *DelayQuantiles `json:"lateness,omitempty"`

	// doubts about the figures, such as LoadNotReached.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`
}

package v1alpha1

// Recovery measures how long a device still loses frames after an overload (RFC 2544 section
// 26.5, in trials): 110 % of a goal's throughput, then half of that load in short trials until
// enough of them in a row lose nothing.
// +kubebuilder:validation:XValidation:rule="self.cleanTrials <= self.maximumTrials",message="cleanTrials (default 10) must be at most maximumTrials (default 60): lower cleanTrials, or raise maximumTrials",fieldPath=".cleanTrials"
type Recovery struct {
	// goal of throughput.goals whose throughput is overloaded. Absent: the first one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	Goal string `json:"goal,omitempty"`

	// overloadSeconds is the duration of the overload. Default 60, the minimum of RFC 2544
	// section 26.5.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	OverloadSeconds int32 `json:"overloadSeconds,omitempty"`

	// trialMilliseconds is the duration of each trial at half the load. Default 100.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=10000
	TrialMilliseconds int32 `json:"trialMilliseconds,omitempty"`

	// settleMilliseconds is the wait after the overload and after each of these trials. A frame
	// that takes longer counts as lost. Default 20.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000
	SettleMilliseconds int32 `json:"settleMilliseconds,omitempty"`

	// cleanTrials is how many trials in a row must lose nothing. There are more where these have
	// fewer than 1,000 frames of a direction. Default 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	CleanTrials int32 `json:"cleanTrials,omitempty"`

	// maximumTrials is how many trials are made at most. Default 60.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	MaximumTrials int32 `json:"maximumTrials,omitempty"`
}

// fillGoal names the first goal where none is named.
func (r *Recovery) fillGoal(of *Throughput) {
	if r != nil && r.Goal == "" && of != nil && len(of.Goals) > 0 {
		r.Goal = of.Goals[0].Name
	}
}

// MetricRecovery is the upper bound of the recovery time.
const MetricRecovery Metric = "RecoveryUpperBoundMilliseconds"

// RecoveryEnd says how the measurement of a recovery ended. The set is open: a later version
// may add values.
// +kubebuilder:validation:MaxLength=64
type RecoveryEnd string

const (
	// RecoveryRecovered means that cleanTrials trials in a row, and 1,000 frames of each direction
	// or more, lost nothing.
	RecoveryRecovered RecoveryEnd = "Recovered"
	// RecoveryNotRecovered means that maximumTrials were made without such a row, and the device
	// still lost frames in the last cleanTrials of them.
	RecoveryNotRecovered RecoveryEnd = "NotRecovered"
	// RecoveryNotOverloaded means that the device lost nothing of the overload, so it had
	// nothing to recover from.
	RecoveryNotOverloaded RecoveryEnd = "NotOverloaded"
	// RecoveryGeneratorCeiling means that the generator could not send the overload faster than
	// the throughput, or
	// cleanTrials trials in a row, in full and without doubts.
	RecoveryGeneratorCeiling RecoveryEnd = "GeneratorCeiling"
	// RecoveryInvalidOverload means that the generator doubted three overloads in a row.
	RecoveryInvalidOverload RecoveryEnd = "InvalidOverload"
	// RecoveryTooFewFrames means that maximumTrials trials at half the load have fewer than 1,000
	// frames of a direction, or that too few of them were left after the last loss.
	RecoveryTooFewFrames RecoveryEnd = "TooFewFrames"
	// RecoveryInterrupted means that too much time passed between two trials, or that the
	// clock was set, each time it was tried.
	RecoveryInterrupted RecoveryEnd = "Interrupted"
)

// RecoveryResult is the time after an overload in which the device still lost frames.
type RecoveryResult struct {
	// end says how the measurement ended: Recovered, NotRecovered, NotOverloaded,
	// GeneratorCeiling, InvalidOverload, TooFewFrames or Interrupted.
	// +required
	End RecoveryEnd `json:"end,omitempty"`
	// goal whose throughput was overloaded.
	// +required
	Goal string `json:"goal,omitempty"`
	// overloadFramesPerSecond is the intended load of each direction in the overload: 110 % of
	// the goal's throughput, or the maximum load if that is less.
	// +required
	OverloadFramesPerSecond int64 `json:"overloadFramesPerSecond"`
	// overloadLossPartsPerMillion is what the overload lost, of the worse direction.
	// +required
	OverloadLossPartsPerMillion int64 `json:"overloadLossPartsPerMillion"`
	// reducedFramesPerSecond is the intended load after it: half.
	// +required
	ReducedFramesPerSecond int64 `json:"reducedFramesPerSecond"`
	// lowerBoundMilliseconds is the time from the end of the overload to the start of the last
	// trial that lost frames, rounded down; 0 if none did. Absent without an overload.
	// +optional
	LowerBoundMilliseconds *int64 `json:"lowerBoundMilliseconds,omitempty"`
	// upperBoundMilliseconds is the time to the start of the first trial of the row without
	// loss, rounded up. Absent if there was no such row.
	// +optional
	UpperBoundMilliseconds *int64 `json:"upperBoundMilliseconds,omitempty"`
	// resolutionMilliseconds is the distance of the two bounds. Absent without an upper bound.
	// +optional
	ResolutionMilliseconds *int64 `json:"resolutionMilliseconds,omitempty"`
	// cleanFrames is how many frames the row without loss has, of the direction with fewer: at
	// least 1,000 were intended. Absent if there was no such row.
	// +optional
	CleanFrames *int64 `json:"cleanFrames,omitempty"`
	// trials is how many were made at the reduced load.
	// +required
	Trials int32 `json:"trials"`
	// lossyTrials is how many of them lost frames.
	// +required
	LossyTrials int32 `json:"lossyTrials"`

	// lateness is the wait before the departure in the trials after the overload, the largest of each figure.
	// +optional
	Lateness *DelayQuantiles `json:"lateness,omitempty"`

	// doubts about the figures, such as UnsteadyPacing.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`
}

package v1alpha1

// Criterion is a threshold for one figure, or for that figure at every size or number of TCP
// connections.
// +kubebuilder:validation:XValidation:rule="has(self.atLeast) != has(self.atMost)",message="exactly one of atLeast and atMost is required"
// +kubebuilder:validation:XValidation:rule="self.metric.startsWith('Throughput') == has(self.goal)",message="goal is required with a Throughput metric, and forbidden with any other",fieldPath=".goal"
// +kubebuilder:validation:XValidation:rule="!has(self.size) || !(self.metric.startsWith('TCP') || self.metric.startsWith('Connections'))",message="size has no meaning for a TCP or Connections metric: leave it out",fieldPath=".size"
// +kubebuilder:validation:XValidation:rule="!has(self.streams) || self.metric.startsWith('TCP')",message="streams is only for the TCP metrics: leave it out",fieldPath=".streams"
type Criterion struct {
	// name of the criterion, unique in the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$`
	Name string `json:"name,omitempty"`

	FigureKey `json:",inline"`

	// statistic is what is compared with the threshold: Mean, the figure itself, or ConfidenceLimit,
	// the end of its 95 % interval that is nearer to missing the threshold, which needs
	// measurements.repeats of 2 or more. Default Mean.
	// +optional
	// +kubebuilder:default=Mean
	Statistic CriterionStatistic `json:"statistic,omitempty"`

	// atLeast is the smallest value that passes, in the metric's unit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AtLeast *int64 `json:"atLeast,omitempty"`

	// atMost is the largest value that passes, in the metric's unit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AtMost *int64 `json:"atMost,omitempty"`
}

// VerdictResult is the outcome of a criterion.
// +kubebuilder:validation:MaxLength=64
type VerdictResult string

const (
	// VerdictPassed means that the figure meets the threshold.
	VerdictPassed VerdictResult = "Passed"
	// VerdictFailed means that the figure misses the threshold, or that there is no figure because
	// of the device.
	VerdictFailed VerdictResult = "Failed"
	// VerdictInconclusive means that the figure cannot decide: the device's true value may be on
	// the other side of the threshold, or there is no figure for another reason than the device.
	VerdictInconclusive VerdictResult = "Inconclusive"
)

// Verdict is a criterion's outcome for one figure.
type Verdict struct {
	// criterion is the name of the criterion.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Criterion string `json:"criterion,omitempty"`

	FigureKey `json:",inline"`

	// result is Passed, Failed or Inconclusive.
	// +required
	Result VerdictResult `json:"result,omitempty"`

	// measured is the figure's value in the metric's unit. Absent: there is none.
	// +optional
	Measured *int64 `json:"measured,omitempty"`

	// doubts are the reasons for the result Inconclusive. Absent: the result is another one.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Doubts []DoubtCode `json:"doubts,omitempty"`

	// message is one sentence, such as "LatencyP99Nanoseconds at pdr50 is 31000, at most 20000 allowed".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// OnInconclusive says how a run ends that has an Inconclusive verdict and no Failed one.
// +kubebuilder:validation:Enum=Fail;Allow
type OnInconclusive string

const (
	// OnInconclusiveFail makes the run fail with the reason Inconclusive.
	OnInconclusiveFail OnInconclusive = "Fail"
	// OnInconclusiveAllow lets the run succeed.
	OnInconclusiveAllow OnInconclusive = "Allow"
)

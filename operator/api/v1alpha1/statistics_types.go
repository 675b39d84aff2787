package v1alpha1

// Statistics summarize one figure over the repeats of a measurement. Every figure except n and
// the coefficient is in the metric's unit.
type Statistics struct {
	// metric is the figure, named with its unit.
	// +required
	Metric Metric `json:"metric,omitempty"`

	// n is the number of repeats in which the figure was measured.
	// +required
	// +kubebuilder:validation:Minimum=2
	N int32 `json:"n,omitempty"`

	// mean is the arithmetic mean.
	// +required
	Mean int64 `json:"mean"`

	// standardDeviation is that of the sample (n-1).
	// +required
	StandardDeviation int64 `json:"standardDeviation"`

	// coefficientOfVariationPartsPerMillion is the standard deviation as a
	// share of the mean; 0 where the mean is 0.
	// +required
	CoefficientOfVariationPartsPerMillion int64 `json:"coefficientOfVariationPartsPerMillion"`

	// confidenceLow is the lower end of Student's 95 % confidence interval of
	// the mean, rounded down, and not below 0.
	// +required
	ConfidenceLow int64 `json:"confidenceLow"`

	// confidenceHigh is its upper end, rounded up.
	// +required
	ConfidenceHigh int64 `json:"confidenceHigh"`

	// minimum is the smallest value.
	// +required
	Minimum int64 `json:"minimum"`

	// maximum is the largest value.
	// +required
	Maximum int64 `json:"maximum"`

	// values are those of the repeats in their order; none is left out.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Values []int64 `json:"values,omitempty"`
}

// CriterionStatistic says which of a figure's statistics is compared.
// +kubebuilder:validation:Enum=Mean;ConfidenceLimit
type CriterionStatistic string

const (
	// StatisticMean compares the figure itself: the mean of the repeats.
	StatisticMean CriterionStatistic = "Mean"
	// StatisticConfidenceLimit compares the end of the 95 % confidence interval
	// that is nearer to missing the threshold.
	StatisticConfidenceLimit CriterionStatistic = "ConfidenceLimit"
)

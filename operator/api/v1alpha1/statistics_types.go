package v1alpha1

// Statistics of one figure over repeats, in the metric's unit.
type Statistics struct {
	// metric is the figure, named with its unit.
	// +required
	Metric Metric `json:"metric,omitempty"`

	// n is in how many repeats the figure was measured.
	// +required
	// +kubebuilder:validation:Minimum=2
	N int32 `json:"n,omitempty"`

	// mean is the arithmetic mean.
	// +required
	Mean int64 `json:"mean"`

	// standardDeviation is that of the sample (n-1).
	// +required
	StandardDeviation int64 `json:"standardDeviation"`

	// coefficientOfVariationPartsPerMillion is the deviation's share of the mean.
	// +required
	CoefficientOfVariationPartsPerMillion int64 `json:"coefficientOfVariationPartsPerMillion"`

	// confidenceLow of the 95 % interval. Absent with every limitedBy but Resolution.
	// +optional
	ConfidenceLow *int64 `json:"confidenceLow,omitempty"`

	// confidenceHigh is its upper end, rounded up.
	// +optional
	ConfidenceHigh *int64 `json:"confidenceHigh,omitempty"`

	// resolution is the mean distance between the bounds of a search.
	// +optional
	Resolution *int64 `json:"resolution,omitempty"`

	// limitedBy is what limits or prevents the interval: Resolution, Drift, LossInversion, TooFewRepeats or
	// LoadsDiffer.
	// +optional
	LimitedBy StatisticsLimit `json:"limitedBy,omitempty"`

	// minimum is the smallest value.
	// +required
	Minimum int64 `json:"minimum"`

	// maximum is the largest value.
	// +required
	Maximum int64 `json:"maximum"`

	// values are those of the repeats in their order.
	// +required
	// +kubebuilder:validation:MaxItems=20
	Values []int64 `json:"values,omitempty"`
}

// StatisticsLimit says what limits the precision of statistics. A later version may know others.
// +kubebuilder:validation:MaxLength=64
type StatisticsLimit string

const (
	// LimitedByResolution means that the search's resolution hides the scatter.
	LimitedByResolution StatisticsLimit = "Resolution"
	// LimitedByDrift means that the repeats rise or fall one after the other: the limit is not
	// the same in all of them.
	LimitedByDrift StatisticsLimit = StatisticsLimit(DoubtDrift)
	// LimitedByLossInversion means that in every repeat a load above the upper bound met the
	// goal: the device has more than one limit.
	LimitedByLossInversion StatisticsLimit = StatisticsLimit(DoubtLossInversion)
	// LimitedByTooFewRepeats means that an interval of so few searches would hold the limit too
	// rarely to be called one of 95 %.
	LimitedByTooFewRepeats StatisticsLimit = StatisticsLimit(DoubtTooFewRepeats)
	// LimitedByLoads means that the repeats have delays at loads that differ too much.
	LimitedByLoads StatisticsLimit = StatisticsLimit(DoubtLoadsDiffer)
)

// CensoredRepeats are the repeats of a throughput of which at least one is only a floor: nothing
// showed the device's limit, as the generator or the maximum load came first, or the search
// ended without an upper bound. They have no mean and no interval, which would be too low.
type CensoredRepeats struct {
	// repeats is the number of repeats that are a floor.
	// +required
	// +kubebuilder:validation:Minimum=1
	Repeats int32 `json:"repeats,omitempty"`

	// n is the number of repeats in which the figure was measured.
	// +required
	// +kubebuilder:validation:Minimum=2
	N int32 `json:"n,omitempty"`

	// values are those of the repeats in their order, floors included.
	// +required
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

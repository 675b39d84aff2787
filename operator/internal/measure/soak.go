package measure

// SoakInstructions hold one load for hours.
type SoakInstructions struct {
	Size string `json:"size"`
	// Load is a rate, or a share of a goal's throughput.
	Load                LoadInstruction `json:"load"`
	DurationNanoseconds int64           `json:"durationNanoseconds"`
	IntervalNanoseconds int64           `json:"intervalNanoseconds"`
	// StopAboveLossPartsPerMillion of an interval; nil never stops.
	StopAboveLossPartsPerMillion *int64 `json:"stopAboveLossPartsPerMillion,omitempty"`
}

// Intervals is how many intervals the duration has; the last may be shorter.
func (s SoakInstructions) Intervals() int {
	if s.IntervalNanoseconds <= 0 {
		return 0
	}
	return int((s.DurationNanoseconds + s.IntervalNanoseconds - 1) / s.IntervalNanoseconds)
}

// StageSoak is an interval of a soak.
const StageSoak Stage = "Soak"

// SoakLoad is the name of a soak's load in records and criteria.
const SoakLoad = "soak"

// MaximumResultsBytes is what all keys and values of the results' ConfigMap may
// take together. The API server refuses a ConfigMap beyond 1 MiB; the rest is
// for the keys that come at the end.
const MaximumResultsBytes = 900 << 10

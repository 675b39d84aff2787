package measure

// ReceiveRateInstructions set the trials at the maximum load.
type ReceiveRateInstructions struct {
	TrialNanoseconds int64 `json:"trialNanoseconds"`
	Trials           int   `json:"trials"`
}

// StageReceiveRate is a trial at the maximum load.
const StageReceiveRate Stage = "ReceiveRate"

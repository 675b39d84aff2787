package measure

// FrameLossRateInstructions set RFC 2544 section 26.3's trials.
type FrameLossRateInstructions struct {
	StepPercent      int   `json:"stepPercent"`
	TrialNanoseconds int64 `json:"trialNanoseconds"`
	// MaximumFramesPerSecond is the load called 100 %. 0 means line rate, or
	// what the calibration reached.
	MaximumFramesPerSecond uint64 `json:"maximumFramesPerSecond,omitempty"`
}

// StageFrameLossRate is a trial of the loss curve.
const StageFrameLossRate Stage = "FrameLossRate"

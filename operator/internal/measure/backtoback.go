package measure

// BackToBackInstructions set RFC 9004's searches for the longest burst.
type BackToBackInstructions struct {
	Repeats    int    `json:"repeats"`
	StepFrames uint64 `json:"stepFrames"`
	// MaximumBurstNanoseconds is the longest burst at the maximum load.
	MaximumBurstNanoseconds int64 `json:"maximumBurstNanoseconds"`
	// Attempts is how often a lossy burst is made in all.
	Attempts int `json:"attempts"`
	// MaximumLostFrames ends the attempts at once where more is lost; nil never does.
	MaximumLostFrames *uint64 `json:"maximumLostFrames,omitempty"`
}

// StageBackToBack is a burst.
const StageBackToBack Stage = "BackToBack"

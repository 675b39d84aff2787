package measure

// FixedLoadInstructions hold loads for a stated time.
type FixedLoadInstructions struct {
	// DurationNanoseconds of each repeat, and of the time before it that does not count.
	DurationNanoseconds int64                `json:"durationNanoseconds"`
	DiscardNanoseconds  int64                `json:"discardNanoseconds"`
	Repeats             int                  `json:"repeats"`
	Profiles            []ProfileInstruction `json:"profiles"`
}

// ProfileInstruction is a size, by its name, at a rate.
type ProfileInstruction struct {
	Name            string `json:"name"`
	Size            string `json:"size"`
	FramesPerSecond uint64 `json:"framesPerSecond"`
}

const (
	// StageFixedLoad is a repeat at a profile's load.
	StageFixedLoad Stage = "FixedLoad"
	// StageDiscard is the time at a load before the trial that counts.
	StageDiscard Stage = "Discard"
)

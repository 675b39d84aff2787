package measure

// Stages of the measurements that use the API's types as instructions.
const (
	// StageFixedLoad is a repeat at a profile's load.
	StageFixedLoad Stage = "FixedLoad"
	// StageDiscard is the time at a load before the trial that counts.
	StageDiscard Stage = "Discard"
	// StageFrameLossRate is a trial of the loss curve.
	StageFrameLossRate Stage = "FrameLossRate"
	// StageBackToBack is a burst.
	StageBackToBack Stage = "BackToBack"
	// StageReceiveRate is a trial at the maximum load.
	StageReceiveRate Stage = "ReceiveRate"
	// StageSoak is an interval of a soak.
	StageSoak Stage = "Soak"
)

// SoakLoad is the name of a soak's load in records and criteria.
const SoakLoad = "soak"

// MaximumResultsBytes limits all keys and values of the results' ConfigMap together. The
// API server refuses a ConfigMap beyond 1 MiB; the rest is for the keys that are written at
// the end.
const MaximumResultsBytes = 900 << 10

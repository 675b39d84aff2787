package benchmarkrun

// Limits of texts and lists in a run's status, as the API's markers set them. The API
// server refuses a whole status that exceeds one of them.
const (
	maxMessageBytes = 512
	maxTextBytes    = 200
	maxNameBytes    = 100
	maxStageBytes   = 200
	maxCodeBytes    = 40
	maxDigestBytes  = 80
	maxImageIDBytes = 512
	maxModelBytes   = 64
	maxKeywordBytes = 32
	maxDriverBytes  = 20
	maxVersionBytes = 64
	maxMACBytes     = 17
	maxUIDBytes     = 64
	maxNodeBytes    = 253
	maxVerdicts     = 1024
	maxWarnings     = 64
	maxLines        = 32
	maxFallbacks    = 8
	maxProblems     = 8
	maxNICs         = 16
	maxPorts        = 4
	maxStressors    = 4
)

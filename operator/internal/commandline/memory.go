package commandline

import (
	"math"
	"runtime/debug"
)

// limitMemory lowers the limit of GOMEMLIMIT, which is the container's, by a tenth: the collector has to work harder
// before the kernel ends the process, and not everything that counts for the kernel is Go's.
func limitMemory() {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

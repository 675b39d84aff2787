package commandline

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for limit, want := range map[int64]int64{1 << 40: 1 << 40 / 10 * 9, math.MaxInt64: math.MaxInt64} {
		debug.SetMemoryLimit(limit)
		limitMemory()
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("of %d: %d, want %d", limit, got, want)
		}
	}
}

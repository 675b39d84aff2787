package mutate

import "runtime"

// Cost returns how many bytes a function allocates in all, such as one that reads a hostile document.
func Cost(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

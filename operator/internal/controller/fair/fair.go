// Package fair shares a bounded number of places among namespaces, so that a namespace with many objects
// leaves room for those with few.
package fair

import "slices"

// Share returns at most so many of the objects: the first of each namespace, then the second of each, and so on. Within a
// namespace, and among those that are the first of theirs, the objects keep their order.
func Share[T any](ordered []T, most int, namespaceOf func(T) string) []T {
	type ranked struct {
		object T
		rank   int
	}
	all, count := make([]ranked, len(ordered)), map[string]int{}
	for i, object := range ordered {
		namespace := namespaceOf(object)
		all[i] = ranked{object, count[namespace]}
		count[namespace]++
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return a.rank - b.rank })
	shared := make([]T, min(len(all), most))
	for i := range shared {
		shared[i] = all[i].object
	}
	return shared
}

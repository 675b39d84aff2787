package regression

import (
	"gonum.org/v1/gonum/stat"
)

// place returns the run at which a step of the answer's size fits best, and the first and the last one that the runs do not distinguish from it. A step is
// after the last run that interleaved runs found the same, and after the last one that deployed what the old side of the pairs did. It is not after the
// first one in a row that deployed what the new side did.
func (w *walk) place(x suspicion, a answer, moved bool) (best, earliest, latest int) {
	if x.Cause == PlatformChanged {
		return x.At, x.At, x.At
	}
	level := x.base.mean
	if moved || x.base.count == 0 {
		level = stat.Mean(a.old, nil)
	}
	before, end := max(x.Old, w.start-1), x.At
	if x.Cause != Slow {
		before = max(before, w.cleared)
	}
	if older, newer := w.runs[x.Old], w.runs[x.At]; !older.deployedAs(newer) {
		for i := before + 1; i < x.At; i++ {
			if w.runs[i].deployedAs(older) {
				before = i
			}
		}
		for end-1 > before && w.runs[end-1].deployedAs(newer) {
			end--
		}
	}
	costs, cost := map[int]float64{}, 0.0
	best = end
	for i := x.At; i > before; i-- {
		off := w.runs[i].Value - level
		cost += (off-a.size)*(off-a.size) - off*off
		if i > end {
			continue
		}
		if costs[i] = cost; cost < costs[best] {
			best = i
		}
	}
	earliest, latest = best, best
	for i, cost := range costs {
		if cost-costs[best] <= placeLimit*x.base.deviation*x.base.deviation {
			earliest, latest = min(earliest, i), max(latest, i)
		}
	}
	return best, earliest, latest
}

package procedure

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// maxUncountedPercent of the frames that a device lost may be missing from its counters: they are
// read at about the trial's start and end.
const maxUncountedPercent = 1

// account compares what a trial lost with what the generator and the functions counted.
type account struct{ lost, uncounted uint64 }

// isOpen reports whether more is missing in the counters than their times explain.
func (a account) isOpen() bool { return a.uncounted*100 > a.lost*maxUncountedPercent }

// accountOfAll returns the account of a figure's trials together. Those without one are left out.
func accountOfAll(records []measure.Record) (sum account) {
	for _, r := range records {
		if a, known := accountOf(r); known {
			sum = account{sum.lost + a.lost, sum.uncounted + a.uncounted}
		}
	}
	return sum
}

// accountOf returns a record's account, and false where not all that may lose frames shows its
// counters: a virtual machine loses some at its tap, and a custom one does not answer.
func accountOf(r measure.Record) (a account, known bool) {
	e := r.Evidence
	if e == nil || e.Shortened || len(e.Notes) > 0 || len(e.Functions) == 0 {
		return a, false
	}
	counted := uint64(0)
	for _, f := range e.Functions {
		if f.Process == nil || len(f.Ports) == 0 {
			return a, false
		}
		counted += uint64(max(0, f.DroppedFrames()))
	}
	for _, d := range r.Outcome.Directions {
		a.lost += d.LostFrames()
		if r.Outcome.Hop == measure.HopInline {
			counted += d.OverflowFrames + d.LeftFrames + d.RefusedFrames
		}
	}
	a.uncounted = a.lost - min(a.lost, counted)
	return a, true
}

// warnUncounted names the trials in which frames are missing that no function counted.
func (w *replay) warnUncounted(d *warningList, size measure.Size) {
	trials, lossy, sum := 0, 0, account{}
	for _, p := range w.parts {
		if p.size.Name != size.Name || p.stage() == measure.StageWarmUp {
			continue
		}
		for _, r := range p.counted {
			a, known := accountOf(r)
			if !known || a.lost == 0 {
				continue
			}
			lossy++
			if a.isOpen() {
				trials, sum = trials+1, account{sum.lost + a.lost, sum.uncounted + a.uncounted}
			}
		}
	}
	if trials > 0 {
		d.add(v1alpha1.WarningFramesUnaccounted, size,
			"In %d of %d trials with loss, %d of the %d frames that were lost are in no counter of the generator or of a function's port: they were lost in a queue, a filter or a link that these do not count.",
			trials, lossy, sum.uncounted, sum.lost)
	}
}

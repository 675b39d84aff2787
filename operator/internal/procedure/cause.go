package procedure

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/search"
)

// nearCeilingPercent of the generator's own maximum is so close to its limit that the limit
// cannot be distinguished from the device's. On one core the device then has less than a tenth of
// it, which is about what a calibration varies by.
const nearCeilingPercent = 90

// generatorSharePercent is how much of the core that it shares with the device the generator may
// take without a warning.
const generatorSharePercent = 50

// nearCeiling reports whether a load is that close to what the calibration reached.
func (w *replay) nearCeiling(size measure.Size, load uint64) bool {
	reached, ok := w.reached(size)
	return ok && !reached.whole && load*100 >= reached.highest*nearCeilingPercent
}

// cause returns the search's, except where the generator may be the limit: a maximum load that
// was its own, and loss near its own limit on the core that it shares with the device.
func (w *replay) cause(p *part, r search.Result) v1alpha1.UpperBoundCause {
	switch r.UpperBoundCause {
	case search.MaximumLoad:
		if limit, _ := w.limit(p.size); limit.by == limitCalibration {
			return v1alpha1.CauseGeneratorCeiling
		}
	case search.DeviceLoss:
		if w.instr.Chain.Hop == measure.HopInline && w.nearCeiling(p.size, r.LowerBoundFramesPerSecond) {
			return v1alpha1.CauseGeneratorCeiling
		}
	}
	return v1alpha1.UpperBoundCause(r.UpperBoundCause)
}

// warnBounds names the figures that are floors, and why.
func (w *replay) warnBounds(d *warningList, p *part) {
	var held, unsent, unproven []string
	for _, r := range p.results {
		switch {
		case r.UpperBoundCause == search.MaximumLoad:
			held = append(held, r.Goal)
		case r.UpperBoundCause == search.GeneratorCeiling && w.undecidedAt(p, r.UpperBoundFramesPerSecond):
			unproven = append(unproven, r.Goal)
		case r.UpperBoundCause == search.GeneratorCeiling:
			unsent = append(unsent, r.Goal)
		}
	}
	if limit, _ := w.limit(p.size); len(held) > 0 && limit.by == limitCalibration {
		d.add(v1alpha1.WarningGeneratorCeiling, p.size, "The highest load, %d frames/s, still met %s; it was bounded by %s, so the device may do better.",
			limit.framesPerSecond, words(held), limit.by)
	} else if len(held) > 0 {
		d.add(v1alpha1.WarningMaximumLoad, p.size, "The highest load, %d frames/s, still met %s; it was bounded by %s.",
			limit.framesPerSecond, words(held), limit.by)
	}
	if len(unsent) > 0 {
		says := "The generator, not the device, bounds %s from above: it could not send the next higher load in full, so the device may do better."
		switch chain := w.instr.Chain; {
		case chain.PodsFirst:
			says = "The device's loss does not bound %s from above: the next higher load was not sent in full, by the generator, its bridge and tap, or pods of the chain that work on the core that sends. To know the pods' part, measure the pods alone, or make the traffic on another node, so that generator and pods have separate cores."
		case chain.Hop == measure.HopTap:
			says = "The generator with the bridge and tap on its core, and not the device, bounds %s from above: the next higher load was not sent in full, so the device may do better."
		}
		d.add(v1alpha1.WarningGeneratorCeiling, p.size, says, words(unsent))
	}
	if len(unproven) > 0 {
		d.add(v1alpha1.WarningGeneratorCeiling, p.size,
			"The device's loss does not bound %s from above: whenever the next higher load lost frames, other work held a core that sends, its kernel may have left its network work undone, or the sending port may have dropped them, so the device may do better.",
			words(unproven))
	}
}

// undecidedAt reports whether an interruption may have changed what a trial shows that counts at a
// load.
func (w *replay) undecidedAt(p *part, load uint64) bool {
	return slices.ContainsFunc(p.counted, func(r measure.Record) bool {
		return r.Trial.IntendedFramesPerSecond == load && w.unproven(r)
	})
}

// warnNearCeiling names goals whose bound by loss is near the generator's own limit, and those where
// the generator takes most of the core that it shares with the device.
func (w *replay) warnNearCeiling(d *warningList, p *part) {
	reached, ok := w.reached(p.size)
	if !ok {
		return
	}
	most, shared := uint64(0), []string{}
	for _, r := range p.results {
		percent := r.LowerBoundFramesPerSecond * 100 / max(reached.highest, 1)
		switch {
		case r.UpperBoundCause != search.DeviceLoss:
		case w.nearCeiling(p.size, r.LowerBoundFramesPerSecond):
			d.add(v1alpha1.WarningGeneratorCeiling, p.size,
				"The lower bound of %s, %d frames/s, is %d %% of what the generator reaches without a device, so the loss above it may be the generator's doing.",
				r.Goal, r.LowerBoundFramesPerSecond, percent)
		case w.instr.Chain.Hop == measure.HopInline && percent > generatorSharePercent:
			most, shared = max(most, percent), append(shared, r.Goal)
		}
	}
	if len(shared) > 0 {
		d.add(v1alpha1.WarningSharedCores, p.size,
			"At the lower bound of %s the generator takes up to %d %% of the core that it shares with the device, by its calibration: the device alone would carry more, which serviceTime says.",
			words(shared), most)
	}
}

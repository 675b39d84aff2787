package procedure

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// maximum is the highest load that a measurement at the limit may ask for.
type maximum struct {
	framesPerSecond uint64
	origin          v1alpha1.MaximumOrigin
}

// maximum returns the maximum of a frame size: the lowest of line rate, the spec's rate if any,
// and what the calibration received in the slower direction. The bounds of the throughput search
// do not apply.
func (w *replay) maximum(size measure.Size, asked uint64) maximum {
	out := maximum{framesPerSecond: lineRate(w.instr, size), origin: v1alpha1.MaximumLineRate}
	if asked > 0 && asked < out.framesPerSecond {
		out = maximum{framesPerSecond: asked, origin: v1alpha1.MaximumSpec}
	}
	if reached, ok := w.reached(size); ok && !reached.whole && reached.highest < out.framesPerSecond {
		out = maximum{framesPerSecond: max(1, reached.highest), origin: v1alpha1.MaximumCalibration}
	}
	return out
}

// warnMaximum warns that a maximum is the generator's own.
func (w *replay) warnMaximum(d *warningList, p *part, asked uint64, what string) {
	if most := w.maximum(p.size, asked); most.origin == v1alpha1.MaximumCalibration {
		d.add(v1alpha1.WarningGeneratorCeiling, p.size,
			"%s: the maximum is %d frames/s, which is what the generator reached in its calibration; line rate is %d frames/s.",
			what, most.framesPerSecond, lineRate(w.instr, p.size))
	}
}

// single returns the one phase of a measurement that has one for each size.
func single(asked bool) []phase {
	if !asked {
		return nil
	}
	return []phase{{}}
}

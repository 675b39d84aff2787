package figure

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
)

// Among returns the figures that a key names, of all directions and repeats where
// they have their own, and otherwise the one of all of them together.
func Among(figures []Figure, key v1alpha1.FigureKey) []Figure {
	var each, all []Figure
	for _, f := range figures {
		if f.Metric != key.Metric {
			continue
		}
		of := f.Key
		of.Direction, of.Repeat = "", 0
		switch {
		case of != Key{FigureKey: key}:
		case f.Direction != "":
			each = append(each, f)
		case f.Repeat == 0:
			all = append(all, f)
		}
	}
	if len(each) > 0 {
		return each
	}
	return all
}

// Comparison is one figure of two measurements; a value is nil where there is none.
type Comparison struct {
	v1alpha1.FigureKey
	Before, After *int64
}

// Join returns the compared figures of one or both of two measurements: those of
// before in their order, then those that only after has. Each is that of the worse
// direction and repeat.
func Join(before, after []Figure) []Comparison {
	before, after = compared(before), compared(after)
	beforeOf, afterOf := ByKey(before), ByKey(after)
	var out []Comparison
	seen := map[v1alpha1.FigureKey]bool{}
	for _, side := range [][]Figure{before, after} {
		for _, f := range side {
			if seen[f.FigureKey] {
				continue
			}
			seen[f.FigureKey] = true
			c := Comparison{FigureKey: f.FigureKey, Before: Find(beforeOf[f.FigureKey], f.FigureKey), After: Find(afterOf[f.FigureKey], f.FigureKey)}
			if c.Before != nil || c.After != nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// ByKey returns the figures of each key, in their order: a run can have thousands.
func ByKey(figures []Figure) map[v1alpha1.FigureKey][]Figure {
	out := map[v1alpha1.FigureKey][]Figure{}
	for _, f := range figures {
		out[f.FigureKey] = append(out[f.FigureKey], f)
	}
	return out
}

// OfBaselineLoad returns the name of the load that is measured at a baseline's rate, and false for another load, whose
// name it returns as it is.
func OfBaselineLoad(load string) (string, bool) {
	return strings.CutSuffix(load, v1alpha1.BaselineLoadSuffix)
}

// compared returns the figures of one measurement that are compared with others. Those at the rate of the run's own
// baseline are compared with that alone.
func compared(figures []Figure) []Figure {
	var out []Figure
	for _, f := range figures {
		if _, ofBaseline := OfBaselineLoad(f.Load); f.Side == "" && f.Interval == 0 && !ofBaseline && Describe(f.Metric).Is(Compared) {
			out = append(out, f)
		}
	}
	return out
}

// Export returns the known figures of one measurement that the manager has in its metrics: those of each direction, without
// those of single repeats and of the sides that it was compared with.
func Export(figures []Figure) []Figure {
	var out []Figure
	for _, f := range figures {
		_, ofBaseline := OfBaselineLoad(f.Load)
		ofAll := Key{FigureKey: f.FigureKey, Direction: f.Direction, Function: f.Function}
		if f.Key == ofAll && !ofBaseline && f.Known() && Describe(f.Metric).Is(Compared|Exported) {
			out = append(out, f)
		}
	}
	return out
}

// Find returns the value by which a key is compared, that of the worse direction
// and repeat; nil where there is none.
func Find(figures []Figure, key v1alpha1.FigureKey) *int64 {
	if worst := Worst(figures, key); worst != nil {
		return &worst.Value
	}
	return nil
}

// Worst returns the figure of the worse direction and repeat; nil where there is none. One
// direction without a value leaves none, because a device that starves a direction must not hide
// this with the other.
func Worst(figures []Figure, key v1alpha1.FigureKey) *Figure {
	higher := Describe(key.Metric).Better == Higher
	var worst *Figure
	for _, f := range Among(figures, key) {
		if !f.Known() {
			return nil
		}
		if worst == nil || higher && f.Value < worst.Value || !higher && f.Value > worst.Value {
			worst = &f
		}
	}
	return worst
}

// NoteOf returns why a figure is no value; "" where it is one. Points of series follow the same rule.
func NoteOf(figures []Figure, key v1alpha1.FigureKey) v1alpha1.FigureNote {
	switch worst := Worst(figures, key); {
	case worst == nil:
		return v1alpha1.NoteDoubtful
	case worst.Bound == AtLeast:
		return v1alpha1.NoteAtLeast
	case worst.Bound == AtMost:
		return v1alpha1.NoteAtMost
	case len(worst.Doubts) > 0:
		return v1alpha1.NoteDoubtful
	}
	return ""
}

// DoubtsOf returns the codes of the doubts about a figure, each of them once; where it has no value, those of its directions and repeats that have none.
func DoubtsOf(figures []Figure, key v1alpha1.FigureKey) []v1alpha1.DoubtCode {
	if worst := Worst(figures, key); worst != nil {
		return worst.Codes()
	}
	var out []v1alpha1.DoubtCode
	for _, f := range Among(figures, key) {
		if !f.Known() {
			out = append(out, f.Codes()...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// Difference returns (after - before) / before in parts per million, rounded toward
// zero; nil where one of the two is missing, or before is 0.
func Difference(before, after *int64) *int64 {
	if before == nil || after == nil || *before <= 0 || *after < 0 {
		return nil
	}
	sign, apart := int64(1), *after-*before
	if apart < 0 {
		sign, apart = -1, -apart
	}
	high, low := bits.Mul64(uint64(apart), 1_000_000)
	if high >= uint64(*before) {
		return new(sign * math.MaxInt64)
	}
	quotient, _ := bits.Div64(high, low, uint64(*before))
	return new(sign * int64(min(quotient, math.MaxInt64)))
}

package figure

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"vnfbench.io/operator/api/v1alpha1"
)

// ErrNotMeasured means that a key has no figure at all.
var ErrNotMeasured = errors.New("it was not measured")

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

// Worst returns the figure of the direction and repeat that is worst: the smaller
// value or the larger one. One direction without a value leaves none, because a
// device that starves a direction must not hide this with the other. The error
// explains, for people, why there is none.
func Worst(figures []Figure, key v1alpha1.FigureKey, smaller bool, value func(Figure) (int64, error)) (int64, error) {
	found := Among(figures, key)
	if len(found) == 0 {
		return 0, ErrNotMeasured
	}
	worst := int64(0)
	for i, f := range found {
		v, err := value(f)
		if f.Samples == 0 {
			err = errors.New("there is nothing to form it from")
		}
		if err != nil && f.Direction != "" {
			return 0, fmt.Errorf("direction %s: %w", f.Direction, err)
		}
		if err != nil {
			return 0, err
		}
		if i == 0 || smaller && v < worst || !smaller && v > worst {
			worst = v
		}
	}
	return worst, nil
}

// Value returns a figure's own value, for Worst.
func Value(f Figure) (int64, error) { return f.Value, nil }

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
	var out []Comparison
	seen := map[v1alpha1.FigureKey]bool{}
	for _, side := range [][]Figure{before, after} {
		for _, f := range side {
			if seen[f.FigureKey] {
				continue
			}
			seen[f.FigureKey] = true
			c := Comparison{FigureKey: f.FigureKey, Before: Find(before, f.FigureKey), After: Find(after, f.FigureKey)}
			if c.Before != nil || c.After != nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// compared returns the figures of one measurement that are compared with others.
func compared(figures []Figure) []Figure {
	var out []Figure
	for _, f := range figures {
		if f.Side == "" && f.Interval == 0 && Describe(f.Metric).Is(Compared) {
			out = append(out, f)
		}
	}
	return out
}

// Find returns the value by which a key is compared, that of the worse direction
// and repeat; nil where there is none.
func Find(figures []Figure, key v1alpha1.FigureKey) *int64 {
	value, err := Worst(figures, key, Describe(key.Metric).Better == Higher, Value)
	if err != nil {
		return nil
	}
	return &value
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

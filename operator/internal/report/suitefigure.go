package report

import (
	"fmt"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/statistics"
)

// repeatedCell is what a table shows of a figure's repeats in one cell.
type repeatedCell struct {
	// text is the mean of the values. Where no repeat has a value, it is that of the bounds or of the doubtful figures, and is marked.
	text string
	// spread is the range of the values as a share of their mean, in percent.
	spread string
	// leftOut says how many figures are no values; "" where all are.
	leftOut string
}

// repeatedRate returns what a table shows of a cell's throughput.
func repeatedRate(cell *v1alpha1.SuiteCell, l letters) repeatedCell {
	return repeatedFigure(cell.FramesPerSecond, cell.Measurements, v1alpha1.SuiteMeasurement.Rate, "rates", kiloFrames, l)
}

// repeatedP99 returns what a table shows of a cell's 99th percentile of the delay.
func repeatedP99(cell *v1alpha1.SuiteCell, l letters) repeatedCell {
	return repeatedFigure(cell.P99Nanoseconds, cell.Measurements, v1alpha1.SuiteMeasurement.P99, "delays", microseconds, l)
}

// repeatedGoodput returns what a table shows of a cell's goodput of TCP.
func repeatedGoodput(cell *v1alpha1.SuiteCell, l letters) repeatedCell {
	return repeatedFigure(cell.GoodputBitsPerSecond, cell.Measurements, v1alpha1.SuiteMeasurement.Goodput, "goodputs", megabits, l)
}

// hasGoodput reports whether some of the cells have a goodput of TCP, as a mean or as one that may be no value.
func hasGoodput(cells []v1alpha1.SuiteCell) bool {
	return slices.ContainsFunc(cells, func(cell v1alpha1.SuiteCell) bool {
		return cell.GoodputBitsPerSecond != nil || slices.ContainsFunc(cell.Measurements, func(m v1alpha1.SuiteMeasurement) bool { return m.GoodputBitsPerSecond != nil })
	})
}

// hasRate reports the same of the throughput.
func hasRate(cells []v1alpha1.SuiteCell) bool {
	return slices.ContainsFunc(cells, func(cell v1alpha1.SuiteCell) bool {
		return cell.FramesPerSecond != nil || slices.ContainsFunc(cell.Measurements, func(m v1alpha1.SuiteMeasurement) bool { return m.FramesPerSecond != nil })
	})
}

func repeatedFigure(
	mean *int64, repeats []v1alpha1.SuiteMeasurement, of func(v1alpha1.SuiteMeasurement) v1alpha1.NotedFigure, what string, write func(int64) string, l letters,
) repeatedCell {
	byNote, doubts := map[v1alpha1.FigureNote][]int64{}, map[v1alpha1.FigureNote][]v1alpha1.DoubtCode{}
	var all []int64
	for _, m := range repeats {
		if f := of(m); f.Value != nil {
			byNote[f.Note], all = append(byNote[f.Note], *f.Value), append(all, *f.Value)
			doubts[f.Note] = append(doubts[f.Note], f.Doubts...)
		}
	}
	out := repeatedCell{text: known(mean, write), spread: none}
	if mean == nil && len(all) > 0 {
		mark := "? "
		if len(byNote[v1alpha1.NoteAtLeast]) == len(all) {
			mark = l.atLeast
		}
		out.text = mark + write(int64(statistics.Mean(all)))
	}
	values := byNote[""]
	if len(values) > 1 && mean != nil && *mean > 0 {
		out.spread = percent(int64(1e6 * float64(slices.Max(values)-slices.Min(values)) / float64(*mean)))
	}
	if n := len(all) - len(values); n > 0 {
		var kinds []string
		for _, kind := range []struct {
			note  v1alpha1.FigureNote
			words string
		}{{v1alpha1.NoteAtLeast, "at least"}, {v1alpha1.NoteAtMost, "at most"}, {v1alpha1.NoteDoubtful, "in doubt"}} {
			if n := len(byNote[kind.note]); n > 0 {
				text := fmt.Sprintf("%d %s", n, kind.words)
				if named := slices.Compact(slices.Sorted(slices.Values(doubts[kind.note]))); len(named) > 0 {
					text += ": " + codes(named)
				}
				kinds = append(kinds, text)
			}
		}
		out.leftOut = fmt.Sprintf("%d of %d %s are no values (%s)", n, len(all), what, strings.Join(kinds, ", "))
	}
	return out
}

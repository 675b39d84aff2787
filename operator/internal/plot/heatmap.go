package plot

import (
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatSteps is how many shades a heat map has.
const HeatSteps = 7

// HeatOpacity returns how strongly a step of a heat map covers what is below, so that text on it stays readable.
func HeatOpacity(step int) float64 { return 0.04 + 0.06*float64(step) }

const inkHeat ink = "h"

// HeatMap is a table whose cells are the darker, the larger their value is. Each cell has its text too.
type HeatMap struct {
	Title, Description string
	// Label says what the values are, with their unit.
	Label string
	// ColumnTitle and RowTitle name the axes.
	ColumnTitle, RowTitle string
	Columns, Rows         []string
	// Cells has a list for each row. A cell without a value has no shade.
	Cells [][]Cell
}

// Cell is one value.
type Cell struct {
	// Value decides the shade; NaN and infinite values have none.
	Value float64
	Text  string
}

// Sizes of a heat map.
const (
	heatRow     vg.Length = 30
	heatHead    vg.Length = 26
	heatName    vg.Length = 130
	maxHeatCell vg.Length = 110
)

// SVG returns the picture.
func (m HeatMap) SVG() (string, error) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range m.Cells {
		for _, cell := range row {
			if known(cell.Value) {
				low, high = min(low, cell.Value), max(high, cell.Value)
			}
		}
	}
	if low > high || len(m.Columns) == 0 || len(m.Rows) == 0 {
		return "", ErrNoData
	}
	top := heatHead * 2
	if m.Label != "" {
		top += heatHead
	}
	on := newCanvas(chartWidth, top+heatRow*vg.Length(len(m.Rows))+4)
	c := draw.New(on)
	cell := min(maxHeatCell, (chartWidth-heatName-4)/vg.Length(len(m.Columns)))
	small := written(inkText, smallSize, text.XCenter, text.YCenter)
	words := func(style text.Style, x, y vg.Length, what string, width vg.Length) {
		if what != "" {
			c.FillText(style, vg.Point{X: x, Y: y + style.FontExtents().Descent}, fit(style, what, width))
		}
	}
	left := small
	left.XAlign = text.XLeft
	y := c.Max.Y - heatHead/2
	if m.Label != "" {
		words(left, 4, y, m.Label, chartWidth-8)
		y -= heatHead
	}
	words(bold(left), heatName, y, m.ColumnTitle, chartWidth-heatName)
	y -= heatHead
	words(bold(left), 4, y, m.RowTitle, heatName-8)
	for i, name := range m.Columns {
		words(small, heatName+cell*(vg.Length(i)+0.5), y, name, cell-4)
	}
	for i, name := range m.Rows {
		y := c.Max.Y - top - heatRow*(vg.Length(i)+0.5)
		words(left, 4, y, name, heatName-8)
		for j := range min(len(m.Columns), len(m.row(i))) {
			at := m.row(i)[j]
			r := vg.Rectangle{Min: vg.Point{X: heatName + cell*vg.Length(j), Y: y - heatRow/2}}
			r.Max = r.Min.Add(vg.Point{X: cell, Y: heatRow})
			if known(at.Value) {
				c.SetColor(thin{inkHeat, HeatOpacity(step(at.Value, low, high))})
				c.Fill(r.Path())
			}
			c.SetLineStyle(draw.LineStyle{Color: inkGrid, Width: 1})
			c.Stroke(r.Path())
			words(small, heatName+cell*(vg.Length(j)+0.5), y, at.Text, cell-4)
		}
	}
	return on.wrap(m.Title, m.Description), nil
}

func (m HeatMap) row(i int) []Cell {
	if i < len(m.Cells) {
		return m.Cells[i]
	}
	return nil
}

// step returns the shade of a value. Where all values are equal it is the middle one.
func step(value, low, high float64) int {
	if high <= low {
		return HeatSteps / 2
	}
	return min(HeatSteps-1, int((value-low)/(high-low)*HeatSteps))
}

func known(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

package plot

import (
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is a name in the legend with how it looks.
type entry struct {
	name   string
	sample func(c draw.Canvas)
}

const (
	legendRow    vg.Length = 19
	sampleWidth  vg.Length = 28
	sampleHeight vg.Length = 11
	legendGap    vg.Length = 6
	entryGap     vg.Length = 16
	// maxEntries limits the legend. What follows is counted.
	maxEntries = 40
)

func legendStyle() text.Style { return written(inkText, smallSize, text.XLeft, text.YCenter) }

// legendRows returns the entries in rows that are as wide as a chart.
func legendRows(layers []Layer) (rows [][]entry) {
	style, free, n := legendStyle(), vg.Length(0), 0
	for _, layer := range layers {
		for _, e := range layer.entries() {
			if n++; e.name == "" || n > maxEntries {
				continue
			}
			e.name = fit(style, e.name, chartWidth-sampleWidth-legendGap-4)
			wide := sampleWidth + legendGap + style.Width(e.name) + entryGap
			if len(rows) == 0 || wide-entryGap > free {
				rows, free = append(rows, nil), chartWidth-4
			}
			rows[len(rows)-1] = append(rows[len(rows)-1], e)
			free -= wide
		}
	}
	return rows
}

// drawLegend draws the rows at the top.
func drawLegend(c draw.Canvas, rows [][]entry) {
	style := legendStyle()
	for i, row := range rows {
		x, middle := c.Min.X+2, c.Max.Y-legendRow*(vg.Length(i)+0.5)-2
		for _, e := range row {
			e.sample(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: middle - sampleHeight/2}, Max: vg.Point{X: x + sampleWidth, Y: middle + sampleHeight/2},
			}})
			x += sampleWidth + legendGap
			c.FillText(style, vg.Point{X: x, Y: middle + style.FontExtents().Descent}, e.name)
			x += style.Width(e.name) + entryGap
		}
	}
}

// Package plot makes pictures: typed data go in, SVG text comes out that can be a part of HTML.
//
// A picture has no script, no style attribute and no address of anything. Its texts are texts. Colors are classes of a style
// sheet, and black without one; dashes, markers and hatching say the same without color. The same data give the same bytes.
//
// Data may be anything. What has no place on an axis is left out: NaN, infinite values, and values of 0 or less on a
// logarithmic axis, unless the axis has a line for 0. A picture without any point is the error ErrNoData.
package plot

import (
	"errors"
	"iter"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ErrNoData says that nothing of a chart has a place on its axes.
var ErrNoData = errors.New("there is nothing to draw")

// Size of charts in points. A page scales them.
const (
	chartWidth  vg.Length = 480
	chartHeight vg.Length = 300
	// rowHeight is that of a category.
	rowHeight vg.Length = 34
)

// Chart is a picture with two axes.
type Chart struct {
	// Title and Description are for those who do not see the picture.
	Title, Description string
	X, Y               Axis
	// Values are written to the right of the categories of Y, in their order.
	Values []string
	// Layers are drawn in their order.
	Layers []Layer
}

// Point is a place in a chart. NaN in one coordinate means that it has any.
type Point struct{ X, Y float64 }

// Layer is a part of a chart.
type Layer interface {
	// points returns what the axes have to hold.
	points() iter.Seq[Point]
	// draw draws the layer.
	draw(d drawing)
	// entries are those of the legend.
	entries() []entry
}

// SVG returns the picture.
func (c Chart) SVG() (string, error) {
	var xs, ys []float64
	found := false
	for _, layer := range c.Layers {
		for p := range layer.points() {
			x, y := c.X.places(p.X), c.Y.places(p.Y)
			if x {
				xs = append(xs, p.X)
			}
			if y {
				ys = append(ys, p.Y)
			}
			found = found || x && y
		}
	}
	if !found {
		return "", ErrNoData
	}
	x, y := norm{c.X, c.X.span(xs)}, norm{c.Y, c.Y.span(ys)}
	height := chartHeight
	if n := len(c.Y.Categories); n > 0 {
		height = rowHeight*vg.Length(n) + 52
	}
	rows := legendRows(c.Layers)
	above := vg.Length(len(rows)) * legendRow
	if above > 0 {
		above += 4
	}
	on := newCanvas(chartWidth, height+above)
	p := newPlot(x, y)
	p.Add(grid{p, x, y})
	for _, layer := range c.Layers {
		p.Add(drawer{layer, x, y})
	}
	area := draw.New(on)
	drawLegend(area, rows)
	c.draw(p, draw.Crop(area, 2, -8, 2, -above-6))
	return on.wrap(c.Title, c.Description), nil
}

// draw draws the axes with their labels, which gonum does not center on a logarithmic axis, and what is between them.
func (c Chart) draw(p *gonum.Plot, area draw.Canvas) {
	label := written(inkText, textSize, text.XCenter, text.YBottom)
	line, descent := label.Height("x"), label.FontExtents().Descent
	if c.X.Label != "" {
		area.Min.Y += line + 3
	}
	if c.Y.Label != "" {
		area.Min.X += line + 3
	}
	rowText := written(inkText, smallSize, text.XLeft, text.YCenter)
	if len(c.Values) > 0 {
		widest := vg.Length(0)
		for _, words := range c.Values {
			widest = max(widest, rowText.Width(words))
		}
		area.Max.X -= min(widest, chartWidth/4) + 6
	}
	data := p.DataCanvas(area)
	p.Draw(area)
	if c.X.Label != "" {
		area.FillText(label, vg.Point{X: data.Center().X, Y: area.Min.Y - line - 3 + descent}, fit(label, c.X.Label, chartWidth-80))
	}
	if c.Y.Label != "" {
		label.Rotation = math.Pi / 2
		area.FillText(label, vg.Point{X: area.Min.X - 3 - descent, Y: data.Center().Y}, fit(label, c.Y.Label, data.Max.Y-data.Min.Y+40))
	}
	for i, words := range first(c.Values, len(c.Y.Categories)) {
		if words != "" {
			at := vg.Point{X: area.Max.X + 8, Y: data.Y(p.Y.Norm(float64(i))) + rowText.FontExtents().Descent}
			area.FillText(rowText, at, fit(rowText, words, chartWidth/4))
		}
	}
}

// first returns at most so many items.
func first[T any](items []T, most int) []T { return items[:min(len(items), most)] }

// newPlot returns gonum's plot with the axes.
func newPlot(x, y norm) *gonum.Plot {
	p := gonum.New()
	p.BackgroundColor = nil
	for _, axis := range []struct {
		of   *gonum.Axis
		norm norm
	}{{&p.X, x}, {&p.Y, y}} {
		axis.of.Min, axis.of.Max = axis.norm.low, axis.norm.high
		axis.of.Scale, axis.of.Tick.Marker = axis.norm, axis.norm
		axis.of.Padding = 0
		axis.of.LineStyle = draw.LineStyle{Color: inkFaint, Width: 1}
		axis.of.Tick.LineStyle, axis.of.Tick.Length = axis.of.LineStyle, 5
		axis.of.Tick.Label = written(inkText, smallSize, axis.of.Tick.Label.XAlign, axis.of.Tick.Label.YAlign)
		axis.of.Label.TextStyle.Font = axis.of.Tick.Label.Font
	}
	if names := y.Categories; len(names) > 0 {
		ticks := make(gonum.ConstantTicks, len(names))
		for i, name := range names {
			ticks[i] = gonum.Tick{Value: float64(i), Label: fit(p.Y.Tick.Label, name, chartWidth*2/5)}
		}
		p.Y.Tick.Marker, p.Y.Scale, p.Y.Tick.Length = ticks, gonum.InvertedScale{Normalizer: y}, 0
	}
	return p
}

// drawing is where a layer is drawn.
type drawing struct {
	draw.Canvas
	x, y         norm
	plotX, plotY *gonum.Axis
}

// at returns the place of a point, and whether it has one.
func (d drawing) at(p Point) (vg.Point, bool) {
	if !d.x.places(p.X) || !d.y.places(p.Y) {
		return vg.Point{}, false
	}
	return vg.Point{X: d.X(d.plotX.Norm(p.X)), Y: d.Y(d.plotY.Norm(p.Y))}, true
}

// drawer makes a layer gonum's Plotter.
type drawer struct {
	layer Layer
	x, y  norm
}

// Plot draws the layer.
func (l drawer) Plot(c draw.Canvas, p *gonum.Plot) {
	l.layer.draw(drawing{c, l.x, l.y, &p.X, &p.Y})
}

// grid draws lines at the numbers of the axes.
type grid struct {
	plot *gonum.Plot
	x, y norm
}

// Plot draws the lines.
func (g grid) Plot(c draw.Canvas, p *gonum.Plot) {
	style := draw.LineStyle{Color: inkGrid, Width: 0.8}
	line := func(axis gonum.Axis, of norm, stroke func(at float64)) {
		if len(of.Categories) > 0 {
			return
		}
		for _, tick := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
			if !tick.IsMinor() {
				stroke(axis.Norm(tick.Value))
			}
		}
	}
	line(p.X, g.x, func(at float64) { c.StrokeLine2(style, c.X(at), c.Min.Y, c.X(at), c.Max.Y) })
	line(p.Y, g.y, func(at float64) { c.StrokeLine2(style, c.Min.X, c.Y(at), c.Max.X, c.Y(at)) })
}

package plot

import (
	"iter"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line joins points in their order. A point without a place interrupts it.
type Line struct {
	Name   string
	Style  int
	Points []Point
	// Steps makes it a staircase: a value holds until the next point.
	Steps bool
	// Marked shows the points.
	Marked bool
	// Faint draws a thin line that leads from one point to the next.
	Faint bool
}

func (l Line) style() draw.LineStyle {
	if l.Faint {
		return draw.LineStyle{Color: inkFaint, Width: 1}
	}
	return lineOf(l.Style)
}

func (l Line) points() iter.Seq[Point] { return each(l.Points) }

func (l Line) draw(d drawing) {
	var part []vg.Point
	flush := func() {
		d.StrokeLines(l.style(), d.ClipLinesXY(thinned(part))...)
		part = nil
	}
	for _, p := range l.Points {
		at, ok := d.at(p)
		if !ok {
			flush()
			continue
		}
		if n := len(part); l.Steps && n > 0 {
			part = append(part, vg.Point{X: at.X, Y: part[n-1].Y})
		}
		part = append(part, at)
		if l.Marked {
			d.DrawGlyph(glyph(l.Style, markerOf(l.Style)), at)
		}
	}
	flush()
}

func (l Line) entries() []entry {
	return []entry{{l.Name, func(c draw.Canvas) {
		middle := c.Center()
		c.StrokeLine2(l.style(), c.Min.X, middle.Y, c.Max.X, middle.Y)
		if l.Marked {
			c.DrawGlyph(glyph(l.Style, markerOf(l.Style)), middle)
		}
	}}}
}

// thinned leaves out points that no one can see: those that are less than 0.8 points from the one before.
func thinned(points []vg.Point) []vg.Point {
	const near = 0.8
	var out []vg.Point
	for i, p := range points {
		if n := len(out); n > 0 && i < len(points)-1 && math.Abs(float64(p.X-out[n-1].X)) < near && math.Abs(float64(p.Y-out[n-1].Y)) < near {
			continue
		}
		out = append(out, p)
	}
	return out
}

// Marks are points by themselves.
type Marks struct {
	Name   string
	Style  int
	Marker int
	Points []Point
}

func (m Marks) points() iter.Seq[Point] { return each(m.Points) }

func (m Marks) draw(d drawing) {
	drawn := map[[2]int]bool{}
	for _, p := range m.Points {
		at, ok := d.at(p)
		if !ok {
			continue
		}
		// Markers at one place are drawn once.
		if place := [2]int{int(math.Round(at.X.Points() * 2)), int(math.Round(at.Y.Points() * 2))}; !drawn[place] {
			drawn[place] = true
			d.DrawGlyph(glyph(m.Style, m.Marker), at)
		}
	}
}

func (m Marks) entries() []entry {
	return []entry{{m.Name, func(c draw.Canvas) { c.DrawGlyph(glyph(m.Style, m.Marker), c.Center()) }}}
}

// Interval is a range of X at a place on a Y axis with categories, with a value in it.
type Interval struct {
	Category int
	// Low and High are its ends. An infinite one is open, and drawn as an arrow.
	Low, High float64
}

// Intervals are ranges in a chart with categories.
type Intervals struct {
	Name  string
	Style int
	// Wide draws bars instead of lines with ends.
	Wide  bool
	Items []Interval
	// Shift moves them down by this share of a row, so that two layers do not hide each other.
	Shift float64
}

func (l Intervals) points() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for _, i := range l.Items {
			if !yield(Point{i.Low, float64(i.Category)}) || !yield(Point{i.High, float64(i.Category)}) {
				return
			}
		}
	}
}

func (l Intervals) draw(d drawing) {
	for _, i := range l.Items {
		row := float64(i.Category) + l.Shift
		low, hasLow := d.at(Point{i.Low, row})
		high, hasHigh := d.at(Point{i.High, row})
		if !hasLow && !hasHigh {
			continue
		}
		if !hasLow {
			low = vg.Point{X: d.Min.X + 8, Y: high.Y}
		}
		if !hasHigh {
			high = vg.Point{X: d.Max.X - 8, Y: low.Y}
		}
		l.one(d.Canvas, low, high, hasLow, hasHigh)
	}
}

func (l Intervals) one(c draw.Canvas, low, high vg.Point, hasLow, hasHigh bool) {
	const half = 5
	if l.Wide {
		fill(&c, l.Style, vg.Rectangle{Min: vg.Point{X: low.X, Y: low.Y - half}, Max: vg.Point{X: max(high.X, low.X+1), Y: high.Y + half}})
		return
	}
	style := lineOf(l.Style)
	c.StrokeLines(style, []vg.Point{low, high})
	style.Dashes = nil
	end := func(at vg.Point, closed bool, out vg.Length) {
		if closed {
			c.StrokeLines(style, []vg.Point{{X: at.X, Y: at.Y - half}, {X: at.X, Y: at.Y + half}})
			return
		}
		c.StrokeLines(style, []vg.Point{{X: at.X - out, Y: at.Y - half}, at, {X: at.X - out, Y: at.Y + half}})
	}
	end(low, hasLow, -7)
	end(high, hasHigh, 7)
}

func (l Intervals) entries() []entry {
	return []entry{{l.Name, func(c draw.Canvas) {
		middle := c.Center()
		l.one(c, vg.Point{X: c.Min.X, Y: middle.Y}, vg.Point{X: c.Max.X, Y: middle.Y}, true, true)
	}}}
}

// Stacks are bars of several parts, one bar for each category.
type Stacks struct {
	// Names are those of the parts. The style of a part is its number.
	Names []string
	// Values has those of each category: one for each part. What is no number above 0 has no width.
	Values [][]float64
}

func (s Stacks) points() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for i, parts := range s.Values {
			sum := 0.0
			for _, v := range parts {
				sum += width(v)
			}
			if !yield(Point{sum, float64(i)}) {
				return
			}
		}
	}
}

// width returns that of a part of a bar.
func width(v float64) float64 {
	if v > 0 && !math.IsInf(v, 0) {
		return v
	}
	return 0
}

func (s Stacks) draw(d drawing) {
	const half = 9
	for i, parts := range s.Values {
		sum := 0.0
		for part, v := range parts {
			from, okFrom := d.at(Point{sum, float64(i)})
			sum += width(v)
			to, okTo := d.at(Point{sum, float64(i)})
			if okFrom && okTo {
				fill(&d.Canvas, part, vg.Rectangle{Min: vg.Point{X: from.X, Y: from.Y - half}, Max: vg.Point{X: to.X, Y: to.Y + half}})
			}
		}
	}
}

func (s Stacks) entries() (out []entry) {
	for i, name := range s.Names {
		out = append(out, entry{name, func(c draw.Canvas) { fill(&c, i, c.Rectangle) }})
	}
	return out
}

// Region marks a range of X from the bottom to the top.
type Region struct {
	Name      string
	Style     int
	Low, High float64
}

func (r Region) points() iter.Seq[Point] {
	return each([]Point{{r.Low, math.NaN()}, {r.High, math.NaN()}})
}

func (r Region) draw(d drawing) {
	if !d.x.places(r.Low) {
		return
	}
	low, high := d.X(d.plotX.Norm(r.Low)), d.Max.X
	if d.x.places(r.High) {
		high = d.X(d.plotX.Norm(r.High))
	}
	r.one(d.Canvas, max(low, d.Min.X), min(high, d.Max.X))
}

func (r Region) one(c draw.Canvas, low, high vg.Length) {
	if high-low > 0.5 {
		c.SetColor(thin{inkOf(r.Style), 0.16})
		c.Fill(vg.Rectangle{Min: vg.Point{X: low, Y: c.Min.Y}, Max: vg.Point{X: high, Y: c.Max.Y}}.Path())
	}
	for _, x := range []vg.Length{low, high} {
		c.StrokeLine2(draw.LineStyle{Color: inkOf(r.Style), Width: 1.2, Dashes: dashesOf(r.Style)}, x, c.Min.Y, x, c.Max.Y)
	}
}

func (r Region) entries() []entry {
	return []entry{{r.Name, func(c draw.Canvas) { r.one(c, c.Min.X+6, c.Max.X-6) }}}
}

// Rule is a horizontal or vertical line at a value.
type Rule struct {
	Name  string
	Style int
	// At is the value on the axis X where Vertical is set, else on Y.
	At       float64
	Vertical bool
}

func (r Rule) points() iter.Seq[Point] {
	if r.Vertical {
		return each([]Point{{r.At, math.NaN()}})
	}
	return each([]Point{{math.NaN(), r.At}})
}

func (r Rule) style() draw.LineStyle {
	return draw.LineStyle{Color: inkOf(r.Style), Width: 1.2, Dashes: dashesOf(r.Style)}
}

func (r Rule) draw(d drawing) {
	if r.Vertical && d.x.places(r.At) {
		x := d.X(d.plotX.Norm(r.At))
		d.StrokeLine2(r.style(), x, d.Min.Y, x, d.Max.Y)
	} else if !r.Vertical && d.y.places(r.At) {
		y := d.Y(d.plotY.Norm(r.At))
		d.StrokeLine2(r.style(), d.Min.X, y, d.Max.X, y)
	}
}

func (r Rule) entries() []entry {
	return []entry{{r.Name, func(c draw.Canvas) {
		if middle := c.Center(); r.Vertical {
			c.StrokeLine2(r.style(), middle.X, c.Min.Y, middle.X, c.Max.Y)
		} else {
			c.StrokeLine2(r.style(), c.Min.X, middle.Y, c.Max.X, middle.Y)
		}
	}}}
}

func each(points []Point) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for _, p := range points {
			if !yield(p) {
				return
			}
		}
	}
}

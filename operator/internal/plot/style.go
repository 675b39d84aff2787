package plot

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Styles is how many styles differ in color. Those of higher numbers have the colors again with other dashes and markers.
const Styles = 8

// Sizes in points, which are the picture's pixels.
const (
	textSize   vg.Length = 13
	smallSize  vg.Length = 12
	lineWidth  vg.Length = 1.8
	markRadius vg.Length = 3.6
)

// inks are the colors of styles: classes of the style sheet.
var inks = [Styles]ink{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"}

// dashes distinguish lines without their color.
var dashes = [...][]vg.Length{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}, {4, 2}, {12, 4}, {6, 2, 2, 2, 2, 2}, {1.5, 4}}

func inkOf(style int) ink { return inks[number(style, Styles)] }

func dashesOf(style int) []vg.Length {
	return dashes[number(style+style/Styles, len(dashes))]
}

// number returns a style's place in a list, for any number.
func number(style, length int) int { return ((style % length) + length) % length }

// lineOf returns the line of a style.
func lineOf(style int) draw.LineStyle {
	return draw.LineStyle{Color: inkOf(style), Width: lineWidth, Dashes: dashesOf(style)}
}

// outline draws the lines of a marker with a width that can be seen.
type outline func(c *draw.Canvas, at vg.Point, r vg.Length)

// DrawGlyph draws a marker.
func (o outline) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 1.5})
	o(c, at, style.Radius)
}

func polygon(turn float64, corners int) outline {
	return func(c *draw.Canvas, at vg.Point, r vg.Length) {
		path := vg.Path{}
		for i := range corners {
			sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
			pt := at.Add(vg.Point{X: r * 1.2 * vg.Length(cos), Y: r * 1.2 * vg.Length(sin)})
			if i == 0 {
				path.Move(pt)
			} else {
				path.Line(pt)
			}
		}
		path.Close()
		c.Stroke(path)
	}
}

// strokes draws lines through a point.
func strokes(turns ...float64) outline {
	return func(c *draw.Canvas, at vg.Point, r vg.Length) {
		path := vg.Path{}
		for _, turn := range turns {
			sin, cos := math.Sincos(turn)
			end := vg.Point{X: r * 1.25 * vg.Length(cos), Y: r * 1.25 * vg.Length(sin)}
			path.Move(at.Sub(end))
			path.Line(at.Add(end))
		}
		c.Stroke(path)
	}
}

// Markers are the shapes of points. A style has the marker of its number.
const (
	Dot = iota
	Cross
	Triangle
	Diamond
	Square
	Plus
	Ring
	Star
	markers
)

var shapes = [markers]draw.GlyphDrawer{
	Dot: draw.CircleGlyph{}, Cross: strokes(math.Pi/4, -math.Pi/4), Triangle: polygon(math.Pi/2, 3), Diamond: polygon(0, 4),
	Square: polygon(math.Pi/4, 4), Plus: strokes(0, math.Pi/2), Ring: polygon(0, 12), Star: strokes(0, math.Pi/3, -math.Pi/3),
}

func markerOf(style int) int { return number(style+style/Styles, markers) }

// glyph returns how a point of a style and a marker looks.
func glyph(style, marker int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: inkOf(style), Radius: markRadius, Shape: shapes[number(marker, markers)]}
}

// written returns the style of a text.
func written(of color.Color, size vg.Length, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: of, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size), XAlign: x, YAlign: y, Handler: gonum.DefaultTextHandler}
}

// bold returns a style in bold.
func bold(s text.Style) text.Style {
	s.Font.Weight = xfont.WeightBold
	return s
}

// fit shortens a text so that it is not wider than a length.
func fit(style text.Style, words string, width vg.Length) string {
	if style.Width(words) <= width {
		return words
	}
	runes := []rune(words)
	for len(runes) > 1 && style.Width(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// fill fills a rectangle with a style's color, and lines that distinguish it from others without its color.
func fill(c *draw.Canvas, style int, r vg.Rectangle) {
	if r.Max.X-r.Min.X < 0.05 || r.Max.Y-r.Min.Y < 0.05 {
		return
	}
	c.SetColor(thin{inkOf(style), 0.35})
	c.Fill(r.Path())
	edge := draw.LineStyle{Color: inkOf(style), Width: 1.2}
	c.SetLineStyle(edge)
	c.Stroke(r.Path())
	var lines [][]vg.Point
	height := r.Max.Y - r.Min.Y
	across := func(step, lean vg.Length) {
		for x := r.Min.X - height + step/2; x < r.Max.X+height; x += step {
			lines = append(lines, []vg.Point{{X: x, Y: r.Min.Y}, {X: x + lean*height, Y: r.Max.Y}})
		}
	}
	switch number(style, 6) {
	case 1:
		across(6, 1)
	case 2:
		across(6, -1)
	case 3:
		across(4, 0)
	case 4:
		across(8, 1)
		across(8, -1)
	case 5:
		for y := r.Min.Y + 3; y < r.Max.Y; y += 4 {
			lines = append(lines, []vg.Point{{X: r.Min.X, Y: y}, {X: r.Max.X, Y: y}})
		}
	}
	area := draw.Canvas{Canvas: c.Canvas, Rectangle: r}
	path := vg.Path{}
	for _, line := range area.ClipLinesXY(lines...) {
		path.Move(line[0])
		path.Line(line[1])
	}
	if len(path) > 0 {
		c.SetLineStyle(draw.LineStyle{Color: inkOf(style), Width: 0.9})
		c.Stroke(path)
	}
}

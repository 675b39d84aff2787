package plot

import (
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// SketchWidth is the width of each sketch.
const SketchWidth = float64(chartWidth)

// Sketch is a picture of boxes and of lines between them. Its origin is at the top left.
type Sketch struct {
	Title, Description string
	Height             float64
	Boxes              []Box
	Links              []Link
}

// Box is a rectangle with lines of text, the first of them in bold.
type Box struct {
	X, Y, Width, Height float64
	Lines               []string
	// Style colors the edge; negative for the color of the text.
	Style int
	// Around puts the text at the top left, for a box that has others in it, and draws its edge with dashes.
	Around bool
}

// Link is a line with a label at its middle.
type Link struct {
	FromX, FromY, ToX, ToY float64
	Label                  string
}

// SVG returns the picture.
func (s Sketch) SVG() string {
	on := newCanvas(chartWidth, vg.Length(s.Height))
	c := draw.New(on)
	at := func(x, y float64) vg.Point { return vg.Point{X: vg.Length(x), Y: c.Max.Y - vg.Length(y)} }
	for _, l := range s.Links {
		c.StrokeLines(draw.LineStyle{Color: inkText, Width: 1.6}, []vg.Point{at(l.FromX, l.FromY), at(l.ToX, l.ToY)})
		if l.Label != "" {
			style := written(inkText, smallSize, text.XLeft, text.YCenter)
			middle := at((l.FromX+l.ToX)/2, (l.FromY+l.ToY)/2)
			if l.FromY == l.ToY {
				style.XAlign, middle.Y = text.XCenter, middle.Y+9
				c.FillText(style, middle.Add(vg.Point{Y: style.FontExtents().Descent}), fit(style, l.Label, vg.Length(max(l.ToX-l.FromX, l.FromX-l.ToX))))
				continue
			}
			c.FillText(style, middle.Add(vg.Point{X: 8, Y: style.FontExtents().Descent}), fit(style, l.Label, c.Max.X-middle.X-12))
		}
	}
	for _, b := range s.Boxes {
		b.draw(c, at)
	}
	return on.wrap(s.Title, s.Description)
}

func (b Box) draw(c draw.Canvas, at func(x, y float64) vg.Point) {
	color := inkFaint
	if b.Style >= 0 {
		color = inkOf(b.Style)
	}
	r := vg.Rectangle{Min: at(b.X, b.Y+b.Height), Max: at(b.X+b.Width, b.Y)}
	edge := draw.LineStyle{Color: color, Width: 1.6}
	if b.Around {
		edge.Dashes, edge.Width = []vg.Length{5, 4}, 1.2
	} else {
		c.SetColor(thin{color, 0.1})
		c.Fill(r.Path())
	}
	c.SetLineStyle(edge)
	c.Stroke(r.Path())
	const line = 17
	style := written(inkText, textSize, text.XCenter, text.YCenter)
	x, y := b.X+b.Width/2, b.Y+b.Height/2-line*float64(len(b.Lines)-1)/2
	if b.Around {
		style, x, y = written(inkText, smallSize, text.XLeft, text.YCenter), b.X+8, b.Y+13
	}
	for i, words := range b.Lines {
		of := style
		if i == 0 && !b.Around {
			of = bold(of)
		} else if !b.Around {
			of.Font.Size = smallSize
		}
		if words != "" {
			c.FillText(of, at(x, y+line*float64(i)).Add(vg.Point{Y: of.FontExtents().Descent}), fit(of, words, vg.Length(b.Width-12)))
		}
	}
}

package plot

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"vnfbench.io/operator/internal/excerpt"
)

// ink is a color that the page chooses: the class of an element, whose color is the CSS property of that name. Without a
// style sheet everything is black.
type ink string

// The inks besides those of styles.
const (
	inkText  ink = ""
	inkGrid  ink = "g"
	inkFaint ink = "f"
)

// RGBA makes ink a color.Color. Nothing reads these values.
func (ink) RGBA() (r, g, b, a uint32) { return 0, 0, 0, 0xffff }

// canvas is a vg.Canvas that writes SVG without style attributes, which a strict content security policy forbids, and with
// texts as texts. gonum's vgsvg writes colors into style attributes.
type canvas struct {
	out           bytes.Buffer
	width, height vg.Length
	state
	saved []state
}

// state is what Push saves.
type state struct {
	ink       ink
	opacity   float64
	lineWidth vg.Length
	dashes    []vg.Length
	// a to f are the transformation from (x, y) to (a*x + c*y + e, b*x + d*y + f).
	a, b, c, d, e, f float64
}

func newCanvas(width, height vg.Length) *canvas {
	c := &canvas{width: width, height: height, state: state{a: 1, d: 1, opacity: 1}}
	vg.Initialize(c)
	return c
}

// Size returns the width and the height.
func (c *canvas) Size() (x, y vg.Length) { return c.width, c.height }

// SetLineWidth sets the width of lines.
func (c *canvas) SetLineWidth(w vg.Length) { c.lineWidth = w }

// SetLineDash sets the dashes of lines.
func (c *canvas) SetLineDash(pattern []vg.Length, _ vg.Length) { c.dashes = pattern }

// SetColor takes an ink. Any other color is that of the text.
func (c *canvas) SetColor(of color.Color) {
	c.ink, c.opacity = inkText, 1
	switch of := of.(type) {
	case ink:
		c.ink = of
	case thin:
		c.ink, c.opacity = of.ink, of.opacity
	}
}

// thin is an ink that what is below shows through.
type thin struct {
	ink
	opacity float64
}

// Rotate rotates what follows.
func (c *canvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.multiply(cos, sin, -sin, cos, 0, 0)
}

// Translate moves what follows.
func (c *canvas) Translate(pt vg.Point) { c.multiply(1, 0, 0, 1, pt.X.Points(), pt.Y.Points()) }

// Scale scales what follows.
func (c *canvas) Scale(x, y float64) { c.multiply(x, 0, 0, y, 0, 0) }

func (c *canvas) multiply(a, b, cc, d, e, f float64) {
	s := c.state
	c.a, c.c, c.e = s.a*a+s.c*b, s.a*cc+s.c*d, s.a*e+s.c*f+s.e
	c.b, c.d, c.f = s.b*a+s.d*b, s.b*cc+s.d*d, s.b*e+s.d*f+s.f
}

// Push saves the state.
func (c *canvas) Push() { c.saved = append(c.saved, c.state) }

// Pop restores the state that Push saved.
func (c *canvas) Pop() {
	c.state, c.saved = c.saved[len(c.saved)-1], c.saved[:len(c.saved)-1]
}

// Stroke draws lines.
func (c *canvas) Stroke(path vg.Path) {
	if c.lineWidth <= 0 {
		return
	}
	c.element("path")
	c.attribute("d", c.data(path))
	c.attribute("fill", "none")
	c.attribute("stroke", "currentColor")
	c.attribute("stroke-width", decimal(c.lineWidth.Points(), 2))
	if len(c.dashes) > 0 {
		text := ""
		for _, d := range c.dashes {
			text += decimal(d.Points(), 1) + " "
		}
		c.attribute("stroke-dasharray", text[:len(text)-1])
	}
	if c.opacity < 1 {
		c.attribute("stroke-opacity", decimal(c.opacity, 2))
	}
	c.out.WriteString("/>")
}

// Fill fills an area.
func (c *canvas) Fill(path vg.Path) {
	c.element("path")
	c.attribute("d", c.data(path))
	c.attribute("fill", "currentColor")
	if c.opacity < 1 {
		c.attribute("fill-opacity", decimal(c.opacity, 2))
	}
	c.out.WriteString("/>")
}

// FillString writes a text as a text, as long as the layout expects it to be in whatever font the reader has.
func (c *canvas) FillString(f font.Face, pt vg.Point, text string) {
	text = excerpt.Line(text, maxTextBytes)
	if text == "" || f.Font.Size <= 0 {
		return
	}
	x, y := c.place(pt)
	c.element("text")
	c.attribute("x", decimal(x, 1))
	c.attribute("y", decimal(y, 1))
	c.attribute("font-size", decimal(f.Font.Size.Points(), 1))
	if f.Font.Weight > 0 {
		c.attribute("font-weight", "bold")
	}
	c.attribute("textLength", decimal(f.Width(text).Points(), 1))
	c.attribute("lengthAdjust", "spacingAndGlyphs")
	if degrees := math.Round(-math.Atan2(c.b, c.a) * 180 / math.Pi); degrees != 0 {
		c.attribute("transform", fmt.Sprintf("rotate(%s %s %s)", decimal(degrees, 0), decimal(x, 1), decimal(y, 1)))
	}
	fmt.Fprintf(&c.out, ` fill="currentColor">%s</text>`, html.EscapeString(text))
}

// DrawImage panics: no picture of this package has an image.
func (c *canvas) DrawImage(vg.Rectangle, image.Image) { panic("plot: pictures have no images") }

func (c *canvas) element(name string) {
	c.out.WriteString("<" + name)
	if c.ink != "" {
		c.attribute("class", string(c.ink))
	}
}

// attribute writes an attribute whose value is the package's own.
func (c *canvas) attribute(name, value string) { fmt.Fprintf(&c.out, ` %s="%s"`, name, value) }

// place returns a point with SVG's origin, which is at the top.
func (c *canvas) place(pt vg.Point) (x, y float64) {
	px, py := pt.X.Points(), pt.Y.Points()
	return c.a*px + c.c*py + c.e, c.height.Points() - (c.b*px + c.d*py + c.f)
}

// data returns the path with a tenth of a point.
func (c *canvas) data(path vg.Path) string {
	var out []byte
	point := func(command byte, pt vg.Point) {
		x, y := c.place(pt)
		out = append(out, command)
		out = append(append(append(out, decimal(x, 1)...), ' '), decimal(y, 1)...)
	}
	for _, part := range path {
		switch part.Type {
		case vg.MoveComp:
			point('M', part.Pos)
		case vg.LineComp:
			point('L', part.Pos)
		case vg.ArcComp:
			// Only whole circles are drawn: two halves.
			r := decimal(part.Radius.Points(), 1)
			for _, side := range []vg.Length{-1, 1} {
				out = append(out, fmt.Sprintf("A%s %s 0 0 0 ", r, r)...)
				point(' ', part.Pos.Add(vg.Point{X: side * part.Radius}))
			}
		case vg.CloseComp:
			out = append(out, 'Z')
		}
	}
	return string(out)
}

// decimal writes a number in few characters.
func decimal(value float64, digits int) string {
	scale := math.Pow10(digits)
	value = math.Round(value*scale) / scale
	if value == 0 || math.IsNaN(value) {
		return "0" // and never -0
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// maxTextBytes limits each text in a picture.
const maxTextBytes = 240

// wrap returns the SVG of what was drawn, as a part of HTML.
func (c *canvas) wrap(title, description string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" viewBox="0 0 %s %s" width="100%%" font-family="%s">`+
		"<title>%s</title><desc>%s</desc>%s</svg>",
		decimal(c.width.Points(), 1), decimal(c.height.Points(), 1), "Arimo, Arial, Helvetica, Liberation Sans, sans-serif",
		html.EscapeString(excerpt.Line(title, maxTextBytes)), html.EscapeString(excerpt.Line(description, 10*maxTextBytes)), c.out.String())
}

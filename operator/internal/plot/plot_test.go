package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const hostile = `"><script>alert('x')</script><a href="javascript:alert(1)" onclick="x">&amp;` + "\x00\x1b[2J\u202e"

// every returns charts with each kind of layer and of axis, and with hostile texts and values.
func every() map[string]interface{ SVG() (string, error) } {
	nan, inf := math.NaN(), math.Inf(1)
	line := Line{Name: hostile, Style: 1, Marked: true, Points: []Point{{1, 5}, {2, nan}, {3, 0}, {4, 1e-3}, {inf, 2}, {5, 1e6}}}
	return map[string]interface{ SVG() (string, error) }{
		"linear":      Chart{Title: hostile, Description: hostile, X: Axis{Label: hostile}, Y: Axis{Label: "µs"}, Layers: []Layer{line}},
		"steps":       Chart{Title: "t", X: Axis{Log: true}, Y: Axis{Log: true}, Layers: []Layer{Line{Steps: true, Points: []Point{{1, 1}, {10, 0.5}, {100, 1e-6}}}}},
		"with zeros":  Chart{Title: "t", X: Axis{}, Y: Axis{Log: true, Zero: true}, Layers: []Layer{line, Rule{Name: "a", At: 100}, Rule{At: 2, Vertical: true}, Region{Name: "b", Style: 4, Low: 1, High: inf}}},
		"only zeros":  Chart{Title: "t", Y: Axis{Log: true, Zero: true}, Layers: []Layer{Marks{Points: []Point{{1, 0}, {2, 0}}}}},
		"one point":   Chart{Title: "t", Layers: []Layer{Marks{Name: "n", Points: []Point{{1e9, -3}}}}},
		"one on logs": Chart{Title: "t", X: Axis{Log: true}, Y: Axis{Log: true}, Layers: []Layer{Line{Marked: true, Points: []Point{{1e-9, 1e18}}}}},
		"huge":        Chart{Title: "t", Layers: []Layer{Line{Points: []Point{{-math.MaxInt64, math.MinInt64}, {math.MaxInt64, math.MaxInt64}}}}},
		"all equal":   Chart{Title: "t", X: Axis{FromZero: true}, Y: Axis{FromZero: true}, Layers: []Layer{Line{Points: []Point{{0, 0}, {0, 0}}}}},
		"categories": Chart{Title: "t", X: Axis{Label: "cores", FromZero: true}, Y: Axis{Categories: []string{hostile, strings.Repeat("long ", 50), ""}}, Values: []string{"", strings.Repeat(hostile, 3), "3", "4"}, Layers: []Layer{
			Stacks{Names: []string{"a", "b", "c", "d", "e", "f"}, Values: [][]float64{{1, 2, 0, nan, inf, 3}, {-1}, {}}},
			Intervals{Name: "i", Items: []Interval{{0, 1, 2}, {1, 1, inf}, {2, math.Inf(-1), 3}, {2, nan, nan}}}, Intervals{Name: "w", Wide: true, Items: []Interval{{0, 2, 2}}},
			Marks{Name: "m", Points: []Point{{9, 0}, {1, 1}}},
		}},
		"heat": HeatMap{Title: "t", Label: hostile, ColumnTitle: hostile, RowTitle: "r", Columns: []string{"1", hostile}, Rows: []string{"a", "b", "c"}, Cells: [][]Cell{{{1, "1"}, {nan, "-"}}, {{3, hostile}, {inf, "x"}, {4, "too many"}}}},
	}
}

// TestPictures checks that each picture is well formed, the same each time, and has nothing that a strict content security policy forbids
// or that a text of the data could add.
func TestPictures(t *testing.T) {
	for name, picture := range every() {
		svg, err := picture.SVG()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again, _ := picture.SVG(); again != svg {
			t.Errorf("%s: the same data give other bytes", name)
		}
		check(t, name, svg)
	}
	sketch := Sketch{Title: hostile, Height: 200, Boxes: []Box{{X: 1, Y: 1, Width: 100, Height: 50, Lines: []string{hostile, "b"}}, {Width: 10, Height: 10, Around: true, Style: -1, Lines: []string{hostile}}}, Links: []Link{{0, 0, 50, 0, hostile}, {0, 0, 0, 50, "down"}}}
	check(t, "sketch", sketch.SVG())
}

// allowed are the elements and attributes of pictures.
var allowed = map[string]string{
	"svg": "class role viewBox width font-family", "title": "", "desc": "",
	"path": "class d fill stroke stroke-width stroke-dasharray stroke-opacity fill-opacity",
	"text": "class x y font-size font-weight textLength lengthAdjust transform fill",
}

var coordinates = regexp.MustCompile(`-?[0-9.]+`)

func check(t *testing.T, name, svg string) {
	t.Helper()
	if !strings.HasPrefix(svg, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" viewBox="0 0 480 `) || !strings.Contains(svg, "<title>") || !strings.Contains(svg, "<desc>") {
		t.Errorf("%s begins %.200s", name, svg)
	}
	decoder, paths := xml.NewDecoder(strings.NewReader(svg)), 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s is not well formed: %v\n%s", name, err, svg)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes, known := allowed[start.Name.Local]
		if !known {
			t.Errorf("%s has the element %s", name, start.Name.Local)
		}
		for _, a := range start.Attr {
			if a.Name.Local != "xmlns" && !strings.Contains(" "+attributes+" ", " "+a.Name.Local+" ") {
				t.Errorf("%s: %s has the attribute %s", name, start.Name.Local, a.Name.Local)
			}
			if a.Name.Local == "d" {
				paths++
				for _, n := range coordinates.FindAllString(a.Value, -1) {
					if v, err := strconv.ParseFloat(n, 64); err != nil || v < -20 || v > 1400 {
						t.Errorf("%s draws at %s: %s", name, n, a.Value)
					}
				}
			}
		}
	}
	if paths == 0 || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("%s has %d paths: %s", name, paths, svg)
	}
}

// TestNothingToDraw checks that a picture without a point is an error, and no empty picture.
func TestNothingToDraw(t *testing.T) {
	for name, picture := range map[string]interface{ SVG() (string, error) }{
		"no layer":           Chart{Title: "t"},
		"no point":           Chart{Layers: []Layer{Line{}, Marks{}, Stacks{}, Intervals{}}},
		"no number":          Chart{Layers: []Layer{Line{Points: []Point{{math.NaN(), 1}, {1, math.Inf(1)}}}}},
		"zeros on logs":      Chart{Y: Axis{Log: true}, Layers: []Layer{Line{Points: []Point{{1, 0}, {2, -1}}}}},
		"only lines across":  Chart{Layers: []Layer{Rule{At: 1}, Region{Low: 1, High: 2}}},
		"an empty heat map":  HeatMap{},
		"no number for heat": HeatMap{Columns: []string{"a"}, Rows: []string{"b"}, Cells: [][]Cell{{{math.NaN(), "-"}}}},
	} {
		if svg, err := picture.SVG(); !errors.Is(err, ErrNoData) || svg != "" {
			t.Errorf("%s: %v, %q", name, err, svg)
		}
	}
}

// TestZeroIsNamed checks that a loss of 0 is drawn on its own line, and left out where the axis has none.
func TestZeroIsNamed(t *testing.T) {
	points := []Point{{1, 0}, {2, 10}, {3, 1000}}
	for zero, want := range map[bool]int{true: 3, false: 2} {
		svg, err := Chart{Y: Axis{Log: true, Zero: zero}, Layers: []Layer{Marks{Points: points}}}.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(svg, `class="s0"`); got != want || strings.Contains(svg, ">0</text>") != zero {
			t.Errorf("with a line for 0 %v: %d marks, want %d", zero, got, want)
		}
	}
}

// TestStylesDiffer checks that no two of the first twelve styles look the same without color, and that no two of the first eight do in color.
func TestStylesDiffer(t *testing.T) {
	for a := range 12 {
		for b := range a {
			if markerOf(a) == markerOf(b) && len(dashesOf(a)) == len(dashesOf(b)) && inkOf(a) == inkOf(b) {
				t.Errorf("styles %d and %d look the same", a, b)
			}
			if a < Styles && (markerOf(a) == markerOf(b) || inkOf(a) == inkOf(b)) {
				t.Errorf("styles %d and %d cannot be distinguished", a, b)
			}
		}
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 1: "1", 1234: "1234", 12345: "12.35k", 1.23456: "1.235", 0.001: "0.001", 1e-6: "1e-06", -2500: "−2500", 3e9: "3G", 999.96: "1000", math.NaN(): "-",
	} {
		if got := Number(value); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
}

// FuzzChart checks that no values panic, and that what comes out is well formed.
func FuzzChart(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 4.0, true, false, "name")
	f.Add(-1e308, 1e308, 5e-324, 0.0, false, true, hostile)
	f.Add(1e-320, 1e-320, 1e-100, 1e-100, true, true, "a range without room")
	f.Add(0.0, 0.0, 5e-324, 5e-324, false, false, "steps of 0")
	f.Add(-1e100, -1e100, 1e100, 1e100, false, false, "")
	f.Add(1e-100, 1e-100, 1e100, 1e100, true, true, "")
	f.Fuzz(func(t *testing.T, a, b, c, d float64, logX, logY bool, name string) {
		chart := Chart{Title: name, X: Axis{Label: name, Log: logX, Zero: logY}, Y: Axis{Log: logY, FromZero: logX}, Layers: []Layer{Line{Name: name, Points: []Point{{a, b}, {c, d}}, Marked: true}, Region{Low: a, High: c}, Rule{At: b}}}
		if svg, err := chart.SVG(); err == nil {
			if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
				t.Fatalf("%v: %s", err, svg)
			}
		}
	})
}

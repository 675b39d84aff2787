package page_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/plot"
)

var declared = regexp.MustCompile(`--([a-z0-9]+): #([0-9a-f]{6});`)

// schemes returns the colors of the style sheet by their names, in light, in dark and in print.
func schemes(t *testing.T) map[string]map[string][3]float64 {
	t.Helper()
	light, rest, found := strings.Cut(page.Style, "@media (prefers-color-scheme: dark)")
	dark, print, foundToo := strings.Cut(rest, "@media print")
	if !found || !foundToo {
		t.Fatal("the style sheet has no dark or no printed colors")
	}
	out := map[string]map[string][3]float64{}
	for name, text := range map[string]string{"light": light, "dark": dark, "print": print} {
		out[name] = map[string][3]float64{}
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			n, err := strconv.ParseUint(m[2], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			out[name][m[1]] = [3]float64{float64(n >> 16), float64(n >> 8 & 255), float64(n & 255)}
		}
	}
	return out
}

// luminance is that of WCAG 2.
func luminance(c [3]float64) float64 {
	linear := func(v float64) float64 {
		if v /= 255; v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// over returns a color that covers another in part.
func over(below, above [3]float64, opacity float64) (out [3]float64) {
	for i := range out {
		out[i] = below[i]*(1-opacity) + above[i]*opacity
	}
	return out
}

// TestContrast checks that texts have a contrast of 4.5 to 1 and lines one of 3 to 1 (WCAG 2, 1.4.3 and 1.4.11), in light, in dark and in print.
func TestContrast(t *testing.T) {
	for scheme, colors := range schemes(t) {
		if len(colors) < 21 {
			t.Fatalf("%s has %d colors", scheme, len(colors))
		}
		least := func(what string, got, want float64) {
			if got < want {
				t.Errorf("%s: %s has a contrast of %.2f, want %.1f", scheme, what, got, want)
			}
		}
		for _, text := range []string{"ink", "soft", "link", "good", "bad", "unsure", "open"} {
			least(text, contrast(colors[text], colors["paper"]), 4.5)
			least(text+" on a panel", contrast(colors[text], colors["panel"]), 4.5)
		}
		for i := range plot.Styles {
			name := fmt.Sprintf("s%d", i)
			least(name, contrast(colors[name], colors["paper"]), 3)
		}
		least("axis", contrast(colors["axis"], colors["paper"]), 3)
		for step := range plot.HeatSteps {
			least(fmt.Sprintf("text on shade %d", step), contrast(colors["ink"], over(colors["paper"], colors["heat"], plot.HeatOpacity(step))), 4.5)
		}
	}
}

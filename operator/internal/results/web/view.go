package web

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/results/index"
)

//go:embed style.css
var style string

//go:embed pages.gohtml
var text string

// sheets are the style sheets of a page: that of reports, and what the pages of results have in addition.
func sheets() []string { return []string{page.Style, style} }

// view is what a page shows.
type view struct {
	// Root leads to the first page.
	Root, Kind, Title string
	// Query is what was searched for.
	Query  string
	Status index.Status
	Foot   string
	Data   any
}

func (s *server) view(r *request, kind, title string) view {
	return view{Root: r.root, Kind: kind, Title: title, Query: r.URL.Query().Get("q"), Status: s.Index.Status(), Foot: "vnfbench " + s.Version}
}

// parsed returns the templates, with those of reports.
func parsed() *template.Template {
	return template.Must(page.Pieces().Funcs(template.FuncMap{
		"sheets": func() (out []template.CSS) {
			for _, sheet := range sheets() {
				out = append(out, template.CSS(sheet)) //nolint:gosec // They are files of this program.
			}
			return out
		},
		"words": words, "class": classOf, "amount": func(value int64, unit string) string { return amount(value, figure.Unit(unit)) }, "headline": headline, "at": at,
		"digest": index.SeriesDigest, "percent": percent, "path": url.PathEscape,
		"field": func(label, name string, query url.Values, choices []string) any {
			return struct {
				Label, Name, Value string
				Choices            []string
			}{label, name, query.Get(name), choices}
		},
		"joined": func(v view, l list) any {
			return struct {
				View view
				List list
			}{v, l}
		},
	}).Parse(text))
}

// kept returns a report without sections that show nothing.
func kept(v page.View) page.View {
	v.Sections = slices.DeleteFunc(v.Sections, func(s page.Section) bool {
		return s.Lead == nil && len(s.Notes)+len(s.Figures)+len(s.Parts)+len(s.Folded)+len(s.Texts) == 0
	})
	return v
}

// render answers with a page.
func (s *server) render(r *request, status int, name string, v view) error {
	var out bytes.Buffer
	if err := s.templates.ExecuteTemplate(&out, name, v); err != nil {
		return fmt.Errorf("writing the page %q: %w", name, err)
	}
	return r.send(status, "text/html; charset=utf-8", out.Bytes())
}

// writeJSON answers with JSON.
func (r *request) writeJSON(status int, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return r.send(status, "application/json", append(text, '\n'))
}

// words writes a name such as NotMeasured as words.
func words(name string) string {
	var out strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			out.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// classOf returns the class of a verdict in the style sheet.
func classOf(verdict string) string {
	switch verdict {
	case index.VerdictPassed, string(regression.VerdictPass), string(regression.VerdictImprovement):
		return "good"
	case index.VerdictFailed, index.VerdictNotMeasured, index.VerdictRegression:
		return "bad"
	case index.VerdictInconclusive:
		return "unsure"
	}
	return "open"
}

// amount writes a value with its unit.
func amount(value int64, unit figure.Unit) string {
	number, name := unit.ForPeople(value)
	return strings.TrimSpace(plot.Number(number) + " " + name)
}

// headline returns the first figure of a metric, "≥" before a floor; empty where there is none.
func headline(figures []index.Figure, metric string) string {
	for _, f := range figures {
		if string(f.Metric) == metric {
			bound := map[figure.Bound]string{figure.AtLeast: "≥ ", figure.AtMost: "≤ "}[f.Bound]
			return bound + amount(f.Value, f.Unit)
		}
	}
	return ""
}

// at writes a time; empty for none.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// percent writes parts per million as a change in percent.
func percent(partsPerMillion int64) string {
	share := float64(partsPerMillion) / 1e4
	sign := "+"
	if share < 0 {
		sign = "−"
	}
	return fmt.Sprintf("%s%.1f %%", sign, math.Abs(share))
}

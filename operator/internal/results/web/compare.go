package web

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	compared "vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/results/index"
)

const (
	// maxCompared is how many runs a page compares.
	maxCompared = report.MaxColumns
	// maxComparedBytes is how much JSON their documents have together.
	maxComparedBytes = 2 * document.MaximumBytes
)

// chosen returns the runs that a query names, each as NAMESPACE/UID or as its UID.
func (s *server) chosen(r *request) ([]index.Item, error) {
	names := r.URL.Query()["run"]
	if len(names) < 2 || len(names) > maxCompared {
		return nil, badRequest("Name 2 to %d runs, not %d: choose them in the list of runs, or give run=NAMESPACE/UID for each.", maxCompared, len(names))
	}
	var items []index.Item
	seen := map[string]bool{}
	for _, name := range names {
		item, err := s.named(r, name)
		if err != nil {
			return nil, err
		}
		if seen[item.Key] {
			return nil, badRequest("Run %s is named twice: each has one column.", item.Name)
		}
		seen[item.Key] = true
		items = append(items, item)
	}
	return items, nil
}

// named returns the run that a parameter names.
func (s *server) named(r *request, name string) (index.Item, error) {
	if namespace, uid, isWhole := strings.Cut(name, "/"); isWhole {
		return s.item(r, index.KindRun, namespace, uid)
	}
	scope, err := s.scope(r, "")
	if err != nil {
		return index.Item{}, err
	}
	found, err := s.Index.Find(r.Context(), scope, index.KindRun, name)
	switch {
	case err != nil:
		return index.Item{}, err
	case len(found) == 0:
		return index.Item{}, notFound("Run " + cut(name, 80))
	case len(found) > 1:
		return index.Item{}, badRequest("Runs of two namespaces have UID %s: give NAMESPACE/UID.", cut(name, 80))
	}
	return found[0], nil
}

// comparison is that of some runs.
type comparison struct {
	report.Comparison
	Items []index.Item
}

// comparison compares the runs that a query names.
func (s *server) comparison(r *request) (c comparison, err error) {
	if c.Items, err = s.chosen(r); err != nil {
		return c, err
	}
	release, err := s.hold(r.Context(), maxDocuments)
	if err != nil {
		return c, err
	}
	defer release()
	var columns []report.Column
	left := maxComparedBytes
	for _, item := range c.Items {
		data, err := s.read(r.Context(), item)
		if err != nil {
			return c, err
		}
		text, err := plain(data, left)
		if err != nil {
			return c, &failure{http.StatusRequestEntityTooLarge, fmt.Sprintf("These documents have more than %d MiB together: compare fewer runs, or use `kubectl vnfbench compare`.", maxComparedBytes>>20)}
		}
		left -= len(text)
		doc, err := document.Read(bytes.NewReader(text))
		if err != nil {
			return c, damaged(item, err)
		}
		columns = append(columns, report.Column{Name: item.Name, Documents: []report.Document{doc}})
	}
	c.Comparison, err = report.Compare(columns, compared.AdjustNone, s.Now())
	return c, err
}

func (s *server) compare(r *request) error {
	c, err := s.comparison(r)
	if err != nil {
		return err
	}
	v := s.view(r, "Results", "Comparison")
	v.Data = struct {
		comparison
		Rows []comparedRow
	}{c, rowsOf(c.Comparison)}
	return s.render(r, http.StatusOK, "compare", v)
}

// plain returns the JSON of a document, which is at most as much as most.
func plain(data []byte, most int) ([]byte, error) {
	if isPacked(data) {
		return unpacked(data, most)
	}
	if len(data) > most {
		return nil, document.ErrTooLarge
	}
	return data, nil
}

// comparedRow is a figure of each run, in words.
type comparedRow struct {
	Name, Of string
	Cells    []string
}

// rowsOf returns the figures of a comparison for people: each with its difference from the first run, and "~" where the test finds none.
func rowsOf(c report.Comparison) []comparedRow {
	var out []comparedRow
	for _, f := range c.Figures {
		row := comparedRow{Name: figure.Describe(f.Metric).Words}
		var of []string
		for _, name := range slices.Sorted(maps.Keys(f.About)) {
			if name != "metric" {
				of = append(of, name+" "+f.About[name])
			}
		}
		row.Of = strings.Join(of, ", ")
		for i, value := range f.Values {
			if value == nil {
				row.Cells = append(row.Cells, "")
				continue
			}
			text := amount(*value, f.Unit)
			if i < len(f.Floors) && f.Floors[i] {
				text = "≥ " + text
			}
			if i > 0 && i <= len(f.Differences) {
				text += difference(f.Differences[i-1])
			}
			row.Cells = append(row.Cells, text)
		}
		out = append(out, row)
	}
	return out
}

// difference writes a difference from the first run with its interval and what the test says.
func difference(d compared.Difference) string {
	if d.PartsPerMillion == nil {
		return ""
	}
	text := " (" + percent(*d.PartsPerMillion)
	if d.LowerPartsPerMillion != nil && d.UpperPartsPerMillion != nil {
		text += ", " + percent(*d.LowerPartsPerMillion) + " to " + percent(*d.UpperPartsPerMillion)
	}
	switch d.Verdict {
	case "":
	case compared.Unclear:
		text += ", ~"
	default:
		text += ", " + strings.ToLower(words(string(d.Verdict)))
	}
	return text + ")"
}

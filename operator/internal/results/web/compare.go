package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/page"
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

// compared is the comparison of some runs.
type compared struct {
	report.Comparison
	Items []index.Item
}

// comparison compares the runs that a query names.
func (s *server) comparison(r *request) (c compared, err error) {
	if c.Items, err = s.chosen(r); err != nil {
		return c, err
	}
	if err := s.hold(r, maxDocuments); err != nil {
		return c, err
	}
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
	c.Comparison, err = report.Compare(columns, comparison.AdjustNone, s.Now())
	return c, err
}

func (s *server) compare(r *request) error {
	c, err := s.comparison(r)
	if err != nil {
		return err
	}
	shown := kept(page.Comparison(c.Comparison))
	v := s.view(r, shown.Kind, shown.Title)
	v.Data = struct {
		Items  []index.Item
		Report page.View
	}{c.Items, shown}
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

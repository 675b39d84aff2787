package web

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/page"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/series"
)

func (s *server) suites(r *request) error {
	query := r.URL.Query()
	scope, err := s.scope(r, query.Get("namespace"))
	if err != nil {
		return err
	}
	found, err := s.Index.Suites(r.Context(), scope, query.Get("namespace"), query.Get("after"), pageLength)
	if err != nil {
		return err
	}
	v := s.view(r, "Results", "Suites")
	v.Data = struct {
		Items []index.SuiteSummary
		Next  string
	}{found.Items, next(query, found.Next)}
	return s.render(r, http.StatusOK, "suites", v)
}

// execution finds the execution of a suite that a query names, or its latest one.
func (s *server) execution(r *request) (index.Item, error) {
	namespace, suite := r.PathValue("namespace"), r.PathValue("name")
	return s.latest(r, index.KindSuite, index.Filter{Namespace: namespace, Suite: suite, Execution: r.URL.Query().Get("execution"),
		WithoutConfirmations: r.URL.Query().Get("execution") == ""}, "The suite")
}

// latest returns the newest document that a filter of one namespace selects, where the viewer may see it.
func (s *server) latest(r *request, kind string, filter index.Filter, what string) (index.Item, error) {
	may, err := r.viewer.MayGet(r.Context(), filter.Namespace)
	if err != nil {
		return index.Item{}, err
	}
	if !may {
		return index.Item{}, notFound(what)
	}
	item, isKnown, err := s.Index.Latest(r.Context(), index.Scope{Namespaces: []string{filter.Namespace}}, kind, filter)
	if err == nil && !isKnown {
		err = notFound(what)
	}
	return item, err
}

// decodedSuite returns the document of an execution.
func (s *server) decodedSuite(ctx context.Context, i index.Item) (report.SuiteDocument, error) {
	data, err := s.read(ctx, i)
	if err != nil {
		return report.SuiteDocument{}, err
	}
	doc, err := document.ReadSuite(bytes.NewReader(data))
	return doc, damaged(i, err)
}

// maxColumns is how many values of the last axis a matrix has; one with more is a list.
const maxColumns = 12

// place is a cell of a matrix.
type place struct {
	Name  string
	State v1alpha1.MeasurementState
	// Rate and P99 are its figures for people; empty where there are none.
	Rate, P99 string
	// Verdict is the worst one of its series; empty where they were not judged.
	Verdict string
	// Runs are those whose documents the archive has.
	Runs []index.Item
}

// matrix is an execution by its axes.
type matrix struct {
	// Axes name the columns before the places, Last is the axis of the places; empty for a list with one place in each row.
	Axes    []string
	Last    string
	Columns []string
	Rows    []matrixRow
	Figure  string
}

type matrixRow struct {
	Names  []string
	Places []*place
}

// matrixOf lays the cells of an execution out: the last axis beside, the others below each other.
func matrixOf(doc report.SuiteDocument, members map[string]index.Item) matrix {
	verdicts := map[string]string{}
	if doc.Regression != nil && doc.Regression.Execution == doc.Execution.Name {
		for _, c := range doc.Regression.Cells {
			verdicts[c.Name] = c.Verdict
		}
	}
	m := matrix{}
	var columns []string
	isTable := len(doc.Axes) > 1
	for _, cell := range doc.Cells {
		if m.Figure == "" {
			m.Figure = cell.Figure
		}
		if len(doc.Axes) > 0 && len(cell.Values) == len(doc.Axes) {
			if value := string(cell.Values[doc.Axes[len(doc.Axes)-1].Name]); !slices.Contains(columns, value) {
				columns = append(columns, value)
			}
		} else {
			isTable = false
		}
	}
	if isTable = isTable && len(columns) <= maxColumns; isTable {
		m.Last, m.Columns = doc.Axes[len(doc.Axes)-1].Name, columns
		for _, axis := range doc.Axes[:len(doc.Axes)-1] {
			m.Axes = append(m.Axes, axis.Name)
		}
	} else {
		m.Axes = []string{"Cell"}
	}
	at := map[string]int{}
	for _, cell := range doc.Cells {
		p := placeOf(cell, verdicts[cell.Name], members)
		names := []string{cell.Name}
		if isTable {
			names = nil
			for _, axis := range m.Axes {
				names = append(names, string(cell.Values[axis]))
			}
		}
		key := strings.Join(names, "\x00")
		row, found := at[key]
		if !found {
			row, at[key] = len(m.Rows), len(m.Rows)
			m.Rows = append(m.Rows, matrixRow{Names: names, Places: make([]*place, max(1, len(m.Columns)))})
		}
		column := 0
		if isTable {
			column = slices.Index(m.Columns, string(cell.Values[m.Last]))
		}
		// The first has the place: the control cell has the values of the one that it repeats.
		if m.Rows[row].Places[column] == nil {
			m.Rows[row].Places[column] = &p
		}
	}
	return m
}

func placeOf(cell report.SuiteCell, verdict string, members map[string]index.Item) place {
	p := place{Name: cell.Name, State: cell.State, Verdict: verdict}
	if cell.FramesPerSecond != nil {
		p.Rate = amount(*cell.FramesPerSecond, figure.FramesPerSecond)
	}
	if cell.P99Nanoseconds != nil {
		p.P99 = amount(*cell.P99Nanoseconds, figure.Nanoseconds)
	}
	for _, m := range cell.Measurements {
		if item, found := members[m.Run]; found {
			p.Runs = append(p.Runs, item)
		}
	}
	return p
}

// said is the verdict of a series.
type said struct {
	v1alpha1.SeriesVerdict
	// Digest is that of the series; empty where the archive has no point of it.
	Digest string
}

// saidOf returns what a suite says of its series.
func (s *server) saidOf(ctx context.Context, namespace string, judged *v1alpha1.RegressionStatus) ([]said, error) {
	if judged == nil {
		return nil, nil
	}
	var digests []string
	for _, v := range judged.Verdicts {
		digests = append(digests, index.SeriesDigest(series.Key{Namespace: namespace, Experiment: v.Experiment, Testbed: v.Testbed, Figure: v.Figure}))
	}
	known, err := s.Index.Known(ctx, digests)
	var out []said
	for i, v := range judged.Verdicts {
		if !known[digests[i]] {
			digests[i] = ""
		}
		out = append(out, said{v, digests[i]})
	}
	return out, err
}

// failed is a measurement that failed.
type failed struct {
	Run, Reason, Message string
	// Item is its document; nil where the archive has none.
	Item *index.Item
}

// suitePage is an execution and the history of its suite.
type suitePage struct {
	index.Item
	Document report.SuiteDocument
	Matrix   matrix
	// Pictures are those of the report of the execution.
	Pictures []page.Section
	Series   []said
	Failed   []failed
	History  list
}

func (s *server) suite(r *request) error {
	item, err := s.execution(r)
	if err != nil {
		return err
	}
	members, err := s.Index.Members(r.Context(), item.Namespace, item.UID)
	if err != nil {
		return err
	}
	scope := index.Scope{Namespaces: []string{item.Namespace}}
	history, err := s.Index.List(r.Context(), scope, index.KindSuite, index.Filter{Namespace: item.Namespace, Suite: item.Suite}, r.URL.Query().Get("after"), pageLength)
	if err != nil {
		return err
	}
	if err := s.hold(r, 1); err != nil {
		return err
	}
	doc, err := s.decodedSuite(r.Context(), item)
	if err != nil {
		return err
	}
	shown := suitePage{Item: item, Document: doc, Matrix: matrixOf(doc, members), History: list{Page: history, Next: next(r.URL.Query(), history.Next)}}
	for _, section := range page.Suite(doc).Sections {
		if len(section.Figures) > 0 {
			shown.Pictures = append(shown.Pictures, page.Section{ID: "pictures-" + section.ID, Title: section.Title, Notes: section.Notes, Figures: section.Figures})
		}
	}
	if shown.Series, err = s.saidOf(r.Context(), item.Namespace, doc.Regression); err != nil {
		return err
	}
	for _, cell := range doc.Cells {
		for _, m := range cell.Measurements {
			if m.State != v1alpha1.MeasurementFailed {
				continue
			}
			f := failed{Run: m.Run, Reason: m.Reason, Message: m.Message}
			if member, found := members[m.Run]; found {
				f.Item = &member
			}
			shown.Failed = append(shown.Failed, f)
		}
	}
	v := s.view(r, "Suite", item.Namespace+"/"+item.Suite)
	v.Data = shown
	return s.render(r, http.StatusOK, "suite", v)
}

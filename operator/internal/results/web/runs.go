package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"vnfbench.io/operator/internal/results/index"
)

// pageLength is how many rows a page has, maxChoices how many values it offers in a field.
const (
	pageLength = 50
	maxChoices = 50
)

// filterOf reads the filters of a query.
func filterOf(query url.Values) (f index.Filter, err error) {
	f = index.Filter{
		Namespace: query.Get("namespace"), Testbed: query.Get("testbed"), Experiment: query.Get("experiment"), Suite: query.Get("suite"),
		Execution: query.Get("execution"), Verdict: query.Get("verdict"), Text: query.Get("q"),
	}
	if known := append(index.Verdicts(), index.VerdictRegression); f.Verdict != "" && !slices.Contains(known, f.Verdict) {
		return f, badRequest("verdict %q is not known: give one of %s", cut(f.Verdict, 40), strings.Join(known, ", "))
	}
	if f.Since, err = timeOf(query, "since"); err != nil {
		return f, err
	}
	if f.Until, err = timeOf(query, "until"); err != nil {
		return f, err
	}
	if !f.Until.IsZero() && len(query.Get("until")) == len(time.DateOnly) {
		// A day is meant to its end.
		f.Until = f.Until.AddDate(0, 0, 1)
	}
	return f, nil
}

// timeOf reads a day or a time.
func timeOf(query url.Values, name string) (time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, badRequest("%s is %q: give a day as 2026-01-31 or a time as 2026-01-31T12:00:00Z", name, cut(text, 40))
}

// scope returns what the viewer sees, of one namespace where the query names one.
func (s *server) scope(r *request, namespace string) (index.Scope, error) {
	return scopeOf(r.Context(), r.viewer, s.Index, namespace)
}

// next returns the query of the page that continues a list.
func next(query url.Values, after string) string {
	if after == "" {
		return ""
	}
	changed := url.Values{}
	for name, values := range query {
		changed[name] = values
	}
	changed.Set("after", after)
	return "?" + changed.Encode()
}

// list is a page of runs or executions.
type list struct {
	index.Page
	Query                                     url.Values
	Next                                      string
	Namespaces, Testbeds, Experiments, Suites []string
	Verdicts                                  []string
}

func (s *server) runs(r *request) error {
	query := r.URL.Query()
	l, scope, err := s.list(r, index.KindRun, pageLength)
	if err != nil {
		return err
	}
	for field, into := range map[string]*[]string{"namespace": &l.Namespaces, "testbed": &l.Testbeds, "experiment": &l.Experiments, "suite": &l.Suites} {
		if *into, err = s.Index.Choices(r.Context(), scope, field, maxChoices); err != nil {
			return err
		}
	}
	l.Query, l.Verdicts = query, index.Verdicts()
	v := s.view(r, "Results", "Runs")
	v.Data = l
	return s.render(r, http.StatusOK, "runs", v)
}

// list returns a page of documents that the query selects.
func (s *server) list(r *request, kind string, length int) (list, index.Scope, error) {
	query := r.URL.Query()
	filter, err := filterOf(query)
	if err != nil {
		return list{}, index.Scope{}, err
	}
	scope, err := s.scope(r, filter.Namespace)
	if err != nil {
		return list{}, scope, err
	}
	found, err := s.Index.List(r.Context(), scope, kind, filter, query.Get("after"), length)
	return list{Page: found, Query: query, Next: next(query, found.Next)}, scope, err
}

// found is what a search found.
type found struct {
	Runs, Executions list
}

func (s *server) search(r *request) error {
	runs, _, err := s.list(r, index.KindRun, pageLength)
	if err != nil {
		return err
	}
	executions, _, err := s.list(r, index.KindSuite, pageLength)
	if err != nil {
		return err
	}
	v := s.view(r, "Results", "Search")
	v.Data = found{Runs: runs, Executions: executions}
	return s.render(r, http.StatusOK, "search", v)
}

func (s *server) damaged(r *request) error {
	query := r.URL.Query()
	scope, err := s.scope(r, query.Get("namespace"))
	if err != nil {
		return err
	}
	page, err := s.Index.Damaged(r.Context(), scope, query.Get("after"), pageLength)
	if err != nil {
		return err
	}
	v := s.view(r, "Results", "What cannot be shown")
	v.Data = struct {
		index.DamagedPage
		Next string
	}{page, next(query, page.Next)}
	return s.render(r, http.StatusOK, "damaged", v)
}

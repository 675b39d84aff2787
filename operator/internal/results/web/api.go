package web

import (
	"net/http"
	"strconv"

	"vnfbench.io/operator/internal/results/index"
)

// maxAPILength is how many items an answer has at most.
const maxAPILength = 200

// length returns how many items a query asks for.
func length(r *request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return pageLength, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxAPILength {
		return 0, badRequest("limit is %q: give a number from 1 to %d", cut(text, 40), maxAPILength)
	}
	return n, nil
}

func (s *server) apiList(r *request, kind string) error {
	n, err := length(r)
	if err != nil {
		return err
	}
	found, _, err := s.list(r, kind, n)
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, found.Page)
}

func (s *server) apiRuns(r *request) error { return s.apiList(r, index.KindRun) }

func (s *server) apiExecutions(r *request) error { return s.apiList(r, index.KindSuite) }

func (s *server) apiItem(r *request, kind string) error {
	item, err := s.item(r, kind, r.PathValue("namespace"), r.PathValue("uid"))
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, item)
}

func (s *server) apiRun(r *request) error { return s.apiItem(r, index.KindRun) }

func (s *server) apiExecution(r *request) error { return s.apiItem(r, index.KindSuite) }

func (s *server) apiRunDocument(r *request) error { return s.download(r, index.KindRun) }

func (s *server) apiExecutionDocument(r *request) error { return s.download(r, index.KindSuite) }

// apiScope returns what a query sees, and how many items it asks for.
func (s *server) apiScope(r *request) (scope index.Scope, n int, err error) {
	if n, err = length(r); err != nil {
		return scope, 0, err
	}
	scope, err = s.scope(r, r.URL.Query().Get("namespace"))
	return scope, n, err
}

func (s *server) apiSuites(r *request) error {
	scope, n, err := s.apiScope(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	found, err := s.Index.Suites(r.Context(), scope, query.Get("namespace"), query.Get("after"), n)
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, found)
}

func (s *server) apiSeriesList(r *request) error {
	scope, n, err := s.apiScope(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	filter := index.SeriesFilter{Namespace: query.Get("namespace"), Experiment: query.Get("experiment"), Testbed: query.Get("testbed"), Figure: query.Get("figure")}
	found, err := s.Index.Series(r.Context(), scope, filter, query.Get("after"), n)
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, found)
}

func (s *server) apiSeries(r *request) error {
	t, err := s.trend(r)
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, t)
}

func (s *server) apiCompare(r *request) error {
	c, err := s.comparison(r)
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, c.Comparison)
}

func (s *server) apiRegressions(r *request) error {
	scope, n, err := s.apiScope(r)
	if err != nil {
		return err
	}
	found, err := s.Index.Regressions(r.Context(), scope, r.URL.Query().Get("namespace"), n)
	if err != nil {
		return err
	}
	if found == nil {
		found = []index.Said{}
	}
	return r.writeJSON(http.StatusOK, map[string]any{"items": found})
}

func (s *server) apiDamaged(r *request) error {
	scope, n, err := s.apiScope(r)
	if err != nil {
		return err
	}
	found, err := s.Index.Damaged(r.Context(), scope, r.URL.Query().Get("after"), n)
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, found)
}

func (s *server) apiSearch(r *request) error {
	n, err := length(r)
	if err != nil {
		return err
	}
	runs, _, err := s.list(r, index.KindRun, n)
	if err != nil {
		return err
	}
	executions, _, err := s.list(r, index.KindSuite, n)
	if err != nil {
		return err
	}
	return r.writeJSON(http.StatusOK, map[string]index.Page{"runs": runs.Page, "executions": executions.Page})
}

func (s *server) apiStatus(r *request) error {
	return r.writeJSON(http.StatusOK, struct {
		Version string `json:"version"`
		index.Status
	}{s.Version, s.Index.Status()})
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"time"

	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/results/web"
)

// tenant is a viewer who may get the runs of some namespaces and not of all, which is the slower case.
type tenant []string

func (t tenant) Viewer(*http.Request) (web.Viewer, error) { return t, nil }

func (t tenant) MayGet(_ context.Context, namespace string) (bool, error) {
	return slices.Contains(t, namespace), nil
}

// timed is how long a query took.
type timed struct {
	name     string
	p50, p99 time.Duration
	// ofIndex says that it decodes no document.
	ofIndex bool
}

// ask asks each query some times, one after the other.
func ask(ctx context.Context, handler http.Handler, a archived, requests int) (out []timed, err error) {
	var list index.SeriesPage
	body, err := get(ctx, handler, "/api/v1/series?limit=1&experiment="+url.QueryEscape(a.experiment)+"&namespace="+a.namespace)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Items) == 0 {
		return nil, fmt.Errorf("there is no series of experiment %q: %s, %w", a.experiment, body, err)
	}
	last := ""
	for next := "/api/v1/runs?limit=200"; next != ""; {
		body, err := get(ctx, handler, next)
		if err != nil {
			return nil, err
		}
		var page index.Page
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, err
		}
		if next = ""; page.Next != "" {
			last = "&after=" + page.Next
			next = "/api/v1/runs?limit=200" + last
		}
	}
	run, series := a.namespace+"/"+a.run, a.namespace+"/"+list.Items[0].Digest
	for _, q := range []struct {
		name, address string
		ofIndex       bool
	}{
		{"runs", "/", true}, {"runs, API", "/api/v1/runs", true}, {"last page of runs", "/api/v1/runs?limit=200" + last, true},
		{"runs of a namespace", "/api/v1/runs?namespace=" + a.namespace, true}, {"runs of an experiment", "/api/v1/runs?experiment=" + url.QueryEscape(a.experiment), true},
		{"failed runs of a testbed", "/api/v1/runs?verdict=Failed&testbed=bed-1", true}, {"runs of a month", "/api/v1/runs?since=2024-01-01&until=2024-01-31", true},
		{"search, every run", "/search?q=router", true}, {"search, one cell", "/api/v1/search?q=suite-1+cell-3", true}, {"search, nothing", "/api/v1/search?q=nothing", true},
		{"suites", "/suites", true}, {"list of series", "/series", true}, {"a series, judged", "/series/" + series, true}, {"a series, API", "/api/v1/series/" + series, true},
		{"regressions", "/feed.atom", true}, {"damaged", "/damaged", true}, {"badge of a suite", "/badges/suite/" + a.namespace + "/" + a.suite + ".svg", true},
		{"a suite", "/suites/" + a.namespace + "/" + a.suite, false}, {"a run", "/runs/" + run, false},
		{"comparison of two runs", "/compare?run=" + run + "&run=" + a.namespace + "/" + a.otherRun, false},
	} {
		n := requests
		if !q.ofIndex {
			n = min(n, 20)
		}
		var took []time.Duration
		for range n {
			begin := time.Now()
			if _, err := get(ctx, handler, q.address); err != nil {
				return nil, err
			}
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		out = append(out, timed{q.name, took[len(took)/2], took[(len(took)*99-1)/100], q.ofIndex})
	}
	return out, nil
}

// get returns the body of an answer.
func get(ctx context.Context, handler http.Handler, address string) ([]byte, error) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, address, nil))
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", address, w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}

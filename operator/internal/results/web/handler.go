// Package web serves the results of an archive as pages, as JSON, as badges and as a feed: what an index.Index knows, and documents of
// the archive. Everything is read-only, and no page has a script.
//
// What a viewer may not get in the cluster is in nothing that they are sent: no page, list, count or search. Documents are input that anyone may
// have written; html/template, encoding/json and encoding/xml escape every text of theirs.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"

	"vnfbench.io/operator/internal/results/index"
)

// Options are what the pages are made from.
type Options struct {
	Index   *index.Index
	Archive index.Archive
	// Access says who sees what. Everyone is for those who have another guard.
	Access Access
	Log    logr.Logger
	// Version is that of the program.
	Version string
	// Now is the time; nil is that of the machine.
	Now func() time.Time
}

const (
	// requestTimeout limits the work on one request.
	requestTimeout = 30 * time.Second
	// maxDocuments is how many documents are decoded for pages at the same time. A comparison takes all places.
	maxDocuments = 2
	// maxDownloads is how many documents are sent as they are at the same time, or as JSON, which takes some ten MiB at most.
	maxDownloads = 8
	// maxRequests is how many requests of viewers are answered at the same time. Each has its page in memory until the viewer has read it.
	maxRequests = 32
	// maxParameterBytes limits the value of one parameter.
	maxParameterBytes = 1024
)

// server answers requests.
type server struct {
	Options
	templates *template.Template
	requests  *semaphore.Weighted
	documents *semaphore.Weighted
	downloads *semaphore.Weighted
}

// NewHandler returns the pages. They use relative links, so that a proxy can serve them under any path.
func NewHandler(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{
		Options: o, templates: parsed(), requests: semaphore.NewWeighted(maxRequests), documents: semaphore.NewWeighted(maxDocuments),
		downloads: semaphore.NewWeighted(maxDownloads),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", s.ready)
	for pattern, serve := range map[string]func(*request) error{
		"/{$}": s.runs, "/runs": s.runs, "/runs/{namespace}/{uid}": s.run, "/suites": s.suites, "/suites/{namespace}/{name}": s.suite,
		"/series": s.seriesList, "/series/{namespace}/{digest}": s.series, "/compare": s.compare, "/damaged": s.damaged, "/search": s.search,
		"/feed.atom": s.feed, "/badges/suite/{namespace}/{file}": s.suiteBadge, "/badges/run/{namespace}/{file}": s.runBadge,
		"/badges/experiment/{namespace}/{file}": s.experimentBadge,
		"/api/v1/runs":                          s.apiRuns, "/api/v1/runs/{namespace}/{uid}": s.apiRun, "/api/v1/runs/{namespace}/{uid}/document": s.apiRunDocument,
		"/api/v1/executions": s.apiExecutions, "/api/v1/executions/{namespace}/{uid}": s.apiExecution, "/api/v1/executions/{namespace}/{uid}/document": s.apiExecutionDocument,
		"/api/v1/suites": s.apiSuites, "/api/v1/series": s.apiSeriesList, "/api/v1/series/{namespace}/{digest}": s.apiSeries,
		"/api/v1/compare": s.apiCompare, "/api/v1/regressions": s.apiRegressions, "/api/v1/damaged": s.apiDamaged, "/api/v1/status": s.apiStatus,
		"/api/v1/search": s.apiSearch,
	} {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, serve) })
	}
	return s.guarded(mux)
}

// guarded sets the headers of every answer.
func (s *server) guarded(next http.Handler) http.Handler {
	policy := policy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-cache")
		h.Set("Vary", "Authorization")
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// policy returns the content security policy: no script, no address of others, and the style sheets of the pages by their digests.
func policy() string {
	var styles []string
	for _, sheet := range sheets() {
		sum := sha256.Sum256([]byte(sheet))
		styles = append(styles, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return "default-src 'none'; style-src " + strings.Join(styles, " ") + "; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// ready answers whether the index can be asked.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Index.Namespaces(r.Context()); err != nil {
		s.Log.Error(err, "Asking the index")
		http.Error(w, "the index cannot be read", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// request is a request of a viewer.
type request struct {
	*http.Request
	w      http.ResponseWriter
	viewer Viewer
	// root leads from the page's address to the first page.
	root string
	// release gives the places of decoded documents back; nil where the request has none.
	release func()
}

// free gives back what the request has.
func (r *request) free() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// failure is an error that a viewer is sent.
type failure struct {
	status  int
	message string
}

func (f *failure) Error() string { return f.message }

func notFound(what string) error {
	return &failure{http.StatusNotFound, what + " is not in the archive, or you may not get the runs of its namespace"}
}

func badRequest(format string, args ...any) error {
	return &failure{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// serve answers a request of a viewer whom the access knows.
func (s *server) serve(w http.ResponseWriter, r *http.Request, serve func(*request) error) {
	req := &request{Request: r, w: w, root: "./" + strings.Repeat("../", max(0, strings.Count(r.URL.Path, "/")-1))}
	defer req.free()
	err := checkParameters(r)
	if err == nil {
		req.viewer, err = s.Access.Viewer(r)
	}
	if err == nil {
		// A stranger takes no place.
		if err = s.requests.Acquire(r.Context(), 1); err == nil {
			defer s.requests.Release(1)
			err = serve(req)
		}
	}
	if err != nil {
		s.fail(req, err)
	}
}

// checkParameters refuses a query that no page makes.
func checkParameters(r *http.Request) error {
	for name, values := range r.URL.Query() {
		for _, value := range values {
			if len(value) > maxParameterBytes || len(values) > 2*maxCompared {
				return badRequest("parameter %q is longer than %d bytes, or there too often", cut(name, 40), maxParameterBytes)
			}
		}
	}
	return nil
}

// fail answers with an error, as JSON where the request is for JSON. What a viewer cannot change is said in the log alone.
func (s *server) fail(r *request, err error) {
	f := &failure{}
	switch {
	case errors.As(err, &f):
	case errors.Is(err, ErrUnknownViewer):
		r.w.Header().Set("WWW-Authenticate", `Bearer realm="vnfbench"`)
		f = &failure{http.StatusUnauthorized, "This page shows each user of the cluster what they may get there, and the request does not say who you are. Run `kubectl vnfbench ui`: it opens the page with your token. Other programs send a token in the header Authorization."}
		if !errors.Is(err, context.Canceled) && err.Error() != ErrUnknownViewer.Error() {
			s.Log.V(1).Info("A request was refused", "error", err.Error())
		}
	case errors.Is(err, index.ErrCursor):
		f = &failure{http.StatusBadRequest, err.Error()}
	case r.Context().Err() != nil:
		f = &failure{http.StatusServiceUnavailable, "The service is busy: try again."}
	default:
		s.Log.Error(err, "Answering a request", "path", r.URL.Path)
		f = &failure{http.StatusInternalServerError, "The service could not make this page; its log says why."}
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		r.writeJSON(f.status, map[string]string{"error": f.message})
		return
	}
	view := s.view(r, "Error", http.StatusText(f.status))
	view.Data = f.message
	if err := s.render(r, f.status, "error", view); err != nil {
		s.Log.Error(err, "Writing an error")
	}
}

// send answers with bytes, or with 304 where the client has them.
func (r *request) send(status int, contentType string, body []byte) error {
	// Who reads slowly keeps no place of others.
	r.free()
	sum := sha256.Sum256(body)
	h := r.w.Header()
	h.Set("Content-Type", contentType)
	if status == http.StatusOK {
		h.Set("ETag", fmt.Sprintf(`"%x"`, sum[:12]))
		http.ServeContent(r.w, r.Request, "", time.Time{}, bytes.NewReader(body))
		return nil
	}
	r.w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// A client that is gone needs no answer.
		_, _ = r.w.Write(body)
	}
	return nil
}

// cut returns the beginning of a text.
func cut(text string, most int) string { return text[:min(len(text), most)] }

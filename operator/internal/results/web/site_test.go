package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/html"

	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// site is the pages over some documents.
type site struct {
	http.Handler
	index *index.Index
	files fstest.MapFS
}

// viewers are who may get the runs of which namespaces, by their tokens.
type viewers map[string][]string

func (v viewers) Viewer(r *http.Request) (Viewer, error) {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	namespaces, isKnown := v[token]
	if !isBearer || !isKnown {
		return nil, ErrUnknownViewer
	}
	return viewer(namespaces), nil
}

type viewer []string

func (v viewer) MayGet(_ context.Context, namespace string) (bool, error) {
	return slices.Contains(v, namespace), nil
}

// newSite indexes files and serves them.
func newSite(t testing.TB, files fstest.MapFS, access Access) *site {
	t.Helper()
	x, err := index.Open(t.Context(), filepath.Join(t.TempDir(), "index"), 0, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{index: x, files: files}
	s.Handler = NewHandler(Options{Index: x, Archive: index.Files{FS: files}, Access: access, Log: logr.Discard(), Version: "1.2.3", Now: func() time.Time { return resultstest.Day }})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Follow(ctx, index.Files{FS: files}, time.Hour) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	for end := time.Now().Add(time.Minute); x.Status().Listed.IsZero() || x.Status().Pending > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the documents are not indexed")
		}
	}
	return s
}

// lab is an archive with runs of two namespaces, an execution of a suite in each, and something damaged.
func lab(t testing.TB) fstest.MapFS {
	files := fstest.MapFS{}
	put := func(key string, data []byte) {
		files[key] = &fstest.MapFile{Data: data, ModTime: resultstest.Day, Mode: fs.FileMode(0o644)}
	}
	for _, namespace := range []string{"lab", "secret"} {
		experiment := ""
		for i, name := range []string{"nightly-1-base-1", "nightly-2-base-1", namespace + "-router"} {
			doc := resultstest.Run(t, namespace, name, 24*i)
			doc.Run.Experiment, doc.Run.Testbed = "nightly.base", namespace+"-bed"
			put(resultstest.RunKey(doc), resultstest.JSON(t, doc))
			experiment = resultstest.Experiment(t, doc)
		}
		for i, name := range []string{"nightly-1", "nightly-2"} {
			e := resultstest.Execution(namespace, name, 24*i)
			e.Execution.UID += namespace
			e = resultstest.Judged(e, experiment, namespace+"-bed", "Regression", "nightly-2-base-1")
			put(resultstest.ExecutionKey(e), resultstest.JSON(t, e))
		}
		put("runs/"+namespace+"/cut."+namespace+".json", []byte(`{"apiVersion":`))
	}
	return files
}

// experimentOf returns the experiment of the series of a namespace.
func experimentOf(t testing.TB, namespace string) string {
	t.Helper()
	doc := resultstest.Run(t, namespace, "x", 0)
	doc.Run.Experiment, doc.Run.Testbed = "nightly.base", namespace+"-bed"
	return resultstest.Experiment(t, doc)
}

// get asks for an address.
func (s *site) get(t testing.TB, address, token string) *httptest.ResponseRecorder {
	t.Helper()
	return s.do(t, http.MethodGet, address, token)
}

func (s *site) do(t testing.TB, method, address, token string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, address, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// crawl follows every link from the first page on, with a form's address as one, and calls a function with each answer.
func (s *site) crawl(t testing.TB, token string, each func(address string, w *httptest.ResponseRecorder)) (addresses []string) {
	t.Helper()
	seen := map[string]bool{}
	for todo := []string{"/"}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		addresses = append(addresses, at)
		w := s.get(t, at, token)
		each(at, w)
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			continue
		}
		base, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		for n := range elements(t, w.Body.String()) {
			for _, a := range n.Attr {
				if a.Key != "href" && a.Key != "action" || strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "data:,") {
					continue
				}
				to, err := base.Parse(a.Val)
				if err != nil || to.Host != "" || to.Scheme != "" || strings.HasPrefix(a.Val, "/") {
					t.Errorf("%s: the link %q is not relative: %v", at, a.Val, err)
					continue
				}
				to.Fragment = ""
				if a.Key == "action" && strings.HasSuffix(to.Path, "/compare") {
					continue
				}
				todo = append(todo, to.String())
			}
		}
	}
	return addresses
}

// elements returns the elements of a page.
func elements(t testing.TB, page string) func(func(*html.Node) bool) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*html.Node) bool) {
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && !yield(n) {
				return
			}
		}
	}
}

// digestOf returns the digest of a style sheet in the form of a policy.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

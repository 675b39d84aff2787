package web

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// TestEveryLinkLeadsToAPage follows all links of all pages, which are relative, so that a proxy can serve them under another path.
func TestEveryLinkLeadsToAPage(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	addresses := s.crawl(t, "", func(address string, w *httptest.ResponseRecorder) {
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	})
	for _, begin := range []string{"/?experiment=nightly.base", "/runs/lab/uid-lab-", "/suites/lab/nightly?execution=nightly-1", "/series/lab/", "/damaged", "/feed.atom", "/compare?run=lab/", "/api/v1/runs/secret/", "/api/v1/series/"} {
		if !slices.ContainsFunc(addresses, func(a string) bool { return strings.HasPrefix(a, begin) }) {
			t.Errorf("no link leads to %s...", begin)
		}
	}
	if len(addresses) < 40 {
		t.Errorf("there are only %d pages: %q", len(addresses), addresses)
	}
}

// TestPagesShow checks what each page has to show.
func TestPagesShow(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	judged := index.SeriesDigest(series.Key{Namespace: "lab", Experiment: experimentOf(t, "lab"), Testbed: "lab-bed", Figure: resultstest.Figure})
	for address, want := range map[string][]string{
		"/":                                   {"6 runs, the newest first", "lab-router", "kfps", "2026-02-02 12:30", "Not judged"},
		"/?namespace=lab&suite=nightly":       {"2 runs, the newest first", "nightly-2-base-1"},
		"/?verdict=Passed":                    {"No run matches"},
		"/?since=2026-02-02&until=2026-02-02": {"2 runs, the newest first"},
		"/?q=lab-rou":                         {"1 run, the newest first"},
		"/runs/lab/uid-lab-lab-router-48":     {"Download the document", "Throughput", "<svg", "Compare with nightly-2-base-1 before it", "Series with a point of this run"},
		"/suites":                             {"nightly", "nightly-2", "Regression", "r1 rev-nightly-2"},
		"/suites/lab/nightly":                 {"Execution nightly-2", "run 1", "What the suite says of its series", "it fell", "−5.0 %", "History", "nightly-1"},
		"/suites/lab/nightly?execution=nightly-1":                               {"Execution nightly-1"},
		"/series?figure=ThroughputFramesPerSecond+64+NDR":                       {"2 series", "nightly.base@"},
		"/compare?run=lab/uid-lab-lab-router-48&run=uid-lab-nightly-1-base-1-0": {"lab-router", "nightly-1-base-1", "Throughput"},
		"/damaged":            {"2 objects that are no documents", "runs/lab/cut.lab.json", "Truncated"},
		"/search?q=nightly":   {"6 runs", "4 executions"},
		"/api/v1/regressions": {`"verdict": "Regression"`, judged},
		"/api/v1/status":      {`"version": "1.2.3"`, `"pending": 0`},
	} {
		w := s.get(t, address, "")
		for _, text := range want {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s (%d) does not show %q: %s", address, w.Code, text, textOf(t, w.Body.String()))
			}
		}
	}
}

// textOf returns the words of a page.
func textOf(t testing.TB, page string) string {
	var out []string
	for n := range elements(t, page) {
		for c := range n.ChildNodes() {
			if c.FirstChild == nil && n.Data != "style" {
				out = append(out, strings.TrimSpace(c.Data))
			}
		}
	}
	return cut(strings.Join(out, " "), 3000)
}

// TestSeries checks the points of a series, its judgment, its picture and what the suite says.
func TestSeries(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	var list index.SeriesPage
	if err := json.Unmarshal(s.get(t, "/api/v1/series?namespace=lab&experiment=nightly.base&figure=ThroughputFramesPerSecond+64+NDR", "").Body.Bytes(), &list); err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	var trend Trend
	address := "series/lab/" + list.Items[0].Digest
	if err := json.Unmarshal(s.get(t, "/api/v1/"+address, "").Body.Bytes(), &trend); err != nil {
		t.Fatal(err)
	}
	if len(trend.Points) != 3 || trend.Points[0].Run != "nightly-1-base-1" || trend.Points[0].Execution != "nightly-1" || trend.Points[1].Subject.Revision != "rev-nightly-2" || trend.Judgment == nil || trend.Judgment.Verdict != "NotEnoughData" {
		t.Errorf("%+v", trend)
	}
	page := s.get(t, "/"+address, "").Body.String()
	for _, text := range []string{"<svg", "nightly-2-base-1", "r1 rev-nightly-1", "Not enough data"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not show %q", text)
		}
	}
}

// TestHeaders checks the policy of every answer, that pages are valid under it, and that no answer sets a cookie.
func TestHeaders(t *testing.T) {
	s := newSite(t, lab(t), viewers{"t": {"lab"}})
	for _, address := range []string{"/", "/runs/lab/uid-lab-lab-router-48", "/suites/lab/nightly", "/series", "/damaged", "/none", "/runs/lab/none", "/feed.atom", "/badges/suite/lab/nightly.svg", "/api/v1/runs", "/api/v1/none", "/healthz"} {
		for _, token := range []string{"", "t"} {
			w := s.get(t, address, token)
			h := w.Header()
			policy := h.Get("Content-Security-Policy")
			for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
				if !strings.Contains(policy, part) {
					t.Errorf("%s: the policy is %q", address, policy)
				}
			}
			if strings.Contains(policy, "script") || strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("Set-Cookie") != "" || h.Get("Cache-Control") != "private, no-cache" || h.Get("Vary") != "Authorization" {
				t.Errorf("%s: %v", address, h)
			}
			if strings.HasPrefix(h.Get("Content-Type"), "text/html") {
				checkPage(t, address, policy, w.Body.String())
			}
		}
	}
}

// allowed are the elements of pages.
var allowed = strings.Fields("html head meta title style link body div nav ul li a form label input button header p h1 h2 h3 main footer span strong select option datalist " +
	"table thead tbody tr th td dl dt dd section details summary figure figcaption pre code br svg g path line rect text circle ellipse polygon polyline tspan desc defs pattern clippath use b em")

// checkPage checks that a page has nothing that its policy forbids, and nothing that acts.
func checkPage(t testing.TB, address, policy, page string) {
	t.Helper()
	for n := range elements(t, page) {
		if !slices.Contains(allowed, strings.ToLower(n.Data)) {
			t.Errorf("%s has an element %q", address, n.Data)
		}
		if n.Data == "style" && (n.FirstChild == nil || !strings.Contains(policy, digestOf(n.FirstChild.Data))) {
			t.Errorf("%s: the policy does not allow the style sheet", address)
		}
		for _, a := range n.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "srcdoc" || a.Key == "formaction" || (a.Key == "href" || a.Key == "action") && strings.HasPrefix(value, "javascript:") {
				t.Errorf("%s: element %s has %s=%q", address, n.Data, a.Key, a.Val)
			}
		}
	}
}

// TestMethods checks that nothing but reading is answered.
func TestMethods(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	for _, address := range []string{"/", "/suites/lab/nightly", "/api/v1/runs", "/feed.atom", "/healthz"} {
		if w := s.do(t, http.MethodHead, address, ""); w.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d with %d bytes", address, w.Code, w.Body.Len())
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodConnect} {
			if w := s.do(t, method, address, ""); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, address, w.Code)
			}
		}
	}
	first := s.get(t, "/", "")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("If-None-Match", first.Header().Get("ETag"))
	again := httptest.NewRecorder()
	s.ServeHTTP(again, r)
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("a page that the client has: %d with %d bytes", again.Code, again.Body.Len())
	}
}

// TestBadRequests checks that a query which no page makes is refused with its remedy.
func TestBadRequests(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	for address, want := range map[string]string{
		"/?verdict=Good": "give one of Passed", "/?since=today": "give a day as 2026-01-31", "/?after=x": "begin the list again", "/?q=" + strings.Repeat("x", 2000): "longer than 1024 bytes",
		"/api/v1/runs?limit=0": "give a number from 1 to 200", "/compare?run=x": "Name 2 to 12 runs", "/compare?run=lab/uid-lab-lab-router-48&run=uid-lab-lab-router-48": "named twice",
		"/api/v1/runs/lab/uid-lab-lab-router-48/document?format=xml": "give json", "/api/v1/series?after=eA": "begin the list again",
	} {
		w := s.get(t, address, "")
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", cut(address, 80), w.Code, textOf(t, w.Body.String()))
		}
		isJSON := strings.HasPrefix(w.Header().Get("Content-Type"), "application/json")
		if isJSON != strings.HasPrefix(address, "/api/") {
			t.Errorf("%s: the error is %s", cut(address, 80), w.Header().Get("Content-Type"))
		}
	}
}

// TestPages checks that pages of a list have every run once.
func TestPages(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 120 {
		doc := resultstest.Run(t, "lab", fmt.Sprintf("run-%d", i), i/2)
		files[resultstest.RunKey(doc)] = &fstest.MapFile{Data: resultstest.JSON(t, doc)}
	}
	s := newSite(t, files, Everyone{})
	seen := map[string]int{}
	pages := 0
	for at := "/?namespace=lab"; at != ""; pages++ {
		next := ""
		for n := range elements(t, s.get(t, at, "").Body.String()) {
			for _, a := range n.Attr {
				if a.Key == "href" && strings.Contains(a.Val, "/runs/lab/") {
					seen[a.Val]++
				}
				if a.Key == "href" && strings.Contains(a.Val, "after=") {
					next = "/" + a.Val
				}
			}
		}
		at = next
	}
	if len(seen) != 120 || pages != 3 {
		t.Errorf("%d runs on %d pages", len(seen), pages)
	}
}

// TestDownload checks that a document is sent as the archive has it, and as JSON.
func TestDownload(t *testing.T) {
	files := lab(t)
	s := newSite(t, files, Everyone{})
	doc := resultstest.Run(t, "lab", "lab-router", 48)
	w := s.get(t, "/api/v1/runs/lab/"+doc.Run.UID+"/document", "")
	if w.Body.String() != string(files[resultstest.RunKey(doc)].Data) || w.Header().Get("Content-Disposition") != `attachment; filename="lab-router.json"` || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	delete(files, resultstest.RunKey(doc))
	for _, address := range []string{"/runs/lab/" + doc.Run.UID, "/api/v1/runs/lab/" + doc.Run.UID + "/document"} {
		if w := s.get(t, address, ""); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "gone from the archive") {
			t.Errorf("%s: %d", address, w.Code)
		}
	}
	files[resultstest.RunKey(doc)] = &fstest.MapFile{Data: []byte("{")}
	if w := s.get(t, "/runs/lab/"+doc.Run.UID, ""); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "cannot be read any more") {
		t.Errorf("%d", w.Code)
	}
}

// TestBadgesAndFeed checks that badges and the feed are XML, and what they say.
func TestBadgesAndFeed(t *testing.T) {
	s := newSite(t, lab(t), Everyone{})
	for address, want := range map[string]string{
		"/badges/suite/lab/nightly.svg": "nightly: regression", "/badges/experiment/lab/nightly.base.svg": "kfps", "/badges/run/lab/uid-lab-lab-router-48.svg": "lab-router: ",
		"/badges/suite/lab/none.svg": "none: not known", "/badges/experiment/lab/%3Cscript%3E.svg": "&lt;script&gt;: not known",
	} {
		w := s.get(t, address, "")
		if !strings.Contains(w.Body.String(), want) || w.Header().Get("Content-Type") != "image/svg+xml" || xml.Unmarshal(w.Body.Bytes(), new(any)) != nil {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
		if isKnown := !strings.Contains(want, "not known"); (w.Code == http.StatusOK) != isKnown {
			t.Errorf("%s: %d", address, w.Code)
		}
	}
	var feed atom
	if err := xml.Unmarshal(s.get(t, "/feed.atom", "").Body.Bytes(), &feed); err != nil {
		t.Fatal(err)
	}
	if len(feed.Entries) != 2 || !strings.Contains(feed.Entries[0].Title, resultstest.Figure) || !strings.HasSuffix(feed.Entries[0].Title, "−5.0 %") || feed.Updated != "2026-01-31T13:00:00Z" || feed.ID == feed.Entries[0].ID {
		t.Errorf("%+v", feed)
	}
}

// spoil puts a text with markup into every text of a value.
func spoil(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && v.CanSet() && v.Type().Elem().Kind() == reflect.Struct && v.Type().Elem().PkgPath() == "vnfbench.io/operator/api/v1alpha1" {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			spoil(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				spoil(v.Field(i), text)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 && v.CanSet() && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			spoil(v.Index(i), text)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(text)
		}
	}
}

// TestHostileDocuments puts markup into every text of a run and of an execution: no page has more elements than its template, and none acts.
func TestHostileDocuments(t *testing.T) {
	for _, text := range []string{`"><script>alert(1)</script><img src=x onerror=alert(1)>`, `javascript:alert(1)//'"<svg/onload=alert(1)>`, `</style></textarea></title><b>{{.}}&#60;script&#62;`, "]]><script xmlns='http://www.w3.org/1999/xhtml'>1</script>"} {
		// A copy: other tests have parts of the original.
		doc, err := document.Read(bytes.NewReader(resultstest.JSON(t, resultstest.Run(t, "lab", "hostile", 0))))
		if err != nil {
			t.Fatal(err)
		}
		doc.Inputs, doc.Trials = nil, nil
		run, completeness, succeeded, measured, version := doc.Run, doc.Completeness, doc.Succeeded, doc.Measured, doc.APIVersion
		var results []v1alpha1.FrameResult
		for _, of := range doc.Results {
			results = append(results, *of.DeepCopy())
		}
		spoil(reflect.ValueOf(&doc).Elem(), text)
		doc.Trials, doc.Inputs = nil, nil
		doc.APIVersion, doc.Kind, doc.Completeness = version, report.Kind, completeness
		doc.Run.Namespace, doc.Run.Name, doc.Run.UID = run.Namespace, run.Name, run.UID
		doc.Succeeded.Status, doc.Measured.Status = succeeded.Status, measured.Status
		doc.Accepted.Status = "False"
		doc.Results = append(doc.Results, results...)
		e := resultstest.Judged(resultstest.Execution("lab", "nightly-1", 0), "x", "y", "Regression", "z")
		execution, planned, ended := e.Execution, e.Planned, e.Succeeded
		spoil(reflect.ValueOf(&e).Elem(), text)
		e.APIVersion, e.Kind, e.Completeness = report.APIVersion, report.SuiteKind, report.Complete
		e.Execution.Namespace, e.Execution.Name, e.Execution.UID = execution.Namespace, execution.Name, execution.UID
		e.Planned.Status, e.Succeeded.Status, e.Regression.Execution = planned.Status, ended.Status, execution.Name
		e.Regression.Verdicts[0].Verdict = "Regression"
		files := fstest.MapFS{
			resultstest.RunKey(doc): {Data: resultstest.JSON(t, doc)}, resultstest.ExecutionKey(e): {Data: resultstest.JSON(t, e)},
			"runs/lab/<script>alert(1)<script>.json": {Data: []byte(`{"apiVersion": "<script>alert(1)</script>", "kind": "<img src=x onerror=alert(1)>"}`)},
		}
		s := newSite(t, files, Everyone{})
		shown := 0
		s.crawl(t, "", func(address string, w *httptest.ResponseRecorder) {
			if w.Code != http.StatusOK && w.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s", address, w.Code, cut(w.Body.String(), 500))
			}
			switch kind := w.Header().Get("Content-Type"); {
			case strings.HasPrefix(kind, "text/html"):
				checkPage(t, address, w.Header().Get("Content-Security-Policy"), w.Body.String())
				if strings.Contains(w.Body.String(), "alert(1)") || strings.Contains(w.Body.String(), "xhtml") || strings.Contains(w.Body.String(), "textarea") {
					shown++
				}
			case strings.Contains(kind, "xml"):
				if err := xml.Unmarshal(w.Body.Bytes(), new(any)); err != nil {
					t.Errorf("%s: %v", address, err)
				}
			}
		})
		if damaged := s.get(t, "/damaged", "").Body.String(); strings.Count(damaged, "<tr>") != 2 {
			t.Errorf("more is damaged than the file: %s", textOf(t, damaged))
		}
		if shown < 5 {
			t.Errorf("only %d pages show the text: the test does not reach them", shown)
		}
	}
}

// FuzzQuery asks every page for any query: an answer is a page or says what is wrong, and no page acts.
func FuzzQuery(f *testing.F) {
	s := newSite(f, lab(f), Everyone{})
	pages := []string{"/", "/runs/lab/uid-lab-lab-router-48", "/suites", "/suites/lab/nightly", "/series", "/compare", "/damaged", "/search", "/feed.atom",
		"/api/v1/runs", "/api/v1/executions", "/api/v1/suites", "/api/v1/series", "/api/v1/compare", "/api/v1/regressions", "/api/v1/damaged", "/api/v1/search"}
	f.Add(uint8(0), "namespace=lab&verdict=Passed&since=2026-01-31&q=router")
	f.Add(uint8(4), "after=MCBhAGIAYwBk&limit=5")
	f.Add(uint8(5), "run=lab/uid-lab-lab-router-48&run=uid-lab-nightly-1-base-1-0")
	f.Add(uint8(7), `q="a" OR b*`)
	f.Fuzz(func(t *testing.T, page uint8, query string) {
		at := pages[int(page)%len(pages)]
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if !slices.Contains([]int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound}, w.Code) {
			t.Fatalf("%s?%s: %d %s", at, query, w.Code, cut(w.Body.String(), 1000))
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			checkPage(t, at, w.Header().Get("Content-Security-Policy"), w.Body.String())
		}
	})
}

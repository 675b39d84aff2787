//go:build browser

package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestServeSite serves the example site for a browser where SITE names a file: the addresses of all pages are in it, a line each. It ends when the file
// is deleted.
func TestServeSite(t *testing.T) {
	file := os.Getenv("SITE")
	if file == "" {
		t.Fatal("SITE names no file: run this by `make test-browser`")
	}
	s := newSite(t, lab(t), Everyone{})
	var pages []string
	server := httptest.NewServer(s.Handler)
	defer server.Close()
	s.crawl(t, "", func(address string, w *httptest.ResponseRecorder) {
		if w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			pages = append(pages, server.URL+address)
		}
	})
	if err := os.WriteFile(file+".part", []byte(strings.Join(pages, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".part", file); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if _, err := os.Stat(file); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
	t.Error("the file is there after ten minutes")
}

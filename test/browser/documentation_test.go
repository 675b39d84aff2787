//go:build documentation

package browser

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// documentation serves the folder DOCUMENTATION, and returns the address, and the paths of its pages. Decisions look alike, so one of them is enough.
func documentation(t *testing.T) (address string, paths []string) {
	folder := os.Getenv("DOCUMENTATION")
	if folder == "" {
		t.Fatal("DOCUMENTATION names no folder with the site: run this by `make test-docs-site`")
	}
	decided := false
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path)
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		if strings.HasPrefix(name, "adr/0") {
			if decided {
				return nil
			}
			decided = true
		}
		paths = append(paths, name)
		return nil
	})
	if err != nil || len(paths) < 50 {
		t.Fatalf("%s has %d pages: %v", folder, len(paths), err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	return server.URL + "/", paths
}

// read is what a browser makes of a page of the documentation.
type read struct {
	// Width is that of what is on the page, and Screen that of the screen.
	Width, Screen int
	// Broken are pictures that are not drawn, Home says that a link leads to the first page, and Headings counts those of the first level.
	Broken   []string
	Home     bool
	Headings int
}

// readPage looks at a page when its pictures are there.
const readPage = `(async () => {
  const pictures = [...document.images];
  for (const p of pictures) { p.loading = 'eager'; await p.decode().catch(() => {}); }
  const first = new URL(document.querySelector('.md-header a.md-logo, body > p:first-child > a')?.href || '', location.href).pathname;
  return {
    Width: document.documentElement.scrollWidth, Screen: document.documentElement.clientWidth,
    Broken: pictures.filter(p => !(p.naturalWidth > 0)).map(p => p.src), Home: first === '/' || first === '/index.html',
    Headings: document.querySelectorAll('h1').length,
  };
})()`

// awaited makes the browser wait for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// TestDocumentation opens the pages of the site at both widths: nothing is wider than the screen, all pictures are drawn, the logo, or the first line of a
// study's report, leads to the first page, and the browser reports nothing and asks for nothing else.
func TestDocumentation(t *testing.T) {
	site, paths := documentation(t)
	browser, end, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The browser ends when all pages have been looked at, which are opened next to each other.
	t.Cleanup(end)
	for i, width := range widths {
		for _, path := range paths {
			t.Run(fmt.Sprintf("%s at %d", path, width), func(t *testing.T) {
				t.Parallel()
				tab, end, err := Open(browser, site+path, width, i == 1)
				if err != nil {
					t.Fatal(err)
				}
				defer end()
				var got read
				if err := chromedp.Run(tab, chromedp.Evaluate(readPage, &got, awaited)); err != nil {
					t.Fatal(err)
				}
				if got.Width > got.Screen {
					t.Errorf("it is %d wide on a screen of %d", got.Width, got.Screen)
				}
				if len(got.Broken) > 0 {
					t.Errorf("pictures that are not drawn: %s", strings.Join(got.Broken, ", "))
				}
				if !got.Home || got.Headings != 1 {
					t.Errorf("a link to the first page: %v; headings of the first level: %d", got.Home, got.Headings)
				}
				if problems := tab.Problems(site); len(problems) > 0 {
					t.Errorf("%d problems: %s", len(problems), strings.Join(problems[:min(len(problems), 5)], "; "))
				}
			})
		}
	}
}

// TestDocumentationIsSearched types words into the field for searches, and finds the page.
func TestDocumentationIsSearched(t *testing.T) {
	site, _ := documentation(t)
	browser, end, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	tab, endTab, err := Open(browser, site+"index.html", widths[0], false)
	if err != nil {
		t.Fatal(err)
	}
	defer endTab()
	searched, stop := context.WithTimeout(tab, 30*time.Second)
	defer stop()
	var first string
	if err := chromedp.Run(searched,
		chromedp.Click(`[data-md-component="search-query"]`), chromedp.SendKeys(`[data-md-component="search-query"]`, "virtual receive ring"),
		chromedp.WaitVisible(`.md-search-result__item a`), chromedp.Evaluate(`document.querySelector('.md-search-result__item a').href`, &first)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, site) || !strings.Contains(first, "ring") {
		t.Errorf("the first result is %s", first)
	}
}

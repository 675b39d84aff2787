package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// widths are those of a desktop and of a phone.
var widths = []int{1280, 390}

// pages returns the files of the folder PAGES.
func pages(t *testing.T) []string {
	t.Helper()
	folder := os.Getenv("PAGES")
	if folder == "" {
		t.Fatal("PAGES names no folder with pages: run this by `make test-browser`")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.html"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no pages: %v", folder, err)
	}
	return files
}

// seen is what a browser makes of a page. Everything is a list of what is wrong, but the counts.
type seen struct {
	Pictures, Links int
	// Empty pictures have no size, Wide elements stick out of the page, and Lost links lead nowhere.
	Empty, Wide, Lost []string
	// Clipped texts of pictures are outside of their picture.
	Clipped []string
}

// look opens all parts of a page that are closed, and looks at every element.
const look = `(() => {
  for (const d of document.querySelectorAll('details')) d.open = true;
  const out = {Pictures: 0, Links: 0, Empty: [], Wide: [], Lost: [], Clipped: []};
  const width = document.documentElement.clientWidth;
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') || e.closest('.table') && !e.matches('.table') || e.closest('pre') && !e.matches('pre')) continue;
    const r = e.getBoundingClientRect();
    if (r.right > width + 1) out.Wide.push(e.tagName + ' ' + e.className + ' ' + r.right);
  }
  if (document.documentElement.scrollWidth > width) out.Wide.push('the page has ' + document.documentElement.scrollWidth + ' of ' + width);
  for (const s of document.querySelectorAll('svg')) {
    out.Pictures++;
    const p = s.getBoundingClientRect();
    const title = s.querySelector('title').textContent;
    const drawn = [...s.querySelectorAll('path')].some(e => { const b = e.getBoundingClientRect(); return b.width > 1 || b.height > 1; });
    if (!(p.width > 100 && p.height > 40 && drawn)) out.Empty.push(title);
    for (const x of s.querySelectorAll('text')) {
      const r = x.getBoundingClientRect();
      if (r.left < p.left - 2 || r.right > p.right + 2 || r.top < p.top - 3 || r.bottom > p.bottom + 3) out.Clipped.push(title + ': ' + x.textContent);
    }
  }
  for (const a of document.querySelectorAll('a[href^="#"]')) {
    out.Links++;
    a.click();
    const at = document.getElementById(a.hash.slice(1));
    if (!at || Math.abs(at.getBoundingClientRect().top) > innerHeight) out.Lost.push(a.hash);
  }
  return out;
})()`

// check opens a page, and returns what is on it and what is wrong. It may ask for addresses that begin with the allowed one.
func check(t *testing.T, browser context.Context, address, allowed string, width int, dark bool) seen {
	t.Helper()
	tab, end, err := Open(browser, address, width, dark)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	var got seen
	if err := chromedp.Run(tab, chromedp.Evaluate(look, &got)); err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string][]string{
		"pictures without a size": got.Empty, "elements that are too wide": got.Wide, "links that lead nowhere": got.Lost,
		"texts outside of their picture": got.Clipped, "problems": tab.Problems(allowed),
	} {
		if len(list) > 0 {
			t.Errorf("%d %s: %s", len(list), what, strings.Join(list[:min(len(list), 5)], "; "))
		}
	}
	return got
}

// TestPages opens each page at both widths, in light and in dark colors: all pictures are drawn, nothing is wider than the page, links lead to
// its parts, and the browser reports nothing and asks for nothing else.
func TestPages(t *testing.T) {
	browser, end, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	pictures := 0
	for _, file := range pages(t) {
		for i, width := range widths {
			t.Run(fmt.Sprintf("%s at %d", filepath.Base(file), width), func(t *testing.T) {
				address := "file://" + file
				got := check(t, browser, address, address, width, i == 1)
				if got.Links == 0 {
					t.Error("the page has no links to its parts")
				}
				pictures += got.Pictures
			})
		}
	}
	if pictures < 20 {
		t.Errorf("all pages have %d pictures together", pictures)
	}
}

// TestFindsProblems checks that the tests see what they look for: a script that runs, a picture from elsewhere, one that is not drawn, a text
// that is clipped, an element that is too wide, and a link to nothing.
func TestFindsProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.html")
	text := `<!DOCTYPE html><body><div style="width:5000px">wide</div><a href="#nothing">link</a><script>console.log("script")</script><img src="http://127.0.0.1:1/x.png">` +
		`<svg viewBox="0 0 100 50" width="200"><title>bad</title><text x="90" y="20">clipped</text></svg></body>`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	browser, end, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	tab, endTab, err := Open(browser, "file://"+file, 390, false)
	if err != nil {
		t.Fatal(err)
	}
	defer endTab()
	var got seen
	if err := chromedp.Run(tab, chromedp.Evaluate(look, &got)); err != nil {
		t.Fatal(err)
	}
	problems := tab.Problems("file://" + file)
	if len(got.Empty) == 0 || len(got.Wide) == 0 || len(got.Lost) == 0 || len(got.Clipped) == 0 {
		t.Errorf("found %+v", got)
	}
	for _, want := range []string{"console: log", "it asks for http://127.0.0.1:1/x.png"} {
		if !slices.Contains(problems, want) {
			t.Errorf("the problems are %q, which lack %q", problems, want)
		}
	}
}

// TestSite opens each page of the results service, whose addresses are in the file SITE, at both widths, in light and in dark colors. TestEveryLinkLeadsToAPage
// follows the links between them.
func TestSite(t *testing.T) {
	file := os.Getenv("SITE")
	if file == "" {
		t.Fatal("SITE names no file with addresses: run this by `make test-browser`")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	browser, end, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	addresses, pictures := strings.Fields(string(text)), 0
	for _, address := range addresses {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		for i, width := range widths {
			t.Run(fmt.Sprintf("%s at %d", at.RequestURI(), width), func(t *testing.T) {
				pictures += check(t, browser, address, at.Scheme+"://"+at.Host+"/", width, i == 1).Pictures
			})
		}
	}
	if len(addresses) < 20 || pictures < 20 {
		t.Errorf("%d pages have %d pictures together", len(addresses), pictures)
	}
}

//go:build screenshots

package browser

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestScreenshots writes the pictures of the documentation into the folder SCREENSHOTS.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		t.Fatal("SCREENSHOTS names no folder: run this by `make screenshots`")
	}
	browser, end, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, shot := range []struct {
		page, name    string
		width, height int
		dark          bool
		// from is the element at the top; empty for the top of the page.
		from string
	}{
		{"run", "report", 1280, 1500, false, ""},
		{"run", "report-pictures", 1280, 1340, false, "#throughput"},
		{"run", "report-dark", 1280, 1180, true, "#delay"},
		{"run", "report-phone", 390, 1200, false, "#throughput"},
		{"terminal", "terminal", 1280, 760, true, ""},
		{"site", "results", 1280, 900, false, ""},
	} {
		t.Run(shot.name, func(t *testing.T) {
			address := "file://" + filepath.Join(os.Getenv("PAGES"), shot.page+".html")
			switch shot.page {
			case "site":
				address = firstOfSite(t)
			case "terminal":
				if os.Getenv("DOCUMENT") == "" {
					t.Skip("NOT RUN: only with DOCUMENT is there a run")
				}
			}
			tab, end, err := Open(browser, address, shot.width, shot.dark)
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			top := 0.0
			if shot.from != "" {
				if err := chromedp.Run(tab, chromedp.Evaluate(`document.querySelector("`+shot.from+`").getBoundingClientRect().top + scrollY - 12`, &top)); err != nil {
					t.Fatal(err)
				}
			}
			var image []byte
			err = chromedp.Run(tab, chromedp.ActionFunc(func(ctx context.Context) (err error) {
				image, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).
					WithClip(&page.Viewport{Y: top, Width: float64(shot.width), Height: float64(shot.height), Scale: 1}).Do(ctx)
				return err
			}))
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, shot.name+".png"), image, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// firstOfSite returns the address of the first page of the results service.
func firstOfSite(t *testing.T) string {
	text, err := os.ReadFile(os.Getenv("SITE"))
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(string(text), "\n")
	return address
}

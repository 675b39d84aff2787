//go:build screenshots

package browser

import (
	"context"
	"os"
	"path/filepath"
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
	} {
		t.Run(shot.name, func(t *testing.T) {
			tab, end, err := Open(browser, "file://"+filepath.Join(os.Getenv("PAGES"), shot.page+".html"), shot.width, shot.dark)
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

//go:build browser

package page_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWritePages writes example pages into the folder PAGES, for the tests with a browser and for screenshots.
func TestWritePages(t *testing.T) {
	folder := os.Getenv("PAGES")
	if folder == "" {
		t.Fatal("PAGES names no folder: run this by `make test-browser`")
	}
	for name, text := range examplePages(t) {
		if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

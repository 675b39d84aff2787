package docs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiagramsFollowTheirSources compares the digest in each SVG with its source.
func TestDiagramsFollowTheirSources(t *testing.T) {
	sources, err := filepath.Glob(filepath.Join(top, "docs", "diagrams", "*.mmd"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("%d sources of diagrams: %v", len(sources), err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := os.ReadFile(strings.TrimSuffix(source, ".mmd") + ".svg")
		if err != nil {
			t.Errorf("%v: run test/scripts/diagrams.sh", err)
			continue
		}
		if digest := fmt.Sprintf("source sha256:%x", sha256.Sum256(text)); !strings.Contains(string(drawn), digest) {
			t.Errorf("%s is drawn from another source: run test/scripts/diagrams.sh", filepath.Base(source))
		}
	}
}

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxMarkerCharacters keeps a rule readable: one that needs more belongs to a policy
// in config/admission, where it has named variables.
const maxMarkerCharacters = 300

func TestMarkersAreShort(t *testing.T) {
	files, err := filepath.Glob("*_types.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			if strings.Contains(line, "+kubebuilder:") && len(line) > maxMarkerCharacters {
				t.Errorf("%s:%d: the marker has %d characters, at most %d: move the rule to config/admission", file, i+1, len(line), maxMarkerCharacters)
			}
		}
	}
}

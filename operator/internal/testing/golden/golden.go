// Package golden compares what tests render with golden files that people can
// review: one full file, and for each variant the difference from it.
package golden

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// Golden is one output that a test renders.
type Golden struct {
	Name string
	// Base names the golden that this one is kept as a difference from, which comes earlier in the
	// list. A golden without a base is kept in full.
	Base string
	// Documents are its parts by name, KIND/NAME. A text ends with a newline.
	Documents map[string]string
}

// file returns NAME.yaml, or BASE..NAME.diff.
func (g Golden) file() string {
	if g.Base == "" {
		return g.Name + ".yaml"
	}
	return g.Base + ".." + g.Name + ".diff"
}

// Compare compares every golden with its file in a folder that contains nothing else. With -update
// it writes the files, and removes all others.
func Compare(t *testing.T, folder string, goldens []Golden) {
	t.Helper()
	rendered, kept := map[string]map[string]string{}, map[string]map[string]string{}
	files := map[string]bool{}
	for _, g := range goldens {
		path := filepath.Join(folder, g.file())
		files[path] = true
		rendered[g.Name] = g.Documents
		if *update {
			write(t, path, g, rendered[g.Base])
		}
		want, err := read(path, g, rendered[g.Base], kept[g.Base])
		if err != nil {
			t.Errorf("%v; write it again with -update", err)
			continue
		}
		kept[g.Name] = want
		t.Run(g.Name, func(t *testing.T) {
			if different := diff(want, g.Documents); different != "" {
				t.Errorf("%s (-want +got; -update writes it again):\n%s", path, different)
			}
		})
	}
	entries, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range entries {
		switch {
		case files[path], filepath.Base(path) == "fuzz": // Go keeps inputs of fuzz targets there
		case *update:
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s is not a golden of this test; -update removes it", path)
		}
	}
}

func write(t *testing.T, path string, g Golden, base map[string]string) {
	t.Helper()
	text := full(g.Documents)
	if g.Base != "" {
		text = "# What is different in " + g.Name + " from " + g.Base + ".\n" + diff(base, g.Documents)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns a golden's documents. A difference is applied to its base as the test renders it: a
// change of the base alone is not a change of the variant. If it does not fit, it is applied to the
// base as it is kept.
func read(path string, g Golden, bases ...map[string]string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if g.Base == "" {
		return split(string(text)), nil
	}
	for _, base := range bases {
		var documents map[string]string
		if documents, err = patch(base, string(text)); err == nil {
			return documents, nil
		}
	}
	return nil, fmt.Errorf("%s does not fit %s: %w", path, g.Base, err)
}

// full returns documents one after the other, each with its name as a comment.
func full(documents map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		text.WriteString(separator + name + "\n" + documents[name])
	}
	return text.String()
}

// separator comes before the name of each document of a full golden.
const separator = "---\n# "

// split reverses full.
func split(text string) map[string]string {
	documents := map[string]string{}
	for _, document := range strings.Split("\n"+text, "\n"+separator)[1:] {
		name, content, _ := strings.Cut(document, "\n")
		documents[name] = strings.TrimSuffix(content, "\n") + "\n"
	}
	return documents
}

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// countedOn is the measurement whose files CONTRIBUTING.md counts.
const countedOn = "recovery"

// TestFilesOfAMeasurement checks that the code which knows one measurement by its name is in the
// files that CONTRIBUTING.md lists, and nowhere else.
func TestFilesOfAMeasurement(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Add a measurement")
	section, _, _ = strings.Cut(section, "\n## ")
	var want []string
	for _, row := range regexp.MustCompile("(?m)^\\| \\d \\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
		want = append(want, strings.ReplaceAll(row[1], "<name>", countedOn))
	}
	if len(want) != 6 {
		t.Fatalf("CONTRIBUTING.md lists %d files for a measurement, want 6: %v", len(want), want)
	}

	var got []string
	err = filepath.WalkDir(filepath.Join(top, "operator"), func(path string, entry fs.DirEntry, err error) error {
		switch name := filepath.ToSlash(path); {
		case err != nil:
			return err
		case entry.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"), strings.Contains(name, "/zz_generated"):
			return nil
		case strings.Contains(name, "/traffic/simulated/"):
			// A simulated device recovers too.
			return nil
		}
		if mentions(t, path, countedOn) {
			name, err := filepath.Rel(top, path)
			got = append(got, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what knows the measurement %s by its name (-CONTRIBUTING.md +code):\n%s", countedOn, diff)
	}
}

// mentions reports whether a file's code, without its comments, has a word in a name or a text.
func mentions(t *testing.T, path, word string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Ident:
			found = found || strings.Contains(strings.ToLower(node.Name), word)
		case *ast.BasicLit:
			found = found || strings.Contains(strings.ToLower(node.Value), word)
		}
		return !found
	})
	return found
}

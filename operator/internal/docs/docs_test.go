// Package docs checks that the documentation says what the code says.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// top is the repository's root, seen from here.
const top = "../../.."

// pages are the Markdown files below a folder, by their path from the root.
func pages(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(filepath.Join(top, folder), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		found[name] = string(text)
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("reading the pages in %q: %d found, %v", folder, len(found), err)
	}
	return found
}

// codes are the values of the API's constants with a prefix.
func codes(t *testing.T, prefixes ...string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			for _, prefix := range prefixes {
				if !strings.HasPrefix(name.Name, prefix) || i >= len(spec.Values) {
					continue
				}
				literal, ok := spec.Values[i].(*ast.BasicLit)
				if !ok {
					t.Fatalf("%s is not a literal", name.Name)
				}
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[name.Name] = value
			}
		}
		return true
	})
	if len(found) < 10 {
		t.Fatalf("found only %d constants", len(found))
	}
	return found
}

// TestCodesAreDocumented checks that every reason and every warning is explained where its reader looks for it.
func TestCodesAreDocumented(t *testing.T) {
	var all strings.Builder
	for _, folder := range []string{"docs/concepts", "docs/reference"} {
		for _, text := range pages(t, folder) {
			all.WriteString(text)
		}
	}
	for name, value := range codes(t, "Reason", "Warning", "Condition") {
		if !strings.Contains(all.String(), "`"+value+"`") {
			t.Errorf("%s, `%s`, is in no page of docs/concepts or docs/reference", name, value)
		}
	}
}

var (
	makeTarget = regexp.MustCompile(`(?m)^([A-Za-z0-9][-A-Za-z0-9]*):`)
	phony      = regexp.MustCompile(`(?m)^\.PHONY:(.*)$`)
	inlineMake = regexp.MustCompile("`make ((?:[-a-z0-9]+ ?)+)")
	blockMake  = regexp.MustCompile(`^\s*(?:\$ )?make ((?:[-a-z0-9]+ ?)+)`)
)

// TestMakeTargetsExist checks that every `make target` that a page names exists.
func TestMakeTargetsExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, match := range makeTarget.FindAllStringSubmatch(string(text), -1) {
		targets[match[1]] = true
	}
	for _, match := range phony.FindAllStringSubmatch(string(text), -1) {
		for name := range strings.FieldsSeq(match[1]) {
			targets[name] = true
		}
	}
	named := 0
	for page, text := range pages(t, "") {
		for _, words := range makeCommands(text) {
			for word := range strings.FieldsSeq(words) {
				named++
				if !strings.HasPrefix(word, "-") && !targets[word] {
					t.Errorf("%s names `make %s`, which is not a target", page, word)
				}
			}
		}
	}
	if named < 5 {
		t.Errorf("found only %d commands", named)
	}
}

// makeCommands are what follows "make" in code, in a line or in a block.
func makeCommands(text string) []string {
	var found []string
	block := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			block = !block
			continue
		}
		if block {
			if match := blockMake.FindStringSubmatch(line); match != nil {
				found = append(found, match[1])
			}
			continue
		}
		for _, match := range inlineMake.FindAllStringSubmatch(line, -1) {
			found = append(found, match[1])
		}
	}
	return found
}

var misplacedFlag = regexp.MustCompile(`kubectl (?:-\S+ (?:[^-\s]\S* )?)+vnfbench (?:watch|report|compare)`)

// TestFlagsFollowThePlugin checks the commands of all pages: kubectl takes no flag before a plugin's name.
func TestFlagsFollowThePlugin(t *testing.T) {
	for page, text := range pages(t, "") {
		for _, command := range misplacedFlag.FindAllString(text, -1) {
			t.Errorf("%s: %q: kubectl refuses flags before a plugin's name", page, command)
		}
	}
	if !misplacedFlag.MatchString("kubectl -n bench vnfbench watch") || misplacedFlag.MatchString("kubectl -n vnfbench get pods") {
		t.Error("the pattern does not find what it should")
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	// dropped is what GitHub leaves out of a heading's anchor.
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		plain := link.ReplaceAllString(match[1], "]")
		found[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(plain), ""), " ", "-")] = true
	}
	return found
}

// TestLinksResolve checks that every relative link leads to a file, and its fragment to a heading.
func TestLinksResolve(t *testing.T) {
	all := pages(t, "")
	checked := 0
	for page, text := range all {
		if page == filepath.Join("docs", "reference", "api.md") {
			continue // generated, with its own anchors
		}
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if scheme.MatchString(match[1]) {
				continue
			}
			checked++
			path, fragment, _ := strings.Cut(match[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(filepath.Join(top, target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, match[1])
				continue
			}
			if body, isPage := all[target]; isPage && fragment != "" && !anchors(body)[fragment] {
				t.Errorf("%s: %s has no heading for #%s", page, target, fragment)
			}
		}
	}
	if checked < 20 {
		t.Errorf("found only %d links", checked)
	}
}

// TestFindings checks that what these tests look for is found, and what they should refuse is refused.
func TestFindings(t *testing.T) {
	text := "Run `make lab-up demo` or\n\n```sh\nmake test\nls # make x\n```\n\nthis will make sense; make tea.\n"
	if got := strings.Join(makeCommands(text), "|"); got != "lab-up demo|test" {
		t.Errorf("got %q", got)
	}
	got := anchors("# What is *not* believed?\n\n## `code` & [a link](x.md)\n")
	if !got["what-is-not-believed"] || !got["code--a-link"] {
		t.Errorf("got %v", got)
	}
}

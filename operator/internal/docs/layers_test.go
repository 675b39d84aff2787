package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "vnfbench.io/operator/"

// layer is a row of the table in docs/architecture.md.
type layer struct {
	name string
	// packages are names, or folders that end in "/*".
	packages []string
}

var (
	layerRow = regexp.MustCompile("(?m)^\\| ([a-z ]+) \\| (`[^|]+`) \\|")
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// layers reads the table, from the top layer to the lowest.
func layers(t *testing.T) []layer {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Packages")
	section, _, _ = strings.Cut(section, "\n## ")
	var out []layer
	for _, row := range layerRow.FindAllStringSubmatch(section, -1) {
		l := layer{name: row[1]}
		for _, name := range quoted.FindAllStringSubmatch(row[2], -1) {
			l.packages = append(l.packages, name[1])
		}
		out = append(out, l)
	}
	if len(out) < 5 || out[len(out)-1].name != "tests" {
		t.Fatalf("docs/architecture.md has the layers %v", out)
	}
	return out
}

// layerOf returns the number of a package's layer, that of its longest name in the table, or -1.
func layerOf(all []layer, pkg string) int {
	found, longest := -1, -1
	for i, l := range all {
		for _, name := range l.packages {
			folder, below := strings.CutSuffix(name, "/*")
			length := 2 * len(folder)
			switch {
			case pkg == folder && !below:
				length++
			case pkg != folder && !strings.HasPrefix(pkg, folder+"/"):
				continue
			}
			if length > longest {
				found, longest = i, length
			}
		}
	}
	return found
}

// TestImportsGoDown checks that every package is in the table of layers, and imports packages of the same layer and of
// lower ones only. Tests may import everything, and no other layer imports them.
func TestImportsGoDown(t *testing.T) {
	all := layers(t)
	command := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	command.Dir = filepath.Join(top, "operator")
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	name := func(path string) string {
		return strings.TrimPrefix(strings.TrimPrefix(path, module), "internal/")
	}
	imports := 0
	for line := range strings.Lines(string(text)) {
		paths := strings.Fields(line)
		from := layerOf(all, name(paths[0]))
		if from < 0 {
			t.Errorf("%s is in no layer of docs/architecture.md: add it to a row", name(paths[0]))
			continue
		}
		if all[from].name == "tests" {
			continue
		}
		for _, path := range paths[1:] {
			if !strings.HasPrefix(path, module) {
				continue
			}
			imports++
			if to := layerOf(all, name(path)); to < from || to == len(all)-1 {
				t.Errorf("%s (%s) imports %s, which is not in a lower layer", name(paths[0]), all[from].name, name(path))
			}
		}
	}
	if imports < 100 {
		t.Errorf("only %d imports were checked", imports)
	}
}

// TestPackagesAreDrawn checks that the diagram of the packages has every row of the table and every name in it.
func TestPackagesAreDrawn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "docs", "diagrams", "packages.mmd"))
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]bool{}
	for _, name := range regexp.MustCompile(`[a-z0-9/*]+|\[[^]]+\]`).FindAllString(string(text), -1) {
		drawn[strings.Trim(name, "[]")] = true
	}
	for _, l := range layers(t) {
		for _, name := range append(l.packages, l.name) {
			if !drawn[name] {
				t.Errorf("docs/diagrams/packages.mmd lacks %s", name)
			}
		}
	}
}

// TestLayerOf checks that the most exact name of a package decides.
func TestLayerOf(t *testing.T) {
	all := []layer{{"upper", []string{"vnf/*", "guest"}}, {"lower", []string{"vnf", "testing/*"}}}
	for pkg, want := range map[string]int{"vnf": 1, "vnf/kernel": 0, "guest": 0, "guest/noisy": 0, "testing": 1, "vnfs": -1} {
		if got := layerOf(all, pkg); got != want {
			t.Errorf("%s is in layer %d, want %d", pkg, got, want)
		}
	}
}

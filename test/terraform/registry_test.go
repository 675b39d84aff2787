package terraform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestModulesStandAlone checks that a module can be taken by itself, from Git or a registry:
// it reads nothing outside of its folder, asks for the least version of each provider, and
// an example shows how it is called. Roots pin what is tried.
func TestModulesStandAlone(t *testing.T) {
	outside := regexp.MustCompile(`\.\./`)
	// Without an operator a constraint is an exact version.
	constraint := regexp.MustCompile(`(?m)^\s+version\s*= "([^0-9"]*)`)
	if pin := constraint.FindStringSubmatch("      version = \"0.11.0\"\n"); pin == nil || pin[1] != "" {
		t.Fatalf("an exact version is not seen as a constraint: %q", pin)
	}
	examples, err := filepath.Glob(filepath.Join(source, "examples", "*", "main.tf"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("found %d examples: %v", len(examples), err)
	}
	var called strings.Builder
	for _, file := range examples {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		called.Write(content)
	}
	for _, folder := range folders(t) {
		isModule := strings.HasPrefix(folder, "modules/")
		if isModule && !strings.Contains(called.String(), `"../../`+folder+`"`) {
			t.Errorf("no example calls %s", folder)
		}
		files, err := filepath.Glob(filepath.Join(source, folder, "*.tf"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if isModule && outside.Match(content) {
				t.Errorf("%s names a path outside of its module", file)
			}
			for _, match := range constraint.FindAllStringSubmatch(string(content), -1) {
				if want := map[bool]string{true: ">= ", false: "~> "}[isModule]; match[1] != want {
					t.Errorf("%s constrains a provider by %q, want %q", file, match[1], want)
				}
			}
		}
	}
}

// TestExamplesOfModules validates the examples.
func TestExamplesOfModules(t *testing.T) {
	examples, err := filepath.Glob(filepath.Join(source, "examples", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		t.Run(filepath.Base(example), func(t *testing.T) {
			path := initialized(t, filepath.Join("examples", filepath.Base(example)))
			if output, err := terraform.run(path, "validate", "-no-color"); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

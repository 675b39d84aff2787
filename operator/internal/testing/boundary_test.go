// Package testing_test checks that what only tests and the tools of hack/ need stays out of the product.
package testing_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module  = "vnfbench.io/operator/"
	support = module + "internal/testing/"
	tools   = module + "hack/"
)

// shipped are the commands that a release holds.
var shipped = []string{"endpoint", "kubectl-vnfbench", "manager", "measurer", "neighbor", "results", "vnf"}

// TestCommandsAreWhatShips compares the folders of cmd/ with the commands of a release.
func TestCommandsAreWhatShips(t *testing.T) {
	var got []string
	for _, line := range list(t, "{{.ImportPath}}", "./cmd/...") {
		got = append(got, strings.TrimPrefix(line, module+"cmd/"))
	}
	if slices.Sort(got); !slices.Equal(got, shipped) {
		t.Errorf("cmd/ holds %q, a release holds %q; what does not ship belongs in hack/", got, shipped)
	}
}

// TestProductImportsNoTestSupport checks the imports of every package's product files; imports of _test.go files are free.
func TestProductImportsNoTestSupport(t *testing.T) {
	checked := 0
	for _, line := range list(t, `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
		fields := strings.Fields(line)
		importer := fields[0]
		if strings.HasPrefix(importer, support) || strings.HasPrefix(importer, tools) {
			continue
		}
		checked++
		for _, imported := range fields[1:] {
			if imported == "testing" || strings.HasPrefix(imported, support) || strings.HasPrefix(imported, tools) {
				t.Errorf("%s imports %s outside its tests", importer, imported)
			}
		}
	}
	if checked < len(shipped) {
		t.Errorf("checked %d packages, want every one of the product's", checked)
	}
}

// list returns what go list prints for packages of the operator's module, one line for each.
func list(t *testing.T, format, packages string) []string {
	t.Helper()
	command := exec.Command("go", "list", "-f", format, packages)
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %v\n%s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

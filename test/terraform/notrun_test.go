package terraform_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestNotRunIsInTheTable checks that the table of make test says of these tests that they were
// not run where there is no Terraform: they end without a failure, and have not passed.
func TestNotRunIsInTheTable(t *testing.T) {
	tests, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("bash", "-c", `unset PARTS PARTS_INDENT; source ../scripts/parts.sh; parts_begin; part test-terraform env PATH= `+variableTerraform+`= "$0"`, tests)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if !regexp.MustCompile(`(?m)^test-terraform +[0-9]+  not run: neither terraform nor tofu is installed`).Match(output) {
		t.Errorf("the table does not say that the tests were not run:\n%s", output)
	}
}

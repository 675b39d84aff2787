// Package terraform_test checks the modules and roots under terraform/ with
// Terraform itself (or OpenTofu): format, validation, and their own tests with
// mocked providers against the providers' real schemas.
//
// Schemas come from the providers where a registry can be reached, or from
// recordings of `terraform providers schema -json` in the folder that
// VNFBENCH_TERRAFORM_SCHEMAS names. Without Terraform, or with neither, nothing
// is run, and the last line, NOT RUN and why, says so: a test that did not run has not passed.
package terraform_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// source is what is tested.
	source = "../../terraform"
	// variableSchemas names the folder with recorded schemas, NAME-VERSION.json.gz.
	variableSchemas = "VNFBENCH_TERRAFORM_SCHEMAS"
	// variableTerraform names the program; absent, terraform or tofu of PATH.
	variableTerraform = "VNFBENCH_TERRAFORM"
	// variableLint names tflint; absent, tflint of PATH.
	variableLint = "VNFBENCH_TFLINT"
	// callTimeout bounds each call of Terraform.
	callTimeout = 10 * time.Minute
)

// tool is Terraform with the configuration that the tests give it.
type tool struct {
	path string
	env  []string
}

var terraform tool

// providers are what the modules ask for, by address, in the versions that are tried.
var providers = map[string]string{
	"bpg/proxmox": "0.111.1", "siderolabs/talos": "0.11.0", "poseidon/matchbox": "0.5.4",
	"hashicorp/helm": "3.1.2", "hashicorp/kubernetes": "3.2.1",
}

// scratchFolder is for what several tests share.
var scratchFolder string

func TestMain(m *testing.M) {
	scratch, err := os.MkdirTemp("", "vnfbench-terraform-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratchFolder = scratch
	code := run(m, scratch)
	if err := os.RemoveAll(scratch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, scratch string) int {
	whyNot, err := setUp(scratch)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	case whyNot != "":
		fmt.Printf("NOT RUN: %s\n", whyNot) // make test's table looks for it
		return 0
	}
	return m.Run()
}

// setUp finds Terraform and providers. whyNot says what is missing.
func setUp(scratch string) (whyNot string, err error) {
	terraform.path = os.Getenv(variableTerraform)
	for _, name := range []string{"terraform", "tofu"} {
		if terraform.path == "" {
			terraform.path, _ = exec.LookPath(name)
		}
	}
	if terraform.path == "" {
		return "neither terraform nor tofu is installed; install one, or let " + variableTerraform + " name it", nil
	}
	terraform.env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0")
	schemas := os.Getenv(variableSchemas)
	if schemas == "" {
		// The smallest root shows whether a registry answers.
		copied, err := copyTree(filepath.Join(scratch, "reach"))
		if err != nil {
			return "", err
		}
		if output, err := terraform.run(filepath.Join(copied, "modules", "cluster"), "init", "-backend=false", "-no-color"); err != nil {
			return fmt.Sprintf("no registry of providers can be reached (%s), and %s names no folder with recorded schemas", lastLine(output), variableSchemas), nil
		}
		return "", nil
	}
	return "", useSchemas(scratch, schemas)
}

// useSchemas lets substitutes that know a schema and nothing else take the
// providers' places.
func useSchemas(scratch, schemas string) error {
	schemas, err := filepath.Abs(schemas)
	if err != nil {
		return err
	}
	standIn, err := buildSchemaProvider()
	if err != nil {
		return err
	}
	programs := map[string]string{}
	for address := range providers {
		programs[address] = standIn
	}
	configuration, err := writeMirror(scratch, programs)
	if err != nil {
		return err
	}
	terraform.env = append(terraform.env, "TF_CLI_CONFIG_FILE="+configuration, "SCHEMAPROVIDER_DIR="+schemas)
	return nil
}

// buildSchemaProvider builds the substitute for providers once and names it.
var buildSchemaProvider = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratchFolder, "schemaprovider")
	if output, err := exec.Command("go", "build", "-o", program, "./schemaprovider").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the substitute for providers: %w\n%s", err, output)
	}
	return program, nil
})

// writeMirror makes a mirror of providers, which are programs by their addresses, and names
// a configuration of Terraform that takes them from there alone.
func writeMirror(folder string, programs map[string]string) (configuration string, err error) {
	mirror := filepath.Join(folder, "mirror")
	for address, program := range programs {
		program, err := filepath.Abs(program)
		if err != nil {
			return "", err
		}
		for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
			folder := filepath.Join(mirror, host, address, providers[address], runtime.GOOS+"_"+runtime.GOARCH)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return "", err
			}
			name := fmt.Sprintf("terraform-provider-%s_v%s", filepath.Base(address), providers[address])
			if err := os.Symlink(program, filepath.Join(folder, name)); err != nil {
				return "", err
			}
		}
	}
	configuration = filepath.Join(folder, "terraform.rc")
	text := fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	return configuration, os.WriteFile(configuration, []byte(text), 0o644)
}

// run calls Terraform in a folder; output is both of its streams.
func (t tool) run(folder string, arguments ...string) (output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, t.path, arguments...)
	command.Dir, command.Env = folder, t.env
	var both bytes.Buffer
	command.Stdout, command.Stderr = &both, &both
	err = command.Run()
	return both.String(), err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// copyTree copies the sources, without what Terraform itself left there and
// without locks of providers, which the substitutes would not satisfy.
func copyTree(target string) (string, error) {
	return target, filepath.WalkDir(source, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && entry.Name() == ".terraform":
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(target, relative), 0o755)
		case entry.Name() == ".terraform.lock.hcl":
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(target, relative), content, 0o644)
	})
}

// folders are all modules and roots.
func folders(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"modules/*", "clusters/*"} {
		matches, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range matches {
			relative, err := filepath.Rel(source, match)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, relative)
		}
	}
	if len(found) < 6 {
		t.Fatalf("found %v, which are not all modules and roots", found)
	}
	return found
}

// initialized is a copy of the tree in which one folder is ready for Terraform.
func initialized(t *testing.T, folder string) string {
	t.Helper()
	return terraform.initialized(t, folder)
}

// initialized is such a copy for the providers that this one has.
func (with tool) initialized(t *testing.T, folder string) string {
	t.Helper()
	top := t.TempDir()
	copied, err := copyTree(filepath.Join(top, "terraform"))
	if err != nil {
		t.Fatal(err)
	}
	// The roots take this tree's chart.
	charts, err := filepath.Abs("../../charts")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(charts, filepath.Join(top, "charts")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(copied, folder)
	if output, err := with.run(path, "init", "-backend=false", "-no-color"); err != nil {
		t.Fatalf("init: %v\n%s", err, output)
	}
	return path
}

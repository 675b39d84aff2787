package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScanSaysWhatItDoesNot runs test/scripts/scan.sh with substitutes for the programs that it calls. What cannot be looked
// at is named with the reason and fails nothing; what is found fails.
func TestScanSaysWhatItDoesNot(t *testing.T) {
	const answers, fails = "exit 0", "exit 1"
	for name, test := range map[string]struct {
		// programs are the substitutes on the path, and of the project's own tools; one that is not here does not exist.
		programs map[string]string
		images   bool
		says     []string
		finds    bool
	}{
		"no database, no images": {
			map[string]string{"curl": fails}, false,
			[]string{"govulncheck: NOT RUN: the database https://vuln.go.dev does not answer", "images: NOT RUN: there are none"}, false,
		},
		"no grype": {map[string]string{"curl": fails}, true, []string{"images: NOT RUN: grype is not installed"}, false},
		"no database of images": {
			map[string]string{"curl": fails, "grype": fails}, true,
			[]string{"images: NOT RUN: the database of grype cannot be had"}, false,
		},
		"tools that cannot be built": {
			map[string]string{"curl": answers, "grype": answers, "go": fails, "sleep": answers}, true,
			[]string{"govulncheck: NOT RUN: it cannot be built", "images: NOT RUN: syft cannot be built"}, false,
		},
		"nothing is found": {
			map[string]string{"curl": answers, "grype": answers, "govulncheck-v0": answers, "syft-v0": answers}, true,
			[]string{"govulncheck in operator", "scan: bin/images/manager.tar"}, false,
		},
		"a module has a vulnerability": {map[string]string{"curl": answers, "govulncheck-v0": "exit 3"}, false, []string{"govulncheck in operator"}, true},
		"an image has one": {
			map[string]string{"curl": fails, "syft-v0": answers, "grype": `[ "$1" = db ] || exit 1`}, true,
			[]string{"govulncheck: NOT RUN", "scan: bin/images/manager.tar"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			write := func(path, text string) {
				t.Helper()
				path = filepath.Join(tree, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, script := range []string{"scan.sh", "install-tool.sh", "again.sh"} {
				text, err := os.ReadFile(filepath.Join(top, "test/scripts", script))
				if err != nil {
					t.Fatal(err)
				}
				write("test/scripts/"+script, string(text))
			}
			for _, module := range []string{"operator", "test/lab", "test/e2e"} {
				write(module+"/go.mod", "")
			}
			if test.images {
				write("bin/images/manager.tar", "")
			}
			for program, script := range test.programs {
				write("path/"+program, "#!/bin/sh\n"+script+"\n")
			}
			// The programs of the system that the scripts use, and none of its others.
			for _, program := range []string{"bash", "sh", "dirname", "basename", "mktemp", "mkdir", "rm", "mv", "cat", "grep", "tail", "sleep"} {
				path, err := exec.LookPath(program)
				if err != nil {
					t.Fatal(err)
				}
				if test.programs[program] == "" {
					if err := os.Symlink(path, filepath.Join(tree, "path", program)); err != nil {
						t.Fatal(err)
					}
				}
			}
			command := exec.CommandContext(t.Context(), "bash", filepath.Join(tree, "test/scripts/scan.sh"))
			command.Env = []string{
				"PATH=" + filepath.Join(tree, "path"), "HOME=" + tree, "TMPDIR=" + tree,
				"GOVULNCHECK=" + filepath.Join(tree, "path/govulncheck-v0"), "SYFT=" + filepath.Join(tree, "path/syft-v0"),
			}
			output, err := command.CombinedOutput()
			if (err != nil) != test.finds {
				t.Errorf("it ends with %v", err)
			}
			for _, want := range test.says {
				if !strings.Contains(string(output), want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if t.Failed() {
				t.Logf("%s", output)
			}
		})
	}
}

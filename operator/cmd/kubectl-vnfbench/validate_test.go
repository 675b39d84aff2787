package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifest = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: router}
spec:
  experiment:
    chain:
    - {name: r1, function: Router}
`

const labTestbed = `
apiVersion: vnfbench.io/v1alpha1
kind: Testbed
metadata: {name: lab, annotations: {vnfbench.io/is-default-testbed: "true"}}
spec: {}
`

// TestValidate checks what is printed, and the exit codes.
func TestValidate(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"a.yaml": labTestbed, "b.yml": manifest, "c.txt": "a: ["} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		input string
		args  []string
		code  int
		want  []string
	}{
		"folder": {"", []string{folder}, exitSucceeded, []string{"note: the plans assume", "0 problems in 2 objects; 1 plan\n"}},
		"wrong":  {strings.Replace(manifest, "function: Router", "function: Rooter", 1), []string{"-"}, exitFailed, []string{"-: document 1: BenchmarkRun router: spec.experiment.chain[0].function\n", "  to do: ", "1 problem in 1 object; 0 plans"}},
		"JSON":   {"a: [", []string{"-", "-o", "json"}, exitFailed, []string{`"kind": "ManifestCheck"`, `"document": 1`}},
		"valid":  {manifest, []string{"-", "-o", "json"}, exitSucceeded, []string{`"findings": []`}},
		"absent": {"", []string{folder + "/none.yaml"}, exitError, []string{"no such file"}},
		"empty":  {"", []string{t.TempDir()}, exitError, []string{"has no file that ends in"}},
		"none":   {"", nil, exitError, []string{"one or more files"}},
	} {
		code, out, errOut := commandOver(t, nil, test.input, append([]string{"validate"}, test.args...)...)
		if code != test.code {
			t.Errorf("%s: exit code %d, want %d:\n%s%s", name, code, test.code, out, errOut)
		}
		for _, want := range test.want {
			if !strings.Contains(out+errOut, want) {
				t.Errorf("%s: %q is absent:\n%s%s", name, want, out, errOut)
			}
		}
	}
}

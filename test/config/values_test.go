package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEveryValueIsTested checks that each value of the chart is set by a test in
// charts/vnfbench/tests, so that none can stop to do what it says unseen.
func TestEveryValueIsTested(t *testing.T) {
	chart := filepath.Join(top, "charts", "vnfbench")
	var values object
	read(t, filepath.Join(chart, "values.yaml"), &values)
	set := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(chart, "tests", "*_test.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files of tests: %v", len(files), err)
	}
	for _, file := range files {
		var suite struct {
			Set   object `json:"set"`
			Tests []struct {
				Set object `json:"set"`
			} `json:"tests"`
		}
		read(t, file, &suite)
		for name := range suite.Set {
			set[name] = true
		}
		for _, test := range suite.Tests {
			for name := range test.Set {
				set[name] = true
			}
		}
	}
	leaves := 0
	var walk func(value any, path string)
	walk = func(value any, path string) {
		if below, isMap := value.(object); isMap && len(below) > 0 && !set[path] {
			for key, value := range below {
				walk(value, strings.TrimPrefix(path+"."+key, "."))
			}
			return
		}
		leaves++
		if !set[path] {
			t.Errorf("no test of the chart sets the value %s", path)
		}
	}
	walk(values, "")
	if leaves < 20 {
		t.Errorf("the chart has %d values", leaves)
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

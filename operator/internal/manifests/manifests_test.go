package manifests

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCopiesAreCurrent checks that the embedded files are those of config.
func TestCopiesAreCurrent(t *testing.T) {
	for folder, pattern := range map[string]string{"crds": "crd/bases/*.yaml", "admission": "admission/*-*.yaml"} {
		sources, err := filepath.Glob(filepath.Join("..", "..", "..", "config", filepath.FromSlash(pattern)))
		if err != nil || len(sources) == 0 {
			t.Fatalf("%d sources: %v", len(sources), err)
		}
		for _, source := range sources {
			want, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := files.ReadFile(folder + "/" + filepath.Base(source)); err != nil || string(got) != string(want) {
				t.Errorf("%s differs from %s: run make generate: %v", folder, source, err)
			}
		}
		if copies, err := files.ReadDir(folder); err != nil || len(copies) != len(sources) {
			t.Errorf("%s has %d files, and config %d: %v", folder, len(copies), len(sources), err)
		}
	}
}

// TestAllIsRead checks that each file is read as what it is.
func TestAllIsRead(t *testing.T) {
	crds, err := CRDs()
	if err != nil || len(crds) != 5 {
		t.Errorf("%d CRDs, want 5: %v", len(crds), err)
	}
	policies, err := Policies()
	files, listErr := files.ReadDir("admission")
	if err != nil || listErr != nil || len(policies) < len(files) {
		t.Errorf("%d policies in %d files: %v, %v", len(policies), len(files), err, listErr)
	}
	for _, policy := range policies {
		if len(policy.Spec.Validations) == 0 {
			t.Errorf("policy %s has no rule", policy.Name)
		}
	}
}

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSamplesAreAdmitted(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d samples: %v", len(files), err)
	}
	// Samples in folders need more than a one-node lab; next to them are objects of other kinds.
	further, err := filepath.Glob("../../../config/samples/*/*.yaml")
	if err != nil || len(further) == 0 {
		t.Fatalf("found %d samples in folders: %v", len(further), err)
	}
	git, err := filepath.Glob("../../../config/gitops/bench/*/*.yaml")
	if err != nil || len(git) < 3 {
		t.Fatalf("found %d objects for GitOps: %v", len(git), err)
	}
	for _, file := range slices.Concat(files, further, git) {
		if name := filepath.Base(file); name == "kustomization.yaml" || strings.HasPrefix(name, "policies") || name == "namespace.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := object(t, string(text), nil)
		if o.GetKind() != "Testbed" {
			o.SetNamespace("default")
		}
		if err := create(o); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}

// oneMeasurement are the samples that show a single measurement or their own loads: a profile would add its search and
// its latency.
var oneMeasurement = []string{
	"chain-of-four.yaml", "firewall-connections.yaml", "router-accepted.yaml", "router-back-to-back.yaml", "router-branch-office.yaml",
	"router-frame-loss.yaml", "router-receive-rate.yaml", "router-recovery.yaml", "router-runtimes.yaml", "router-soak.yaml", "router-tcp.yaml",
}

// TestSamplesNameAProfile checks that a sample says what it measures: by a profile, or by a measurement that it names.
func TestSamplesNameAProfile(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/*.yaml")
	further, furtherErr := filepath.Glob("../../../config/samples/*/*.yaml")
	if err != nil || furtherErr != nil {
		t.Fatal(err, furtherErr)
	}
	with, without := 0, []string{}
	for _, file := range slices.Concat(files, further) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case !strings.Contains(string(text), "kind: BenchmarkRun"):
		case strings.Contains(string(text), "\n      profile: "):
			with++
		default:
			without = append(without, filepath.Base(file))
		}
	}
	if slices.Sort(without); !slices.Equal(without, oneMeasurement) || with < 20 {
		t.Errorf("%d samples name a profile, and without one are %q, want %q", with, without, oneMeasurement)
	}
}

// TestTestbedsOfTerraformAreAdmitted: what the roots' examples render, which
// the tests of Terraform keep as golden files.
func TestTestbedsOfTerraformAreAdmitted(t *testing.T) {
	files, err := filepath.Glob("../../../test/terraform/testdata/testbed-*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %d manifests: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := create(object(t, string(text), nil)); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}

// TestTheReadmesRunIsAdmitted: the first manifest that a new user copies.
func TestTheReadmesRunIsAdmitted(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```yaml\n")
	manifest, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("README.md has no manifest")
	}
	if err := create(object(t, manifest, map[string]string{"metadata.namespace": "default"})); err != nil {
		t.Error(err)
	}
}

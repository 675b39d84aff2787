package v1alpha1_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCRDsStaySmall holds the bytes of the CRDs, as the JSON that the API server stores, below limits: every
// client that lists the API's types reads them all. A new field costs 100 to 200 bytes, in each place where
// its type is. A type that occurs in several places can be one list whose entries have a FigureKey.
func TestCRDsStaySmall(t *testing.T) {
	for file, limit := range map[string]int{
		"vnfbench.io_benchmarkruns.yaml":         190_000,
		"vnfbench.io_testbeds.yaml":              46_500,
		"vnfbench.io_benchmarksuites.yaml":       28_500,
		"vnfbench.io_benchmarksuiteruns.yaml":    24_000,
		"vnfbench.io_benchmarkmeasurements.yaml": 6_000,
	} {
		text, err := os.ReadFile("../../../config/crd/bases/" + file)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(stored) > limit {
			t.Errorf("%s has %d bytes, at most %d are allowed", file, len(stored), limit)
		}
		t.Logf("%s: %d bytes", file, len(stored))
	}
}

package report

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"vnfbench.io/operator/internal/figure"
)

// TestGateNamesTheMetricsOfSeries checks that spec.regression.gate of a suite takes the metrics that have series, and no others.
func TestGateNamesTheMetricsOfSeries(t *testing.T) {
	text, err := os.ReadFile("../../api/v1alpha1/regression_types.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`Enum=([A-Za-z0-9;]+)\n\s+Metric Metric`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the field metric has no enum")
	}
	got := regexp.MustCompile(`;`).Split(string(found[1]), -1)
	var want []string
	for _, m := range figure.Metrics {
		if isSeries(m.Name) {
			want = append(want, string(m.Name))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the enum has %v, want %v", got, want)
	}
}

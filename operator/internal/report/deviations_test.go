package report

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// A report names a search that is not RFC 2544's.
func TestDeviationsNameTheMethod(t *testing.T) {
	for method, want := range map[v1alpha1.SearchMethod]string{
		v1alpha1.MethodMLRsearch: "RFC 9971", v1alpha1.MethodRFC2544: "",
		v1alpha1.MethodTST009: "method is TST009,", v1alpha1.MethodTST009WithLossVerification: "repeats trials with loss",
	} {
		var spec v1alpha1.BenchmarkRunSpec
		spec.Measurements.Throughput = &v1alpha1.Throughput{Method: method}
		got := strings.Join(deviations(spec, nil), "\n")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", method, got, want)
		}
	}
}

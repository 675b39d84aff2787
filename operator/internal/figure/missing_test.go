package figure

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestWhyMissing checks that a burst has its own reason, and that whatever has one can be judged.
func TestWhyMissing(t *testing.T) {
	if WhyMissing(v1alpha1.MetricBackToBack) == "" || WhyMissing(v1alpha1.MetricThroughputFramesPerSecond) != "" || WhyMissing("") != "" {
		t.Error("only bursts have a reason why a run that measured them has no figure")
	}
	for _, m := range sizeMeasurements {
		if (m.judged == "") != (m.missing == "") || m.judged != "" && !Describe(m.judged).Is(Judged) {
			t.Errorf("%q is missing because %q", m.judged, m.missing)
		}
	}
}

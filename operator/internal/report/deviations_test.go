package report

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestDeviationsOfTaggedFrames checks that a run exactly as in RFC 2544 section 26.2 lists no deviations of its latency,
// and a shortened one lists each.
func TestDeviationsOfTaggedFrames(t *testing.T) {
	of := func(tagged v1alpha1.TaggedFrame) []string {
		var spec v1alpha1.Experiment
		spec.Measurements.Latency = &v1alpha1.Latency{TrialMilliseconds: 5000, TaggedFrame: &tagged}
		return settingDeviations(spec, nil)
	}
	if got := of(v1alpha1.TaggedFrame{Streams: 20, StreamMilliseconds: 120_000, AfterMilliseconds: 60_000}); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	got := strings.Join(of(v1alpha1.TaggedFrame{Streams: 3, StreamMilliseconds: 10_000, AfterMilliseconds: 5000}), "\n")
	for _, want := range []string{"3 tagged frames", "streams last 10 s", "tagged after 5 s"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

// TestDeviationsNameTheMethod checks that a report names a search that is not RFC 2544's.
func TestDeviationsNameTheMethod(t *testing.T) {
	for method, want := range map[v1alpha1.SearchMethod]string{
		v1alpha1.MethodMLRsearch: "RFC 9971", v1alpha1.MethodRFC2544: "",
		v1alpha1.MethodTST009: "method is TST009,", v1alpha1.MethodTST009WithLossVerification: "repeats trials with loss",
	} {
		var spec v1alpha1.Experiment
		spec.Measurements.Throughput = &v1alpha1.Throughput{Method: method}
		got := strings.Join(settingDeviations(spec, nil), "\n")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", method, got, want)
		}
	}
}

// TestDeviationsOfTCPAlone checks that a report lists no deviations of TCP from RFC 2544, which does not cover it.
func TestDeviationsOfTCPAlone(t *testing.T) {
	var spec v1alpha1.Experiment
	spec.Measurements = v1alpha1.Measurements{
		TCP: &v1alpha1.TCP{Streams: []int32{1}}, SettleMilliseconds: 100, Repeats: 2,
		NoisyNeighbors: v1alpha1.NeighborsWithAndWithout,
	}
	if got := (done{spec: spec}).deviations(); len(got) != 0 {
		t.Errorf("got %q, want no deviation", got)
	}
}

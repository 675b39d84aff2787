package report

import (
	"bytes"
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

// TestDeviationsOfTCPWithNeighbors checks that a run of TCP alone has no deviation from RFC 2544, which does not cover
// TCP, whatever conditions and repeats it has: neither in what is computed nor in its report.
func TestDeviationsOfTCPWithNeighbors(t *testing.T) {
	run, records := tcp(t)
	run.Spec.Experiment.Measurements.NoisyNeighbors = v1alpha1.NeighborsWithAndWithout
	run.Spec.Experiment.NoisyNeighbors = []v1alpha1.NoisyNeighbor{{Name: "noise"}}
	run.Status.NoisyNeighbors = neighborsReport()
	doc := mustBuild(t, run, records)
	if len(doc.Deviations) != 0 {
		t.Errorf("the report has %q, want no deviation", doc.Deviations)
	}
	var text bytes.Buffer
	if err := Write(&text, doc, FormatTable, Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(text.String()), "deviations from rfc 2544") {
		t.Errorf("the report has a section of deviations:\n%s", text.String())
	}

	// What is measured decides, and not what results there are.
	sizes := []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64}}
	if got := (done{spec: run.Spec.Experiment, results: sizes}).deviations(); len(got) != 0 {
		t.Errorf("got %q, want no deviation", got)
	}
	run.Spec.Experiment.Measurements.Throughput = &v1alpha1.Throughput{Method: v1alpha1.MethodRFC2544}
	with := strings.Join((done{spec: run.Spec.Experiment, results: sizes}).deviations(), "\n")
	if !strings.Contains(with, "noisy neighbors loaded the device's node") {
		t.Errorf("with throughput the deviations are %q", with)
	}
	if got := (done{spec: run.Spec.Experiment}).deviations(); len(got) != 0 {
		t.Errorf("a run without a figure deviates in %q", got)
	}
}

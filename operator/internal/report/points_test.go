package report

import (
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/series"
)

// TestPoints checks that a measured run gives a point for each figure that has a series, and that its key depends on what was
// measured and not on what was tested.
func TestPoints(t *testing.T) {
	run, records := fixture(t)
	build := func(change func(*Document)) []series.Point {
		t.Helper()
		doc, err := Build(run, Source{Trials: records}, now)
		if err != nil {
			t.Fatal(err)
		}
		change(&doc)
		points, err := Points(doc, series.Subject{Revision: "3f2a"}, "nightly-1", nil)
		if err != nil {
			t.Fatal(err)
		}
		return points
	}
	points := build(func(*Document) {})
	found := map[string]series.Point{}
	for _, p := range points {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", p.Figure, err)
		}
		if _, twice := found[p.Figure]; twice {
			t.Errorf("%s is there twice", p.Figure)
		}
		found[p.Figure] = p
		if strings.HasPrefix(p.Figure, "Loss") || p.Subject.Revision != "3f2a" || p.Execution != "nightly-1" || p.Testbed != run.TestbedName() || p.Time.IsZero() {
			t.Errorf("got %+v", p)
		}
	}
	for _, frame := range run.Status.Results {
		for _, result := range frame.Throughput {
			p, ok := found["ThroughputFramesPerSecond "+frame.Size+" "+result.Goal]
			if !ok || p.Value != result.FramesPerSecond || p.LowerIsBetter || p.Unit != "frames/s" {
				t.Errorf("size %s, goal %s: got %+v, want %d", frame.Size, result.Goal, p, result.FramesPerSecond)
			}
		}
	}
	if p, ok := found["LatencyP99Nanoseconds 64 pdr50"]; !ok || !p.LowerIsBetter {
		t.Errorf("the delay is %+v of %d points", p, len(found))
	}
	key := func(change func(*Document)) string { return build(change)[0].Experiment }
	same := key(func(*Document) {})
	if got := key(func(d *Document) { d.Experiment.Acceptance = nil }); got != same {
		t.Errorf("thresholds change the experiment to %s from %s", got, same)
	}
	if got := key(func(d *Document) { d.Experiment.Traffic.Flows = 77 }); got == same || got[:strings.Index(got, "@")] != same[:strings.Index(same, "@")] {
		t.Errorf("other flows have the experiment %s, and it was %s", got, same)
	}
	rules := func(name string, rules int32) string {
		return key(func(d *Document) {
			d.Run.Experiment, d.Experiment.Chain[0].Firewall = name, &v1alpha1.Firewall{Rules: rules}
		})
	}
	chain := unnamed(run.TestbedName(), run.Spec.Experiment.Chain)
	if rules("nightly.base", 100) != rules("nightly.base", 200) {
		t.Error("other rules begin another series of a named experiment")
	}
	if rules(chain, 100) == rules(chain, 200) {
		t.Error("other rules are the same experiment where it has no name")
	}
	platform := func(kernel string) string {
		return build(func(d *Document) {
			d.Device = &v1alpha1.DeviceReport{Fingerprint: &v1alpha1.Fingerprint{Digest: "sha256:" + kernel, Kernel: kernel}}
		})[0].Platform
	}
	if platform("6.12") == platform("6.18") || platform("6.12") == "" {
		t.Errorf("the platforms are %q and %q", platform("6.12"), platform("6.18"))
	}
}

func TestPointsRefuse(t *testing.T) {
	run, records := running(t)
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Points(doc, series.Subject{}, "", nil); err == nil || !strings.Contains(err.Error(), "is not measured") {
		t.Errorf("got %v", err)
	}
	run, records = fixture(t)
	if doc, err = Build(run, Source{Trials: records}, now); err != nil {
		t.Fatal(err)
	}
	doc.Results = nil
	if _, err := Points(doc, series.Subject{}, "", nil); err == nil || !strings.Contains(err.Error(), "no figure") {
		t.Errorf("got %v", err)
	}
	doc.Run.CompletionTime = nil
	if _, err := Points(doc, series.Subject{}, "", nil); err == nil || !strings.Contains(err.Error(), "no completion time") {
		t.Errorf("got %v", err)
	}
}

// TestBoundOfAPoint checks that a receive rate next to other work is a value of its series, with what the rate is at most without that work.
func TestBoundOfAPoint(t *testing.T) {
	run, records := fixture(t)
	run.Status.Results[0].ReceiveRate = &v1alpha1.ReceiveRateResult{
		MeanFramesPerSecond: 500_000, UpperBoundFramesPerSecond: new(int64(512_296)), HeldPartsPerMillion: new(int64(12_000)), Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing},
		Trials: []v1alpha1.ReceiveRateTrial{{Trial: 1, ForwardingFramesPerSecond: 500_000, LossPartsPerMillion: 500_000}},
	}
	doc, err := Build(run, Source{Trials: records}, now)
	if err != nil {
		t.Fatal(err)
	}
	points, err := Points(doc, series.Subject{}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(points, func(p series.Point) bool { return strings.HasPrefix(p.Figure, "ReceiveRateFramesPerSecond ") })
	if at < 0 || points[at].NoValue() != "" || points[at].UpperBound != 512_296 || len(points[at].Doubts) != 1 || points[at].Validate() != nil {
		t.Errorf("at %d of %+v", at, points)
	}
}

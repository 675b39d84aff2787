package figure

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestEveryCodeIsExplained checks that the documentation has every code of the API.
func TestEveryCodeIsExplained(t *testing.T) {
	source, err := os.ReadFile("../../api/v1alpha1/doubt_types.go")
	if err != nil {
		t.Fatal(err)
	}
	var pages string
	for _, name := range []string{"acceptance.md", "baseline.md"} {
		text, err := os.ReadFile("../../../docs/methodology/" + name)
		if err != nil {
			t.Fatal(err)
		}
		pages += string(text)
	}
	found := regexp.MustCompile(`DoubtCode = (?:Warning(\w+)|"(\w+)")`).FindAllStringSubmatch(string(source), -1)
	if len(found) < len(doubtWords) {
		t.Fatalf("%d codes in the API, %d in the table of words", len(found), len(doubtWords))
	}
	for _, match := range found {
		if code := match[1] + match[2]; !strings.Contains(pages, "`"+code+"`") {
			t.Errorf("docs/methodology/acceptance.md and baseline.md do not explain %s", code)
		}
	}
}

func TestSides(t *testing.T) {
	for _, test := range []struct {
		code   v1alpha1.DoubtCode
		metric v1alpha1.Metric
		want   Side
	}{
		{v1alpha1.DoubtGeneratorCeiling, v1alpha1.MetricReceiveRate, Above},
		{v1alpha1.DoubtGeneratorCeiling, v1alpha1.MetricLoss, Below},
		{v1alpha1.DoubtCalibrationDrift, v1alpha1.MetricReceiveRate, Above},
		{v1alpha1.DoubtCalibrationDrift, v1alpha1.MetricThroughputFramesPerSecond, Above},
		{v1alpha1.DoubtEndpointCeiling, v1alpha1.MetricTCPGoodput, Above},
		{v1alpha1.DoubtEndpointCeiling, v1alpha1.MetricTCPRetransmits, either},
		{v1alpha1.DoubtLoadNotReached, v1alpha1.MetricConnectionsEstablished, Above},
		{v1alpha1.DoubtLoadNotReached, v1alpha1.MetricLatencyP99, Above},
		{v1alpha1.DoubtLoadNotReached, v1alpha1.MetricBackToBack, Below},
		{v1alpha1.DoubtStretchedTrials, v1alpha1.MetricLatencyP99, Below},
		{v1alpha1.DoubtStretchedTrials, v1alpha1.MetricLatencyMin, 0},
		{v1alpha1.DoubtRefragmented, v1alpha1.MetricLoss, either},
		{v1alpha1.DoubtFramesUnaccounted, v1alpha1.MetricLoss, Below},
		{v1alpha1.DoubtDrift, v1alpha1.MetricThroughputFramesPerSecond, either},
		{v1alpha1.DoubtLossInversion, v1alpha1.MetricThroughputFramesPerSecond, Above},
		{"OfALaterVersion", v1alpha1.MetricLoss, either},
	} {
		doubt, concerns := NewDoubt(test.code, test.metric)
		if doubt.Side != test.want || concerns != (test.want != 0) || doubt.Text == "" || doubt.Remedy == "" {
			t.Errorf("%s of %s: got %+v, want side %d", test.code, test.metric, doubt, test.want)
		}
	}
}

// TestShares checks that the share of a load is a figure with the bound of its throughput.
func TestShares(t *testing.T) {
	share := &v1alpha1.LoadShare{Goal: "PDR", Percent: 50, ThroughputFramesPerSecond: 1000, UpperBoundCause: v1alpha1.CauseGeneratorCeiling}
	figures := Results{Frames: []v1alpha1.FrameResult{{Size: "64", Latency: []v1alpha1.LatencyResult{{Load: "pdr50", IntendedFramesPerSecond: 500, Share: share}}}}}.Figures()
	at := slices.IndexFunc(figures, func(f Figure) bool { return f.Metric == "LoadShareOfFramesPerSecond" })
	if at < 0 {
		t.Fatalf("figures are %+v", figures)
	}
	if f := figures[at]; f.Value != 1000 || f.Goal != "PDR" || f.Load != "pdr50" || f.Bound != AtLeast || f.Cause != "GeneratorCeiling" {
		t.Errorf("got %+v", f)
	}
}

// TestDoubtsOfLossCurve checks that the doubts about a point are those of its results alone, with the limit that other
// work on the generator's core sets.
func TestDoubtsOfLossCurve(t *testing.T) {
	partly := []v1alpha1.DoubtCode{v1alpha1.DoubtPartlyInterrupted}
	curve := &v1alpha1.FrameLossRateResult{Points: []v1alpha1.LossPoint{
		{Percent: 100, ForwardingFramesPerSecond: 700, LossPartsPerMillion: 300_000, Doubts: partly, AwayPartsPerMillion: 1000},
		{Percent: 90, ForwardingFramesPerSecond: 900, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtLoadNotReached}},
		{Percent: 80, ForwardingFramesPerSecond: 800},
	}}
	type of struct {
		metric  v1alpha1.Metric
		percent int32
	}
	want := map[of]Doubt{
		{lossOfCurve, 100}: {Code: v1alpha1.DoubtPartlyInterrupted, Side: Below, AtLeast: new(int64(298_000))},
		{lossOfCurve, 90}:  {Code: v1alpha1.DoubtLoadNotReached, Side: Above},
		{"FrameLossRateForwardingFramesPerSecond", 90}: {Code: v1alpha1.DoubtLoadNotReached, Side: Above},
	}
	found := 0
	for _, f := range (Results{Frames: []v1alpha1.FrameResult{{Size: "64", FrameLossRate: curve}}}).Figures() {
		expected, doubtful := want[of{f.Metric, f.Percent}]
		if !doubtful {
			if len(f.Doubts) > 0 {
				t.Errorf("%s at %d %% has the doubts %v", f.Metric, f.Percent, f.Codes())
			}
			continue
		}
		found++
		if len(f.Doubts) != 1 || f.Doubts[0].Code != expected.Code || f.Doubts[0].Side != expected.Side ||
			(f.Doubts[0].AtLeast == nil) != (expected.AtLeast == nil) || expected.AtLeast != nil && *f.Doubts[0].AtLeast != *expected.AtLeast {
			t.Errorf("%s at %d %% has the doubts %+v, want %+v", f.Metric, f.Percent, f.Doubts, expected)
		}
	}
	if found != len(want) {
		t.Errorf("%d figures have doubts, want %d", found, len(want))
	}
}

// TestUncountedFramesHaveNoSide checks that frames that no counter has are a doubt about a loss that is not 0, which no verdict depends on.
func TestUncountedFramesHaveNoSide(t *testing.T) {
	lossy := func(partsPerMillion int64) v1alpha1.LatencyResult {
		return v1alpha1.LatencyResult{
			Load: "half", IntendedFramesPerSecond: 1000, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtFramesUncounted},
			Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{
				Direction: "Forward", SentFrames: 1000, LossPartsPerMillion: partsPerMillion, Latency: v1alpha1.Delays{Samples: 1000},
			}}},
		}
	}
	for _, loss := range []int64{0, 7} {
		found := 0
		for _, f := range (Results{Frames: []v1alpha1.FrameResult{{Size: "64", Latency: []v1alpha1.LatencyResult{lossy(loss)}}}}).Figures() {
			if !slices.Contains(f.Codes(), v1alpha1.DoubtFramesUncounted) {
				continue
			}
			found++
			if f.Metric != v1alpha1.MetricLoss || len(f.Doubts) > 1 || f.Doubts[0].Side != 0 {
				t.Errorf("%s has the doubts %+v", f.Metric, f.Doubts)
			}
		}
		if want := min(int(loss), 1); found != want {
			t.Errorf("with a loss of %d ppm %d figures are in doubt, want %d", loss, found, want)
		}
	}
}

// TestReceiveRateNextToOtherWork checks that the doubt about a rate next to other work names the bound, and is not limited by it.
func TestReceiveRateNextToOtherWork(t *testing.T) {
	for _, bound := range []*int64{nil, new(int64(512_296))} {
		rate := &v1alpha1.ReceiveRateResult{
			MeanFramesPerSecond: 500_000, UpperBoundFramesPerSecond: bound, HeldPartsPerMillion: new(int64(12_000)), Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtUnsteadyPacing},
			Trials: []v1alpha1.ReceiveRateTrial{{Trial: 1, ForwardingFramesPerSecond: 500_000, LossPartsPerMillion: 500_000}},
		}
		figures := Results{Frames: []v1alpha1.FrameResult{{Size: "64", ReceiveRate: rate}}}.Figures()
		f := Worst(figures, v1alpha1.FigureKey{Metric: v1alpha1.MetricReceiveRate, Size: "64"})
		if f == nil || f.Value != 500_000 || f.Bound != Exact || f.UpperBound != bound || len(f.Doubts) != 1 || f.Doubts[0].Side != Above || f.Doubts[0].AtMost != nil {
			t.Fatalf("with the bound %v the figure is %+v", bound, f)
		}
		if bound != nil && !strings.Contains(f.Doubts[0].Text, "up to 512,296 without it if other work costs at most twice its time (assumed)") {
			t.Error(f.Doubts[0].Text)
		}
		if got := Find(figures, v1alpha1.FigureKey{Metric: "ReceiveRateUpperBoundFramesPerSecond", Size: "64"}); (got == nil) != (bound == nil) {
			t.Errorf("the bound is the figure %v", got)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 10_000: "10,000", 1_234_567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := Thousands(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

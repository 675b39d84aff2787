package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// evaluate judges results of frames by criteria.
func evaluate(criteria []v1alpha1.Criterion, sizes []int32, results []v1alpha1.FrameResult) []v1alpha1.Verdict {
	experiment := v1alpha1.Experiment{Acceptance: criteria, Traffic: v1alpha1.Traffic{FrameBytes: sizes}}
	return Evaluate(experiment, figure.Results{Frames: results}.Figures())
}

func ptr[T any](v T) *T { return &v }

// direction returns a different figure in every field, so that a metric that reads
// the wrong field is found. All of them grow with base.
func direction(name string, base int64) v1alpha1.LatencyDirectionResult {
	return v1alpha1.LatencyDirectionResult{DirectionResult: v1alpha1.DirectionResult{
		Direction:                           name,
		SentFrames:                          1000,
		ReceivedFrames:                      1000,
		LossPartsPerMillion:                 base + 1,
		ReorderedFrames:                     base + 2,
		DuplicateFrames:                     base + 3,
		PacketDelayVariationP99Nanoseconds:  base + 4,
		PacketDelayVariationP999Nanoseconds: new(base + 5),
		Jitter:                              &v1alpha1.Jitter{MeanNanoseconds: base + 6, P99Nanoseconds: base + 8, MaxNanoseconds: base + 9},
		Latency: v1alpha1.Delays{
			Samples: 1000, MinNanoseconds: base + 11, MeanNanoseconds: base + 12, P50Nanoseconds: base + 13,
			P90Nanoseconds: base + 14, P99Nanoseconds: base + 15, P999Nanoseconds: new(base + 16),
			P9999Nanoseconds: new(base + 17), MaxNanoseconds: base + 18,
		},
		DelayVariation: v1alpha1.Delays{Samples: 999, P99Nanoseconds: base + 21},
	}, TaggedFrames: &v1alpha1.TaggedFramesResult{SentFrames: 20, ReceivedFrames: 20, MeanNanoseconds: base + 7}}
}

func measured() []v1alpha1.FrameResult {
	silent := direction("Reverse", 100)
	silent.ReceivedFrames, silent.Latency, silent.DelayVariation, silent.TaggedFrames = 0, v1alpha1.Delays{}, v1alpha1.Delays{}, nil
	return []v1alpha1.FrameResult{{
		Size: "64", FrameBytes: 64,
		Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: 31, Layer1BitsPerSecond: 32}},
		Latency: []v1alpha1.LatencyResult{
			{Load: "idle", Directions: []v1alpha1.LatencyDirectionResult{direction("Forward", 200), direction("Reverse", 100)}},
			{Load: "starved", Directions: []v1alpha1.LatencyDirectionResult{direction("Forward", 200), silent}},
			{Load: "empty"},
		},
	}, {
		Size: "1518", FrameBytes: 1518,
		Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", FramesPerSecond: 21}},
	}}
}

func TestEveryMetric(t *testing.T) {
	tests := map[v1alpha1.Metric]struct{ forward, reverse int64 }{
		v1alpha1.MetricThroughputFramesPerSecond:     {31, 31},
		v1alpha1.MetricThroughputLayer1BitsPerSecond: {32, 32},
		v1alpha1.MetricLoss:                          {201, 101},
		v1alpha1.MetricReordered:                     {202, 102},
		v1alpha1.MetricDuplicate:                     {203, 103},
		v1alpha1.MetricPacketDelayVariationP99:       {204, 104},
		v1alpha1.MetricPacketDelayVariationP999:      {205, 105},
		v1alpha1.MetricJitterMean:                    {206, 106},
		v1alpha1.MetricJitterP99:                     {208, 108},
		v1alpha1.MetricJitterMax:                     {209, 109},
		v1alpha1.MetricTaggedFrameMean:               {207, 107},
		v1alpha1.MetricLatencyMin:                    {211, 111},
		v1alpha1.MetricLatencyMean:                   {212, 112},
		v1alpha1.MetricLatencyP50:                    {213, 113},
		v1alpha1.MetricLatencyP90:                    {214, 114},
		v1alpha1.MetricLatencyP99:                    {215, 115},
		v1alpha1.MetricLatencyP999:                   {216, 116},
		v1alpha1.MetricLatencyP9999:                  {217, 117},
		v1alpha1.MetricLatencyMax:                    {218, 118},
		v1alpha1.MetricDelayVariationP99:             {221, 121},
	}
	for _, m := range figure.Metrics {
		if _, tested := tests[m.Name]; !tested && m.Is(figure.Judged) && (m.Of == figure.OfGoal || m.Of == figure.OfLoad) {
			t.Errorf("%s is not tested", m.Name)
		}
	}
	for metric, want := range tests {
		t.Run(string(metric), func(t *testing.T) {
			criterion := v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: metric, Size: "64"}}
			if strings.HasPrefix(string(metric), "Throughput") {
				criterion.Goal = "NDR"
			} else {
				criterion.Load = "idle"
			}
			atMost, atLeast := criterion, criterion
			atMost.AtMost, atLeast.AtLeast = ptr(want.forward), ptr(want.reverse)
			below, above := criterion, criterion
			below.AtMost, above.AtLeast = ptr(want.forward-1), ptr(want.reverse+1)

			verdicts := evaluate([]v1alpha1.Criterion{atMost, atLeast, below, above}, []int32{64, 1518}, measured())
			wantMeasured := []int64{want.forward, want.reverse, want.forward, want.reverse}
			wantResult := []v1alpha1.VerdictResult{v1alpha1.VerdictPassed, v1alpha1.VerdictPassed, v1alpha1.VerdictFailed, v1alpha1.VerdictFailed}
			for i, verdict := range verdicts {
				if verdict.Measured == nil || *verdict.Measured != wantMeasured[i] || verdict.Result != wantResult[i] {
					t.Errorf("verdict %d is %+v, want %d %s", i, verdict, wantMeasured[i], wantResult[i])
				}
			}
		})
	}
}

func TestEvaluate(t *testing.T) {
	tests := map[string]struct {
		criterion v1alpha1.Criterion
		want      []v1alpha1.Verdict
	}{
		"every frame size": {
			criterion: v1alpha1.Criterion{Name: "fast", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "NDR"}, AtLeast: ptr[int64](30)},
			want: []v1alpha1.Verdict{
				{Criterion: "fast", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictPassed, Measured: ptr[int64](31), Message: "ThroughputFramesPerSecond of NDR is 31, at least 30 required"},
				{Criterion: "fast", FigureKey: v1alpha1.FigureKey{Size: "1518"}, Result: v1alpha1.VerdictFailed, Measured: ptr[int64](21), Message: "ThroughputFramesPerSecond of NDR is 21, at least 30 required"},
			},
		},
		"one frame size": {
			criterion: v1alpha1.Criterion{Name: "p99", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Load: "idle", Size: "64"}, AtMost: ptr[int64](200)},
			want: []v1alpha1.Verdict{
				{Criterion: "p99", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictFailed, Measured: ptr[int64](215), Message: "LatencyP99Nanoseconds at idle is 215, at most 200 allowed"},
			},
		},
		"the frame size was not measured": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Load: "idle", Size: "512"}, AtMost: ptr[int64](200)},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "512"}, Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, Message: "LatencyP99Nanoseconds at idle has no figure: there is no measurement of size 512 (NotMeasured): measure it, or leave the criterion out"},
			},
		},
		"the load was not measured": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Load: "idle", Size: "1518"}, AtMost: ptr[int64](200)},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "1518"}, Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, Message: "LatencyP99Nanoseconds at idle has no figure: load idle was not measured (NotMeasured): give the load in framesPerSecond"},
			},
		},
		"the goal was not measured": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Goal: "PDR", Size: "64"}, AtLeast: ptr[int64](0)},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, Message: "ThroughputFramesPerSecond of PDR has no figure: the goal was not measured (NotMeasured): measure it, or leave the criterion out"},
			},
		},
		"a starved direction": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricJitterP99, Load: "starved", Size: "64"}, AtMost: ptr[int64](1000)},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictFailed, Message: "JitterP99Nanoseconds at starved, Reverse, has no figure: nothing arrived"},
			},
		},
		"loss of a starved direction is a figure": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLoss, Load: "starved", Size: "64"}, AtMost: ptr[int64](1000)},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictPassed, Measured: ptr[int64](201), Message: "LossPartsPerMillion at starved is 201, at most 1000 allowed"},
			},
		},
		"a load without directions": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLoss, Load: "empty", Size: "64"}, AtMost: ptr[int64](1000)},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, Message: "LossPartsPerMillion at empty has no figure: load empty has none (NotMeasured): measure it, or leave the criterion out"},
			},
		},
		"an unknown metric": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: "Beauty", Load: "idle", Size: "64"}, AtMost: ptr[int64](1000)},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, Message: "Beauty at idle has no figure: this version does not know the metric (NotMeasured): name another metric"},
			},
		},
		"no threshold": {
			criterion: v1alpha1.Criterion{Name: "c", FigureKey: v1alpha1.FigureKey{Metric: v1alpha1.MetricLoss, Load: "idle", Size: "64"}},
			want: []v1alpha1.Verdict{
				{Criterion: "c", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictInconclusive, Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtNotMeasured}, Message: "LossPartsPerMillion at idle has no threshold (NotMeasured): give the criterion atLeast or atMost"},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range tc.want {
				key := tc.criterion.FigureKey
				key.Size = tc.want[i].Size
				tc.want[i].FigureKey = key
			}
			got := evaluate([]v1alpha1.Criterion{tc.criterion}, []int32{64, 1518}, measured())
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessage(t *testing.T) {
	passed := v1alpha1.Verdict{Criterion: "fast", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictPassed, Message: "m"}
	failed := func(name, message string) v1alpha1.Verdict {
		return v1alpha1.Verdict{Criterion: name, FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictFailed, Message: message}
	}
	open := v1alpha1.Verdict{Criterion: "rate", FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictInconclusive, Message: "W"}
	tests := map[string]struct {
		verdicts []v1alpha1.Verdict
		want     string
	}{
		"one inconclusive": {[]v1alpha1.Verdict{passed, open}, "1 of 2 acceptance checks are inconclusive: rate for size 64: W"},
		"both":             {[]v1alpha1.Verdict{open, failed("a", "A")}, "1 of 2 acceptance checks failed and 1 are inconclusive: a for size 64: A"},
		"none":             {nil, "there are no acceptance criteria"},
		"passed":           {[]v1alpha1.Verdict{passed, passed}, "all acceptance checks passed (2)"},
		"one failed": {
			[]v1alpha1.Verdict{passed, failed("p99", "LatencyP99Nanoseconds at pdr50 is 31000, at most 20000 allowed")},
			"1 of 2 acceptance checks failed: p99 for size 64: LatencyP99Nanoseconds at pdr50 is 31000, at most 20000 allowed",
		},
		"many failed": {
			[]v1alpha1.Verdict{failed("a", "A"), failed("b", "B"), failed("c", "C"), failed("d", "D"), failed("e", "E")},
			"5 of 5 acceptance checks failed: a for size 64: A; b for size 64: B; c for size 64: C; and 2 more",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Message(tc.verdicts); got != tc.want {
				t.Errorf("Message() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMessageIsBounded(t *testing.T) {
	var verdicts []v1alpha1.Verdict
	for i := range 512 {
		verdicts = append(verdicts, v1alpha1.Verdict{Criterion: fmt.Sprint(i), FigureKey: v1alpha1.FigureKey{Size: "64"}, Result: v1alpha1.VerdictFailed, Message: strings.Repeat("µ", 250)})
	}
	got := Message(verdicts)
	if len(got) > 1024 || !utf8.ValidString(got) || !strings.HasSuffix(got, "...; and 509 more") {
		t.Errorf("Message() has %d bytes and is %q", len(got), got)
	}
}

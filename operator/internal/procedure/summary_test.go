package procedure

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestSummaryNotes checks that the summary says which of its figures are no values.
func TestSummaryNotes(t *testing.T) {
	instr := instructions()
	load := instr.Latency.Loads[len(instr.Latency.Loads)-1].Name
	for name, test := range map[string]struct {
		change    func(*v1alpha1.ThroughputResult, *v1alpha1.LatencyResult)
		rate, p99 v1alpha1.FigureNote
	}{
		"values": {func(*v1alpha1.ThroughputResult, *v1alpha1.LatencyResult) {}, "", ""},
		"a floor": {func(r *v1alpha1.ThroughputResult, _ *v1alpha1.LatencyResult) {
			r.UpperBoundCause = v1alpha1.CauseGeneratorCeiling
		}, v1alpha1.NoteAtLeast, ""},
		"no limit": {func(r *v1alpha1.ThroughputResult, _ *v1alpha1.LatencyResult) {
			r.UpperBoundCause = v1alpha1.CauseMaximumLoad
		}, v1alpha1.NoteAtLeast, ""},
		"irregular": {func(r *v1alpha1.ThroughputResult, _ *v1alpha1.LatencyResult) { r.Regularity = v1alpha1.Irregular }, v1alpha1.NoteDoubtful, ""},
		"interrupted": {func(r *v1alpha1.ThroughputResult, _ *v1alpha1.LatencyResult) {
			r.Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtInterruptedTrials}
		}, v1alpha1.NoteDoubtful, ""},
		"a queue": {func(_ *v1alpha1.ThroughputResult, l *v1alpha1.LatencyResult) {
			l.Doubts = []v1alpha1.DoubtCode{v1alpha1.DoubtQueueGrowing}
		}, "", v1alpha1.NoteDoubtful},
		"no frame": {func(_ *v1alpha1.ThroughputResult, l *v1alpha1.LatencyResult) { l.Directions[0].Latency.Samples = 0 }, "", v1alpha1.NoteDoubtful},
	} {
		rate := v1alpha1.ThroughputResult{Goal: "NDR", Regularity: v1alpha1.Regular, FramesPerSecond: 100, UpperBoundCause: v1alpha1.CauseDeviceLoss, Trials: 9}
		delay := v1alpha1.LatencyResult{Load: load, Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{
			Direction: "Forward", SentFrames: 1000, ReceivedFrames: 1000, Latency: v1alpha1.Delays{Samples: 1000, P99Nanoseconds: 500},
		}}}}
		test.change(&rate, &delay)
		got := summary(instr, []v1alpha1.FrameResult{{Size: instr.Sizes[0].Name, Throughput: []v1alpha1.ThroughputResult{rate}, Latency: []v1alpha1.LatencyResult{delay}}})
		if got == nil || got.RateNote != test.rate || got.P99Note != test.p99 {
			t.Errorf("%s: %+v, want the notes %q and %q", name, got, test.rate, test.p99)
		}
	}
}

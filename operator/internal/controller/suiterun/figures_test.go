package suiterun

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

// TestFiguresThatAreNoValues checks that floors and doubtful figures are kept as such, and are in no mean and in no difference of the control.
func TestFiguresThatAreNoValues(t *testing.T) {
	s := newScope(t, 5, 2)
	cells := s.execution.Status.Cells
	measure := func(cell int, rates ...int64) {
		for repeat, rate := range rates {
			s.run = &v1alpha1.BenchmarkRun{}
			s.run.Status.Summary = &v1alpha1.ResultSummary{Size: "64", Goal: "NDR", FramesPerSecond: &rate, P99Nanoseconds: ptr.To[int64](700)}
			if rate >= 900 {
				s.run.Status.Summary.RateNote, s.run.Status.Summary.P99Note = v1alpha1.NoteAtLeast, v1alpha1.NoteDoubtful
				s.run.Status.Summary.Load = "pdr50"
				s.run.Status.Results = []v1alpha1.FrameResult{{Size: "64",
					Throughput: []v1alpha1.ThroughputResult{{Goal: "NDR", Regularity: v1alpha1.Regular, FramesPerSecond: rate, UpperBoundCause: v1alpha1.CauseMaximumLoad, Trials: 3}},
					Latency: []v1alpha1.LatencyResult{{Load: "pdr50", Doubts: []v1alpha1.DoubtCode{v1alpha1.DoubtQueueGrowing},
						Directions: []v1alpha1.LatencyDirectionResult{{DirectionResult: v1alpha1.DirectionResult{
							Direction: "Forward", SentFrames: 1000, ReceivedFrames: 1000, Latency: v1alpha1.Delays{Samples: 1000, P99Nanoseconds: 700},
						}}}}},
				}}
			}
			record(&cells[cell].Measurements[repeat], s, decision{})
			setFigures(&cells[cell], s.run)
		}
	}
	measure(0, 100, 900)
	measure(1, 102, 104)
	if m := cells[0].Measurements[1]; *m.FramesPerSecond != 900 || m.RateNote != v1alpha1.NoteAtLeast || m.P99Note != v1alpha1.NoteDoubtful ||
		!slices.Equal(m.RateDoubts, []v1alpha1.DoubtCode{v1alpha1.DoubtMaximumLoad}) || !slices.Equal(m.P99Doubts, []v1alpha1.DoubtCode{v1alpha1.DoubtQueueGrowing}) {
		t.Errorf("%+v", m)
	}
	if m := cells[0].Measurements[0]; m.RateDoubts != nil || m.P99Doubts != nil {
		t.Errorf("%+v", m)
	}
	if *cells[0].FramesPerSecond != 100 || *cells[0].P99Nanoseconds != 700 || *cells[1].FramesPerSecond != 103 {
		t.Errorf("the means are %d, %d and %d", *cells[0].FramesPerSecond, *cells[0].P99Nanoseconds, *cells[1].FramesPerSecond)
	}
	s.suite.Cells[1].Control = 0
	if d := s.controlDifference(cells); d == nil || *d != 30_000 {
		t.Errorf("the control differs by %v, want 30000", ptr.Deref(d, -1))
	}
	measure(0, 900, 901)
	if cells[0].FramesPerSecond != nil || cells[0].P99Nanoseconds != nil || s.controlDifference(cells) != nil {
		t.Errorf("floors have a mean: %+v", cells[0])
	}
}

// TestGoodput checks that a run of TCP alone has the goodput of its first number of connections and worse direction, and that one in doubt is in no mean.
func TestGoodput(t *testing.T) {
	s := newScope(t, 5, 3)
	cell := &s.execution.Status.Cells[0]
	for repeat, doubts := range [][]v1alpha1.DoubtCode{nil, {v1alpha1.DoubtEndpointCeiling}, nil} {
		rate := int64(1000 + 100*repeat)
		s.run = &v1alpha1.BenchmarkRun{}
		s.run.Status.TCP = &v1alpha1.TCPResult{Streams: []v1alpha1.TCPStreamsResult{
			{Streams: 4, Directions: []v1alpha1.TCPDirectionResult{{Direction: "Forward", GoodputBitsPerSecond: 9000}, {Direction: "Reverse", GoodputBitsPerSecond: rate, Doubts: doubts}}},
			{Streams: 8, Directions: []v1alpha1.TCPDirectionResult{{Direction: "Forward", GoodputBitsPerSecond: 5}}},
		}}
		record(&cell.Measurements[repeat], s, decision{})
		setFigures(cell, s.run)
	}
	for repeat, note := range []v1alpha1.FigureNote{"", v1alpha1.NoteDoubtful, ""} {
		if m := cell.Measurements[repeat]; *m.GoodputBitsPerSecond != int64(1000+100*repeat) || m.GoodputNote != note || m.FramesPerSecond != nil || !slices.Equal(m.GoodputDoubts, map[v1alpha1.FigureNote][]v1alpha1.DoubtCode{v1alpha1.NoteDoubtful: {v1alpha1.DoubtEndpointCeiling}}[note]) {
			t.Errorf("%d: %+v", repeat, m)
		}
	}
	if ptr.Deref(cell.GoodputBitsPerSecond, 0) != 1100 || cell.FramesPerSecond != nil || cell.Figure != "" {
		t.Errorf("%+v", cell)
	}
	if short := onlyMeans(s.execution.Status.Cells)[0]; ptr.Deref(short.GoodputBitsPerSecond, 0) != 1100 {
		t.Errorf("%+v", short)
	}
}

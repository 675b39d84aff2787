package procedure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// A buffer that holds what the device cannot forward in the trial's time makes no throughput higher.
func TestFillingABufferIsNotThroughput(t *testing.T) {
	for _, capacity := range []float64{200_000, 345_678, 1_500_000} {
		for _, buffer := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
			b := newBench(simulated.Buffered{Device: simulated.HardCap{CapacityFramesPerSecond: capacity}, Buffer: buffer})
			instr := instructions()
			instr.Latency, instr.Sizes = nil, sizes(64)
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range Results(instr, records).Frames[0].Throughput {
				if off := float64(r.FramesPerSecond)/capacity - 1; off < -0.02 || off > 0.0055 || r.UpperBoundCause != v1alpha1.CauseDeviceLoss {
					t.Errorf("%s of a device of %.0f frames/s with a buffer of %v: %.3f %% off, %s", r.Goal, capacity, buffer, off*100, r.UpperBoundCause)
				}
			}
		}
	}
}

// The loss at a lower bound is what the throughput lacks of the load, with what filled a buffer.
func TestLossAtTheLowerBoundIsOverTime(t *testing.T) {
	instr := instructions()
	goal := instr.Throughput.Goals[1]
	goal.LossPartsPerMillion = 50_000
	instr.Latency, instr.Sizes, instr.Throughput.Goals = nil, sizes(64), []v1alpha1.Goal{goal}
	records, err := newBench(simulated.Buffered{Device: simulated.HardCap{CapacityFramesPerSecond: 200_000}, Buffer: time.Second}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Results(instr, records).Frames[0].Throughput[0]
	missing := 1 - float64(r.FramesPerSecond)/float64(r.LowerBoundFramesPerSecond)
	if lost := float64(r.LossPartsPerMillion) / 1e6; math.Abs(lost-missing) > 0.001 || lost < 0.01 {
		t.Errorf("a loss of %.4f, and %.4f of the load is missing: %+v", lost, missing, r)
	}
}

// A queue that grows in the device is its loss on any path, unless another program held the
// generator's core.
func TestGrowthIsLoss(t *testing.T) {
	const trial = time.Second
	for _, test := range []struct {
		growth, drain, away time.Duration
		hop                 measure.Hop
		lost                float64
	}{
		{5 * time.Millisecond, 0, 0, measure.HopInline, 0},
		{6 * time.Millisecond, 0, 0, measure.HopInline, 0.006},
		{100 * time.Millisecond, 0, 0, measure.HopInline, 0.0909},
		{100 * time.Millisecond, 300 * time.Millisecond, 0, measure.HopInline, 0.2308},
		{100 * time.Millisecond, 0, 0, measure.HopSeparate, 0.0909},
		{100 * time.Millisecond, 300 * time.Millisecond, 0, measure.HopTap, 0.0909},
		{100 * time.Millisecond, 0, 95 * time.Millisecond, measure.HopInline, 0},
		{100 * time.Millisecond, 0, 49 * time.Millisecond, measure.HopInline, 0.0485},
		{100 * time.Millisecond, 0, 95 * time.Millisecond, measure.HopTap, 0.0909},
	} {
		o := measure.Outcome{
			Hop: test.hop, SendingNanoseconds: int64(trial), TotalNanoseconds: int64(trial), AwayNanoseconds: int64(test.away),
			Directions: []measure.DirectionOutcome{{
				IntendedFrames: 1000, SentFrames: 1000, ReceivedFrames: 1000, DrainNanoseconds: int64(test.drain), QueueGrowthNanoseconds: int64(test.growth),
			}},
		}
		got, err := (&replay{}).searchTrial(measure.Record{Stage: measure.StageThroughput, Outcome: o,
			Trial: measure.Trial{IntendedFramesPerSecond: 1000, DurationNanoseconds: int64(trial)}})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.LossRatio-test.lost) > 0.0001 || got.UnsentRatio > 0 {
			t.Errorf("%+v: a loss of %.4f, %.4f not sent", test, got.LossRatio, got.UnsentRatio)
		}
	}
}

// atLoads returns a run that measures delays at one load alone.
func atLoads(framesPerSecond int64, trial time.Duration) measure.Instructions {
	instr := instructions()
	instr.Calibration, instr.Throughput, instr.Sizes = nil, nil, sizes(64)
	instr.Latency = &v1alpha1.Latency{TrialMilliseconds: int32(trial.Milliseconds()), Loads: []v1alpha1.LatencyLoad{{Name: "load", FramesPerSecond: &framesPerSecond}}}
	return instr
}

// durations returns those of a stage's trials in seconds.
func durations(records []measure.Record, stage measure.Stage) []float64 {
	var out []float64
	for _, r := range records {
		if r.Stage == stage {
			out = append(out, r.Trial.Duration().Seconds())
		}
	}
	return out
}

// A trial at a load is made again with more time while a queue grows in it.
func TestProlongedTrials(t *testing.T) {
	tagged := atLoads(110_000, 2*time.Second)
	tagged.Latency.TaggedFrame = &v1alpha1.TaggedFrame{Streams: 2, StreamMilliseconds: 2000, AfterMilliseconds: 1000}
	fixed := fixedLoad()
	fixed.Sizes, fixed.FixedLoad.DurationSeconds = sizes(64), 2
	fixed.FixedLoad.Profiles = []v1alpha1.LoadProfile{{Name: "load", Size: "64", FramesPerSecond: new(int64(110_000))}}
	soak := soakOf(20*time.Second, 10*time.Second)
	soak.Soak.FramesPerSecond = new(int64(110_000))
	for name, test := range map[string]struct {
		instr    measure.Instructions
		capacity float64
		buffer   time.Duration
		stage    measure.Stage
		want     []float64
		grows    bool
	}{
		"a device that is fast enough": {atLoads(110_000, 2*time.Second), 120_000, time.Minute, measure.StageLatency, []float64{2}, false},
		"a growing queue":              {atLoads(110_000, 2*time.Second), 100_000, time.Minute, measure.StageLatency, []float64{2, 4, 8}, true},
		"a long trial":                 {atLoads(110_000, 45*time.Second), 100_000, time.Minute, measure.StageLatency, []float64{45, 90}, true},
		"the longest trial":            {atLoads(110_000, 61*time.Second), 100_000, time.Minute, measure.StageLatency, []float64{61}, true},
		"tagged frames":                {tagged, 100_000, time.Minute, measure.StageLatency, []float64{2, 2}, true},
		"fixed load":                   {fixed, 100_000, time.Minute, stageFixedLoad, []float64{2, 4, 8, 8}, true},
		"a soak":                       {soak, 100_000, time.Minute, stageSoak, []float64{10, 10}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(simulated.Buffered{Device: simulated.HardCap{CapacityFramesPerSecond: test.capacity}, Buffer: test.buffer})
			records, err := b.run(t, test.instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, durations(records, test.stage)); diff != "" {
				t.Error(diff)
			}
			figures := Results(test.instr, records)
			var doubts []v1alpha1.DoubtCode
			for _, f := range figures.Frames {
				for _, l := range f.Latency {
					doubts = append(doubts, l.Doubts...)
				}
				for _, l := range f.FixedLoad {
					doubts = append(doubts, l.Doubts...)
				}
				if f.Soak != nil {
					doubts = append(doubts, f.Soak.Doubts...)
				}
			}
			said := slices.ContainsFunc(figures.Warnings, func(w v1alpha1.Warning) bool { return w.Code == v1alpha1.WarningQueueGrowing })
			if doubted := slices.Contains(doubts, v1alpha1.DoubtQueueGrowing); doubted != test.grows || said != test.grows {
				t.Errorf("doubts %v, warnings %+v", doubts, figures.Warnings)
			}
		})
	}
}

// A queue that grew once, and not in the longer trial, leaves no doubt; what was made again is said.
func TestProlongedOnce(t *testing.T) {
	instr := atLoads(100_000, 2*time.Second)
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 1e6})
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageLatency && r.Trial.Duration() == 2*time.Second {
			r.Outcome.Directions[0].QueueGrowthNanoseconds = int64(2345 * time.Microsecond)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{2, 4}, durations(records, measure.StageLatency)); diff != "" {
		t.Error(diff)
	}
	figures := Results(instr, records)
	if l := figures.Frames[0].Latency[0]; len(l.Doubts) > 0 || l.Directions[0].SentFrames != 400_000 {
		t.Errorf("%+v", l)
	}
	again := ""
	for _, w := range figures.Warnings {
		again += fmt.Sprintln(w.Code, w.Message)
	}
	if !strings.Contains(again, "made again and do not count: 1, the last because a queue still grew at the end, by 2.344ms of delay in 2s") &&
		!strings.Contains(again, "made again and do not count: 1, the last because a queue still grew at the end, by 2.345ms of delay in 2s") {
		t.Error(again)
	}
	if strings.Contains(again, v1alpha1.WarningQueueGrowing) {
		t.Error(again)
	}
}

// A trial is prolonged only while the deadline allows that, and all that follows.
func TestProlongedTrialsHaveABudget(t *testing.T) {
	growing := simulated.Buffered{Device: simulated.HardCap{CapacityFramesPerSecond: 100_000}, Buffer: time.Minute}
	fixed := fixedLoad()
	fixed.Sizes, fixed.FixedLoad.DurationSeconds, fixed.FixedLoad.DiscardSeconds = sizes(64), 2, nil
	fixed.FixedLoad.Profiles = []v1alpha1.LoadProfile{{Name: "load", Size: "64", FramesPerSecond: new(int64(110_000))}}
	discarding := fixed
	discarding.FixedLoad = fixed.FixedLoad.DeepCopy()
	discarding.FixedLoad.DiscardSeconds = new(int32(1))
	twoLoads := atLoads(110_000, 2*time.Second)
	twoLoads.Latency.Loads = append(twoLoads.Latency.Loads, v1alpha1.LatencyLoad{Name: "low", FramesPerSecond: new(int64(1000))})
	for name, test := range map[string]struct {
		instr    measure.Instructions
		deadline int32
		want     []float64
	}{
		"no limit":                      {atLoads(110_000, 2*time.Second), 0, []float64{2, 4, 8}},
		"enough for both":               {atLoads(110_000, 2*time.Second), 100, []float64{2, 4, 8}},
		"enough for one":                {atLoads(110_000, 2*time.Second), 12, []float64{2, 4}},
		"enough for none":               {atLoads(110_000, 2*time.Second), 6, []float64{2}},
		"another load follows":          {twoLoads, 17, []float64{2, 4, 2}},
		"more repeats, enough for once": {fixed, 15, []float64{2, 4, 4}},
		"time that does not count":      {discarding, 15, []float64{2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			test.instr.WarmUpMilliseconds, test.instr.DeadlineSeconds = new(int32(0)), test.deadline
			records, err := newBench(growing).run(t, test.instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			stage := measure.StageLatency
			if test.instr.FixedLoad != nil {
				stage = stageFixedLoad
			}
			if diff := cmp.Diff(test.want, durations(records, stage)); diff != "" {
				t.Error(diff)
			}
			for _, frame := range Results(test.instr, records).Frames {
				for _, l := range frame.Latency {
					if last := records[len(records)-1]; l.Load == last.Load && l.TrialMilliseconds != last.Trial.Duration().Milliseconds() {
						t.Errorf("%+v", l)
					}
				}
				for _, f := range frame.FixedLoad {
					for _, r := range f.Repeats {
						if r.TrialMilliseconds != int64(1000*test.want[len(test.want)-1]) {
							t.Errorf("%+v", r)
						}
					}
				}
			}
		})
	}
}

// A trial is prolonged only while the results have room for that, and for all that follows.
func TestProlongedTrialsHaveRoom(t *testing.T) {
	instr, n := fixedLoad(), 0
	instr.Sizes, instr.WarmUpMilliseconds, instr.FixedLoad.Profiles = sizes(64), new(int32(0)), nil
	instr.FixedLoad.Repeats, instr.FixedLoad.DurationSeconds, instr.FixedLoad.DiscardSeconds = 10, 20, new(int32(1))
	const loads = 8
	for i := range loads {
		instr.FixedLoad.Profiles = append(instr.FixedLoad.Profiles, v1alpha1.LoadProfile{Name: fmt.Sprintf("load%d", i), Size: "64", FramesPerSecond: new(int64(100_000 + i))})
	}
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 1e6})
	b.spoil = func(r *measure.Record) {
		// A queue grows in the last repeat of each time.
		if r.Stage == stageFixedLoad {
			if n++; n%10 == 0 {
				r.Outcome.Directions[0].QueueGrowthNanoseconds = int64(2 * time.Millisecond)
			}
		}
		if r.Outcome = Compact(*r); r.Stage == stageDiscard && len(asJSON(t, r)) > countsBytes {
			t.Errorf("a discarded time takes %d bytes", len(asJSON(t, r)))
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	reserve := ExpectedBytes(instr) + freeBytes(instr)/furtherShare
	taken, again := 0, len(MadeAgain(instr, records))
	for _, r := range records {
		taken += measurementOf(r.Stage).recordBytes(instr)
	}
	if taken > reserve || taken < reserve-20*recordBytes || again < 20 {
		t.Errorf("%d records take %d bytes, %d of them were made again, and there is room for %d", len(records), taken, again, reserve)
	}
	for _, f := range Results(instr, records).Frames[0].FixedLoad {
		if len(f.Repeats) != 10 || f.Profile == "load7" && !slices.Contains(f.Doubts, v1alpha1.DoubtQueueGrowing) {
			t.Errorf("%s: %d repeats, doubts %v", f.Profile, len(f.Repeats), f.Doubts)
		}
	}
}

// Repeats of a fixed load are alike: where a queue grows in a later one, those before it are made again too.
func TestRepeatsOfAFixedLoadAreAlike(t *testing.T) {
	for name, test := range map[string]struct {
		deadline int32
		want     []float64
		grows    bool
	}{
		"with time for all":      {0, []float64{2, 2, 4, 4, 4}, false},
		"with time for one more": {16, []float64{2, 2, 2}, true},
	} {
		instr, n := fixedLoad(), 0
		instr.Sizes, instr.FixedLoad.DurationSeconds, instr.FixedLoad.Repeats, instr.DeadlineSeconds = sizes(64), 2, 3, test.deadline
		instr.FixedLoad.DiscardSeconds, instr.WarmUpMilliseconds = nil, new(int32(0))
		instr.FixedLoad.Profiles = []v1alpha1.LoadProfile{{Name: "load", Size: "64", FramesPerSecond: new(int64(100_000))}}
		b := newBench(simulated.HardCap{CapacityFramesPerSecond: 1e6})
		b.spoil = func(r *measure.Record) {
			if r.Stage != stageFixedLoad {
				return
			}
			if n++; n == 2 {
				r.Outcome.Directions[0].QueueGrowthNanoseconds = int64(1100 * time.Microsecond)
			}
		}
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, durations(records, stageFixedLoad)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		figures := Results(instr, records)
		f := figures.Frames[0].FixedLoad[0]
		if len(f.Repeats) != 3 || slices.Contains(f.Doubts, v1alpha1.DoubtQueueGrowing) != test.grows {
			t.Errorf("%s: %d repeats, doubts %v", name, len(f.Repeats), f.Doubts)
		}
		for _, r := range f.Repeats {
			if r.TrialMilliseconds != int64(1000*test.want[len(test.want)-1]) {
				t.Errorf("%s: repeat %d took %d ms", name, r.Repeat, r.TrialMilliseconds)
			}
		}
		again := MadeAgain(instr, records)
		if len(again) != len(test.want)-3 {
			t.Errorf("%s: %v are made again", name, again)
		}
	}
}

// Each trial that is made again has the reason for which it was, and not another that would hold for it too.
func TestReasonsOfTrialsThatAreMadeAgain(t *testing.T) {
	record := func(sent uint64, growth time.Duration) measure.Record {
		return measure.Record{Stage: stageFixedLoad, Trial: measure.Trial{DurationNanoseconds: int64(2 * time.Second), IntendedFramesPerSecond: 1000}, Outcome: measure.Outcome{
			SendingNanoseconds: int64(2 * time.Second),
			Directions:         []measure.DirectionOutcome{{IntendedFrames: 2000, SentFrames: sent, ReceivedFrames: sent, QueueGrowthNanoseconds: int64(growth)}},
		}}
	}
	whole, short, grown, both := record(2000, 0), record(1900, 0), record(2000, 2*time.Millisecond), record(1900, 2*time.Millisecond)
	longer := "a queue grew in a later repeat, so all of them are longer than 2s"
	for name, test := range map[string]struct {
		records []measure.Record
		reached float64
		want    []string
	}{
		"a later repeat grew":             {[]measure.Record{whole, grown}, 0, []string{longer, growth(grown)}},
		"and the first was short":         {[]measure.Record{short, grown}, 0, []string{longer, growth(grown)}},
		"disturbed, and its queue grew":   {[]measure.Record{both}, 10_000, []string{disturbance(both)}},
		"its queue grew, and it is short": {[]measure.Record{both}, 0, []string{growth(both)}},
	} {
		s, p := sorter{reached: test.reached, prolongs: func(measure.Record) bool { return true }}, &part{phase: phase{measurement: fixedLoadMeasurement, size: measure.FrameSize(64)}}
		for _, r := range test.records {
			s.counts(p, r)
		}
		var got []string
		for _, r := range p.invalid {
			got = append(got, r.why)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		d := &warningList{seen: map[string]bool{}}
		(&replay{parts: []*part{p}}).warnInvalid(d, measure.FrameSize(64))
		if len(d.list) != 1 || !strings.HasSuffix(d.list[0].Message, fmt.Sprintf(": %d, the last because %s.", len(test.want), test.want[len(test.want)-1])) {
			t.Errorf("%s: %+v", name, d.list)
		}
	}
}

// Repeats of a load whose trials took different times say so.
func TestRepeatsOfDifferentLengths(t *testing.T) {
	instr, n := atLoads(100_000, 2*time.Second), 0
	instr.Repeats = 2
	b := newBench(simulated.HardCap{CapacityFramesPerSecond: 1e6})
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageLatency {
			return
		}
		if n++; n == 1 {
			r.Outcome.Directions[0].QueueGrowthNanoseconds = int64(20 * time.Millisecond)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := Results(instr, records).Frames[0].Latency[0]
	if l.TrialMilliseconds != 4000 || l.ShortestTrialMilliseconds == nil || *l.ShortestTrialMilliseconds != 2000 {
		t.Errorf("%+v", l)
	}
}

// TestBudgetBeginsWithTheLog: time that the other side, or a session that was dropped, took has passed too.
func TestBudgetBeginsWithTheLog(t *testing.T) {
	instr := besideInstructions(true)
	instr.Calibration = nil
	records := noisyRun(t, instr, nil)
	for i := range records {
		records[i].Outcome.StartedAt = time.Unix(int64(10*i), 0)
	}
	sides, _ := replaySides(instr, records, "")
	for _, side := range sides {
		if began := side.log[0].Outcome.StartedAt; !began.Equal(records[0].Outcome.StartedAt) {
			t.Errorf("side %t began at %v, want %v", side.side, began, records[0].Outcome.StartedAt)
		}
	}
	if len(sides) != 2 {
		t.Errorf("%d sides", len(sides))
	}
}

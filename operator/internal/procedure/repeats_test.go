package procedure

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func repeatedInstructions(repeats int32) measure.Instructions {
	instr := instructions()
	instr.Repeats = repeats
	return instr
}

func TestRepeatsSequence(t *testing.T) {
	var got []string
	seen := ""
	_, err := newBench(hardCap()).run(t, repeatedInstructions(2), func(_ []measure.Record, s Step) {
		line := fmt.Sprint(s.Stage, s.Load, s.Trial.FrameBytes, "/", s.Repeat)
		if s.Done {
			line = "Done"
		}
		if line != seen {
			got, seen = append(got, line), line
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CalibrateRate64/0", "CalibrateLatency64/0", "CalibrateRate512/0", "CalibrateLatency512/0"}
	for _, size := range []int{64, 512} {
		for repeat := range 2 {
			for _, stage := range []string{"WarmUp", "Throughput", "Latencyidle", "Latencypdr50", "Latencypdr90"} {
				want = append(want, fmt.Sprint(stage, size, "/", repeat))
			}
		}
	}
	if diff := cmp.Diff(append(want, "Done"), got); diff != "" {
		t.Error(diff)
	}
}

// Each repeat is a whole measurement: if a device always answers alike, all repeats are alike,
// and the figures are those of one.
func TestRepeatsOfASteadyDevice(t *testing.T) {
	one, err := newBench(hardCap()).run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	three, err := newBench(hardCap()).run(t, repeatedInstructions(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, got := Results(instructions(), one).Frames, Results(repeatedInstructions(3), three).Frames
	for i := range got {
		for j, throughput := range got[i].Throughput {
			single := want[i].Throughput[j]
			rate := single.FramesPerSecond
			single.Trials *= 3
			single.Statistics = []v1alpha1.Statistics{{
				Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 3, Mean: rate,
				Minimum: rate, Maximum: rate, Values: []int64{rate, rate, rate}, LimitedBy: v1alpha1.LimitedByResolution,
			}}
			// All repeats have one bracket. The interval holds 95 % of it, from its lower end.
			s, kept := &single.Statistics[0], 1-float64(instructions().Throughput.Goals[j].LossPartsPerMillion)/1e6
			low, high := float64(single.LowerBoundFramesPerSecond)*kept, float64(*single.UpperBoundFramesPerSecond)*kept
			s.Resolution = new(int64(math.Ceil(high - low)))
			s.ConfidenceLow, s.ConfidenceHigh = new(int64(math.Floor(low))), new(int64(math.Ceil(low+0.95*(high-low))))
			if diff := cmp.Diff(single, throughput); diff != "" {
				t.Error(diff)
			}
		}
		for j, load := range got[i].Latency {
			for k, d := range load.Directions {
				single := want[i].Latency[j].Directions[k]
				if d.SentFrames != 3*single.SentFrames || d.Latency.Samples != 3*single.Latency.Samples || len(d.Statistics) != 2 {
					t.Errorf("%+v, a single one was %+v", d, single)
				}
			}
		}
	}
}

func TestRepeatsOfANoisyDevice(t *testing.T) {
	instr := repeatedInstructions(5)
	instr.Sizes = sizes(64)
	records, err := newBench(simulated.Noisy{Device: hardCap(), Strength: simulated.Strong}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := Results(instr, records).Frames[0]
	for _, r := range frame.Throughput {
		s := r.Statistics[0]
		sum := int64(0)
		for _, v := range s.Values {
			sum += v
		}
		switch {
		case s.N != 5 || len(s.Values) != 5 || s.Mean != r.FramesPerSecond || s.Mean != sum/5:
			t.Errorf("%+v", s)
		case *s.ConfidenceLow > s.Mean || *s.ConfidenceHigh < s.Mean || s.StandardDeviation == 0 || s.CoefficientOfVariationPartsPerMillion == 0:
			t.Errorf("%+v", s)
		case s.Minimum > s.Mean || s.Maximum < s.Mean || r.LowerBoundFramesPerSecond > s.Minimum+1 || *r.UpperBoundFramesPerSecond < s.Maximum:
			t.Errorf("%+v does not enclose %+v", r, s)
		}
	}
	for _, l := range frame.Latency {
		for _, d := range l.Directions {
			for i, want := range []int64{d.Latency.P50Nanoseconds, d.Latency.P99Nanoseconds} {
				if s := d.Statistics[i]; s.Mean != want || s.N != 5 || s.Minimum > want || s.Maximum < want {
					t.Errorf("%+v, want the mean %d", s, want)
				}
			}
			if d.Latency.MinNanoseconds > d.Latency.P50Nanoseconds || d.Latency.P9999Nanoseconds != nil && *d.Latency.P9999Nanoseconds > d.Latency.MaxNanoseconds {
				t.Errorf("%+v", d.Latency)
			}
		}
	}
}

// A measurement that is stopped anywhere shows the repeats so far, and the next one continues
// where it was.
func TestRepeatsSoFar(t *testing.T) {
	instr := repeatedInstructions(3)
	instr.Sizes = sizes(64)
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	most := int32(0)
	for n := range records {
		step, err := Next(instr, records[:n])
		if err != nil || step.Done || step.Stage != records[n].Stage || step.Repeat != records[n].Repeat || step.Trial != records[n].Trial {
			t.Fatalf("after %d trials: %+v, %v", n, step, err)
		}
		for _, f := range Results(instr, records[:n]).Frames {
			for _, r := range f.Throughput {
				made := int32(1)
				if len(r.Statistics) > 0 {
					made = r.Statistics[0].N
				}
				if made < most {
					t.Errorf("%d repeats after %d", made, most)
				}
				most = made
			}
		}
	}
	if most != 3 {
		t.Errorf("got %d repeats", most)
	}
}

// Logs of a single measurement do not mention repeats, and do not count as those of several.
func TestRepeatsAndOldRecords(t *testing.T) {
	records, err := newBench(hardCap()).run(t, instructions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, repeats := range []int32{-1, 0, 1} {
		if step, err := Next(repeatedInstructions(repeats), records); err != nil || !step.Done {
			t.Errorf("%d repeats: %+v, %v", repeats, step, err)
		}
	}
	if _, err := Next(repeatedInstructions(2), records); !errors.Is(err, ErrRecords) {
		t.Errorf("got %v", err)
	}
}

func bracketed(framesPerSecond, lower, upper int64, cause v1alpha1.UpperBoundCause) v1alpha1.ThroughputResult {
	out := v1alpha1.ThroughputResult{
		Goal: "NDR", Regularity: v1alpha1.Regular, FramesPerSecond: framesPerSecond, LowerBoundFramesPerSecond: lower, UpperBoundCause: cause, Trials: 3,
	}
	if upper > 0 {
		out.UpperBoundFramesPerSecond = &upper
	}
	return out
}

// A repeat that is only a floor is not averaged: the figure is then the smallest of all.
func TestCombineCensoredRepeats(t *testing.T) {
	w := &replay{instr: instructions()}
	second := bracketed(103, 104, 0, v1alpha1.CauseGeneratorCeiling)
	second.Regularity, second.LossPartsPerMillion, second.Trials = v1alpha1.Irregular, 7, 4
	got := w.combineThroughput([]v1alpha1.ThroughputResult{bracketed(101, 100, 102, v1alpha1.CauseDeviceLoss), second}, measure.FrameSize(64))
	want := []v1alpha1.ThroughputResult{{
		Goal: "NDR", Regularity: v1alpha1.Irregular, FramesPerSecond: 101, Layer1BitsPerSecond: 101 * 84 * 8, LineRatePartsPerMillion: 6,
		LowerBoundFramesPerSecond: 100, UpperBoundCause: v1alpha1.CauseGeneratorCeiling, LossPartsPerMillion: 7, Trials: 7,
		Censored: &v1alpha1.CensoredRepeats{Repeats: 1, N: 2, Values: []int64{101, 103}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever ends a search before the device's loss makes its repeat a floor.
func TestWhatIsCensored(t *testing.T) {
	w := &replay{instr: instructions()}
	exact := bracketed(100, 100, 102, v1alpha1.CauseDeviceLoss)
	for name, test := range map[string]struct {
		other v1alpha1.ThroughputResult
		want  int32
	}{
		"the device's loss":                  {exact, 0},
		"the generator, which missed a load": {bracketed(100, 100, 102, v1alpha1.CauseGeneratorCeiling), 1},
		"the maximum load":                   {bracketed(100, 100, 0, v1alpha1.CauseMaximumLoad), 1},
		"the end of its time":                {bracketed(100, 100, 0, ""), 1},
		"not even the minimum load":          {bracketed(0, 0, 100, v1alpha1.CauseDeviceLoss), 0},
	} {
		got := w.combineThroughput([]v1alpha1.ThroughputResult{exact, test.other, exact}, measure.FrameSize(64))[0]
		if censored := ptr.Deref(got.Censored, v1alpha1.CensoredRepeats{}).Repeats; censored != test.want || (len(got.Statistics) == 0) != (test.want > 0) {
			t.Errorf("%s: %d censored with statistics %v, want %d", name, censored, got.Statistics, test.want)
		}
	}
}

// TestWithoutOneLimit checks that there is no interval of a limit that drifts or of which there
// are several, and that the values stay.
func TestWithoutOneLimit(t *testing.T) {
	w := &replay{instr: instructions()}
	of := func(loss v1alpha1.UpperBoundCause, inversion int64, lows ...int64) v1alpha1.ThroughputResult {
		var list []v1alpha1.ThroughputResult
		for i, low := range lows {
			r := bracketed(low, low, low+20, loss)
			if inversion > 0 && i > 0 {
				r.LossInversionFramesPerSecond = new(inversion + int64(i))
			}
			list = append(list, r)
		}
		return w.combineThroughput(list, measure.FrameSize(64))[0]
	}
	falling := []int64{1100, 1080, 1070, 1040, 1030}
	drift := of(v1alpha1.CauseDeviceLoss, 0, falling...)
	s := drift.Statistics[0]
	if s.ConfidenceLow != nil || s.ConfidenceHigh != nil || s.LimitedBy != v1alpha1.LimitedByDrift || s.Mean != 1064 || !slices.Equal(s.Values, falling) ||
		!slices.Equal(drift.Doubts, []v1alpha1.DoubtCode{v1alpha1.DoubtDrift}) {
		t.Errorf("falling: %+v", drift)
	}
	if floor := of(v1alpha1.CauseMaximumLoad, 0, falling...); len(floor.Statistics) > 0 || len(floor.Doubts) > 0 {
		t.Errorf("floors: %+v", floor)
	}
	some := of(v1alpha1.CauseDeviceLoss, 2000, 1000, 1000, 1000)
	if s := some.Statistics[0]; s.ConfidenceLow == nil || s.LimitedBy != v1alpha1.LimitedByResolution || *some.LossInversionFramesPerSecond != 2002 {
		t.Errorf("one repeat has one limit: %+v", some)
	}
	inverted := bracketed(1000, 1000, 1020, v1alpha1.CauseDeviceLoss)
	inverted.LossInversionFramesPerSecond = new(int64(2000))
	all := w.combineThroughput([]v1alpha1.ThroughputResult{inverted, inverted}, measure.FrameSize(64))[0]
	if s := all.Statistics[0]; s.ConfidenceLow != nil || s.ConfidenceHigh != nil || s.LimitedBy != v1alpha1.LimitedByLossInversion || len(all.Doubts) > 0 {
		t.Errorf("every repeat has two: %+v", all)
	}
}

// TestTooFewRepeats checks that two searches of a method that halves have no interval, and that three have one.
func TestTooFewRepeats(t *testing.T) {
	once := bracketed(1000, 1000, 1020, v1alpha1.CauseDeviceLoss)
	for method, want := range map[v1alpha1.SearchMethod]map[int]v1alpha1.StatisticsLimit{
		v1alpha1.MethodMLRsearch:                  {2: v1alpha1.LimitedByResolution, 3: v1alpha1.LimitedByResolution},
		v1alpha1.MethodRFC2544:                    {2: v1alpha1.LimitedByTooFewRepeats, 3: v1alpha1.LimitedByResolution},
		v1alpha1.MethodTST009WithLossVerification: {2: v1alpha1.LimitedByTooFewRepeats, 3: v1alpha1.LimitedByResolution},
	} {
		w := &replay{instr: instructions()}
		w.instr.Throughput = &v1alpha1.Throughput{Method: method}
		for repeats, limit := range want {
			got := w.combineThroughput(slices.Repeat([]v1alpha1.ThroughputResult{once}, repeats), measure.FrameSize(64))[0]
			few := limit == v1alpha1.LimitedByTooFewRepeats
			if s := got.Statistics[0]; s.LimitedBy != limit || (s.ConfidenceLow == nil) != few || (s.ConfidenceHigh == nil) != few || s.N != int32(repeats) || len(got.Doubts) > 0 {
				t.Errorf("%s, %d repeats: %+v", method, repeats, got)
			}
		}
	}
}

// Bounds that contradict each other give an interval with each of them in it.
func TestCombineRepeatsThatDiffer(t *testing.T) {
	w := &replay{instr: instructions()}
	got := w.combineThroughput([]v1alpha1.ThroughputResult{
		bracketed(1000, 1000, 1020, v1alpha1.CauseDeviceLoss), bracketed(1030, 1030, 1050, v1alpha1.CauseDeviceLoss),
	}, measure.FrameSize(64))[0]
	want := []v1alpha1.Statistics{{
		// 12.7062 * 21.2132 / sqrt(2) is 190.59 to each side of 1025, between the middles.
		Metric: v1alpha1.MetricThroughputFramesPerSecond, N: 2, Mean: 1015, StandardDeviation: 21, CoefficientOfVariationPartsPerMillion: 20900,
		ConfidenceLow: new(int64(834)), ConfidenceHigh: new(int64(1216)), Resolution: new(int64(20)), Minimum: 1000, Maximum: 1030, Values: []int64{1000, 1030},
	}}
	if diff := cmp.Diff(want, got.Statistics); diff != "" || got.FramesPerSecond != 1015 || got.Censored != nil {
		t.Errorf("%+v\n%s", got, diff)
	}
}

// TestLatencyAtOtherLoads checks that delays of repeats have no interval where each repeat's share is another load.
func TestLatencyAtOtherLoads(t *testing.T) {
	w := &replay{instr: instructions()}
	w.instr.Throughput = &v1alpha1.Throughput{Goals: []v1alpha1.Goal{{Name: "PDR", WidthPartsPerMillion: 5000}}}
	share := &v1alpha1.LoadShare{Goal: "PDR", Percent: 50}
	for name, test := range map[string]struct {
		share *v1alpha1.LoadShare
		loads []int64
		want  bool
	}{
		"as far apart as two searches": {share, []int64{100_000, 99_500, 99_700}, true},
		"further apart":                {share, []int64{100_000, 99_499, 99_700}, false},
		"no share":                     {nil, []int64{100_000, 100_000}, true},
	} {
		var list []v1alpha1.LatencyResult
		for i, load := range test.loads {
			list = append(list, v1alpha1.LatencyResult{Load: "pdr50", IntendedFramesPerSecond: load, Share: test.share, Directions: []v1alpha1.LatencyDirectionResult{{
				DirectionResult: v1alpha1.DirectionResult{Direction: string(measure.Forward), Latency: v1alpha1.Delays{Samples: 1000, P50Nanoseconds: 1000 + int64(i), P99Nanoseconds: 9000 + int64(i)}},
			}}})
		}
		statistics := w.combineLatency(list)[0].Directions[0].Statistics
		if len(statistics) != 2 {
			t.Fatalf("%s: %+v", name, statistics)
		}
		for _, s := range statistics {
			if (s.ConfidenceLow != nil) != test.want || (s.ConfidenceHigh != nil) != test.want || (s.LimitedBy == v1alpha1.LimitedByLoads) == test.want || len(s.Values) != len(test.loads) {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// A direction without frames in one repeat has no delay, and its loss shows.
func TestCombineStarvedDirection(t *testing.T) {
	delays := v1alpha1.Delays{Samples: 10, MinNanoseconds: 1, P50Nanoseconds: 2, MaxNanoseconds: 9}
	got, over := combineDirection([]v1alpha1.DirectionResult{
		{Direction: "Reverse", SentFrames: 10, ReceivedFrames: 10, Latency: delays, DelayVariation: delays, Jitter: &v1alpha1.Jitter{MeanNanoseconds: 3}},
		{Direction: "Reverse", SentFrames: 10},
	})
	want := v1alpha1.DirectionResult{Direction: "Reverse", SentFrames: 20, ReceivedFrames: 10, LossPartsPerMillion: 500_000}
	if diff := cmp.Diff(want, got); diff != "" || over != nil {
		t.Error(diff, over)
	}
}

// A percentile of sent frames has no value over repeats where lost frames took it in one of them.
func TestCombineDelaysOfSent(t *testing.T) {
	direction := func(of *v1alpha1.SentDelays) v1alpha1.DirectionResult {
		return v1alpha1.DirectionResult{Latency: v1alpha1.Delays{Samples: 20_000, P50Nanoseconds: 10, P99Nanoseconds: 20, P999Nanoseconds: new(int64(30))}, LatencyOfSent: of}
	}
	none := direction(nil)
	few := direction(&v1alpha1.SentDelays{P99Nanoseconds: new(int64(23)), P999Nanoseconds: new(int64(36))})
	many := direction(&v1alpha1.SentDelays{})
	for name, test := range map[string]struct {
		group []v1alpha1.DirectionResult
		want  *v1alpha1.SentDelays
	}{
		"no loss":        {[]v1alpha1.DirectionResult{none, none}, nil},
		"loss in one":    {[]v1alpha1.DirectionResult{none, few}, &v1alpha1.SentDelays{P99Nanoseconds: new(int64(22)), P999Nanoseconds: new(int64(33))}},
		"much loss":      {[]v1alpha1.DirectionResult{few, many}, &v1alpha1.SentDelays{}},
		"nothing in one": {[]v1alpha1.DirectionResult{few, {}}, nil},
	} {
		if diff := cmp.Diff(test.want, combineOfSent(test.group)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestRepeatedPhases checks that only what has figures is repeated, at its place or, with scope Chain, after all sizes.
func TestRepeatedPhases(t *testing.T) {
	ph := func(stage measure.Stage, frameBytes, repeat int) phase {
		return phase{measurement: measurementOf(stage), size: measure.FrameSize(frameBytes), repeat: repeat}
	}
	const other = stageSoak
	list := []phase{
		ph(measure.StageCalibrateRate, 64, 0), ph(measure.StageWarmUp, 64, 0), ph(measure.StageThroughput, 64, 0), ph(other, 64, 0),
		ph(measure.StageWarmUp, 512, 0), ph(other, 512, 0), ph(measure.StageWarmUp, 1518, 0), ph(measure.StageLatency, 1518, 0),
	}
	for scope, want := range map[v1alpha1.RepeatScope][]phase{
		v1alpha1.RepeatTrials: {
			ph(measure.StageCalibrateRate, 64, 0),
			ph(measure.StageWarmUp, 64, 0), ph(measure.StageThroughput, 64, 0),
			ph(measure.StageWarmUp, 64, 1), ph(measure.StageThroughput, 64, 1), ph(other, 64, 0),
			ph(measure.StageWarmUp, 512, 0), ph(other, 512, 0),
			ph(measure.StageWarmUp, 1518, 0), ph(measure.StageLatency, 1518, 0),
			ph(measure.StageWarmUp, 1518, 1), ph(measure.StageLatency, 1518, 1),
		},
		v1alpha1.RepeatChain: {
			ph(measure.StageCalibrateRate, 64, 0),
			ph(measure.StageWarmUp, 64, 0), ph(measure.StageThroughput, 64, 0), ph(other, 64, 0),
			ph(measure.StageWarmUp, 512, 0), ph(other, 512, 0),
			ph(measure.StageWarmUp, 1518, 0), ph(measure.StageLatency, 1518, 0),
			ph(measure.StageWarmUp, 64, 1), ph(measure.StageThroughput, 64, 1),
			ph(measure.StageWarmUp, 1518, 1), ph(measure.StageLatency, 1518, 1),
		},
	} {
		got := inRepeatsOf(list, measure.Instructions{Measurements: v1alpha1.Measurements{Repeats: 2, RepeatScope: scope}})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(phase{}), cmp.Comparer(func(a, b measurement) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", scope, diff)
		}
	}
}

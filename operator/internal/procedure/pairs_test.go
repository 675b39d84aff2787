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
	"vnfbench.io/operator/internal/statistics"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// turns returns what the sides made, in order, such as "64/0 without".
func turns(records []measure.Record) []string {
	var out []string
	for _, r := range records {
		if r.Stage.Calibrates() {
			continue
		}
		kind := ""
		if measurementOf(r.Stage).repetition() == once {
			kind = " " + string(r.Stage)
		}
		line := fmt.Sprintf("%s/%d%s without", r.Trial.Size, r.Repeat, kind)
		if r.Neighbors {
			line = strings.Replace(line, "without", "with", 1)
		}
		if n := len(out); n == 0 || out[n-1] != line {
			out = append(out, line)
		}
	}
	return out
}

// The sides take turns in blocks of without, with, with, without; what is made once changes its
// order from one to the next.
func TestTurns(t *testing.T) {
	instr := besideInstructions(true)
	instr.Sizes, instr.Repeats = sizes(64, 512), 4
	var want []string
	for _, size := range []int{64, 512} {
		for repeat, sides := range []string{"without with", "with without", "without with", "with without"} {
			for _, side := range strings.Fields(sides) {
				want = append(want, fmt.Sprintf("%d/%d %s", size, repeat, side))
			}
		}
	}
	if diff := cmp.Diff(want, turns(noisyRun(t, instr, nil))); diff != "" {
		t.Error(diff)
	}

	instr.Sizes, instr.Repeats = sizes(64), 2
	instr.FrameLossRate, instr.ReceiveRate = frameLossRate(0).FrameLossRate, receiveRate().ReceiveRate
	got := turns(noisyRun(t, instr, nil))
	want = []string{
		"64/0 without", "64/0 with", "64/1 with", "64/1 without",
		"64/0 FrameLossRate without", "64/0 FrameLossRate with",
		"64/0 ReceiveRate with", "64/0 ReceiveRate without", "64/0 ReceiveRate with", "64/0 ReceiveRate without", "64/0 ReceiveRate with",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// With a random order the seed draws which side begins a size, and always the same.
func TestRandomTurns(t *testing.T) {
	begins := map[string]int{}
	for seed := int64(1); seed <= 20; seed++ {
		instr := besideInstructions(true)
		instr.Sizes, instr.Repeats, instr.OrderSeed = sizes(64, 512), 2, seed
		records := noisyRun(t, instr, nil)
		got := turns(records)
		if diff := cmp.Diff(got, turns(noisyRun(t, instr, nil))); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		for i := 0; i < len(got); i += 4 {
			side := func(n int) string { return strings.Fields(got[i+n])[1] }
			if side(0) == side(1) || side(1) != side(2) || side(0) != side(3) {
				t.Errorf("seed %d: %v", seed, got)
			}
			begins[side(0)]++
		}
		if step, err := Next(instr, records); err != nil || !step.Done {
			t.Errorf("seed %d: %+v, %v", seed, step, err)
		}
	}
	if begins["with"] < 10 || begins["without"] < 10 {
		t.Errorf("the sides that begin are %v", begins)
	}
}

// resumedNoisy continues as noisyRun does, in a session.
func resumedNoisy(t *testing.T, instr measure.Instructions, records []measure.Record, session string) []measure.Record {
	t.Helper()
	quiet, noisy := newBench(simulated.HardCap{CapacityFramesPerSecond: 400_000}), newBench(simulated.HardCap{CapacityFramesPerSecond: 200_000})
	for range maxSteps {
		step, err := NextIn(instr, records, session)
		if err != nil {
			t.Fatal(err)
		}
		if step.Done {
			return records
		}
		b := quiet
		if step.Neighbors {
			b = noisy
		}
		r := b.trial(t, step, len(records))
		r.Measurer = session
		records = append(records, r)
	}
	t.Fatal("no end")
	return nil
}

// Wherever a comparison is stopped, both halves of each pair are of one session.
func TestPairsOfOneSession(t *testing.T) {
	instr := besideInstructions(true)
	instr.Repeats, instr.ReceiveRate = 2, receiveRate().ReceiveRate
	undisturbed := resumedNoisy(t, instr, nil, "a")
	want := Results(instr, undisturbed)
	for cut := 1; cut < len(undisturbed); cut++ {
		records := resumedNoisy(t, instr, slices.Clone(undisturbed[:cut]), "b")
		// What the neighbors did includes the discarded trials.
		if diff := cmp.Diff(want, Results(instr, records), sessionless); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
		sides, found := replaySides(instr, records, "")
		by := map[int]string{}
		for _, w := range sides {
			for _, p := range w.parts {
				for _, r := range p.counted {
					if known := by[p.unit]; known != "" && known != sessionOf(r) {
						t.Fatalf("cut at %d: stage %s, repeat %d, is of two sessions", cut, p.stage(), p.repeat)
					}
					by[p.unit] = sessionOf(r)
				}
			}
		}
		if extra := len(records) - len(undisturbed); extra < len(found.dropped) || extra > len(found.dropped)+2 {
			t.Errorf("cut at %d: %d more trials, %d discarded", cut, extra, len(found.dropped))
		}
	}
}

func rowOf(t *testing.T, figures Figures, metric v1alpha1.Metric) v1alpha1.NoisyNeighborDifference {
	t.Helper()
	for _, row := range figures.Neighbors.Comparison {
		if row.Metric == metric {
			return row
		}
	}
	t.Fatalf("no %s in %+v", metric, figures.Neighbors.Comparison)
	return v1alpha1.NoisyNeighborDifference{}
}

// A device that slows down while neighbors do nothing has no difference, and the warning says that
// it slowed down. All without first, then all with, would show half of the change.
func TestDrift(t *testing.T) {
	instr := besideInstructions(true)
	instr.Latency = nil
	for _, repeats := range []int32{2, 4} {
		instr.Repeats = repeats
		b := newBench(simulated.SlowingDown{CapacityFramesPerSecond: 500_000, HalfLife: 5 * time.Minute})
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		figures := Results(instr, records)
		row := rowOf(t, figures, v1alpha1.MetricThroughputFramesPerSecond)
		moved := float64(*row.WithoutLast)/float64(*row.WithoutFirst) - 1
		if d := *row.DifferencePartsPerMillion; row.Pairs != repeats || moved > -0.03 || math.Abs(float64(d)) > 15_000 ||
			*row.DifferenceLowPartsPerMillion > 0 || *row.DifferenceHighPartsPerMillion < 0 {
			t.Errorf("%d repeats, moved by %.3f: %+v, %d ppm", repeats, moved, row, d)
		}
		wantWarning(t, instr, records, v1alpha1.WarningComparisonDrift, fmt.Sprintf(
			"Without the neighbors, ThroughputFramesPerSecond at NDR was %d first and %d last, and with them it differs by %d: the testbed changed by more than half as much by itself.",
			*row.WithoutFirst, *row.WithoutLast, int64(math.Abs(float64(*row.With-*row.Without)))))
	}
}

// The interval of a real difference holds it, is on one side of 0, and is narrower with more pairs.
func TestPairedInterval(t *testing.T) {
	widths := map[int32]int64{}
	for _, repeats := range []int32{1, 2, 6} {
		instr := besideInstructions(true)
		instr.Repeats = repeats
		figures := Results(instr, noisyRun(t, instr, nil))
		row := rowOf(t, figures, v1alpha1.MetricThroughputFramesPerSecond)
		if repeats == 1 {
			if row.Pairs != 0 || row.DifferenceLowPartsPerMillion != nil || row.WithoutFirst != nil || row.DifferencePartsPerMillion == nil {
				t.Errorf("one pair: %+v", row)
			}
			continue
		}
		low, high := *row.DifferenceLowPartsPerMillion, *row.DifferenceHighPartsPerMillion
		widths[repeats] = high - low
		// The search's bounds are 0.5 % apart.
		if d := *row.DifferencePartsPerMillion; row.Pairs != repeats || low > d || high < d || high >= 0 || low > -500_000 || high < -500_000 || high-low < 1000 {
			t.Errorf("%+v: %d to %d", row, low, high)
		}
		for _, w := range figures.Warnings {
			if w.Code == v1alpha1.WarningComparisonDrift {
				t.Errorf("unexpected %+v", w)
			}
		}
	}
	if widths[6] > widths[2] {
		t.Errorf("the widths are %v", widths)
	}
}

// Nothing is said of the ratio of values that are floors, or may be 0.
func TestRatios(t *testing.T) {
	figures := func(rate int64, cause v1alpha1.UpperBoundCause) listed {
		return listOf(Figures{Frames: []v1alpha1.FrameResult{{Size: "64", Throughput: []v1alpha1.ThroughputResult{bracketed(rate, rate, rate+rate/100+1, cause)}}}})
	}
	key := v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Size: "64", Goal: "NDR"}
	for name, test := range map[string]struct {
		pairs []pair
		want  bool
	}{
		"known":         {[]pair{{figures(1000, v1alpha1.CauseDeviceLoss), figures(900, v1alpha1.CauseDeviceLoss)}, {figures(990, v1alpha1.CauseDeviceLoss), figures(880, v1alpha1.CauseDeviceLoss)}}, true},
		"a floor":       {[]pair{{figures(1000, v1alpha1.CauseDeviceLoss), figures(900, v1alpha1.CauseDeviceLoss)}, {figures(990, v1alpha1.CauseGeneratorCeiling), figures(880, v1alpha1.CauseDeviceLoss)}}, false},
		"nothing":       {[]pair{{figures(1000, v1alpha1.CauseDeviceLoss), figures(0, v1alpha1.CauseDeviceLoss)}, {figures(990, v1alpha1.CauseDeviceLoss), figures(880, v1alpha1.CauseDeviceLoss)}}, false},
		"half measured": {[]pair{{figures(1000, v1alpha1.CauseDeviceLoss), figures(900, v1alpha1.CauseDeviceLoss)}, {figures(990, v1alpha1.CauseDeviceLoss), listed{}}}, false},
	} {
		row := v1alpha1.NoisyNeighborDifference{FigureKey: key, DifferencePartsPerMillion: new(int64(-105_000))}
		addPairs(&row, test.pairs)
		if (row.DifferenceLowPartsPerMillion != nil) != test.want || (row.Pairs == 0) != (name == "half measured") {
			t.Errorf("%s: %+v", name, row)
		}
		if test.want && (*row.DifferenceLowPartsPerMillion > -105_000 || *row.DifferenceHighPartsPerMillion < -105_000) {
			t.Errorf("%s: %d to %d", name, *row.DifferenceLowPartsPerMillion, *row.DifferenceHighPartsPerMillion)
		}
	}
	ratio, ok := ratioOf(statistics.Bracket{Low: 100, High: 110}, statistics.Bracket{Low: 55, High: 60})
	if !ok || math.Abs(math.Exp(ratio.Low)-0.5) > 1e-9 || math.Abs(math.Exp(ratio.High)-0.6) > 1e-9 {
		t.Errorf("%+v, %t", ratio, ok)
	}
}

// With noise the interval of four pairs holds 0 where the neighbors change nothing, and leaves it
// out where they cost a seventh.
func TestPairedIntervalWithNoise(t *testing.T) {
	instr := besideInstructions(true)
	instr.Latency, instr.Repeats = nil, 4
	const seeds = 20
	for with, want := range map[float64]struct{ least, most int }{500_000: {seeds - 1, seeds}, 430_000: {0, 2}} {
		held, known := 0, 0
		for seed := range uint64(seeds) {
			device := func(capacity float64) *bench {
				b := newBench(hardCap())
				b.chain = simulated.New(simulated.Config{
					Device: simulated.Noisy{Device: simulated.HardCap{CapacityFramesPerSecond: capacity}, Strength: simulated.Strong}, Directions: bothWays,
					GeneratorFramesPerSecond: 2_000_000, Seed: 2*seed + uint64(capacity),
				})
				return b
			}
			without, with := device(500_000), device(with)
			row := rowOf(t, Results(instr, besideEachOther(t, instr, without, with, nil)), v1alpha1.MetricThroughputFramesPerSecond)
			if row.DifferenceLowPartsPerMillion == nil {
				continue
			}
			known++
			if *row.DifferenceLowPartsPerMillion <= 0 && *row.DifferenceHighPartsPerMillion >= 0 {
				held++
			}
		}
		if held < want.least || held > want.most || known != seeds {
			t.Errorf("with %.0f frames/s, %d of %d intervals hold 0", with, held, known)
		}
	}
}

// TestDifferenceAtOtherLoads checks that a load that is a share of a throughput has a difference only where both sides
// of each pair found about the same throughput.
func TestDifferenceAtOtherLoads(t *testing.T) {
	w := &replay{instr: instructions()}
	w.instr.Throughput = &v1alpha1.Throughput{Goals: []v1alpha1.Goal{{Name: "PDR", WidthPartsPerMillion: 5000}}}
	share := &v1alpha1.LoadShare{Goal: "PDR", Percent: 50}
	at := func(share *v1alpha1.LoadShare, load int64) listed {
		return listOf(Figures{Frames: []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{{
			Load: "pdr50", IntendedFramesPerSecond: load, Share: share, Directions: []v1alpha1.LatencyDirectionResult{{
				DirectionResult: v1alpha1.DirectionResult{Direction: string(measure.Forward), Latency: v1alpha1.Delays{Samples: 1000, P99Nanoseconds: load}},
			}},
		}}}}})
	}
	for name, test := range map[string]struct {
		all   pair
		pairs []pair
		want  bool
	}{
		"as far apart as two searches": {pair{at(share, 100_000), at(share, 99_500)}, nil, true},
		"lower with the neighbors":     {pair{at(share, 100_000), at(share, 99_499)}, nil, false},
		"higher with the neighbors":    {pair{at(share, 99_499), at(share, 100_000)}, nil, false},
		"no share":                     {pair{at(nil, 100_000), at(nil, 50_000)}, nil, true},
		"apart in one pair": {pair{at(share, 100_000), at(share, 100_000)},
			[]pair{{at(share, 100_000), at(share, 90_000)}, {at(share, 100_000), at(share, 110_000)}}, false},
	} {
		rows := w.differences(test.all, test.pairs, nil)
		i := slices.IndexFunc(rows, func(r v1alpha1.NoisyNeighborDifference) bool { return r.Metric == v1alpha1.MetricLatencyP99 })
		if i < 0 || rows[i].Without == nil || rows[i].With == nil || (rows[i].DifferencePartsPerMillion != nil) != test.want {
			t.Errorf("%s: %+v", name, rows)
		}
	}
}

// TestDifferenceOfUnequalTrials: delays of a growing queue follow from the time of a trial, so a load whose trials
// were prolonged on one side of a pair alone has no difference.
func TestDifferenceOfUnequalTrials(t *testing.T) {
	at := func(p99 int64, milliseconds ...int64) listed {
		var load v1alpha1.LatencyResult
		load.TrialMilliseconds, load.ShortestTrialMilliseconds = trialTimes(values(milliseconds, func(n int64) v1alpha1.LatencyResult { return v1alpha1.LatencyResult{TrialMilliseconds: n} }))
		load.Load, load.Directions = "ndr95", []v1alpha1.LatencyDirectionResult{{
			DirectionResult: v1alpha1.DirectionResult{Direction: string(measure.Forward), Latency: v1alpha1.Delays{Samples: 1000, P99Nanoseconds: p99}},
		}}
		return listOf(Figures{Frames: []v1alpha1.FrameResult{{Size: "64", FrameBytes: 64, Latency: []v1alpha1.LatencyResult{load}}}})
	}
	for name, test := range map[string]struct {
		all   pair
		pairs []pair
		want  bool
	}{
		"alike":                 {pair{at(10_000, 30_000), at(40_000, 30_000)}, nil, true},
		"one side is longer":    {pair{at(10_000, 30_000), at(40_000, 120_000)}, nil, false},
		"both have one that is": {pair{at(10_000, 30_000, 120_000), at(40_000, 30_000, 120_000)}, []pair{{at(10_000, 30_000), at(40_000, 30_000)}, {at(10_000, 120_000), at(40_000, 120_000)}}, true},
		"in different pairs":    {pair{at(10_000, 30_000, 120_000), at(40_000, 30_000, 120_000)}, []pair{{at(10_000, 30_000), at(40_000, 120_000)}, {at(10_000, 120_000), at(40_000, 30_000)}}, false},
		"a pair is half there":  {pair{at(10_000, 30_000), at(40_000, 30_000)}, []pair{{at(10_000, 30_000), at(40_000, 30_000)}, {at(10_000, 30_000), listed{}}}, true},
		"pairs that are alike":  {pair{at(10_000, 30_000), at(40_000, 30_000)}, []pair{{at(10_000, 30_000), at(40_000, 30_000)}, {at(10_000, 30_000), at(40_000, 30_000)}}, true},
	} {
		rows := (&replay{}).differences(test.all, test.pairs, nil)
		i := slices.IndexFunc(rows, func(r v1alpha1.NoisyNeighborDifference) bool { return r.Metric == v1alpha1.MetricLatencyP99 })
		if i < 0 || *rows[i].Without != 10_000 || *rows[i].With != 40_000 || (rows[i].DifferencePartsPerMillion != nil) != test.want {
			t.Errorf("%s: %+v", name, rows)
		}
	}
}

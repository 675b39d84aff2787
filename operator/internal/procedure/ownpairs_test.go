package procedure

import (
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

// ownRepeats returns the instructions of a comparison with each measurement that repeats its trials itself.
func ownRepeats() measure.Instructions {
	instr := besideInstructions(true)
	instr.Latency, instr.Repeats = nil, 2
	instr.FixedLoad = &v1alpha1.FixedLoad{
		DurationSeconds: 60, DiscardSeconds: new(int32(20)), Repeats: 4,
		Profiles: []v1alpha1.LoadProfile{{Name: "lossy", Size: "64", FramesPerSecond: new(int64(600_000))}},
	}
	instr.BackToBack = &v1alpha1.BackToBack{Repeats: 4, StepFrames: 100, MaximumBurstMilliseconds: 200, Attempts: 1}
	instr.ReceiveRate = &v1alpha1.ReceiveRate{TrialMilliseconds: 10_000, Trials: 4}
	return instr
}

// ownMetrics are what the measurements of ownRepeats are compared by.
var ownMetrics = []v1alpha1.Metric{v1alpha1.MetricLoss, v1alpha1.MetricBackToBack, v1alpha1.MetricReceiveRate}

// TestOwnTurns checks that each repeat that a measurement makes itself is made by both sides before the next one, in blocks of
// without, with, with, without. What is made after an even number of repeats begins with the other side.
func TestOwnTurns(t *testing.T) {
	order := map[measure.Stage]string{}
	for _, r := range noisyRun(t, ownRepeats(), nil) {
		side := "A"
		if r.Neighbors {
			side = "B"
		}
		// A repeat of bursts is a whole search.
		if r.Stage != stageBackToBack || !strings.HasSuffix(order[r.Stage], side) {
			order[r.Stage] += side
		}
	}
	for stage, want := range map[measure.Stage]string{
		stageFixedLoad: "ABBAABBA", stageDiscard: "ABBAABBA", stageBackToBack: "BABAB", stageReceiveRate: "ABBAABBA",
	} {
		if order[stage] != want {
			t.Errorf("%s is made in the order %s, want %s", stage, order[stage], want)
		}
	}
}

// wearing is a device whose capacity and buffer halve in ten minutes of simulated time.
type wearing struct{}

func (wearing) Answer(q simulated.Question) simulated.Answer {
	left := math.Exp2(-q.Since.Minutes() / 10)
	return buffered{500_000 * left, 30_000 * left}.Answer(q)
}

// TestDriftOfOwnRepeats checks that a device that wears out while neighbors do nothing has no difference by them. A then B would
// show differences of 5, 13 and 72 %.
func TestDriftOfOwnRepeats(t *testing.T) {
	instr := ownRepeats()
	records, err := newBench(wearing{}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	figures := Results(instr, records)
	for _, metric := range ownMetrics {
		row := rowOf(t, figures, metric)
		if row.Pairs != 4 || row.DifferenceLowPartsPerMillion == nil {
			t.Errorf("%s has no interval: %+v", metric, row)
			continue
		}
		moved := math.Abs(float64(*row.WithoutLast)/float64(*row.WithoutFirst) - 1)
		if d := *row.DifferencePartsPerMillion; moved < 0.05 || math.Abs(float64(d)) > 20_000 ||
			*row.DifferenceLowPartsPerMillion > 0 || *row.DifferenceHighPartsPerMillion < 0 {
			t.Errorf("%s moved by %.3f and differs by %d ppm, %d to %d", metric, moved, d, *row.DifferenceLowPartsPerMillion, *row.DifferenceHighPartsPerMillion)
		}
	}
	if !slices.ContainsFunc(figures.Warnings, func(w v1alpha1.Warning) bool { return w.Code == v1alpha1.WarningComparisonDrift }) {
		t.Error("no warning of the drift")
	}
}

// TestDriftInChains checks that with repeatScope Chain a drift is said of what a measurement repeats itself, in one deployment, and
// not of what each deployment has once.
func TestDriftInChains(t *testing.T) {
	instr := ownRepeats()
	instr.RepeatScope = v1alpha1.RepeatChain
	records, err := newBench(wearing{}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	figures := Results(instr, records)
	throughput, rate := rowOf(t, figures, v1alpha1.MetricThroughputFramesPerSecond), rowOf(t, figures, v1alpha1.MetricReceiveRate)
	sides, _ := replaySides(instr, records, "")
	for _, row := range []*v1alpha1.NoisyNeighborDifference{&throughput, &rate} {
		if row.Pairs < 2 || distance(*row.WithoutFirst, *row.WithoutLast) < 0.05*float64(*row.WithoutFirst) {
			t.Fatalf("%s does not move: %+v", row.Metric, row)
		}
		// No difference hides what moved.
		row.With = row.Without
	}
	warnings := sides[1].warnDrift([]v1alpha1.NoisyNeighborDifference{throughput, rate})
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, string(v1alpha1.MetricReceiveRate)) {
		t.Errorf("%+v", warnings)
	}
}

// TestIntervalOfProlongedRepeats checks that a fixed load has no interval where each side made its repeats again alone after a
// queue grew in a later one, and that it has one where only the first repeats were made again.
func TestIntervalOfProlongedRepeats(t *testing.T) {
	for name, test := range map[string]struct {
		grows int
		order string
		want  bool
	}{
		"the last repeat":  {4, "ABBAABBBBBBAAAAA", false},
		"the first repeat": {1, "AABBBAABBA", true},
	} {
		instr := ownRepeats()
		instr.ReceiveRate, instr.BackToBack = nil, nil
		device := func() *bench {
			b, made := newBench(buffered{400_000, 30_000}), 0
			b.spoil = func(r *measure.Record) {
				if r.Stage != stageFixedLoad {
					return
				}
				if made++; made == test.grows {
					r.Outcome.Directions[0].QueueGrowthNanoseconds = int64(2 * time.Second)
				}
			}
			return b
		}
		order := ""
		records := besideEachOther(t, instr, device(), device(), nil)
		for _, r := range records {
			if r.Stage == stageFixedLoad {
				order += map[bool]string{false: "A", true: "B"}[r.Neighbors]
			}
		}
		row := rowOf(t, Results(instr, records), v1alpha1.MetricLoss)
		if order != test.order || row.Pairs != 4 || row.DifferencePartsPerMillion == nil || (row.DifferenceLowPartsPerMillion != nil) != test.want || (row.DifferenceHighPartsPerMillion != nil) != test.want {
			t.Errorf("%s: order %s, %+v", name, order, row)
		}
	}
}

// TestIntervalOfOwnRepeats checks the intervals of real differences, that a burst's is no narrower than its step, and that nothing is
// said of a receive rate that is only a floor.
func TestIntervalOfOwnRepeats(t *testing.T) {
	instr := ownRepeats()
	quiet, noisy := newBench(buffered{400_000, 30_000}), newBench(buffered{200_000, 30_000})
	figures := Results(instr, besideEachOther(t, instr, quiet, noisy, nil))
	for metric, want := range map[v1alpha1.Metric]int64{
		v1alpha1.MetricLoss: 1_000_000, v1alpha1.MetricReceiveRate: -500_000, v1alpha1.MetricBackToBack: -111_000,
	} {
		row := rowOf(t, figures, metric)
		if row.Pairs != 4 || row.DifferenceLowPartsPerMillion == nil {
			t.Errorf("%s has no interval: %+v", metric, row)
			continue
		}
		low, high := *row.DifferenceLowPartsPerMillion, *row.DifferenceHighPartsPerMillion
		if d := *row.DifferencePartsPerMillion; low > d || high < d || max(d-want, want-d) > 5000 || (low > 0) != (high > 0) {
			t.Errorf("%s differs by %d ppm, %d to %d, want %d", metric, d, low, high, want)
		}
		// A step of 100 frames in bursts of 33 to 38 thousand, on both sides.
		if metric == v1alpha1.MetricBackToBack && high-low < 4000 {
			t.Errorf("the interval of bursts is %d to %d", low, high)
		}
	}

	fast := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6})
	row := rowOf(t, Results(instr, besideEachOther(t, instr, fast, fast, nil)), v1alpha1.MetricReceiveRate)
	if row.Pairs != 4 || row.DifferenceLowPartsPerMillion != nil {
		t.Errorf("a floor has an interval: %+v", row)
	}
}

// TestComparedFixedLoad checks that a fixed load is compared by the mean of its repeats, in the worse direction, and keeps the time
// of each.
func TestComparedFixedLoad(t *testing.T) {
	repeat := func(n int32, p99 ...int64) v1alpha1.RepeatResult {
		out := v1alpha1.RepeatResult{Repeat: n, TrialMilliseconds: 60_000 * int64(n)}
		for i, d := range []measure.Direction{measure.Forward, measure.Reverse} {
			out.Directions = append(out.Directions, v1alpha1.DirectionResult{Direction: string(d), SentFrames: 10, ReceivedFrames: 10, Latency: v1alpha1.Delays{Samples: 10, P99Nanoseconds: p99[i]}})
		}
		return out
	}
	load := v1alpha1.FixedLoadResult{Profile: "small", Repeats: []v1alpha1.RepeatResult{repeat(1, 100, 300), repeat(2, 5000, 400)}}
	given := load.Repeats[0]
	all := listOf(Figures{Frames: []v1alpha1.FrameResult{{Size: "64", FixedLoad: []v1alpha1.FixedLoadResult{load}}}})
	for _, row := range (&replay{}).differences(pair{all, all}, nil, nil) {
		if row.Metric == v1alpha1.MetricLatencyP99 && *row.Without != 2550 {
			t.Errorf("%+v", row)
		}
	}
	if diff := cmp.Diff([]int64{60_000, 120_000}, trialTimesAt(all.all, v1alpha1.NoisyNeighborDifference{FigureKey: v1alpha1.FigureKey{Size: "64", Load: "small"}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(given, load.Repeats[0]); diff != "" {
		t.Errorf("the figures were changed: %s", diff)
	}
}

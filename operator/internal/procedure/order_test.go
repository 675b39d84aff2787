package procedure

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func shuffled(seed int64) measure.Instructions {
	instr := repeatedInstructions(2)
	instr.Sizes, instr.OrderSeed = sizes(64, 256, 512, 1518), seed
	return instr
}

func names(list []phase) []string {
	var out []string
	for _, ph := range list {
		out = append(out, fmt.Sprint(ph.stage(), " ", ph.size.Name, " ", ph.load.Name, "/", ph.repeat))
	}
	return out
}

// TestShuffle pins the order of a seed, because stored trials are replayed in it.
func TestShuffle(t *testing.T) {
	for _, test := range []struct {
		seed   int64
		number uint64
		want   []int
	}{{0, 1, []int{0, 1, 2, 3, 4, 5}}, {1, 0, []int{4, 5, 0, 2, 1, 3}}, {1, 1, []int{3, 5, 1, 0, 4, 2}}, {2, 0, []int{3, 4, 5, 2, 0, 1}}} {
		got := []int{0, 1, 2, 3, 4, 5}
		shuffle(test.seed, test.number, got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("seed %d, list %d: %s", test.seed, test.number, diff)
		}
	}
	// Each of the six orders of three comes about equally often.
	counts := map[[3]int]int{}
	const draws = 6000
	for seed := range int64(draws) {
		list := [3]int{0, 1, 2}
		shuffle(seed+1, 0, list[:])
		counts[list]++
	}
	for order, n := range counts {
		if len(counts) != 6 || n < draws/6-120 || n > draws/6+120 {
			t.Errorf("order %v: %d of %d draws", order, n, draws)
		}
	}
}

// TestRandomOrder checks that a seed changes nothing but the order of the sizes' parts, and of the
// latency loads in each of them.
func TestRandomOrder(t *testing.T) {
	declared := names(phases(shuffled(0)))
	orders := map[string]bool{}
	for seed := range int64(20) {
		list := phases(shuffled(seed + 1))
		got := names(list)
		if diff := cmp.Diff(got, names(phases(shuffled(seed+1)))); diff != "" {
			t.Fatalf("the same seed gave another order: %s", diff)
		}
		orders[fmt.Sprint(got)] = true
		last := map[string]int{}
		for i, ph := range list {
			at := fmt.Sprint(ph.size.Name, "/", ph.repeat)
			if before, known := last[at]; known && before != i-1 && ph.measurement.place() == perSize && list[before].measurement.place() == perSize {
				t.Errorf("seed %d: %s is apart from the rest of its size and repeat", seed, got[i])
			}
			last[at] = i
			if ph.stage() == measure.StageThroughput && list[i-1].stage() != measure.StageWarmUp {
				t.Errorf("seed %d: %s is not after its warm-up", seed, got[i])
			}
			if ph.stage() == measure.StageLatency && !slices.Contains(got[:i], fmt.Sprint(measure.StageThroughput, " ", ph.size.Name, " /", ph.repeat)) {
				t.Errorf("seed %d: %s is before its throughput", seed, got[i])
			}
		}
		sorted, want := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(declared))
		if diff := cmp.Diff(want, sorted); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	}
	if len(orders) < 19 {
		t.Errorf("%d orders of 20 seeds", len(orders))
	}
}

// TestEachDeploymentHasItsOrder checks that repeats that have all sizes do not all have them in one order.
func TestEachDeploymentHasItsOrder(t *testing.T) {
	instr := shuffled(7)
	instr.Repeats, instr.RepeatScope = 6, v1alpha1.RepeatChain
	of := func(instr measure.Instructions) map[string]bool {
		orders := map[int]string{}
		for _, ph := range phases(instr) {
			if ph.stage() == measure.StageThroughput {
				orders[ph.repeat] += ph.size.Name + " "
			}
		}
		distinct := map[string]bool{}
		for _, order := range orders {
			distinct[order] = true
		}
		return distinct
	}
	if got := of(instr); len(got) < 4 {
		t.Errorf("6 repeats have the orders %v", got)
	}
	instr.OrderSeed = 0
	if got := of(instr); len(got) != 1 {
		t.Errorf("the declared order is %v", got)
	}
}

// TestResultsOfARandomOrder checks that a device that always answers alike has the same results in
// every order, and that a measurer that is replaced at any time continues in the same order.
func TestResultsOfARandomOrder(t *testing.T) {
	measured := func(seed int64) (measure.Instructions, []measure.Record) {
		instr := shuffled(seed)
		instr.Sizes, instr.Repeats = sizes(64, 512), 2
		records, err := newBench(hardCap()).run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		return instr, records
	}
	bounds := func(f Figures) []string {
		var out []string
		for _, frame := range f.Frames {
			out = append(out, frame.Size)
			for _, r := range frame.Throughput {
				out = append(out, fmt.Sprint(r.Goal, r.LowerBoundFramesPerSecond, r.FramesPerSecond))
			}
			for _, l := range frame.Latency {
				out = append(out, fmt.Sprint(l.Load, l.IntendedFramesPerSecond))
			}
		}
		return append(out, fmt.Sprint(f.Summary.Size, f.Summary.Goal, f.Summary.Load))
	}
	want := bounds(Results(measured(0)))
	for _, seed := range []int64{1, 2, 3, 4} {
		instr, records := measured(seed)
		if diff := cmp.Diff(want, bounds(Results(instr, records))); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
		for n := range records {
			if step, err := Next(instr, records[:n]); err != nil || step.Trial != records[n].Trial || step.Stage != records[n].Stage || step.Load != records[n].Load {
				t.Fatalf("seed %d, after %d trials: %+v, %v", seed, n, step, err)
			}
			Results(instr, records[:n])
		}
	}
}

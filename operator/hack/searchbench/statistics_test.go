package main

import (
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// TestCoverage checks with few devices what `make bench-statistics` prints with many: no interval
// is called 95 % and holds the truth much less often, and none is withheld without need.
func TestCoverage(t *testing.T) {
	const (
		seeds = 25
		// Of 25 intervals that hold the truth in 95 %, less than 1 % of samples miss it more often.
		maxMissed = 4
		// Of 25 runs of which 3 % drift by chance, less than 1 % of samples have more.
		maxDrifting = 3
	)
	for _, class := range Classes() {
		for _, method := range []v1alpha1.SearchMethod{v1alpha1.MethodMLRsearch, v1alpha1.MethodRFC2544} {
			t.Run(class.Name+"/"+string(method), func(t *testing.T) {
				t.Parallel()
				goals, err := class.Cover(t.Context(), method, usualRepeats, seeds)
				if err != nil {
					t.Fatal(err)
				}
				censored := map[bool]int{true: seeds}[class.Name == "generator ceiling"]
				halving := method == v1alpha1.MethodRFC2544
				for _, c := range goals {
					switch {
					case c.Runs != seeds || c.Censored != censored || c.Compared != seeds || c.Slower != seeds:
						t.Errorf("%+v, want %d runs, %d of them censored", c, seeds, censored)
					case c.Intervals()-c.Held > maxMissed:
						t.Errorf("%+v: too many intervals miss the truth", c)
					case c.Alarms > 1:
						t.Errorf("%+v: false alarms", c)
					case class.Name == "two bands" && (c.Inverted > 0) != halving,
						class.Name == "less loss at more load" && c.Inverted != map[bool]int{true: seeds}[halving],
						class.Name == "slowing down" && (c.Drifting > seeds-3) != halving:
						t.Errorf("%+v: several limits go unnoticed, or are noticed where there is one", c)
					case !class.severalLimits() && (c.Inverted > 1 || c.Drifting > maxDrifting):
						t.Errorf("%+v: withheld from devices of one limit", c)
					case strings.HasPrefix(class.Name, "hard") && (c.Limited != seeds || c.Alarms > 0 || c.Unsure > 0 || c.Found != seeds):
						t.Errorf("%+v of a device that always answers alike", c)
					}
				}
			})
		}
	}
}

// TestClassesNamed checks that the begin of a name selects classes, and that one of none is an error.
func TestClassesNamed(t *testing.T) {
	for text, want := range map[string]int{"": len(Classes()), "soft knee": 1} {
		if got, err := classesNamed(text); err != nil || len(got) != want {
			t.Errorf("%q: %d classes, %v, want %d", text, len(got), err, want)
		}
	}
	if err := printStatistics(t.Context(), io.Discard, "a router", 2, 1); err == nil || !strings.Contains(err.Error(), `"soft knee"`) {
		t.Errorf("a name of none: %v", err)
	}
}

func TestJudge(t *testing.T) {
	one, several := Class{Name: "soft knee"}, Class{Name: "two bands"}
	for name, test := range map[string]struct {
		class Class
		c     Coverage
		want  string
		right bool
	}{
		"95 %":                   {one, Coverage{Runs: 100, Held: 95}, "reached", true},
		"too low":                {one, Coverage{Runs: 100, Held: 92}, "too low", false},
		"too high":               {one, Coverage{Runs: 100, Held: 98}, "too high", false},
		"too high for a reason":  {Class{Name: "hard cap"}, Coverage{Runs: 100, Held: 98}, "above: ", true},
		"too low in spite of it": {Class{Name: "hard cap"}, Coverage{Runs: 100, Held: 92}, "too low", false},
		"no interval":            {one, Coverage{Runs: 100, Censored: 100}, "no interval", true},
		"of the rest":            {one, Coverage{Runs: 100, Censored: 60, Held: 38}, "reached", true},
		"withheld":               {one, Coverage{Runs: 100, Drifting: 6, Held: 90}, "withheld", false},
		"withheld rightly":       {several, Coverage{Runs: 100, Inverted: 60, Held: 38}, "reached", true},
		"and wrong otherwise":    {several, Coverage{Runs: 100, Inverted: 60, Held: 36}, "too low", false},
		"all withheld":           {several, Coverage{Runs: 100, Drifting: 100}, "no interval", true},
		"the rest is right":      {several, Coverage{Runs: 100, Drifting: 96, Held: 4}, "96.0 % of the runs are withheld, and 0 of the other 4", true},
		"the rest is wrong":      {several, Coverage{Runs: 100, Drifting: 96}, "too low", false},
		"false alarms":           {one, Coverage{Runs: 100, Held: 95, Compared: 100, Alarms: 6}, "too many", false},
	} {
		if verdict, right := test.class.judge(v1alpha1.MethodMLRsearch, usualRepeats, test.c); right != test.right || !strings.HasPrefix(verdict, test.want) {
			t.Errorf("%s: %q, %t", name, verdict, right)
		}
	}
	slow := Class{Name: "slowing down"}
	for wrong, want := range map[int]string{6: "exception: 99.4 % of the runs are withheld, and 6 of the other 6", 21: "too many wrong"} {
		got := Coverage{Runs: 1000, Drifting: 1000 - wrong}
		if verdict, right := slow.judge(v1alpha1.MethodRFC2544, usualRepeats, got); right != (wrong == 6) || !strings.HasPrefix(verdict, want) {
			t.Errorf("%d wrong intervals: %q, %t", wrong, verdict, right)
		}
		if verdict, right := slow.judge(v1alpha1.MethodMLRsearch, usualRepeats, got); right {
			t.Errorf("%d wrong intervals of a method without an exception: %q", wrong, verdict)
		}
	}
	for share, want := range map[int]bool{92: false, 95: true, 100: true} {
		if verdict, right := one.judge(v1alpha1.MethodMLRsearch, 2, Coverage{Runs: 100, Held: share}); right != want {
			t.Errorf("two repeats, %d %%: %q, %t", share, verdict, right)
		}
	}
}

// TestReasonsAbove checks that each reason belongs to a class, so that none outlives it.
func TestReasonsAbove(t *testing.T) {
	for name, methods := range reasonsAbove {
		if !slices.ContainsFunc(Classes(), func(c Class) bool { return c.Name == name }) {
			t.Errorf("there is no class %q", name)
		}
		for method, why := range methods {
			if method != v1alpha1.MethodMLRsearch && method != v1alpha1.MethodRFC2544 || why == "" {
				t.Errorf("class %q: %q for %q", name, why, method)
			}
		}
	}
}

// TestPartsOfTheWidth checks that a device that always answers alike has a width of the search's resolution alone, and one
// with strong noise more scatter than resolution.
func TestPartsOfTheWidth(t *testing.T) {
	const seeds = 5
	for _, class := range Classes() {
		quiet := class.Name == "hard cap"
		if !quiet && class.Name != "knee, strong noise" {
			continue
		}
		goals, err := class.Cover(t.Context(), v1alpha1.MethodMLRsearch, usualRepeats, seeds)
		if err != nil {
			t.Fatal(err)
		}
		if ndr := goals[0]; ndr.Resolution <= 0 || (ndr.Scatter == 0) != quiet || (ndr.Scatter < ndr.Resolution) != quiet {
			t.Errorf("class %q: a width of %v has the resolution %v and the scatter %v", class.Name, ndr.Width, ndr.Resolution, ndr.Scatter)
		}
	}
	if got := scatter(v1alpha1.Statistics{N: 5, StandardDeviation: 1000}); math.Abs(got-2483.3) > 0.1 {
		t.Errorf("Student's interval of five repeats is %v wide", got)
	}
}

// TestReasonsFew checks that each exception belongs to a class without one limit.
func TestReasonsFew(t *testing.T) {
	for name, methods := range reasonsFew {
		if !(Class{Name: name}).severalLimits() || len(methods) == 0 {
			t.Errorf("class %q has one limit, or no reason", name)
		}
	}
}

// TestLimitIsAtTheBracketsEnd checks the reason of classes without noise: MLRsearch tries the rate that a
// capped device forwards, so that each interval begins at the limit, wherever it is. Such intervals hold
// the limit always or, if they began a frame later, never.
func TestLimitIsAtTheBracketsEnd(t *testing.T) {
	instr := repeatedRun(v1alpha1.MethodMLRsearch, usualRepeats)
	for _, class := range Classes() {
		if reasonsAbove[class.Name][v1alpha1.MethodMLRsearch] != limitAtEnd {
			continue
		}
		for seed := range uint64(10) {
			bed := class.Bed(firstSeed + seed)
			frames, err := measureRun(t.Context(), instr, simulated.New(bed.Driver))
			if err != nil {
				t.Fatal(err)
			}
			ndr := frames[0].Throughput[0].Statistics[0]
			if off := float64(*ndr.ConfidenceLow) - bed.Truth(0, 0); off < -wholeFrame || off > wholeFrame {
				t.Errorf("class %q, seed %d: the interval begins %v frames/s from the limit", class.Name, seed, off)
			}
		}
	}
}

// TestNoiseWithinTheWidth checks the reason of classes with little noise: where one limit explains all
// repeats, the limit of a cap is in the uppermost 5 % of what they share, or above it, much more
// often than in 5 %.
func TestNoiseWithinTheWidth(t *testing.T) {
	const seeds, minShare = 150, 0.08
	instr := repeatedRun(v1alpha1.MethodMLRsearch, usualRepeats)
	instr.Repeats = 1
	class := Classes()[slices.IndexFunc(Classes(), func(c Class) bool { return c.Name == "cap, quiet" })]
	shared, above := 0.0, 0.0
	for seed := range uint64(seeds) {
		bed := class.Bed(firstSeed + seed)
		driver := simulated.New(bed.Driver)
		low, high := 0.0, math.Inf(1)
		for range usualRepeats {
			records, err := measureRepeat(t.Context(), instr, driver)
			if err != nil {
				t.Fatal(err)
			}
			ndr := procedure.Results(instr, records).Frames[0].Throughput[0]
			low, high = max(low, float64(ndr.LowerBoundFramesPerSecond)), min(high, float64(*ndr.UpperBoundFramesPerSecond))
		}
		if low < high {
			shared++
			if bed.Truth(0, 0) > high-0.05*(high-low) {
				above++
			}
		}
	}
	if above < minShare*shared || shared < seeds/2 {
		t.Errorf("the limit is at the upper end of %v of %v", above, shared)
	}
}

// TestSlower checks that a slower device's limit is its share of the other's.
func TestSlower(t *testing.T) {
	d := scaled{simulated.HardCap{CapacityFramesPerSecond: 1e6}, slowerShare}
	for load, loss := range map[float64]float64{900_000: 0, 1_800_000: 0.5} {
		got := d.Answer(simulated.Question{FramesPerSecond: load, Duration: time.Second})
		if got.LossRatio != loss || got.CapacityFramesPerSecond != 900_000 {
			t.Errorf("at %v: %+v", load, got)
		}
	}
}

package procedure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// onOneCore returns instructions of one size on a path where the device works on the core that
// sends.
func onOneCore() measure.Instructions {
	instr := instructions()
	instr.Sizes = sizes(64)
	streams := []measure.Stream{{Direction: measure.Forward}, {Direction: measure.Reverse}}
	instr.Chain = measure.Path{Hop: measure.HopInline, Streams: streams}
	instr.Calibration = &measure.Path{Streams: streams}
	instr.CalibrationTrials = 3
	return instr
}

// lose makes a direction lose frames.
func lose(r *measure.Record, direction int, frames uint64) {
	d := &r.Outcome.Directions[direction]
	d.ReceivedFrames -= min(d.ReceivedFrames, frames)
}

func preempt(r *measure.Record) {
	r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: measure.DoubtPreempted, Detail: "a thread waited for 20ms", Invalid: true})
}

// Loss up to nine tenths of what the generator reaches is the device's; nearer to it, on the core
// that both share, it may be the generator's.
func TestCauseOnOneCore(t *testing.T) {
	for _, test := range []struct {
		percent float64
		hop     measure.Hop
		want    v1alpha1.UpperBoundCause
		// warned and shared say whether the generator's limit and its share are in a warning.
		warned, shared bool
	}{
		{40, measure.HopInline, v1alpha1.CauseDeviceLoss, false, false},
		{56, measure.HopInline, v1alpha1.CauseDeviceLoss, false, true},
		{56, measure.HopSeparate, v1alpha1.CauseDeviceLoss, false, false},
		{86, measure.HopInline, v1alpha1.CauseDeviceLoss, false, true},
		{95, measure.HopInline, v1alpha1.CauseGeneratorCeiling, true, false},
		{95, measure.HopTap, v1alpha1.CauseDeviceLoss, true, false},
		{95, measure.HopSeparate, v1alpha1.CauseDeviceLoss, true, false},
	} {
		t.Run(fmt.Sprintf("%v %% of the generator, %s", test.percent, test.hop), func(t *testing.T) {
			instr := onOneCore()
			instr.Chain.Hop = test.hop
			records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: test.percent / 100 * 2_000_000}).run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Results(instr, records)
			for _, r := range got.Frames[0].Throughput {
				if r.UpperBoundCause != test.want {
					t.Errorf("%+v, want %s", r, test.want)
				}
			}
			warned, shared := false, false
			for _, w := range got.Warnings {
				warned = warned || w.Code == v1alpha1.WarningGeneratorCeiling && strings.Contains(w.Message, "may be the generator's doing")
				shared = shared || w.Code == v1alpha1.WarningSharedCores
			}
			if warned != test.warned || shared != test.shared {
				t.Errorf("warned: %t, of its share: %t, %+v", warned, shared, got.Warnings)
			}
		})
	}
}

// On a path where no part of the device works on the core that sends, a driver reports frames
// that found no room as not sent. They never become the device's loss.
func TestOverflowElsewhereIsTheGenerators(t *testing.T) {
	for _, hop := range []measure.Hop{measure.HopTap, measure.HopSeparate, ""} {
		instr := onOneCore()
		instr.Chain.Hop = hop
		b := newBench(hardCap())
		b.spoil = func(r *measure.Record) {
			for i := range r.Outcome.Directions {
				d := &r.Outcome.Directions[i]
				d.OverflowFrames = d.LostFrames()
				d.SentFrames = d.ReceivedFrames
			}
		}
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range Results(instr, records).Frames[0].Throughput {
			if r.UpperBoundCause != v1alpha1.CauseGeneratorCeiling || r.ServiceTime != nil {
				t.Errorf("hop %q: %+v", hop, r)
			}
		}
	}
}

// A trial that lost frames while something else held the core is made again, and no number of
// such trials makes the loss the device's.
func TestInterruptedTrials(t *testing.T) {
	for name, test := range map[string]struct {
		times int
		spoil func(r *measure.Record)
		want  v1alpha1.UpperBoundCause
	}{
		"the driver says so, a few times": {maxInterrupted, func(r *measure.Record) { lose(r, 0, 300); preempt(r) }, v1alpha1.CauseDeviceLoss},
		"the driver says so, always":      {maxSteps, func(r *measure.Record) { lose(r, 0, 300); preempt(r) }, v1alpha1.CauseGeneratorCeiling},
		"a long time away, always": {maxSteps, func(r *measure.Record) {
			lose(r, 1, r.Outcome.Directions[1].IntendedFrames/1000)
			r.Outcome.LongestAwayNanoseconds = (2 * time.Millisecond).Nanoseconds()
			inRing(r)
		}, v1alpha1.CauseGeneratorCeiling},
	} {
		t.Run(name, func(t *testing.T) {
			instr := onOneCore()
			b, inARow := newBench(hardCap()), 0
			b.spoil = func(r *measure.Record) {
				if rate := r.Trial.IntendedFramesPerSecond; r.Stage != measure.StageThroughput || rate > 500_000 || rate < 300_000 {
					return
				}
				if inARow++; inARow > test.times {
					inARow = 0
					return
				}
				test.spoil(r)
			}
			records, err := b.run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Results(instr, records)
			ndr := got.Frames[0].Throughput[0]
			if ndr.UpperBoundCause != test.want || test.want == v1alpha1.CauseDeviceLoss && ndr.FramesPerSecond < 490_000 {
				t.Errorf("%+v, want %s", ndr, test.want)
			}
			if doubted := slices.Contains(ndr.Doubts, v1alpha1.DoubtInterruptedTrials); doubted != (test.times == maxSteps) {
				t.Errorf("doubts %v", ndr.Doubts)
			}
			codes := map[string]bool{}
			for _, w := range got.Warnings {
				codes[w.Code] = true
			}
			if always := test.times == maxSteps; !codes[v1alpha1.WarningInvalidTrials] || codes[v1alpha1.WarningInterruptedTrials] != always || codes[v1alpha1.WarningGeneratorCeiling] != always {
				t.Errorf("%+v", got.Warnings)
			}
		})
	}
}

// What a time away cannot explain is the device's loss, however busy the node is.
func TestOverloadWhileInterrupted(t *testing.T) {
	instr := onOneCore()
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		r.Outcome.LongestAwayNanoseconds = (5 * time.Millisecond).Nanoseconds()
		inRing(r)
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	ndr := Results(instr, records).Frames[0].Throughput[0]
	if ndr.UpperBoundCause != v1alpha1.CauseDeviceLoss || ndr.FramesPerSecond < 485_000 {
		t.Errorf("%+v", ndr)
	}
	for _, r := range records {
		if r.Outcome.LossRatio() > 0.02 && interrupted(r) {
			t.Errorf("a loss of %v at %d frames/s counts as interrupted", r.Outcome.LossRatio(), r.Trial.IntendedFramesPerSecond)
		}
	}
}

// An interrupted trial counts where the time away cannot change its verdict for any goal.
func TestDecided(t *testing.T) {
	goals := []v1alpha1.Goal{{Name: "NDR"}, {Name: "PDR", LossPartsPerMillion: 1000}}
	for _, test := range []struct {
		name       string
		lost       uint64
		away, late time.Duration
		want       bool
	}{
		{"nothing is missing", 0, 20 * time.Millisecond, 0, true},
		{"a third is missing, and 2 % of the time", 33_000, 20 * time.Millisecond, 0, true},
		{"as much is missing as was due", 2_000, 20 * time.Millisecond, 0, false},
		{"all of it misses PDR, and what stays meets it", 2_050, 10 * time.Millisecond, 0, false},
		{"all of it meets PDR, and some stays for NDR", 90, 400 * time.Microsecond, 0, true},
		{"all of it meets PDR, and nothing stays for NDR", 70, 400 * time.Microsecond, 0, false},
		{"some stays for NDR, and PDR depends on it", 150, 500 * time.Microsecond, 0, false},
		{"the driver counts no time", 33_000, 0, 0, false},
		{"a queue alone misses both, and a few frames are missing", 3, 2 * time.Millisecond, 20 * time.Millisecond, true},
		{"a queue that the interruption explains", 3, 2 * time.Millisecond, 4 * time.Millisecond, false},
		{"nothing is missing, and the queue alone misses both", 0, 2 * time.Millisecond, 20 * time.Millisecond, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := measure.Record{Stage: measure.StageThroughput, Outcome: measure.Outcome{
				SendingNanoseconds: time.Second.Nanoseconds(), AwayNanoseconds: test.away.Nanoseconds(),
				Directions: []measure.DirectionOutcome{{IntendedFrames: 100_000, SentFrames: 100_000, ReceivedFrames: 100_000 - test.lost, DrainNanoseconds: test.late.Nanoseconds()}},
			}}
			inRing(&r)
			if got := decided(r, goals); got != test.want {
				t.Errorf("decided is %t", got)
			}
			if r.Stage = measure.StageLatency; decided(r, goals) {
				t.Error("a delay is decided by goals of the search")
			}
		})
	}
}

// An interruption costs frames only in the ring where the device works on the core that sends.
func TestInterruptionExplainsTheRing(t *testing.T) {
	for _, test := range []struct {
		hop      measure.Hop
		overflow uint64
		want     bool
	}{{measure.HopInline, 0, false}, {measure.HopInline, 300, true}, {measure.HopSeparate, 0, false}, {measure.HopTap, 300, false}, {"", 300, false}} {
		r := measure.Record{Stage: measure.StageLatency, Outcome: measure.Outcome{
			Hop: test.hop, SendingNanoseconds: time.Second.Nanoseconds(), LongestAwayNanoseconds: (10 * time.Millisecond).Nanoseconds(),
			Directions: []measure.DirectionOutcome{{IntendedFrames: 100_000, SentFrames: 100_000, ReceivedFrames: 99_500, OverflowFrames: test.overflow}},
		}}
		if got := interrupted(r); got != test.want {
			t.Errorf("%s with %d frames that found the ring full: interrupted is %t", test.hop, test.overflow, got)
		}
	}
}

// A load that only fills the ring is not carried: without loss, a slow device would else forward as
// many frames more as the ring holds.
func TestFillingTheRingIsNotThroughput(t *testing.T) {
	const deviceRate, ringFrames = 2_000.0, 1_024.0
	for _, test := range []struct {
		load float64
		away time.Duration
		hop  measure.Hop
		lost float64
	}{
		{1_990, 0, measure.HopInline, 0},
		{2_008, 0, measure.HopInline, 0},
		{2_100, 0, measure.HopInline, 0.0476},
		{3_000, 0, measure.HopInline, 0.3333},
		{3_000, 510 * time.Millisecond, measure.HopInline, 0},
		{3_000, 300 * time.Millisecond, measure.HopInline, 0.1667},
		{3_000, 0, measure.HopTap, 0},
		{3_000, 0, measure.HopSeparate, 0},
	} {
		frames := uint64(test.load)
		waiting := max(0, test.load-deviceRate)
		o := measure.Outcome{
			Hop: test.hop, SendingNanoseconds: time.Second.Nanoseconds(), AwayNanoseconds: test.away.Nanoseconds(), TotalNanoseconds: time.Second.Nanoseconds(),
			Directions: []measure.DirectionOutcome{{
				IntendedFrames: frames, SentFrames: frames, ReceivedFrames: frames, DrainNanoseconds: int64(min(ringFrames, waiting) / deviceRate * 1e9),
			}},
		}
		w := &replay{instr: onOneCore()}
		trial, err := w.searchTrial(measure.Record{Stage: measure.StageThroughput, Outcome: o,
			Trial: measure.Trial{IntendedFramesPerSecond: frames, DurationNanoseconds: time.Second.Nanoseconds()}})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(trial.LossRatio-test.lost) > 0.001 || trial.UnsentRatio > 0 || (trial.LostFrames > 0) != (test.lost > 0) {
			t.Errorf("%+v: a loss of %.4f (%d frames), %.4f not sent", test, trial.LossRatio, trial.LostFrames, trial.UnsentRatio)
		}
	}
}

// Whatever a busy neighbor does to a device that never loses, the device is never blamed.
func TestABusyNeighborIsNeverTheDevice(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 3))
		busy := random.Float64()
		b := newBench(simulated.HardCap{CapacityFramesPerSecond: 50e6})
		b.spoil = func(r *measure.Record) {
			if r.Stage == measure.StageCalibrateRate || random.Float64() > busy {
				return
			}
			away := time.Duration(1+random.IntN(50)) * time.Millisecond
			frames := uint64(away.Seconds() * float64(r.Trial.IntendedFramesPerSecond))
			r.Outcome.LongestAwayNanoseconds = away.Nanoseconds() + 1
			lose(r, random.IntN(2), frames)
			inRing(r)
			if random.IntN(2) == 0 {
				preempt(r)
			}
		}
		instr := onOneCore()
		records, err := b.run(t, instr, nil)
		if err != nil && measure.ReasonOf(err) == "" {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, frame := range Results(instr, records).Frames {
			for _, r := range frame.Throughput {
				if r.UpperBoundCause == v1alpha1.CauseDeviceLoss {
					t.Errorf("seed %d: %+v", seed, r)
				}
			}
		}
	}
}

// What a sending port may have dropped, or a core that got no time for network work, is no loss of the device either.
func TestLossWithADoubt(t *testing.T) {
	for _, c := range []struct {
		code string
		hop  measure.Hop
		want v1alpha1.UpperBoundCause
	}{
		{measure.DoubtTransmitUnproven, measure.HopTap, v1alpha1.CauseGeneratorCeiling},
		{measure.DoubtTransmitUnproven, measure.HopSeparate, v1alpha1.CauseGeneratorCeiling},
		{measure.DoubtStarved, measure.HopInline, v1alpha1.CauseGeneratorCeiling},
	} {
		lossWithADoubt(t, c.code, c.hop, c.want)
	}
}

func lossWithADoubt(t *testing.T, code string, hop measure.Hop, want v1alpha1.UpperBoundCause) {
	instr := onOneCore()
	instr.Chain.Hop = hop
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Outcome.LossRatio() > 0 {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: code, Detail: "of a detail"})
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records)
	if ndr := got.Frames[0].Throughput[0]; ndr.UpperBoundCause != want {
		t.Errorf("%s, %s: %+v, want %s", code, hop, ndr, want)
	}
	warned := slices.ContainsFunc(got.Warnings, func(w v1alpha1.Warning) bool {
		return w.Code == v1alpha1.WarningGeneratorCeiling && strings.Contains(w.Message, "the sending port may have dropped them")
	})
	if warned != (want == v1alpha1.CauseGeneratorCeiling) {
		t.Errorf("%s, %s: warnings %+v", code, hop, got.Warnings)
	}
}

// TestLossOfALoadWithADoubt has a sending port drop frames at a latency load: the loss is no verdict.
func TestLossOfALoadWithADoubt(t *testing.T) {
	r := measure.Record{Stage: measure.StageLatency}
	r.Outcome.Directions = []measure.DirectionOutcome{{SentFrames: 100, IntendedFrames: 100, ReceivedFrames: 90}}
	r.Outcome.Doubts = []measure.Doubt{{Code: measure.DoubtTransmitUnproven, Detail: "10 of 100 frames are missing"}}
	if got := doubtsOf([]measure.Record{r}); !slices.Equal(got, []v1alpha1.DoubtCode{v1alpha1.DoubtGeneratorCeiling}) {
		t.Errorf("doubts %v", got)
	}
}

// TestPartlyExcused has a thread away for a part of a trial, while frames found the ring full.
func TestPartlyExcused(t *testing.T) {
	const ms = time.Millisecond
	partly, all := []v1alpha1.DoubtCode{v1alpha1.DoubtPartlyInterrupted}, []v1alpha1.DoubtCode{v1alpha1.DoubtInterruptedTrials}
	for name, test := range map[string]struct {
		hop            measure.Hop
		away, longest  time.Duration
		ring           int
		lost, overflow uint64
		want           []v1alpha1.DoubtCode
	}{
		"less than half":                       {measure.HopInline, 10 * ms, 10 * ms, 0, 3000, 3000, partly},
		"half of it":                           {measure.HopInline, 10 * ms, 10 * ms, 0, 2000, 2000, all},
		"a short time":                         {measure.HopInline, ms, ms, 0, 3000, 3000, nil},
		"no frame in the ring":                 {measure.HopInline, 10 * ms, 10 * ms, 0, 3000, 0, nil},
		"nothing lost":                         {measure.HopInline, 10 * ms, 10 * ms, 0, 0, 0, nil},
		"frames not sent":                      {measure.HopTap, 10 * ms, 10 * ms, 0, 3000, 3000, nil},
		"what the ring leaves":                 {measure.HopInline, 12 * ms, 12 * ms, 1024, 1300, 1300, all},
		"more than the ring leaves":            {measure.HopInline, 12 * ms, 12 * ms, 1024, 1400, 1400, partly},
		"the ring holds twice what was due":    {measure.HopInline, 5 * ms, 5 * ms, 1024, 100, 100, partly},
		"short pieces for more than the ring":  {measure.HopInline, 11 * ms, ms, 1024, 3000, 3000, partly},
		"short pieces for as long as the ring": {measure.HopInline, 10240 * time.Microsecond, ms, 1024, 3000, 3000, nil},
		"a short piece, and a small ring":      {measure.HopInline, ms / 2, ms / 2, 32, 3000, 3000, partly},
	} {
		r := measure.Record{Stage: stageFixedLoad, Outcome: measure.Outcome{
			Hop: test.hop, RingFrames: test.ring, SendingNanoseconds: int64(time.Second), AwayNanoseconds: int64(test.away), LongestAwayNanoseconds: int64(test.longest),
			Directions: []measure.DirectionOutcome{{IntendedFrames: 100_000, SentFrames: 100_000, ReceivedFrames: 100_000 - test.lost, OverflowFrames: test.overflow}},
		}}
		if got := doubtsOf([]measure.Record{r}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		// The share of the time says how much of the loss is in doubt.
		if got := awayOf([]measure.Record{r}); slices.Equal(test.want, partly) && got != test.away.Microseconds() {
			t.Errorf("%s: %d ppm away", name, got)
		}
	}
}

// TestLossWhilePacketsOfOthersCame: such a trial is interrupted as one of a thread that other programs kept off its core.
func TestLossWhilePacketsOfOthersCame(t *testing.T) {
	for _, code := range []string{measure.DoubtPreempted, measure.DoubtSteal, measure.DoubtSoftirq} {
		r := measure.Record{Stage: measure.StageLatency}
		r.Outcome.Directions = []measure.DirectionOutcome{{SentFrames: 100, IntendedFrames: 100, ReceivedFrames: 90}}
		r.Outcome.Doubts = []measure.Doubt{{Code: code, Detail: "of others", Invalid: true}}
		if !interrupted(r) || invalidReason(r) != "" {
			t.Errorf("%s: interrupted by %q, invalid because of %q", code, interruptedBy(r), invalidReason(r))
		}
	}
}

func TestCalibrationTrials(t *testing.T) {
	instr := onOneCore()
	b, trial := newBench(hardCap()), 0
	b.spoil = func(r *measure.Record) {
		if r.Stage == measure.StageCalibrateRate {
			lose(r, 0, []uint64{100_000, 0, 200_000}[trial])
			trial++
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records).Calibration[0]
	if trial != 3 || got.MaximumFramesPerSecond != 2_000_000 || got.LowestFramesPerSecond == nil || *got.LowestFramesPerSecond != 1_800_000 {
		t.Errorf("%d trials, %+v", trial, got)
	}
	instr.CalibrationTrials = 0
	if records, err = newBench(hardCap()).run(t, instr, nil); err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Calibration[0]; got.LowestFramesPerSecond != nil {
		t.Errorf("one trial has a spread: %+v", got)
	}
}

func TestWhyNoBursts(t *testing.T) {
	for want, change := range map[string]func(*measure.Instructions) simulated.Device{
		"the device loses nothing at the rate of the link, so no burst is faster (RFC 9004 section 6.1)": func(i *measure.Instructions) simulated.Device {
			i.LinkBitsPerSecond = 100_000_000
			return simulated.HardCap{CapacityFramesPerSecond: 50e6}
		},
		"the search for the throughput tried no load above 100000 frames/s, which lost nothing": func(i *measure.Instructions) simulated.Device {
			i.Throughput.MaximumFramesPerSecond = new(int64(100_000))
			return hardCap()
		},
		"no throughput without loss was found": func(i *measure.Instructions) simulated.Device {
			i.Throughput.Goals = i.Throughput.Goals[1:]
			return hardCap()
		},
	} {
		t.Run(want, func(t *testing.T) {
			instr := backToBack()
			device := change(&instr)
			records, err := newBench(device).run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantWarning(t, instr, records, v1alpha1.WarningBackToBackNotNeeded, "Back-to-back frames were not measured: "+want+".")
		})
	}
}

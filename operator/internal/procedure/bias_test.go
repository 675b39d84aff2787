package procedure

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// threeDelays calibrates each delay three times.
func threeDelays() measure.Instructions {
	instr := calibratedLoads()
	instr.DelayCalibrationTrials, instr.CalibrationMilliseconds = 3, 1000
	return instr
}

// delayed gives a trial of both directions a median delay, and a p99 of twice that.
func delayed(r *measure.Record, nanoseconds uint64) {
	for i := range r.Outcome.Directions {
		r.Outcome.Directions[i].Latency.P50Nanoseconds, r.Outcome.Directions[i].Latency.P99Nanoseconds = nanoseconds, 2*nanoseconds
	}
}

// scattered gives the trials without a device the medians of a list, in turn for each rate.
func scattered(medians ...uint64) func(*measure.Record) {
	made := map[uint64]int{}
	return func(r *measure.Record) {
		if r.Stage == measure.StageCalibrateLatency || r.Stage == measure.StageCalibrateLoad {
			rate := r.Trial.IntendedFramesPerSecond
			delayed(r, medians[made[rate]%len(medians)])
			made[rate]++
		}
	}
}

// belowBias returns the loads whose delay is said to be below that without a device.
func belowBias(figures Figures) (out []string) {
	for _, w := range figures.Warnings {
		if w.Code == v1alpha1.WarningDelayBelowBias {
			_, of, _ := strings.Cut(w.Message, "At load ")
			load, text, _ := strings.Cut(of, " ")
			_, text, _ = strings.Cut(text, "below the ")
			text, _, _ = strings.Cut(text, ":")
			if said := load + ": " + text; !slices.Contains(out, said) {
				out = append(out, said)
			}
		}
	}
	return out
}

// The delay without a device is the median of three trials, which share the time of one, with the lowest and the
// highest. A delay below the median has an explanation, which says whether it is within their spread or below it.
func TestSpreadOfTheBias(t *testing.T) {
	instr := threeDelays()
	instr.Sizes = sizes(64)
	b := newBench(hardCap())
	scatter := scattered(7200, 6800, 7000)
	b.spoil = func(r *measure.Record) {
		scatter(r)
		if r.Stage == measure.StageLatency {
			delayed(r, map[string]uint64{"idle": 6800, "pdr50": 7000, "pdr90": 6799}[r.Load])
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	trials := map[measure.Stage]int{}
	for _, r := range records {
		if trials[r.Stage]++; r.Stage.Calibrates() && r.Stage != measure.StageCalibrateRate && r.Trial.DurationNanoseconds != 1_000_000_000/3 {
			t.Errorf("%s takes %v", r.Stage, r.Trial.Duration())
		}
	}
	if trials[measure.StageCalibrateLatency] != 3 || trials[measure.StageCalibrateLoad] != 6 {
		t.Errorf("%v", trials)
	}
	figures := Results(instr, records)
	want := &v1alpha1.LatencyBias{P50Nanoseconds: 7000, P99Nanoseconds: 14_000, LowestP50Nanoseconds: new(int64(6800)), HighestP50Nanoseconds: new(int64(7200))}
	for _, l := range figures.Frames[0].Latency {
		if diff := cmp.Diff(want, l.Bias); diff != "" {
			t.Errorf("%s: %s", l.Load, diff)
		}
	}
	if c := figures.Calibration[0]; c.LatencyBiasNanoseconds != 7000 || *c.LowestLatencyBiasNanoseconds != 6800 || *c.HighestLatencyBiasNanoseconds != 7200 {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]string{"pdr90: 6800 to 7200 ns without a device at the same load"}, belowBias(figures)); diff != "" {
		t.Error(diff)
	}
	wantWarning(t, instr, records, v1alpha1.WarningDelayWithinBias, "At load idle the median delay of direction Forward is 6800 ns. "+
		"Without a device, at the same load, the median is 7000 ns, and trials differ from 6800 to 7200 ns: "+
		"the delay is below that median and within this spread, so what the device adds does not show; do not subtract the bias.")
	for _, w := range figures.Warnings {
		if w.Code == v1alpha1.WarningDelayWithinBias && !strings.Contains(w.Message, "At load idle ") {
			t.Errorf("%+v", w)
		}
	}
}

// A delay of another load than the calibration's is explained in the same way, with the rate of the calibration.
func TestDelayWithinTheLowBias(t *testing.T) {
	size := sizes(64)[0]
	w, d := &replay{instr: threeDelays()}, &warningList{seen: map[string]bool{}}
	p := &part{phase: phase{measurement: latencyCalibration, size: size}, over: true}
	for _, median := range []uint64{6800, 7000, 7200} {
		r := measure.Record{Stage: measure.StageCalibrateLatency, Trial: measure.Trial{IntendedFramesPerSecond: calibrationLowFramesPerSecond}, Outcome: measure.Outcome{Directions: []measure.DirectionOutcome{{}, {}}}}
		delayed(&r, median)
		p.counted = append(p.counted, r)
	}
	w.parts = append(w.parts, p)
	for _, median := range []int64{6799, 6800, 6999, 7000} {
		with := v1alpha1.DirectionResult{Direction: "Forward", Latency: v1alpha1.Delays{Samples: 1, P50Nanoseconds: median}}
		w.warnBelowBias(d, size, "high", nil, with, p)
	}
	var codes []string
	for _, warning := range d.list {
		codes = append(codes, warning.Code)
		if !strings.Contains(warning.Message, "1000 frames/s, where caches are cold") {
			t.Error(warning.Message)
		}
	}
	if diff := cmp.Diff([]string{v1alpha1.WarningDelayBelowBias, v1alpha1.WarningDelayWithinBias, v1alpha1.WarningDelayWithinBias}, codes); diff != "" {
		t.Error(diff)
	}
}

// Short trials of a delay are not shorter than 300 ms.
func TestShortDelayTrials(t *testing.T) {
	for milliseconds, want := range map[int32]int64{200: 200e6, 300: 300e6, 600: 300e6, 1500: 500e6} {
		instr := threeDelays()
		instr.CalibrationMilliseconds = milliseconds
		if got := (&replay{instr: instr}).delayDuration(); got != want {
			t.Errorf("%d ms: got %d ns, want %d", milliseconds, got, want)
		}
	}
}

// Each session measures the delay without a device again. Its figures have the bias of that session, and that of
// another one only where both sessions had the same delay.
func TestBiasOfSessions(t *testing.T) {
	instr := threeDelays()
	instr.Sizes = sizes(64, 512)
	for name, test := range map[string]struct {
		second []uint64
		// known says that the figures of the first session have a bias at loads, which the second one measured.
		known bool
		said  string
	}{
		"the same":        {[]uint64{7100, 7300, 7200}, true, ""},
		"slower":          {[]uint64{7700, 7300, 7500}, false, "the median delay of 64 bytes is not the same in all sessions (6800 to 7200 ns and 7300 to 7700 ns)"},
		"nothing arrives": {nil, false, "The delay of 64 bytes without a device could not be measured in session 2"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := scattered(7200, 6800, 7000), func(*measure.Record) {}
			if test.second != nil {
				second = scattered(test.second...)
			}
			b := newBench(hardCap())
			b.spoil = first
			records := b.goOn(t, instr, nil, "a", maxSteps)
			cut := slices.IndexFunc(records, func(r measure.Record) bool { return r.Trial.Size == "512" && r.Stage == measure.StageThroughput })
			if name == "nothing arrives" {
				second = func(r *measure.Record) {
					for i := range r.Outcome.Directions {
						if isRecalibration(*r) {
							r.Outcome.Directions[i].ReceivedFrames = 0
						}
					}
				}
			}
			b.spoil = second
			records = b.goOn(t, instr, slices.Clone(records[:cut]), "b", maxSteps)
			for i, r := range records[cut : cut+6] {
				if !isRecalibration(r) || r.Trial.Size != []string{"64", "512"}[i/3] || r.Trial.IntendedFramesPerSecond != calibrationLowFramesPerSecond {
					t.Fatalf("trial %d of the second session is %s %s of %s", i, r.Stage, r.Load, r.Trial.Size)
				}
			}
			if r := records[cut+6]; !isWarmUpAgain(r) && r.Stage != measure.StageWarmUp {
				t.Errorf("after them comes %s", r.Stage)
			}
			figures := Results(instr, records)
			for n, frame := range figures.Frames {
				for _, l := range frame.Latency {
					known := test.known
					switch {
					case l.Load == "idle":
						known = n == 0 || test.second != nil
					case n == 1:
						known = true
					}
					if (l.Bias != nil) != known {
						t.Errorf("%s of %s has the bias %+v", l.Load, frame.Size, l.Bias)
					}
				}
			}
			if message := figures.Warnings[0].Message; !strings.Contains(message, test.said) || test.said == "" && strings.Contains(message, "without a device") ||
				!strings.Contains(message, "The calibrated rate, and with it the highest load, is that of an earlier session.") {
				t.Error(message)
			}
		})
	}
}

// A session whose calibration's path does not open makes one attempt.
func TestRecalibrationFails(t *testing.T) {
	instr := threeDelays()
	b := newBench(hardCap())
	records := b.goOn(t, instr, nil, "a", maxSteps)
	cut := slices.IndexFunc(records, func(r measure.Record) bool { return r.Stage == measure.StageThroughput })
	records = slices.Clone(records[:cut+1])
	step, err := NextIn(instr, records, "b")
	if err != nil || !step.Recalibrates() {
		t.Fatalf("%+v, %v", step, err)
	}
	records = append(records, measure.Record{
		Index: len(records), Stage: step.Stage, Load: step.Load, Trial: step.Trial, Measurer: "b",
		Outcome: measure.Outcome{Doubts: []measure.Doubt{{Code: "PortMissing", Invalid: true}}},
	})
	if step, err = NextIn(instr, records, "b"); err != nil || step.Stage != measure.StageWarmUp {
		t.Errorf("%+v, %v", step, err)
	}
}

package procedure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// Every trial has a load, so that the generator works alike in all of them.
func TestEveryTrialHasALoad(t *testing.T) {
	for hop, want := range map[measure.Hop]uint64{measure.HopSeparate: lineRate64, measure.HopInline: beyondACore} {
		instr := everything()
		instr.Chain.Hop, instr.Sizes = hop, sizes(64)
		_, err := newBench(hardCap()).run(t, instr, func(_ []measure.Record, step Step) {
			rate := step.Trial.IntendedFramesPerSecond
			if !step.Done && (rate == 0 || step.Stage == measure.StageCalibrateRate && rate != want) {
				t.Errorf("%s: %d frames/s in stage %s", hop, rate, step.Stage)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The interval of a device's time for a frame holds the true time, for any device and generator, with
// one core and with two, and with unequal directions.
func TestServiceTimeHoldsTheDevices(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		generator := 200 + 2800*random.Float64()
		device := generator * math.Exp(3*random.Float64()-1)
		threads := 1 + random.IntN(2)
		percent := []int{0, 50, 10}[random.IntN(3)]
		// onACore is how many frames the busiest core sends for each of a load.
		onACore := 1.0
		if share := float64(percent) / 100; threads == 1 && percent == 0 {
			onACore = 2
		} else if threads == 1 {
			onACore = 1 + share
		}
		instr := onOneCore()
		instr.Chain.Streams = []measure.Stream{{Direction: measure.Forward}, {Direction: measure.Reverse, LoadPercent: percent}}
		instr.Calibration.Streams = instr.Chain.Streams
		driver := func(nanoseconds float64) measure.Driver {
			return simulated.New(simulated.Config{
				Device: simulated.HardCap{CapacityFramesPerSecond: 1e9 / nanoseconds / onACore}, Directions: bothWays, ReversePercent: percent,
			})
		}
		b := &bench{calibration: driver(generator), chain: driver(generator + device)}
		// Other work makes the generator slower in some trials, and in none faster.
		trial := 0
		b.spoil = func(r *measure.Record) {
			if r.Stage != measure.StageCalibrateRate {
				return
			}
			if trial++; trial%instr.CalibrationTrials == 0 {
				return
			}
			slower := 1 - 0.05*random.Float64()
			for i := range r.Outcome.Directions {
				d := &r.Outcome.Directions[i]
				d.ReceivedFrames = uint64(float64(d.ReceivedFrames) * slower)
			}
		}
		records, err := b.run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := Results(instr, records)
		AddServiceTimes(instr, &got, &measure.GeneratorState{Chain: &measure.Description{Threads: threads}, Calibration: &measure.Description{Threads: threads}})
		for _, r := range got.Frames[0].Throughput {
			s := r.ServiceTime
			if s == nil {
				t.Fatalf("seed %d: no time of a device of %.0f ns with a generator of %.0f ns: %+v", seed, device, generator, r)
			}
			if device < float64(s.LowNanoseconds) || device > float64(s.HighNanoseconds) || math.Abs(float64(s.GeneratorNanoseconds)-generator) > 2 {
				t.Errorf("seed %d: a device of %.0f ns with a generator of %.0f ns (%d threads, %d %%) has %+v", seed, device, generator, threads, percent, *s)
			}
		}
	}
}

// A generator that sends the whole load of its calibration has a limit that is not known: the link's
// is the only one.
func TestCalibrationIsWhole(t *testing.T) {
	instr := instructions()
	instr.Sizes, instr.LinkBitsPerSecond = sizes(64), 100_000_000
	instr.ReceiveRate = receiveRate().ReceiveRate
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 140_000}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := Results(instr, records)
	for _, r := range got.Frames[0].Throughput {
		if r.UpperBoundCause != v1alpha1.CauseDeviceLoss || len(r.Doubts) > 0 {
			t.Errorf("%+v", r)
		}
	}
	if most := got.Frames[0].ReceiveRate; most.MaximumOrigin != v1alpha1.MaximumLineRate || most.IntendedFramesPerSecond != 148_809 {
		t.Errorf("%+v", most)
	}
	for _, w := range got.Warnings {
		if w.Code == v1alpha1.WarningGeneratorCeiling {
			t.Errorf("%+v", w)
		}
	}
}

// What an overloaded generator doubts is the answer of its calibration, and no doubt about figures.
func TestAnOverloadedCalibrationIsNoDoubt(t *testing.T) {
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		if r.Stage != measure.StageCalibrateRate {
			return
		}
		for _, code := range []string{measure.DoubtOverflow, measure.DoubtMissedDeadlines, measure.DoubtKernelQueue, measure.DoubtStretched, measure.DoubtUnsent} {
			r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{Code: code, Detail: "it was overloaded"})
		}
	}
	instr := onOneCore()
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range Results(instr, records).Warnings {
		if strings.Contains(w.Message, "doubted") {
			t.Errorf("%+v", w)
		}
	}
}

func TestOpenedDifferently(t *testing.T) {
	same := func() *measure.Description {
		return &measure.Description{TransmitPath: "InnerVeth", ReceiveMode: "Native", Threads: 1, Scheduling: "Fair", RingFrames: 1024}
	}
	for want, change := range map[string]func(*measure.GeneratorState){
		"": func(s *measure.GeneratorState) { s.Chain.RingFrames = 256 },
		"threads 1 without the device, 2 with it":                    func(s *measure.GeneratorState) { s.Chain.Threads = 2 },
		"transmit path Direct without the device, InnerVeth with it": func(s *measure.GeneratorState) { s.Calibration.TransmitPath = "Direct" },
		"receive mode Native without the device, Generic with it":    func(s *measure.GeneratorState) { s.Chain.ReceiveMode = "Generic" },
		"scheduling RealTime without the device, Fair with it":       func(s *measure.GeneratorState) { s.Calibration.Scheduling = "RealTime" },
	} {
		state := &measure.GeneratorState{Calibration: same(), Chain: same()}
		change(state)
		if got := openedDifferently(state); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		warned := false
		for _, w := range GeneratorWarnings(state, true) {
			warned = warned || w.Code == v1alpha1.WarningTransmitFallback && strings.Contains(w.Message, want)
		}
		if warned != (want != "") {
			t.Errorf("%q: warned: %t", want, warned)
		}
	}
	if got := openedDifferently(&measure.GeneratorState{Chain: same()}); got != "" {
		t.Errorf("without a calibration: %q", got)
	}
}

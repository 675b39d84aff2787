package procedure

import (
	"encoding/json"
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func soakOf(duration, interval time.Duration) measure.Instructions {
	instr := alone(64)
	instr.Soak = &v1alpha1.Soak{
		Size: "64", FramesPerSecond: new(int64(400_000)),
		DurationSeconds: int32(duration.Seconds()), IntervalSeconds: int32(interval.Seconds()),
	}
	return instr
}

// long fills a distribution with figures as long as they can get in a day.
func long(d *measure.Delays) {
	*d = measure.Delays{
		Samples: 120_000_000, MinNanoseconds: 104_321, MeanNanoseconds: 10_123_456, P50Nanoseconds: 10_123_456, P90Nanoseconds: 101_234_567,
		P99Nanoseconds: 401_234_567, P999Nanoseconds: 1_801_234_567, P9999Nanoseconds: 1_901_234_567, MaxNanoseconds: 1_999_999_999,
	}
}

// A day in intervals of five minutes fits, in the results as well as in the status.
func TestSoakOfADay(t *testing.T) {
	instr := soakOf(24*time.Hour, 5*time.Minute)
	b := newBench(hardCap())
	b.spoil = func(r *measure.Record) {
		r.Measurer = "a-run-with-a-name-of-some-length-measurer-x7k2p"
		for i := range r.Outcome.Directions {
			d := &r.Outcome.Directions[i]
			long(&d.Latency)
			long(&d.DelayVariation)
			d.ReorderedFrames, d.DuplicateFrames = 1_000_000, 1_000_000
			d.Jitter = &measure.Jitter{MeanNanoseconds: 1_999_999_999, P99Nanoseconds: 1_999_999_999, MaxNanoseconds: 1_999_999_999}
		}
		r.Outcome.Doubts = []measure.Doubt{{
			Code:   measure.DoubtMissedDeadlines,
			Detail: "Forward: 1000000 of 120000000 frames left more than 100µs late, the latest 1.234567ms; the transmit thread was preempted 123456 times",
		}}
	}
	percent := 0
	records, err := b.run(t, instr, func(records []measure.Record, _ Step) {
		now := Progress(instr, records).Percent
		if now < percent {
			t.Errorf("progress fell from %d to %d %%", percent, now)
		}
		percent = now
	})
	if err != nil {
		t.Fatal(err)
	}
	if percent != 100 {
		t.Errorf("%d %% at the end", percent)
	}
	stored := 0
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		stored += len("trial-000000.json") + len(text)
	}
	if reserve := 100 << 10; stored > measure.MaximumResultsBytes-reserve {
		t.Errorf("%d records take %d bytes", len(records), stored)
	}
	figures := Results(instr, records)
	soak := figures.Frames[0].Soak
	if len(soak.Intervals) != 288 || soak.SendingSeconds != 86_400 || soak.End != v1alpha1.SoakCompleted {
		t.Errorf("%d intervals, %d s, %s", len(soak.Intervals), soak.SendingSeconds, soak.End)
	}
	if start := soak.Intervals[287].StartSeconds; start < 287*300 || start > 287*301 {
		t.Errorf("the last interval starts after %d s", start)
	}
	text, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 80_000 {
		t.Errorf("the figures take %d bytes", len(text))
	}
	if expected := ExpectedBytes(instr); stored > expected*5/4 || stored < expected/2 {
		t.Errorf("expected %d bytes, stored %d", expected, stored)
	}
}

func TestSoakEnds(t *testing.T) {
	lossy := func(b *bench, at int, lost uint64) *bench {
		n := 0
		b.spoil = func(r *measure.Record) {
			if r.Stage != stageSoak {
				return
			}
			if n++; n == at {
				r.Outcome.Directions[1].ReceivedFrames -= lost
			}
		}
		return b
	}
	for name, test := range map[string]struct {
		stop      *int32
		end       v1alpha1.SoakEnd
		intervals int
		seconds   int64
	}{
		"continues":     {nil, v1alpha1.SoakCompleted, 6, 55},
		"stops":         {new(int32(0)), v1alpha1.SoakLoss, 3, 30},
		"tolerates":     {new(int32(10)), v1alpha1.SoakCompleted, 6, 55},
		"just too much": {new(int32(9)), v1alpha1.SoakLoss, 3, 30},
	} {
		t.Run(name, func(t *testing.T) {
			instr := soakOf(55*time.Second, 10*time.Second)
			instr.Soak.StopAboveLossPartsPerMillion = test.stop
			records, err := lossy(newBench(hardCap()), 3, 40).run(t, instr, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Results(instr, records).Frames[0].Soak
			if got.End != test.end || len(got.Intervals) != test.intervals || got.SendingSeconds != test.seconds {
				t.Errorf("%s after %d intervals and %d s", got.End, len(got.Intervals), got.SendingSeconds)
			}
			if got.Intervals[2].LossPartsPerMillion != 10 || got.Worst.LossPartsPerMillion != 10 || got.Intervals[0].LossPartsPerMillion != 0 {
				t.Errorf("%+v", got)
			}
			if want := lossPartsPerMillion(40, 400_000*uint64(test.seconds)); got.LossPartsPerMillion != want {
				t.Errorf("lost %d ppm in all, want %d", got.LossPartsPerMillion, want)
			}
		})
	}
}

func TestSoakShareOfAGoal(t *testing.T) {
	instr := instructions()
	instr.Latency, instr.Sizes = nil, sizes(64, 512)
	instr.Soak = soakOf(time.Minute, 10*time.Second).Soak
	instr.Soak.FramesPerSecond, instr.Soak.Goal, instr.Soak.Percent = nil, "NDR", new(int32(50))
	records, err := newBench(hardCap()).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	frames := Results(instr, records).Frames
	if got := frames[0]; got.Soak == nil || got.Soak.IntendedFramesPerSecond != got.Throughput[0].FramesPerSecond/2 {
		t.Errorf("%+v", got.Soak)
	}
	if frames[1].Soak != nil {
		t.Error("the other frame size has a soak too")
	}

	nothing := simulated.TwoBands{FromFramesPerSecond: 1, ToFramesPerSecond: 1e9, CapacityFramesPerSecond: 1e9, LossRatio: 0.5}
	if records, err = newBench(nothing).run(t, instr, nil); err != nil {
		t.Fatal(err)
	}
	wantWarning(t, instr, records, v1alpha1.WarningLoadNotDerived,
		"Load soak is 50 % of the throughput of NDR, which was not found, so it was not measured.")
}

func TestSoakTroubles(t *testing.T) {
	instr := soakOf(time.Minute, 10*time.Second)
	if _, err := newBench(silent{hardCap(), 30 * time.Second}).run(t, instr, nil); measure.ReasonOf(err) != v1alpha1.ReasonChainFailed {
		t.Errorf("a device that dies: %v", err)
	}
	b, n := newBench(hardCap()), 0
	b.spoil = func(r *measure.Record) {
		if n++; r.Stage == stageSoak && n%2 == 0 {
			invalidate(r)
		}
	}
	records, err := b.run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Frames[0].Soak; len(got.Intervals) != 6 || got.SendingSeconds != 60 {
		t.Errorf("invalid intervals are not made again: %+v", got)
	}
}

// Every measurement says how many trials it takes, and a quiet device needs no more.
func TestExpectedBytes(t *testing.T) {
	for name, instr := range map[string]measure.Instructions{
		"default": instructions(), "fixed load": fixedLoad(), "frame loss rate": frameLossRate(0), "back to back": backToBack(),
		"receive rate": receiveRate(), "soak": soakOf(time.Hour, time.Minute),
	} {
		records, err := kept(newBench(buffered{500_000, 3000})).run(t, instr, nil)
		if err != nil {
			t.Fatal(err)
		}
		stored := 0
		for _, r := range records {
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			stored += len(text)
		}
		if expected := ExpectedBytes(instr); stored > expected*3/2 || stored < expected/4 {
			t.Errorf("%s: expected %d bytes, %d records took %d", name, expected, len(records), stored)
		}
	}
}

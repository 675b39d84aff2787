package simulated

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
)

func devices() map[string]Device {
	limit := HardCap{CapacityFramesPerSecond: 8e6}
	knee := SoftKnee{KneeFramesPerSecond: 6e6, CapacityFramesPerSecond: 8e6, MaxLossRatio: 0.02}
	return map[string]Device{
		"hard cap": limit, "soft knee": knee, "collapse": Collapse{CapacityFramesPerSecond: 8e6},
		"quiet": Noisy{limit, Quiet}, "mild": Noisy{knee, Mild}, "strong": Noisy{limit, Strong},
		"two bands":    TwoBands{FromFramesPerSecond: 3e6, ToFramesPerSecond: 5e6, CapacityFramesPerSecond: 8e6, LossRatio: 0.01},
		"inverting":    Inverting{CapacityFramesPerSecond: 8e6, IdleLossRatio: 0.01},
		"slowing down": SlowingDown{CapacityFramesPerSecond: 8e6, HalfLife: time.Minute},
		"dead":         HardCap{},
	}
}

func trialOf(load uint64, duration time.Duration) measure.Trial {
	return measure.Trial{FrameBytes: 64, IntendedFramesPerSecond: load, DurationNanoseconds: int64(duration), SettleNanoseconds: 1e8}
}

// TestOutcomesAreConsistent checks that an outcome of any device keeps the promises of measure.Outcome.
func TestOutcomesAreConsistent(t *testing.T) {
	for name, device := range devices() {
		t.Run(name, func(t *testing.T) {
			driver := New(Config{
				Device: device, Seed: 7, Directions: []measure.Direction{measure.Forward, measure.Reverse},
				GeneratorFramesPerSecond: 12e6, Overhead: time.Millisecond,
			})
			var elapsed int64
			for _, load := range []uint64{0, 1, 1000, 4e6, 7.9e6, 8.1e6, 14e6} {
				for _, duration := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
					trial := trialOf(load, duration)
					got, err := driver.Measure(t.Context(), trial)
					if err != nil {
						t.Fatal(err)
					}
					if !got.StartedAt.Equal(epoch.Add(time.Duration(elapsed))) {
						t.Errorf("started at %v after %v", got.StartedAt, time.Duration(elapsed))
					}
					elapsed += got.TotalNanoseconds
					checkOutcome(t, trial, got)
				}
			}
			if driver.Elapsed() != time.Duration(elapsed) {
				t.Errorf("elapsed %v, want %v", driver.Elapsed(), time.Duration(elapsed))
			}
		})
	}
}

func checkOutcome(t *testing.T, trial measure.Trial, got measure.Outcome) {
	t.Helper()
	if got.SendingNanoseconds != trial.DurationNanoseconds || got.TotalNanoseconds < trial.DurationNanoseconds+trial.SettleNanoseconds {
		t.Errorf("%+v: sending %d, total %d", trial, got.SendingNanoseconds, got.TotalNanoseconds)
	}
	if !got.Valid() || len(got.Directions) != 2 {
		t.Errorf("%+v: invalid, or %d directions", trial, len(got.Directions))
	}
	for _, d := range got.Directions {
		if d.ReceivedFrames > d.SentFrames || trial.IntendedFramesPerSecond > 0 && d.SentFrames > d.IntendedFrames {
			t.Errorf("%+v: intended %d, sent %d, received %d", trial, d.IntendedFrames, d.SentFrames, d.ReceivedFrames)
		}
		if (d.Latency.Samples > 0) != (d.ReceivedFrames > 0) {
			t.Errorf("%+v: %d samples of %d frames", trial, d.Latency.Samples, d.ReceivedFrames)
		}
		for _, delays := range []measure.Delays{d.Latency, d.DelayVariation} {
			rising := []uint64{delays.MinNanoseconds, delays.P50Nanoseconds, delays.P90Nanoseconds, delays.P99Nanoseconds,
				delays.P999Nanoseconds, delays.P9999Nanoseconds, delays.MaxNanoseconds}
			for i := 1; i < len(rising); i++ {
				if rising[i] < rising[i-1] {
					t.Errorf("%+v: percentiles fall: %+v", trial, delays)
				}
			}
			if delays.MeanNanoseconds < delays.MinNanoseconds || delays.MeanNanoseconds > delays.MaxNanoseconds {
				t.Errorf("%+v: mean outside: %+v", trial, delays)
			}
		}
	}
}

func TestSameSeedSameAnswers(t *testing.T) {
	for name, device := range devices() {
		one, two := New(Config{Device: device, Seed: 5}), New(Config{Device: device, Seed: 5})
		for range 20 {
			first, _ := one.Measure(t.Context(), trialOf(8e6, time.Second))
			second, _ := two.Measure(t.Context(), trialOf(8e6, time.Second))
			if !reflect.DeepEqual(first, second) {
				t.Fatalf("%s: got %+v and %+v", name, first, second)
			}
		}
	}
}

func TestGeneratorCeiling(t *testing.T) {
	driver := New(Config{Device: HardCap{CapacityFramesPerSecond: 8e6}, GeneratorFramesPerSecond: 5e6})
	got, err := driver.Measure(t.Context(), trialOf(10e6, time.Second))
	if err != nil || got.UnsentRatio() != 0.5 || got.LossRatio() != 0 || len(got.Doubts) != 1 || got.Doubts[0].Code != measure.DoubtUnsent {
		t.Errorf("got %+v, %v; want half unsent, nothing lost, and the doubt", got, err)
	}
	got, err = driver.Measure(t.Context(), trialOf(0, time.Second))
	if err != nil || got.OfferedFramesPerSecond() != 5e6 || got.UnsentRatio() != 0 || len(got.Doubts) != 0 {
		t.Errorf("as fast as possible: got %+v, %v", got, err)
	}
}

// TestLatency checks that M/D/1 at half its capacity waits half a service time on average.
func TestLatency(t *testing.T) {
	driver := New(Config{Device: HardCap{CapacityFramesPerSecond: 1e5}, BaseNanoseconds: 10_000})
	got, err := driver.Measure(t.Context(), trialOf(50_000, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if mean := got.Directions[0].Latency.MeanNanoseconds; mean != 10_000+10_000+5_000 {
		t.Errorf("got a mean of %d ns, want 25000", mean)
	}
	busy, _ := driver.Measure(t.Context(), trialOf(95_000, time.Second))
	if busy.Directions[0].Latency.P99Nanoseconds <= got.Directions[0].Latency.P99Nanoseconds {
		t.Error("the tail does not grow with the load")
	}
}

func TestLimits(t *testing.T) {
	for name, device := range devices() {
		limited, ok := device.(interface{ Limit(float64) float64 })
		if !ok || name == "dead" {
			continue
		}
		for _, ratio := range []float64{0, 0.001, 0.005, 0.1} {
			limit := limited.Limit(ratio)
			below := device.Answer(Question{FramesPerSecond: limit * 0.9999, Duration: time.Second}).LossRatio
			above := device.Answer(Question{FramesPerSecond: limit * 1.0001, Duration: time.Second}).LossRatio
			if below > ratio || above <= ratio {
				t.Errorf("%s: limit %v for %v: loss %v below and %v above", name, limit, ratio, below, above)
			}
		}
	}
}

func TestNoiseHasTheStatedDeviation(t *testing.T) {
	for name, strength := range map[string]Strength{"quiet": Quiet, "mild": Mild, "strong": Strong} {
		driver := New(Config{Device: Noisy{HardCap{CapacityFramesPerSecond: 8e6}, Strength{Deviation: strength.Deviation}}, Seed: 1})
		var sum, squares float64
		const count = 2000
		for range count {
			got, _ := driver.Measure(t.Context(), trialOf(10e6, time.Second))
			rate := got.ForwardingFramesPerSecond()
			sum, squares = sum+rate, squares+rate*rate
		}
		mean := sum / count
		deviation := math.Sqrt(squares/count-mean*mean) / mean
		if math.Abs(deviation/strength.Deviation-1) > 0.1 {
			t.Errorf("%s: got a deviation of %v, want %v", name, deviation, strength.Deviation)
		}
	}
}

func TestMeasureRefuses(t *testing.T) {
	driver := New(Config{Device: HardCap{CapacityFramesPerSecond: 1}})
	if _, err := driver.Measure(t.Context(), measure.Trial{}); err == nil {
		t.Error("a trial without duration was measured")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := driver.Measure(canceled, trialOf(1, time.Second)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := driver.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := driver.Measure(t.Context(), trialOf(1, time.Second)); err == nil {
		t.Error("a closed driver measured")
	}
}

// TestOnlyTestsImport checks that invented figures never reach a user: only tests, what makes documents for them, and three
// benchmarks, of searches, of the manager and of the results pages, may import this package.
func TestOnlyTestsImport(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	allowed := []string{filepath.Join(root, "hack", "searchbench"), filepath.Join(root, "hack", "scalebench"), filepath.Join(root, "hack", "resultsbench"), filepath.Join(root, "internal", "testing", "documenttest")}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return nil // a file that does not parse fails its own package's build
		}
		for _, imported := range file.Imports {
			if imported.Path.Value == `"vnfbench.io/operator/internal/traffic/simulated"` && !slices.Contains(allowed, filepath.Dir(path)) {
				t.Errorf("%s imports %s", path, imported.Path.Value)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

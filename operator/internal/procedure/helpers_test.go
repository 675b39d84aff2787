package procedure

import (
	"testing"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

const (
	lineRate64  = 14_880_952
	lineRate512 = 2_349_624
)

// instructions returns those of a run with every default and two frame sizes.
func instructions() measure.Instructions {
	instr := measure.Instructions{
		LinkBitsPerSecond: 10_000_000_000,
		Calibration:       &measure.Path{},
		Sizes:             sizes(64, 512),
		Measurements:      v1alpha1.Measurements{Profile: v1alpha1.ProfileStandard}.Filled(),
	}
	instr.Profile = ""
	return instr
}

// bench is a generator with and without a device.
type bench struct {
	calibration, chain measure.Driver
	// spoil may change an outcome before it is stored.
	spoil func(*measure.Record)
}

var bothWays = []measure.Direction{measure.Forward, measure.Reverse}

// newBench puts a generator of 2 million frames/s in front of the device.
func newBench(device simulated.Device) *bench {
	driver := func(device simulated.Device, base uint64) measure.Driver {
		return simulated.New(simulated.Config{
			Device: device, Directions: bothWays, BaseNanoseconds: base, GeneratorFramesPerSecond: 2_000_000,
		})
	}
	return &bench{
		calibration: driver(simulated.HardCap{CapacityFramesPerSecond: 100e6}, 500),
		chain:       driver(device, 4000),
	}
}

const maxSteps = 2000

// run follows Next to the end, and calls each before every step.
func (b *bench) run(t *testing.T, instr measure.Instructions, each func([]measure.Record, Step)) ([]measure.Record, error) {
	t.Helper()
	var records []measure.Record
	for range maxSteps {
		step, err := Next(instr, records)
		if err != nil {
			return records, err
		}
		if each != nil {
			each(records, step)
		}
		if step.Done {
			return records, nil
		}
		records = append(records, b.trial(t, step, len(records)))
	}
	t.Fatalf("no end after %d trials", maxSteps)
	return nil, nil
}

func (b *bench) trial(t *testing.T, step Step, index int) measure.Record {
	t.Helper()
	driver := b.chain
	if step.Path == PathCalibration {
		driver = b.calibration
	}
	outcome, err := driver.Measure(t.Context(), step.Trial)
	if err != nil {
		t.Fatal(err)
	}
	record := measure.Record{Index: index, Stage: step.Stage, Load: step.Load, Repeat: step.Repeat, Neighbors: step.Neighbors, Trial: step.Trial, Outcome: outcome}
	if b.spoil != nil {
		b.spoil(&record)
	}
	return record
}

func invalidate(r *measure.Record) {
	r.Outcome.Doubts = append(r.Outcome.Doubts, measure.Doubt{
		Code: measure.DoubtReceiveDrops, Detail: "the generator's port dropped 7 frames", Invalid: true,
	})
}

// silent is a device that forwards nothing from a time on.
type silent struct {
	simulated.Device
	after time.Duration
}

func (d silent) Answer(q simulated.Question) simulated.Answer {
	if q.Since >= d.after {
		return simulated.Answer{LossRatio: 1}
	}
	return d.Device.Answer(q)
}

// sizes returns plain frame sizes.
func sizes(frameBytes ...int) []measure.Size {
	var out []measure.Size
	for _, bytes := range frameBytes {
		out = append(out, measure.FrameSize(bytes))
	}
	return out
}

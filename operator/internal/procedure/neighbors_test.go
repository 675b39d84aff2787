package procedure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

func besideInstructions(compared bool) measure.Instructions {
	instr := instructions()
	instr.Sizes = sizes(64)
	instr.Neighbors = []measure.NeighborLoad{
		{Name: "cpu", Kind: measure.NeighborCPU, Workers: 2, LoadPercent: 100},
		{Name: "frames", Kind: measure.NeighborNetwork, FramesPerSecond: 1000, FrameBytes: 512, Directions: "Both"},
	}
	if compared {
		instr.NoisyNeighbors = v1alpha1.NeighborsWithAndWithout
	}
	return instr
}

// noisyRun has a device that carries half as much with neighbors.
func noisyRun(t *testing.T, instr measure.Instructions, each func([]measure.Record, Step)) []measure.Record {
	t.Helper()
	quiet, noisy := newBench(simulated.HardCap{CapacityFramesPerSecond: 400_000}), newBench(simulated.HardCap{CapacityFramesPerSecond: 200_000})
	return besideEachOther(t, instr, quiet, noisy, each)
}

// besideEachOther measures one device without the neighbors and another one with them.
func besideEachOther(t *testing.T, instr measure.Instructions, without, with *bench, each func([]measure.Record, Step)) []measure.Record {
	t.Helper()
	var records []measure.Record
	for range maxSteps {
		step, err := Next(instr, records)
		if err != nil {
			t.Fatal(err)
		}
		if each != nil {
			each(records, step)
		}
		if step.Done {
			return records
		}
		b := without
		if step.Neighbors {
			b = with
		}
		records = append(records, b.trial(t, step, len(records)))
	}
	t.Fatal("no end")
	return nil
}

// withoutNeighbors returns the figures of that side.
func withoutNeighbors(instr measure.Instructions, records []measure.Record) Figures {
	sides, _ := replaySides(instr, records, "")
	return sides[0].results()
}

// Everything is measured without neighbors, then with them; the calibration is made once, and
// without them.
func TestNeighborsCompared(t *testing.T) {
	instr := besideInstructions(true)
	percent := 0
	records := noisyRun(t, instr, func(records []measure.Record, step Step) {
		p := Progress(instr, records)
		if p.Percent < percent || p.Trials != len(records) || step.Done != (p.Percent == 100) {
			t.Errorf("after %d trials, done %v: %+v, was %d", len(records), step.Done, p, percent)
		}
		percent = p.Percent
		if step.Neighbors && !strings.HasSuffix(p.Stage, ", with neighbors") {
			t.Errorf("stage %q", p.Stage)
		}
		if step.Neighbors && (step.Path == PathCalibration || !p.Calibrated) {
			t.Errorf("%+v with neighbors", step)
		}
	})
	first := slices.IndexFunc(records, func(r measure.Record) bool { return r.Neighbors })
	if first < 0 || slices.ContainsFunc(records[first:], func(r measure.Record) bool { return !r.Neighbors }) {
		t.Fatal("the two sides are mixed")
	}
	alone := instr
	alone.Neighbors = nil
	if diff := cmp.Diff(Results(alone, records[:first]).Frames, withoutNeighbors(instr, records).Frames); diff != "" {
		t.Errorf("the side without differs from a run without: %s", diff)
	}
	figures := Results(instr, records)
	ndr := figures.Frames[0].Throughput[0].FramesPerSecond
	if ndr > 200_000 || ndr < 190_000 {
		t.Errorf("NDR with neighbors is %d", ndr)
	}
	row := figures.Neighbors.Comparison[0]
	if row.Metric != v1alpha1.MetricThroughputFramesPerSecond || *row.With != ndr || *row.Without > 400_000 || *row.Without < 380_000 ||
		*row.DifferencePartsPerMillion > -450_000 || *row.DifferencePartsPerMillion < -550_000 {
		t.Errorf("%+v", row)
	}
	if half := Results(instr, records[:first]); half.Frames != nil || len(half.Neighbors.Comparison) == 0 || half.Neighbors.Comparison[0].With != nil {
		t.Errorf("before the second side: %+v", half)
	}
	// Trials of the second side before the first is over belong to neither side.
	records[first].Neighbors, records[first-1].Neighbors = false, true
	if _, err := Next(instr, records[:first]); !errors.Is(err, ErrRecords) {
		t.Errorf("got %v", err)
	}
}

// With neighbors only, the procedure is the same, and every trial except the calibration has
// them.
func TestNeighborsWith(t *testing.T) {
	instr := besideInstructions(false)
	records := noisyRun(t, instr, nil)
	for _, r := range records {
		if r.Neighbors == r.Stage.Calibrates() {
			t.Errorf("stage %s, neighbors %v", r.Stage, r.Neighbors)
		}
	}
	figures := Results(instr, records)
	if figures.Neighbors == nil || figures.Neighbors.Comparison != nil || len(figures.Neighbors.Loads) != 2 {
		t.Errorf("%+v", figures.Neighbors)
	}
	compared := besideInstructions(true)
	if one, two := ExpectedBytes(instr), ExpectedBytes(compared); two <= one*3/2 || two >= 2*one {
		t.Errorf("%d bytes, compared %d", one, two)
	}
}

func TestWhatNeighborsDid(t *testing.T) {
	instr := besideInstructions(false)
	trial := func(change func(*measure.Evidence), cpu, received int64) measure.Record {
		e := &measure.Evidence{Neighbors: []measure.NeighborEvidence{
			{Name: "cpu", ElapsedMilliseconds: 1000, CPUMilliseconds: cpu},
			{Name: "frames", ElapsedMilliseconds: 1000, SentFrames: 2000, ReceivedFrames: received},
		}}
		if change != nil {
			change(e)
		}
		return measure.Record{Stage: measure.StageThroughput, Neighbors: true, Evidence: e}
	}
	for name, test := range map[string]struct {
		records []measure.Record
		codes   []string
	}{
		"reached":      {[]measure.Record{trial(nil, 1900, 2000), trial(nil, 1800, 1990)}, nil},
		"slow":         {[]measure.Record{trial(nil, 1900, 2000), trial(nil, 1600, 2000)}, []string{v1alpha1.WarningNeighborLoadNotReached}},
		"frames lost":  {[]measure.Record{trial(nil, 1900, 1700)}, []string{v1alpha1.WarningNeighborLoadNotReached}},
		"stopped":      {[]measure.Record{trial(func(e *measure.Evidence) { e.Neighbors[0].Stopped = true }, 1900, 2000)}, []string{v1alpha1.WarningNeighborStopped}},
		"gone":         {[]measure.Record{trial(nil, 1900, 2000), trial(func(e *measure.Evidence) { e.Neighbors = e.Neighbors[:1] }, 1900, 0)}, []string{v1alpha1.WarningNeighborStopped}},
		"never looked": {[]measure.Record{{Stage: measure.StageWarmUp, Neighbors: true}}, nil},
		"without":      {[]measure.Record{{Stage: measure.StageThroughput, Evidence: &measure.Evidence{}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var codes []string
			for _, w := range warnNeighbors(instr, test.records) {
				codes = append(codes, w.Code)
			}
			if diff := cmp.Diff(test.codes, codes); diff != "" {
				t.Error(diff)
			}
		})
	}
	got := loads(instr, []measure.Record{trial(nil, 1900, 2000), trial(nil, 1700, 1000)})
	n := func(v int64) *int64 { return &v }
	want := []v1alpha1.NoisyNeighborReport{
		{Name: "cpu", Kind: v1alpha1.NeighborCPU, Trials: 2, IntendedMilliCPU: n(2000), MilliCPU: n(1800)},
		{Name: "frames", Kind: v1alpha1.NeighborNetwork, Trials: 2, MilliCPU: n(0), IntendedFramesPerSecond: n(2000), SentFramesPerSecond: n(2000), ReceivedFramesPerSecond: n(1500)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The comparison is bounded as the API bounds it.
func TestDifferencesAreBounded(t *testing.T) {
	var many Figures
	for i := range int32(200) {
		many.Frames = append(many.Frames, v1alpha1.FrameResult{Size: fmt.Sprint(64 + i), Throughput: []v1alpha1.ThroughputResult{
			{Goal: "a", FramesPerSecond: 1}, {Goal: "b", FramesPerSecond: 1}, {Goal: "c", FramesPerSecond: 1}, {Goal: "d", FramesPerSecond: 1},
		}})
	}
	if got := len((&replay{}).differences(pair{listOf(many), listOf(many)}, nil, nil)); got != maxDifferences {
		t.Errorf("%d differences, want %d", got, maxDifferences)
	}
}

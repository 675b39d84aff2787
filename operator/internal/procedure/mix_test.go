package procedure

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// TestAMixIsOneMoreSize measures a mix after a size: every trial of it sends the mix, loads stay
// below its line rate, and results have its name and its exact rate on layer 1.
func TestAMixIsOneMoreSize(t *testing.T) {
	instr := instructions()
	instr.LinkBitsPerSecond = 1_000_000_000
	mix := measure.Mix{Frames: []measure.MixFrame{
		{FrameBytes: 64, Weight: 7}, {FrameBytes: 594, Weight: 4}, {FrameBytes: 1518, Weight: 1},
	}}
	// A plain size has the mix's mean, and stays a different size.
	instr.Sizes = append(sizes(64, 362), measure.MixSize("SimpleIMIX", mix))
	instr.Soak = &v1alpha1.Soak{
		Size: "SimpleIMIX", FramesPerSecond: new(int64(5000)), DurationSeconds: 2, IntervalSeconds: 1,
	}
	instr.FixedLoad = &v1alpha1.FixedLoad{
		DurationSeconds: 1, Repeats: 1, Profiles: []v1alpha1.LoadProfile{{Name: "mixed", Size: "SimpleIMIX", FramesPerSecond: new(int64(5000))}},
	}
	most := mix.LineRateFramesPerSecond(instr.LinkBitsPerSecond)
	named := false
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 100e6}).run(t, instr, func(records []measure.Record, step Step) {
		named = named || strings.Contains(Progress(instr, records).Stage, "mix SimpleIMIX")
		switch trial := step.Trial; {
		case step.Done:
		case trial.Size != "SimpleIMIX" && trial.Mix != nil:
			t.Errorf("a trial of size %s sends a mix", trial.Size)
		case trial.Size == "SimpleIMIX" && (trial.Mix == nil || trial.FrameBytes != 362):
			t.Error("a trial of the mix sends none")
		case trial.Size == "SimpleIMIX" && trial.IntendedFramesPerSecond > most:
			t.Errorf("a load of %d is above line rate, %d", trial.IntendedFramesPerSecond, most)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !named {
		t.Error("the progress never names the mix")
	}
	figures := Results(instr, records)
	if len(figures.Frames) != 3 || figures.Frames[1].Mix != "" || figures.Frames[2].Mix != "SimpleIMIX" || figures.Frames[2].FrameBytes != 362 || len(figures.Calibration) != 3 {
		t.Fatalf("results %+v, want 64 bytes, 362 bytes and the mix", figures.Frames)
	}
	if got := figures.Frames[2]; got.Soak == nil || len(got.FixedLoad) != 1 || figures.Frames[1].Soak != nil || figures.Frames[1].FixedLoad != nil {
		t.Errorf("the mix has soak %+v and profiles %+v, want one of each", got.Soak, got.FixedLoad)
	}
	if plain, line := figures.Frames[1].Throughput[0], instr.LineRateFramesPerSecond(measure.FrameSize(362)); uint64(plain.FramesPerSecond) != line {
		t.Errorf("throughput %d frames/s of 362 bytes, line rate is %d", plain.FramesPerSecond, line)
	}
	ndr := figures.Frames[2].Throughput[0]
	if uint64(ndr.FramesPerSecond) != most || ndr.LineRatePartsPerMillion != 1_000_000 {
		t.Errorf("throughput %d frames/s, %d ppm of line rate; the device forwards all of %d", ndr.FramesPerSecond, ndr.LineRatePartsPerMillion, most)
	}
	if off := 1_000_000_000 - ndr.Layer1BitsPerSecond; off < 0 || off > 4582*8/12+1 {
		t.Errorf("%d bit/s on layer 1, want line rate less a frame at most", ndr.Layer1BitsPerSecond)
	}
}

func TestAMixAlone(t *testing.T) {
	instr := instructions()
	mix := measure.MixSize("m", measure.Mix{Frames: []measure.MixFrame{{FrameBytes: 64, Weight: 1}, {FrameBytes: 128, Weight: 1}}})
	instr.Sizes = []measure.Size{mix}
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 500_000}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Summary; got == nil || got.Size != "m" {
		t.Errorf("summary %+v, want that of the mix", got)
	}
	instr.Sizes = []measure.Size{mix, mix}
	if _, err := Next(instr, nil); err == nil {
		t.Error("two sizes of one name were accepted")
	}
}

package procedure

import (
	"strings"
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
)

// TestAMixIsOneMoreSize measures a mix behind a size: every trial of it sends
// the mix, loads stay below its line rate, and results bear its name and its
// exact rate on layer 1.
func TestAMixIsOneMoreSize(t *testing.T) {
	instr := instructions()
	instr.LinkBitsPerSecond = 1_000_000_000
	instr.FrameBytes = []int{64, 362}
	mix := measure.Mix{Name: "SimpleIMIX", Frames: []measure.MixFrame{
		{FrameBytes: 64, Weight: 7}, {FrameBytes: 594, Weight: 4}, {FrameBytes: 1518, Weight: 1},
	}}
	instr.Mixes = []measure.Mix{mix}
	instr.Soak = &measure.SoakInstructions{
		FrameBytes: 362, Load: measure.LoadInstruction{FramesPerSecond: 5000}, DurationNanoseconds: 2e9, IntervalNanoseconds: 1e9,
	}
	instr.FixedLoad = &measure.FixedLoadInstructions{
		DurationNanoseconds: 1e9, Repeats: 1, Profiles: []measure.ProfileInstruction{{Name: "mixed", FrameBytes: 362, FramesPerSecond: 5000}},
	}
	most := mix.LineRateFramesPerSecond(instr.LinkBitsPerSecond)
	told := false
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 100e6}).run(t, instr, func(records []measure.Record, step Step) {
		told = told || strings.Contains(Progress(instr, records).Stage, "mix SimpleIMIX")
		switch trial := step.Trial; {
		case step.Done:
		case trial.FrameBytes == 64 && trial.Mix != nil:
			t.Error("a trial of 64 bytes sends a mix")
		case trial.FrameBytes == 362 && (trial.Mix == nil || trial.Mix.Name != mix.Name):
			t.Error("a trial of the mix sends none")
		case trial.FrameBytes == 362 && trial.IntendedFramesPerSecond > most:
			t.Errorf("a load of %d is above line rate, %d", trial.IntendedFramesPerSecond, most)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !told {
		t.Error("the progress never names the mix")
	}
	figures := Results(instr, records)
	if len(figures.Frames) != 2 || figures.Frames[0].Mix != "" || figures.Frames[1].Mix != mix.Name || figures.Frames[1].FrameBytes != 362 {
		t.Fatalf("results %+v, want 64 bytes and the mix", figures.Frames)
	}
	if got := figures.Frames[1]; got.Soak == nil || len(got.FixedLoad) != 1 || figures.Frames[0].Soak != nil {
		t.Errorf("the mix has soak %+v and profiles %+v, want one of each", got.Soak, got.FixedLoad)
	}
	ndr := figures.Frames[1].Throughput[0]
	if uint64(ndr.FramesPerSecond) != most || ndr.LineRatePartsPerMillion != 1_000_000 {
		t.Errorf("throughput %d frames/s, %d ppm of line rate; the device forwards all of %d", ndr.FramesPerSecond, ndr.LineRatePartsPerMillion, most)
	}
	if off := 1_000_000_000 - ndr.Layer1BitsPerSecond; off < 0 || off > 4582*8/12+1 {
		t.Errorf("%d bit/s on layer 1, want line rate less a frame at most", ndr.Layer1BitsPerSecond)
	}
}

func TestAMixAlone(t *testing.T) {
	instr := instructions()
	instr.FrameBytes = []int{96}
	instr.Mixes = []measure.Mix{{Name: "m", Frames: []measure.MixFrame{{FrameBytes: 64, Weight: 1}, {FrameBytes: 128, Weight: 1}}}}
	records, err := newBench(simulated.HardCap{CapacityFramesPerSecond: 500_000}).run(t, instr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Results(instr, records).Summary; got == nil || got.Size != "m" {
		t.Errorf("summary %+v, want that of the mix", got)
	}
	instr.FrameBytes = []int{96, 96}
	if _, err := Next(instr, nil); err == nil {
		t.Error("a mix with the mean of a size was accepted")
	}
	instr.FrameBytes = []int{64}
	if _, err := Next(instr, nil); err == nil {
		t.Error("a mix that is not measured was accepted")
	}
	instr.FrameBytes, instr.Mixes = []int{96}, append(instr.Mixes, instr.Mixes[0])
	if _, err := Next(instr, nil); err == nil {
		t.Error("two mixes with one mean were accepted")
	}
}

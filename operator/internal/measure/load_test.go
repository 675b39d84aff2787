package measure

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func frames(n int64) v1alpha1.Load     { return v1alpha1.Load{FramesPerSecond: &n} }
func layer1(n int64) v1alpha1.Load     { return v1alpha1.Load{Layer1BitsPerSecond: &n} }
func layer2(n int64) v1alpha1.Load     { return v1alpha1.Load{Layer2BitsPerSecond: &n} }
func ofLineRate(n int32) v1alpha1.Load { return v1alpha1.Load{LineRatePercent: &n} }

var imix = MixSize("imix", simple())

func TestLoadInFrames(t *testing.T) {
	instr := Instructions{LinkBitsPerSecond: 10_000_000_000}
	for name, c := range map[string]struct {
		load v1alpha1.Load
		size Size
		want uint64
	}{
		"frames":              {frames(7), FrameSize(64), 7},
		"layer 1":             {layer1(25_000_000), FrameSize(64), 37_202},  // 672 bits
		"layer 2":             {layer2(25_000_000), FrameSize(64), 48_828},  // 512 bits
		"layer 2, long":       {layer2(25_000_000), FrameSize(1518), 2_058}, // 12144 bits
		"layer 1, mix":        {layer1(50_000_000), imix, 16_368},           // 4582 * 8 / 12 bits
		"layer 2, mix":        {layer2(50_000_000), imix, 17_273},           // 4342 * 8 / 12 bits
		"half of line rate":   {ofLineRate(50), FrameSize(64), 7_440_476},
		"line rate":           {ofLineRate(100), FrameSize(64), 14_880_952},
		"a tenth, mix":        {ofLineRate(10), imix, 327_367},
		"less than one frame": {layer2(1000), FrameSize(1518), 0},
		"a terabit":           {layer1(1_000_000_000_000), FrameSize(64), 1_488_095_238},
	} {
		if got := instr.FramesPerSecond(c.load, c.size); got != c.want {
			t.Errorf("%s: %d frames/s, want %d", name, got, c.want)
		}
	}
}

// A tag is in no frame size, but in every rate on the wire. A tag at one port is enough.
func TestLoadWithTag(t *testing.T) {
	instr := Instructions{LinkBitsPerSecond: 10_000_000_000}
	instr.Chain.Ports[1].VLAN = 7
	for name, c := range map[string]struct {
		load v1alpha1.Load
		size Size
		want uint64
	}{
		"frames":       {frames(7), FrameSize(64), 7},
		"layer 1":      {layer1(25_000_000), FrameSize(64), 35_511}, // 704 bits
		"layer 2":      {layer2(25_000_000), FrameSize(64), 45_955}, // 544 bits
		"layer 1, mix": {layer1(50_000_000), imix, 16_198},          // 4630 * 8 / 12 bits
		"line rate":    {ofLineRate(100), FrameSize(64), 14_204_545},
	} {
		if got := instr.FramesPerSecond(c.load, c.size); got != c.want {
			t.Errorf("%s: %d frames/s, want %d", name, got, c.want)
		}
	}
	if got, want := instr.Layer1BitsPerSecond(1000, FrameSize(64)), 704_000.0; got != want {
		t.Errorf("%v bit/s on layer 1, want %v", got, want)
	}
	if got, want := instr.Layer1BitsPerSecond(1200, imix), 1200.0*4630*8/12; got != want {
		t.Errorf("%v bit/s of the mix on layer 1, want %v", got, want)
	}
}

package measure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func simple() Mix { return Mix{Frames: []MixFrame{{64, 7}, {594, 4}, {1518, 1}}} }

func TestMixRates(t *testing.T) {
	m := simple()
	if got := m.MeanFrameBytes(); got != 362 { // 4342 / 12 = 361.83
		t.Errorf("mean %d, want 362", got)
	}
	// (4342 + 12 * 20) * 8 / 12 bits per frame.
	if got := m.LineRateFramesPerSecond(10_000_000_000); got != 3_273_679 {
		t.Errorf("line rate %d, want 3273679", got)
	}
	if got, want := m.Layer1BitsPerSecond(1200), 1200.0*4582*8/12; math.Abs(got-want) > 1e-6 {
		t.Errorf("layer 1 %f, want %f", got, want)
	}
	one := Mix{Frames: []MixFrame{{64, 3}}}
	if got, want := one.LineRateFramesPerSecond(1e10), LineRateFramesPerSecond(1e10, 64); got != want {
		t.Errorf("a mix of one size has line rate %d, the size %d", got, want)
	}
}

func TestMixSequence(t *testing.T) {
	if diff := cmp.Diff([]int{0, 1, 0, 0, 1, 0, 2, 0, 1, 0, 1, 0}, simple().Sequence()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, m := range []Mix{simple(), {Frames: []MixFrame{{64, 1}, {128, 100}}}, {Frames: []MixFrame{{64, 55}, {594, 5}, {1300, 17}, {1518, 23}}}} {
		_, frames := m.round()
		counts := make([]int, len(m.Frames))
		for n, i := range m.Sequence() {
			counts[i]++
			for j, f := range m.Frames {
				if off := math.Abs(float64(counts[j]) - float64((n+1)*f.Weight)/float64(frames)); off > 1 {
					t.Errorf("%v: after %d frames, size %d is %.2f frames from its share", m.Frames, n+1, f.FrameBytes, off)
				}
			}
		}
		for j, f := range m.Frames {
			if counts[j] != f.Weight {
				t.Errorf("%v: %d of size %d in a round", m.Frames, counts[j], f.FrameBytes)
			}
		}
	}
}

func TestMixCheck(t *testing.T) {
	for name, m := range map[string]Mix{
		"no size":      {},
		"no weight":    {Frames: []MixFrame{{64, 0}}},
		"nine sizes":   {Frames: make([]MixFrame, 9)},
		"a long round": {Frames: []MixFrame{{64, 400}, {65, 401}}},
	} {
		if m.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := simple().Check(); err != nil {
		t.Error(err)
	}
}

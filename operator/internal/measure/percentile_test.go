package measure

import "testing"

func TestPercentilesNeedSamples(t *testing.T) {
	for _, test := range []struct {
		samples     uint64
		p999, p9999 bool
	}{{0, false, false}, {9_999, false, false}, {10_000, true, false}, {99_999, true, false}, {100_000, true, true}} {
		d := Delays{Samples: test.samples, P999Nanoseconds: 5, P9999Nanoseconds: 6, MinNanoseconds: 2}
		p999, p9999 := d.P999(), d.P9999()
		if (p999 != nil) != test.p999 || (p9999 != nil) != test.p9999 || p999 != nil && *p999 != 5 || p9999 != nil && *p9999 != 6 {
			t.Errorf("%d samples: %v, %v", test.samples, p999, p9999)
		}
		variation := DirectionOutcome{Latency: d}.PacketDelayVariationP999()
		if (variation != nil) != test.p999 || variation != nil && *variation != 3 {
			t.Errorf("%d samples: variation %v", test.samples, variation)
		}
	}
}

package main

import (
	"maps"
	"math"
	"testing"
)

// TestSpeedsIn reads the driver's rates from what the part speed prints, and not those of its peers.
func TestSpeedsIn(t *testing.T) {
	got := speedsIn(`2 CPUs; load average 0.50
routed veth, one core, 64 B, medians of 1; load average 0.50
  xdp 2500000 frames/s; for each second of CPU time 2510000
  trafgen not run: it is not installed
direct veth, one core, 1518 B, all frames of the driver timed, medians of 1; load average 0.71
  xdp 14000000 frames/s; for each second of CPU time 14100000
  trafgen 1400000 frames/s ratio 10.00; for each second of CPU time 1410000 ratio 10.00
`)
	want := map[string]rate{"routed veth, 64 B": {2_500_000, 2_510_000}, "direct veth, 1518 B": {14_000_000, 14_100_000}}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestIntervalOfRatios checks the interval of ratios against one worked out by hand: their logarithms are 0.1 and
// 0.3, so the mean is 0.2, the standard error 0.1, and Student's t of one degree of freedom 12.706.
func TestIntervalOfRatios(t *testing.T) {
	least, mean, most := intervalOf([]float64{math.Exp(0.1), math.Exp(0.3)})
	for _, c := range [][2]float64{{least, math.Exp(0.2 - 1.2706)}, {mean, math.Exp(0.2)}, {most, math.Exp(0.2 + 1.2706)}} {
		if math.Abs(c[0]-c[1]) > 1e-4*c[1] {
			t.Errorf("%.5f, want %.5f", c[0], c[1])
		}
	}
	if least, _, most := intervalOf([]float64{0.9, 0.9, 0.9}); math.Abs(least-0.9) > 1e-9 || math.Abs(most-0.9) > 1e-9 {
		t.Errorf("pairs that agree have the interval %.3f to %.3f", least, most)
	}
}

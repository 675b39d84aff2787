package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/internal/statistics"
)

// pointOf returns a point of the mean of some repeats.
func pointOf(number int64, repeats ...int64) Point {
	return Point{number, int64(statistics.Mean(repeats)), repeats}
}

// TestScaleOfRepeats checks that a growth and an end of it are only said where the scatter of the repeats leaves no other answer.
func TestScaleOfRepeats(t *testing.T) {
	for name, test := range map[string]struct {
		points     []Point
		stopsAt    int64
		stillGrows bool
		words      string
	}{
		// t(3) = 3.182, so 3.182 * 10 % * sqrt(2/2) = 31.8 %.
		"20 % more with a scatter of 10 %": {points: []Point{pointOf(1, 100_000, 115_192), pointOf(2, 120_000, 138_230), pointOf(4, 120_000, 138_230)},
			words: "not known: by the scatter of the repeats, two numbers may differ by 31.8 % more or less"},
		"no more with a scatter of 10 %": {points: []Point{pointOf(1, 100_000, 115_192), pointOf(2, 100_000, 115_192)}, words: "not known"},
		"less with a scatter of 10 %":    {points: []Point{pointOf(1, 100_000, 115_192), pointOf(2, 90_000, 103_673)}, words: "not known"},
		"twice as much":                  {points: []Point{pointOf(1, 100_000, 115_192), pointOf(2, 200_000, 230_384)}, stillGrows: true, words: "the largest number still carried more"},
		"half as much":                   {points: []Point{pointOf(1, 200_000, 230_384), pointOf(2, 100_000, 115_192)}, stopsAt: 1, words: "it stops scaling at 1: each larger number carries less than 5 % more"},
		"3 % more where repeats agree":   {points: []Point{pointOf(1, 1_000_000, 1_001_000, 999_000), pointOf(2, 1_030_000, 1_031_000, 1_029_000)}, stopsAt: 1},
		"6 % more where repeats agree":   {points: []Point{pointOf(1, 1_000_000, 1_001_000, 999_000), pointOf(2, 1_060_000, 1_061_000, 1_059_000)}, stillGrows: true},
		// Half of the interval is 4.3 %.
		"less than 5 % more, and the upper end is not":     {points: []Point{pointOf(1, 9_929_289, 10_070_711), pointOf(2, 10_028_582, 10_171_418)}, words: "differ by 4.3 % more or less"},
		"the same, and the upper end is less than 5 %":     {points: []Point{pointOf(1, 9_929_289, 10_070_711), pointOf(2, 9_929_289, 10_070_711)}, stopsAt: 1},
		"the most in the middle":                           {points: []Point{pointOf(1, 100, 100), pointOf(2, 200, 200), pointOf(4, 150, 150)}, stopsAt: 2},
		"0.3 % more":                                       {points: []Point{pointOf(14, 3_360_000, 3_360_100, 3_359_900), pointOf(20, 3_370_000, 3_370_100, 3_369_900)}, stopsAt: 14},
		"repeats that are all alike":                       {points: []Point{pointOf(1, 100, 100), pointOf(2, 104, 104)}, stopsAt: 1},
		"repeats that are all alike, and exactly 5 % more": {points: []Point{pointOf(1, 100, 100), pointOf(2, 105, 105)}, stillGrows: true},
		"a number with one repeat yet":                     {points: []Point{pointOf(1, 1_000_000, 1_010_000), pointOf(2, 1_010_000)}, words: "not known"},
		"nothing repeated":                                 {points: []Point{pointOf(1, 1_000_000), pointOf(2, 1_010_000)}, words: "not known, because nothing was repeated: set measurements.repeats to 3 or more"},
	} {
		got, ok := Scale(test.points)
		if !ok || got.StopsAt != test.stopsAt || got.StillGrows != test.stillGrows {
			t.Errorf("%s: %+v", name, got)
		}
		if text := got.sentence(); !strings.Contains(text, test.words) {
			t.Errorf("%s: %s", name, text)
		}
	}
	// Two numbers with two repeats each have two degrees of freedom: 4.303 * 1 % * sqrt(2/2).
	got, _ := Scale([]Point{pointOf(1, 9_929_289, 10_070_711), pointOf(2, 9_929_289, 10_070_711)})
	if half := ptr.Deref(got.HalfWidthPartsPerMillion, 0); half < 43_020 || half > 43_040 {
		t.Errorf("half of the interval is %d", half)
	}
}

// TestScaleNextToNoise checks with a fixed seed that repeats that scatter by 10 % make no end of a growth that is clearly of use, and
// rarely one of a growth at the limit, and that those of 1 % show a growth, and an end too.
func TestScaleNextToNoise(t *testing.T) {
	const draws = 5000
	for name, test := range map[string]struct {
		noise, growth                  float64
		most, leastStops, leastGrowing float64
	}{
		"twice as much, much noise": {noise: 0.1, growth: 1, leastGrowing: 0.99},
		"half more, much noise":     {noise: 0.1, growth: 0.5},
		"a fifth more, much noise":  {noise: 0.1, growth: 0.2, most: 0.001},
		"growth, little noise":      {noise: 0.01, growth: 0.2, leastGrowing: 0.99},
		"an end, little noise":      {noise: 0.01, most: 1, leastStops: 0.9},
		"just of use, much noise":   {noise: 0.1, growth: 0.05, most: 0.025},
		"just of use, little noise": {noise: 0.01, growth: 0.05, most: 0.025},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		stops, grows := 0, 0
		for range draws {
			var points []Point
			rate := 1e9
			for _, number := range []int64{1, 2, 4} {
				var repeats []int64
				for range 3 {
					repeats = append(repeats, int64(rate*(1+test.noise*random.NormFloat64())))
				}
				points = append(points, pointOf(number, repeats...))
				rate *= 1 + test.growth
			}
			got, _ := Scale(points)
			if got.StopsAt > 0 {
				stops++
			}
			if got.StillGrows {
				grows++
			}
		}
		if stops > int(test.most*draws) || stops < int(test.leastStops*draws) || grows < int(test.leastGrowing*draws) {
			t.Errorf("%s: of %d draws %d have an end and %d grow", name, draws, stops, grows)
		}
	}
}

package statistics

import (
	"math"
	"slices"
	"testing"
)

// TestStudentT compares the two-sided 95 % points of Student's t with printed tables.
func TestStudentT(t *testing.T) {
	for degrees, want := range map[int]float64{
		1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 19: 2.093,
	} {
		if got := StudentT(degrees); math.Abs(got-want) > 0.0005 {
			t.Errorf("%d degrees of freedom: got %.4f, want %.3f", degrees, got, want)
		}
	}
}

// TestSummarize uses values worked by hand: the deviations from 100 are -4, -2, 0, 2 and 4, their squares add up to 40, and
// 40/4 is 10.
func TestSummarize(t *testing.T) {
	values := []int64{104, 96, 100, 98, 102}
	got, ok := Summarize(values)
	if !ok {
		t.Fatal("no summary")
	}
	deviation := math.Sqrt(10)
	half := 2.7764451 * deviation / math.Sqrt(5)
	for name, pair := range map[string][2]float64{
		"mean":               {got.Mean, 100},
		"standard deviation": {got.StandardDeviation, deviation},
		"variation":          {got.VariationPartsPerMillion, deviation * 1e4},
		"low":                {got.Low, 100 - half},
		"high":               {got.High, 100 + half},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-4 {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
	if got.Minimum != 96 || got.Maximum != 104 || !slices.Equal(got.Values, values) {
		t.Errorf("%+v", got)
	}
}

func TestSummarizeEdges(t *testing.T) {
	for _, values := range [][]int64{nil, {}, {7}} {
		if s, ok := Summarize(values); ok {
			t.Errorf("%v: got %+v", values, s)
		}
	}
	if s, ok := Summarize([]int64{0, 0}); !ok || s.VariationPartsPerMillion != 0 || s.Low != 0 || s.High != 0 {
		t.Errorf("%+v", s)
	}
	outlier := []int64{100, 100, 100, 100, 9000}
	if s, _ := Summarize(outlier); len(s.Values) != 5 || s.Maximum != 9000 || s.Mean != 1880 {
		t.Errorf("an outlier was dropped: %+v", s)
	}
}

func TestTwoBands(t *testing.T) {
	for name, test := range map[string]struct {
		values []int64
		want   bool
		bands  Bands
	}{
		"none":              {},
		"one":               {values: []int64{5}},
		"one on each side":  {values: []int64{100, 200}},
		"an outlier":        {values: []int64{100, 101, 102, 101, 200}},
		"two and two":       {values: []int64{200, 100, 101, 202}},
		"two and three":     {values: []int64{200, 100, 101, 202, 201}, want: true, bands: Bands{100, 101, 200, 202}},
		"evenly spread":     {values: []int64{100, 110, 120, 130, 140}},
		"too wide a band":   {values: []int64{100, 125, 200, 202, 203}},
		"too near together": {values: []int64{1000, 1000, 1010, 1010, 1010}},
		"all equal":         {values: []int64{9, 9, 9, 9}},
		"zero and more":     {values: []int64{0, 0, 500, 500, 500}, want: true, bands: Bands{0, 0, 500, 500}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := TwoBands(test.values)
			if ok != test.want || ok && got != test.bands {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

func TestSpreadOf(t *testing.T) {
	for name, test := range map[string]struct {
		values    []uint64
		want      Spread[uint64]
		tolerance float64
	}{
		"nothing":      {},
		"one value":    {values: []uint64{3}, want: Spread[uint64]{Mean: 3, Minimum: 3, Maximum: 3}},
		"equal values": {values: []uint64{7, 7, 7}, want: Spread[uint64]{Mean: 7, Minimum: 7, Maximum: 7}},
		"eight values": {
			values: []uint64{2, 4, 4, 4, 5, 5, 7, 9}, want: Spread[uint64]{Mean: 5, StandardDeviation: 2.1381, Minimum: 2, Maximum: 9}, tolerance: 1e-4,
		},
		// A sum of shares would be a little below 3, and its whole part 2.
		"a mean that is whole": {
			values: []uint64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, want: Spread[uint64]{Mean: 3, Minimum: 3, Maximum: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := SpreadOf(test.values)
			if math.Abs(got.StandardDeviation-test.want.StandardDeviation) > test.tolerance {
				t.Errorf("the standard deviation is %v, want %v", got.StandardDeviation, test.want.StandardDeviation)
			}
			got.StandardDeviation = test.want.StandardDeviation
			if got != test.want || Mean(test.values) != test.want.Mean {
				t.Errorf("got %+v and a mean of %v, want %+v", got, Mean(test.values), test.want)
			}
		})
	}
}

// TestWelch checks samples and p-values of Rosetta Code's task "Welch's t-test", in tenths; there
// they were checked against R's t.test.
func TestWelch(t *testing.T) {
	for name, test := range map[string]struct {
		a, b []int64
		want float64
	}{
		"unequal sizes": {
			[]int64{172, 209, 226, 181, 217, 214, 235, 242, 147, 218},
			[]int64{215, 228, 210, 230, 216, 236, 225, 207, 234, 218, 207, 217, 215, 225, 236, 215, 225, 235, 215, 218},
			0.148841696605327,
		},
		"unequal variances": {
			[]int64{198, 204, 196, 178, 185, 189, 183, 189, 195, 220},
			[]int64{282, 266, 201, 233, 252, 221, 177, 276, 206, 137, 232, 175, 206, 180, 239, 216, 243, 204, 240, 132},
			0.0359722710297968,
		},
		"few values":  {[]int64{30, 40, 10, 21}, []int64{4902, 3400, 4339}, 0.010751561149785},
		"equal means": {[]int64{10, 20, 30}, []int64{20, 20, 20, 20}, 1},
	} {
		got, ok := Welch(test.a, test.b)
		if !ok || math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %.15f, %t, want %.15f", name, got, ok, test.want)
		}
	}
	for name, pair := range map[string][2][]int64{
		"one value": {{1}, {1, 2}}, "none": {nil, {1, 2}}, "no scatter": {{5, 5}, {6, 6}},
	} {
		if got, ok := Welch(pair[0], pair[1]); ok {
			t.Errorf("%s: %g", name, got)
		}
	}
}

// TestMedian checks odd and even numbers of values, in any order, and none.
func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{5}, 5},
		{[]float64{9, 1, 5}, 5},
		{[]float64{9, 1, 5, 6}, 5.5},
	} {
		before := slices.Clone(test.values)
		if got := Median(test.values); got != test.want || !slices.Equal(test.values, before) {
			t.Errorf("%v: got %v, want %v, and the values as they were", before, got, test.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("no values: got %v", got)
	}
}

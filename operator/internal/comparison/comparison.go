package comparison

import (
	"cmp"
	"fmt"
	"math"

	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/statistics"
)

// Adjustment is how p-values of many differences are made to hold together.
type Adjustment string

// The adjustments.
const (
	// AdjustNone takes each difference alone: of many figures of equal devices, one of twenty seems to differ.
	AdjustNone Adjustment = "none"
	// AdjustHolm bounds the chance that any difference is none.
	AdjustHolm Adjustment = "holm"
	// AdjustBenjaminiHochberg bounds the share of the differences that are none.
	AdjustBenjaminiHochberg Adjustment = "benjamini-hochberg"
)

// Adjustments returns all adjustments, the default first.
func Adjustments() []Adjustment {
	return []Adjustment{AdjustNone, AdjustHolm, AdjustBenjaminiHochberg}
}

// Verdict is what a test says of a column next to the first one.
type Verdict string

// The verdicts.
const (
	Better Verdict = "Better"
	Worse  Verdict = "Worse"
	// Unclear means that the test cannot distinguish them.
	Unclear Verdict = "Unclear"
)

// Difference is that of a column's value from the first column's.
type Difference struct {
	// Value is in the figure's unit; absent where a value is missing or a floor. Lower and Upper are the ends of its 95 % confidence
	// interval.
	Value *int64 `json:"value,omitempty"`
	Lower *int64 `json:"lower,omitempty"`
	Upper *int64 `json:"upper,omitempty"`
	// PartsPerMillion, LowerPartsPerMillion and UpperPartsPerMillion are the same as shares of the first column's value.
	PartsPerMillion      *int64 `json:"partsPerMillion,omitempty"`
	LowerPartsPerMillion *int64 `json:"lowerPartsPerMillion,omitempty"`
	UpperPartsPerMillion *int64 `json:"upperPartsPerMillion,omitempty"`
	// PValuePartsPerMillion is that of the test, and AdjustedPValuePartsPerMillion the one that the verdict follows from where there
	// is an adjustment.
	PValuePartsPerMillion         *int64 `json:"pValuePartsPerMillion,omitempty"`
	AdjustedPValuePartsPerMillion *int64 `json:"adjustedPValuePartsPerMillion,omitempty"`
	// Verdict is absent for figures that describe a measurement and do not judge the device.
	Verdict Verdict `json:"verdict,omitempty"`
	// WhyNotTested is why the verdict is Unclear without a test.
	WhyNotTested Reason `json:"whyNotTested,omitempty"`

	p float64
}

// Figure is one figure of each column.
type Figure struct {
	figure.Key
	Cells []Cell
	// Differences are those of the columns after the first, in their order.
	Differences []Difference
}

// Result is a comparison.
type Result struct {
	Figures []Figure
	// Tested is how many differences were tested.
	Tested int
}

// Compare compares columns with the first one. It leaves out the cores used, which do not compare; the time for each frame does.
func Compare(columns []Column, adjustment Adjustment) (Result, error) {
	adjust, ok := adjusting[cmp.Or(adjustment, AdjustNone)]
	if !ok {
		return Result{}, fmt.Errorf("unknown adjustment %q: use %s, %s or %s", adjustment, AdjustNone, AdjustHolm, AdjustBenjaminiHochberg)
	}
	out := Result{}
	for _, row := range rowsOf(columns) {
		f := Figure{Key: row.key}
		for i, column := range columns {
			f.Cells = append(f.Cells, newCell(row.key, column, row.of[i]))
		}
		for _, cell := range f.Cells[1:] {
			f.Differences = append(f.Differences, differenceOf(row.key, f.Cells[0], cell))
		}
		out.Figures = append(out.Figures, f)
	}
	out.judge(adjust)
	return out, nil
}

var adjusting = map[Adjustment]func([]float64) []float64{
	AdjustNone: nil, AdjustHolm: statistics.Holm, AdjustBenjaminiHochberg: statistics.BenjaminiHochberg,
}

// row is one key with the figures of each column's runs.
type row struct {
	key figure.Key
	of  [][]found
}

// rowsOf returns a row for each figure that any run has, in the order of the first run that has it.
func rowsOf(columns []Column) []*row {
	var rows []*row
	byKey := map[figure.Key]*row{}
	for i, column := range columns {
		for _, run := range column {
			bounds := boundsOf(run.Figures)
			for _, f := range run.Figures {
				if !f.Known() || figure.Describe(f.Metric).IsDiluted() {
					continue
				}
				r := byKey[f.Key]
				if r == nil {
					r = &row{key: f.Key, of: make([][]found, len(columns))}
					byKey[f.Key], rows = r, append(rows, r)
				}
				r.of[i] = append(r.of[i], found{f, resolutionOf(f, bounds)})
			}
		}
	}
	return rows
}

const (
	lowerBound v1alpha1.Metric = "ThroughputLowerBoundFramesPerSecond"
	upperBound v1alpha1.Metric = "ThroughputUpperBoundFramesPerSecond"
)

// boundsOf returns the bounds of searches by their keys.
func boundsOf(figures []figure.Figure) map[figure.Key]int64 {
	out := map[figure.Key]int64{}
	for _, f := range figures {
		if f.Metric == lowerBound || f.Metric == upperBound {
			out[f.Key] = f.Value
		}
	}
	return out
}

// resolutionOf returns the distance between the bounds of a figure's search, with repeats the mean of theirs; 0 where it was not searched.
func resolutionOf(f figure.Figure, bounds map[figure.Key]int64) float64 {
	if f.Metric != v1alpha1.MetricThroughputFramesPerSecond {
		return 0
	}
	if f.Statistics != nil {
		return float64(ptr.Deref(f.Statistics.Resolution, 0))
	}
	low, high := f.Key, f.Key
	low.Metric, high.Metric = lowerBound, upperBound
	upper, known := bounds[high]
	if !known {
		return 0
	}
	return float64(max(0, upper-bounds[low]))
}

// derived metrics say the same as another one, or where a search ended: the loss at its lower bound is at the load that the search
// found, and below what the goal allows for any device.
var derived = map[v1alpha1.Metric]bool{v1alpha1.MetricThroughputLayer1BitsPerSecond: true, "ThroughputLossPartsPerMillion": true}

// isJudged reports whether a figure is tested: it says how good the device is, and is no part of another one.
func isJudged(key figure.Key) bool {
	metric := figure.Describe(key.Metric)
	return metric.Better != figure.Neither && metric.Uses != 0 && !derived[key.Metric] && key.Repeat == 0 && key.Interval == 0 && key.Side == ""
}

// differenceOf returns the difference of a cell from the first one, without a verdict.
func differenceOf(key figure.Key, first, cell Cell) Difference {
	d := Difference{p: math.NaN()}
	if first.Value == nil || cell.Value == nil {
		d.WhyNotTested = ReasonMissing
	} else {
		d.WhyNotTested = cmp.Or(first.WhyNotTested, cell.WhyNotTested)
		for _, reason := range []Reason{ReasonFloor, ReasonIrregular, ReasonDoubtful} {
			if first.WhyNotTested == reason || cell.WhyNotTested == reason {
				d.WhyNotTested = reason
				break
			}
		}
		if d.WhyNotTested == "" && loadsDiffer(first, cell) {
			d.WhyNotTested = ReasonLoadsDiffer
		}
		if !first.IsFloor && !cell.IsFloor {
			d.Value, d.PartsPerMillion = new(*cell.Value-*first.Value), share(float64(*cell.Value-*first.Value), first, math.Round)
		}
	}
	if !isJudged(key) {
		d.WhyNotTested = ""
		return d
	}
	d.Verdict = Unclear
	if d.WhyNotTested != "" {
		return d
	}
	change, ok := statistics.ChangeOf(first.brackets, cell.brackets)
	if !ok {
		d.WhyNotTested = ReasonNotRepeated
		return d
	}
	d.p = change.P
	d.PValuePartsPerMillion = partsPerMillion(change.P)
	if change.HasInterval {
		d.Lower, d.Upper = new(int64(math.Floor(change.Low))), new(int64(math.Ceil(change.High)))
		d.LowerPartsPerMillion, d.UpperPartsPerMillion = share(change.Low, first, math.Floor), share(change.High, first, math.Ceil)
	}
	return d
}

// share returns a difference as a share of the first value; nil where that is not above 0.
func share(difference float64, first Cell, round func(float64) float64) *int64 {
	if *first.Value <= 0 {
		return nil
	}
	return new(int64(round(difference / float64(*first.Value) * 1e6)))
}

func partsPerMillion(p float64) *int64 { return new(int64(math.Round(p * 1e6))) }

// judge adds the verdicts of all differences that are tested.
func (r *Result) judge(adjust func([]float64) []float64) {
	var tested []*Difference
	var metrics []figure.Metric
	var chances []float64
	for i := range r.Figures {
		for j := range r.Figures[i].Differences {
			if d := &r.Figures[i].Differences[j]; !math.IsNaN(d.p) {
				tested, metrics, chances = append(tested, d), append(metrics, figure.Describe(r.Figures[i].Metric)), append(chances, d.p)
			}
		}
	}
	r.Tested = len(tested)
	if adjust != nil {
		chances = adjust(chances)
		for i, d := range tested {
			d.AdjustedPValuePartsPerMillion = partsPerMillion(chances[i])
		}
	}
	for i, d := range tested {
		switch {
		case chances[i] >= float64(statistics.SignificantPartsPerMillion)/1e6 || *d.Value == 0:
		case (*d.Value > 0) == (metrics[i].Better == figure.Higher):
			d.Verdict = Better
		default:
			d.Verdict = Worse
		}
	}
}

// Package study compares what suites measured with what a study has published: the study's claims and the documents of executions go in; a
// verdict for each claim, with what was measured and why, comes out. It is pure.
package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// File is the name of the file that has a study.
const File = "study.yaml"

// MaximumBytes limits such a file.
const MaximumBytes = 256 << 10

// Study is what a study asks, and what was published about it.
type Study struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Question string `json:"question"`
	// Published says by whom, when and on what the published figures were measured.
	Published string `json:"published"`
	// Sizes are the ways in which it can be measured.
	Sizes []Size `json:"sizes"`
	// Answer are the figures that answer the question, Claims are those that were published.
	Answer []Finding `json:"answer"`
	Claims []Claim   `json:"claims"`
}

// Size is one way of measuring a study: for real hardware, or for the lab.
type Size struct {
	Name string `json:"name"`
	// Suites are the BenchmarkSuites, by the names that findings and claims have for them.
	Suites map[string]string `json:"suites"`
	// LeavesOut is what this size does not show.
	LeavesOut []string `json:"leavesOut,omitempty"`
}

// Finding is a figure that is measured.
type Finding struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// CannotBeShown says why, by the names of sizes, or by "any" for all of them.
	CannotBeShown map[string]string `json:"cannotBeShown,omitempty"`
	Measure
}

// Claim is something that was published.
type Claim struct {
	Finding
	// Value is what was published.
	Value string `json:"value"`
}

// AnySize names all sizes at once.
const AnySize = "any"

// Measure is how a finding follows from the document of a suite. It has one member, except for a claim that no size shows.
type Measure struct {
	Slope    *Slope    `json:"slope,omitempty"`
	Ratio    *Ratio    `json:"ratio,omitempty"`
	Crossing *Crossing `json:"crossing,omitempty"`
	Scaling  *Scaling  `json:"scaling,omitempty"`
	Amount   *Amount   `json:"amount,omitempty"`
	Steps    *Steps    `json:"steps,omitempty"`
}

// Where are values of axes, by the axes' names.
type Where map[string]v1alpha1.AxisLabel

// Range is where a figure is expected. Without an end it has none.
type Range struct {
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
}

// Slope is what one more of a numeric axis adds to a figure, in nanoseconds.
type Slope struct {
	Suite string       `json:"suite"`
	Of    report.FitOf `json:"of"`
	Axis  string       `json:"axis"`
	// Where are the values of the other axes.
	Where Where `json:"where,omitempty"`
	// Straight asks whether each one adds the same.
	Straight bool `json:"straight,omitempty"`
	Range
}

// Ratio is a figure of one cell as a multiple of that of another.
type Ratio struct {
	Suite string `json:"suite"`
	Figure
	Cell Where `json:"cell"`
	To   Where `json:"to"`
	Range
}

// Crossing is which of two values of an axis has the higher figure, and where on a numeric axis they cross.
type Crossing struct {
	Suite   string             `json:"suite"`
	Of      report.FitOf       `json:"of"`
	Axis    string             `json:"axis"`
	Between string             `json:"between"`
	First   v1alpha1.AxisLabel `json:"first"`
	Second  v1alpha1.AxisLabel `json:"second"`
	Where   Where              `json:"where,omitempty"`
	// Result is the expected one. The range is where they cross.
	Result analysis.CrossingResult `json:"result,omitempty"`
	Range
}

// ScalingFigure is what is asked of how a rate scales.
type ScalingFigure string

const (
	// ScalingContention and ScalingCoherency are the coefficients of the Universal Scalability Law, ScalingPeak is where its rate is highest.
	ScalingContention ScalingFigure = "Contention"
	ScalingCoherency  ScalingFigure = "Coherency"
	ScalingPeak       ScalingFigure = "Peak"
	// ScalingEfficiency is the rate of the largest number as a share of what the smallest one predicts.
	ScalingEfficiency ScalingFigure = "Efficiency"
	// ScalingStopsAt is the smallest number that no larger one exceeds by 5 %.
	ScalingStopsAt ScalingFigure = "StopsAt"
	// ScalingExtrapolation is what the smallest number predicts for the largest one.
	ScalingExtrapolation ScalingFigure = "Extrapolation"
)

var scalingFigures = []ScalingFigure{ScalingContention, ScalingCoherency, ScalingPeak, ScalingEfficiency, ScalingStopsAt, ScalingExtrapolation}

// Scaling is how a rate grows over an axis that counts cores.
type Scaling struct {
	Suite  string        `json:"suite"`
	Of     report.FitOf  `json:"of"`
	Axis   string        `json:"axis"`
	Where  Where         `json:"where,omitempty"`
	Figure ScalingFigure `json:"figure"`
	Range
}

// suite returns the name that the measure has for its suite; "" without one.
func (m Measure) suite() string {
	switch {
	case m.Slope != nil:
		return m.Slope.Suite
	case m.Ratio != nil:
		return m.Ratio.Suite
	case m.Crossing != nil:
		return m.Crossing.Suite
	case m.Scaling != nil:
		return m.Scaling.Suite
	case m.Amount != nil:
		return m.Amount.Suite
	case m.Steps != nil:
		return m.Steps.Suite
	}
	return ""
}

// Read reads a study. Its error names the field.
func Read(text []byte) (Study, error) {
	var s Study
	if len(text) > MaximumBytes {
		return s, fmt.Errorf("the study has more than %d bytes", MaximumBytes)
	}
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, fmt.Errorf("reading the study: %w", err)
	}
	return s, s.check()
}

func (s Study) check() error {
	for field, value := range map[string]string{"name": s.Name, "title": s.Title, "question": s.Question, "published": s.Published} {
		if value == "" {
			return fmt.Errorf("%s is missing", field)
		}
	}
	if len(s.Sizes) == 0 {
		return errors.New("sizes has none: name one with its suites")
	}
	names := slices.Sorted(maps.Keys(s.Sizes[0].Suites))
	seen := map[string]bool{AnySize: true}
	for i, size := range s.Sizes {
		switch {
		case size.Name == "" || seen[size.Name]:
			return fmt.Errorf("sizes[%d].name is %q, which is empty, %q, or that of another size", i, size.Name, AnySize)
		case len(size.Suites) == 0 || !slices.Equal(names, slices.Sorted(maps.Keys(size.Suites))):
			return fmt.Errorf("sizes[%d].suites: every size has one or more suites, under the same names as the first", i)
		}
		for name, suite := range size.Suites {
			if seen["/"+suite] {
				return fmt.Errorf("sizes[%d].suites.%s: another one is %q, too", i, name, suite)
			}
			seen["/"+suite] = true
		}
		seen[size.Name] = true
	}
	ids := map[string]bool{}
	for i, f := range s.Answer {
		err := f.check(s.Sizes[0].Suites, ids, false)
		if err == nil {
			err = f.checkReasons(seen)
		}
		if err != nil {
			return fmt.Errorf("answer[%d].%w", i, err)
		}
	}
	for i, c := range s.Claims {
		if err := c.check(s.Sizes[0].Suites, ids, c.CannotBeShown[AnySize] != ""); err != nil {
			return fmt.Errorf("claims[%d].%w", i, err)
		}
		if c.suite() != "" && !c.expects() && c.CannotBeShown[AnySize] == "" {
			return fmt.Errorf("claims[%d] says nothing that is expected: give least, most, straight or result", i)
		}
		if c.Value == "" {
			return fmt.Errorf("claims[%d].value is missing: write what was published", i)
		}
		if err := c.checkReasons(seen); err != nil {
			return fmt.Errorf("claims[%d].%w", i, err)
		}
	}
	return nil
}

// checkReasons returns an error for a reason of no size, or for none.
func (f Finding) checkReasons(sizes map[string]bool) error {
	for size, why := range f.CannotBeShown {
		if !sizes[size] || why == "" {
			return fmt.Errorf("cannotBeShown.%s: name a size or %q, and give a reason", size, AnySize)
		}
	}
	return nil
}

// whyNotShown returns why a size does not show the finding; "" where it does.
func (f Finding) whyNotShown(size Size) string {
	return cmp.Or(f.CannotBeShown[size.Name], f.CannotBeShown[AnySize])
}

// check returns an error that begins with a field of the finding.
func (f Finding) check(suites map[string]string, ids map[string]bool, mayBeEmpty bool) error {
	if f.ID == "" || ids[f.ID] {
		return fmt.Errorf("id is %q, which is empty or that of another finding", f.ID)
	}
	ids[f.ID] = true
	if f.Text == "" {
		return errors.New("text is missing")
	}
	n := 0
	for _, is := range []bool{f.Slope != nil, f.Ratio != nil, f.Crossing != nil, f.Scaling != nil, f.Amount != nil, f.Steps != nil} {
		if is {
			n++
		}
	}
	if n == 0 && mayBeEmpty {
		return nil
	}
	if n != 1 {
		return fmt.Errorf("slope, ratio, crossing, scaling, amount, steps: it has %d of them, and needs one", n)
	}
	if err := f.Measure.check(); err != nil {
		return err
	}
	if _, known := suites[f.suite()]; !known {
		return fmt.Errorf("suite is %q, which no size has", f.suite())
	}
	return nil
}

// check returns an error for a measure without what it needs.
func (m Measure) check() error {
	switch {
	case m.Slope != nil:
		if m.Slope.Axis == "" {
			return errors.New("slope.axis is missing")
		}
		return Figure{Of: m.Slope.Of}.check(report.FitFrameTime, report.FitP99)
	case m.Ratio != nil:
		if len(m.Ratio.Cell) == 0 || len(m.Ratio.To) == 0 {
			return errors.New("ratio needs the values of cell and to")
		}
		return m.Ratio.Figure.check(report.FitFrameTime, report.FitP99, report.FitRate, report.FitGoodput)
	case m.Crossing != nil:
		c := m.Crossing
		if c.Axis == "" || c.Between == "" || c.First == "" || c.Second == "" {
			return errors.New("crossing needs axis, between, first and second")
		}
		if results := []analysis.CrossingResult{"", analysis.FirstAbove, analysis.SecondAbove, analysis.Crosses}; !slices.Contains(results, c.Result) {
			return fmt.Errorf("crossing.result is %q: use %s, %s or %s", c.Result, analysis.FirstAbove, analysis.SecondAbove, analysis.Crosses)
		}
		return Figure{Of: c.Of}.check(report.FitRate, report.FitP99, report.FitGoodput)
	case m.Scaling != nil:
		return m.Scaling.check()
	case m.Amount != nil:
		return m.Amount.check()
	}
	return m.Steps.check()
}

// expects reports whether a claim's measure says what is expected.
func (m Measure) expects() bool {
	switch {
	case m.Slope != nil:
		return m.Slope.Straight || m.Slope.Range != Range{}
	case m.Ratio != nil:
		return m.Ratio.Range != Range{}
	case m.Crossing != nil:
		return m.Crossing.Result != ""
	case m.Scaling != nil:
		// That it stops at all is something that is expected.
		return m.Scaling.Figure == ScalingStopsAt || m.Scaling.Range != Range{}
	case m.Amount != nil:
		return m.Amount.Range != Range{}
	}
	return false
}

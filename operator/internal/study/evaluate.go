package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Verdict says what the measurement says of a claim.
type Verdict string

const (
	// Reproduced means that the whole 95 % interval is where the claim expects it.
	Reproduced Verdict = "Reproduced"
	// NotReproduced means that none of the interval is there.
	NotReproduced Verdict = "NotReproduced"
	// CannotBeShown means that the measurement decides nothing, for the reason next to it.
	CannotBeShown Verdict = "CannotBeShown"
)

// Result is what was measured of a finding or a claim.
type Result struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Published is the value that was published, and Verdict what the measurement says of it; absent for a finding.
	Published string  `json:"published,omitempty"`
	Verdict   Verdict `json:"verdict,omitempty"`
	// Measured is in words, Estimate the figure with its 95 % interval: nanoseconds for one unit of the axis, a multiple, where two cross, or an
	// amount. They are absent where there is none.
	Measured string             `json:"measured,omitempty"`
	Estimate *analysis.Estimate `json:"estimate,omitempty"`
	// Why says what the verdict follows from, or why nothing was measured.
	Why string `json:"why,omitempty"`
	// Steps are what each value of an axis changes; absent for other findings.
	Steps []analysis.Step `json:"steps,omitempty"`
}

// measured is what was measured. A problem says why nothing was.
type measured struct {
	words    string
	estimate *analysis.Estimate
	note     string
	problem  string
	// line, crossing and scaling are what the document has.
	line     *analysis.LineFit
	crossing analysis.CrossingResult
	scaling  *analysis.Scaling
	steps    []analysis.Step
	// values are those of an amount, and left is how many repeats have none.
	values []float64
	left   leftOut
}

// leftOut is how many repeats have no value: those that failed, have not ended, or are in doubt.
type leftOut int

// String says so; "" for none.
func (n leftOut) String() string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("repeats without a value, left out: %d", int(n))
}

// find measures a finding, and says what the measurement says of what is expected.
func (f Finding) find(docs map[string]report.SuiteDocument, size Size) (measured, Verdict, string) {
	name := size.Suites[f.suite()]
	doc, given := docs[name]
	var m measured
	switch {
	case f.suite() == "":
		return m, CannotBeShown, ""
	case !given:
		m.problem = fmt.Sprintf("there is no document of suite %s", name)
		return m, CannotBeShown, m.problem
	case f.Slope != nil:
		m = f.Slope.measure(doc)
	case f.Ratio != nil:
		m = f.Ratio.measure(doc)
	case f.Scaling != nil:
		m = f.Scaling.measure(doc)
	case f.Crossing != nil:
		m = f.Crossing.measure(doc)
	case f.Amount != nil:
		m = f.Amount.measure(doc)
	default:
		m = f.Steps.measure(doc)
	}
	if m.problem != "" {
		return m, CannotBeShown, m.problem
	}
	verdict, why := Verdict(""), ""
	switch {
	case f.Slope != nil && f.Slope.Straight:
		verdict, why = straight(m.line)
	case f.Crossing != nil:
		verdict, why = f.Crossing.judge(m)
	case f.Scaling != nil:
		verdict, why = f.Scaling.judge(m)
	case f.Slope != nil:
		verdict, why = f.Slope.judge(*m.estimate)
	case f.Ratio != nil:
		verdict, why = f.Ratio.judge(*m.estimate)
	case f.Amount != nil:
		verdict, why = f.Amount.judge(m)
	}
	return m, verdict, strings.Join(slices.DeleteFunc([]string{why, m.note}, func(s string) bool { return s == "" }), "; ")
}

// judge compares an interval with a range.
func (r Range) judge(e analysis.Estimate) (Verdict, string) {
	within := (r.Least == nil || e.Low >= *r.Least) && (r.Most == nil || e.High <= *r.Most)
	outside := r.Least != nil && e.High < *r.Least || r.Most != nil && e.Low > *r.Most
	switch {
	case within:
		return Reproduced, "the interval is within the expected range, " + r.String()
	case outside:
		return NotReproduced, "the interval is outside of the expected range, " + r.String()
	}
	return CannotBeShown, "the interval is partly outside of the expected range, " + r.String() + ": more repeats make it narrower"
}

// String writes the range as "0.3 to 0.7", "at least 2" or "at most 1.5".
func (r Range) String() string {
	switch {
	case r.Least != nil && r.Most != nil:
		return report.Significant(*r.Least) + " to " + report.Significant(*r.Most)
	case r.Least != nil:
		return "at least " + report.Significant(*r.Least)
	case r.Most != nil:
		return "at most " + report.Significant(*r.Most)
	}
	return "any value"
}

// leastR2 is how much of the scatter a line explains at least that says anything.
const leastR2 = 0.9

// straight judges whether points are on a line.
func straight(line *analysis.LineFit) (Verdict, string) {
	switch {
	case line.LackOfFit == nil:
		return CannotBeShown, "it takes repeats at three values of the axis or more"
	case !line.IsLine():
		return NotReproduced, fmt.Sprintf("the cost changes over the range (F test, p = %s)", report.Significant(*line.LackOfFit))
	case line.R2 < leastR2:
		return CannotBeShown, fmt.Sprintf("the line explains %s %% of the scatter alone", report.Significant(100*line.R2))
	}
	return Reproduced, fmt.Sprintf("nothing shows that the points are not on a line (F test, p = %s)", report.Significant(*line.LackOfFit))
}

func (s Slope) measure(doc report.SuiteDocument) measured {
	for _, fit := range doc.Fits {
		if fit.Axis != s.Axis || fit.Of != s.Of || !maps.Equal(fit.Others, s.Where) {
			continue
		}
		if fit.Line == nil {
			return measured{problem: fmt.Sprintf("there is no line over %s at %s: %s", s.Axis, s.Where, cmp.Or(fit.Problem, "the document has none"))}
		}
		if problem := gaps(doc, s.Of, s.Axis, s.Where); problem != "" {
			return measured{problem: problem}
		}
		m := measured{line: fit.Line, estimate: &fit.Line.Slope}
		m.words = withInterval(fit.Line.Slope, " ns")
		var notes []string
		if !fit.Line.IsLine() && !s.Straight {
			notes = append(notes, "the points are not on a line, so it is the slope of the whole range")
		}
		if fit.LeftOut > 0 {
			notes = append(notes, fmt.Sprintf("%d figures are no values, and left out", fit.LeftOut))
		}
		m.note = strings.Join(notes, "; ")
		return m
	}
	return measured{problem: fmt.Sprintf("the document has no figures over %s at %s", s.Axis, s.Where)}
}

// gaps says at which values of an axis no repeat has a value; "" where there are none. What the others show is then not known of the whole axis: those
// that are in doubt or have failed are often the highest loads or the slowest cells.
func gaps(doc report.SuiteDocument, of report.FitOf, axis string, where Where) string {
	has := map[v1alpha1.AxisLabel]bool{}
	var order, without []string
	for _, cell := range doc.Cells {
		label, on := cell.Values[axis]
		others := maps.Clone(cell.Values)
		delete(others, axis)
		if !on || !maps.Equal(others, map[string]v1alpha1.AxisLabel(where)) {
			continue
		}
		if _, known := has[label]; !known {
			order = append(order, string(label))
		}
		values, _ := report.Values(cell, of)
		has[label] = has[label] || len(values) > 0
	}
	for _, label := range order {
		if !has[v1alpha1.AxisLabel(label)] {
			without = append(without, label)
		}
	}
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("there is no value at %s=%s, and what the others say of the whole axis is not known", axis, strings.Join(without, ", "))
}

func (r Ratio) measure(doc report.SuiteDocument) measured {
	values, without := [2][]float64{}, leftOut(0)
	for i, where := range []Where{r.To, r.Cell} {
		found, left, err := valuesAt(doc, where, r.Figure)
		if err != nil {
			return measured{problem: err.Error()}
		}
		values[i], without = found, without+left
	}
	ratio, err := analysis.Ratio(values[0], values[1])
	if err != nil {
		return measured{problem: err.Error()}
	}
	return measured{words: withInterval(ratio, ""), estimate: &ratio, note: without.String()}
}

// valuesAt returns the values of the cells that have all of some values of axes, and how many repeats have none. A bound is an error: without it
// the mean of the others is wrong.
func valuesAt(doc report.SuiteDocument, where Where, of Figure) (values []float64, left leftOut, err error) {
	cells, inDoubt := 0, 0
	var failed []string
	for _, cell := range doc.Cells {
		if !maps.Equal(cell.Values, map[string]v1alpha1.AxisLabel(where)) {
			continue
		}
		cells++
		found, notes, err := of.values(cell)
		if err != nil {
			return nil, 0, err
		}
		for _, note := range notes {
			if note != v1alpha1.NoteDoubtful {
				return nil, 0, fmt.Errorf("%d of %d figures of cell %s are no values, and one is a bound (%s)", len(notes), len(notes)+len(found), cell.Name, note)
			}
		}
		values, inDoubt, left = append(values, found...), inDoubt+len(notes), left+leftOut(len(cell.Measurements)-len(found))
		for _, m := range cell.Measurements {
			if m.State == v1alpha1.MeasurementFailed {
				failed = append(failed, m.Reason)
			}
		}
	}
	switch {
	case cells == 0:
		return nil, 0, fmt.Errorf("the suite has no cell with %s", where)
	case len(values) == 0 && len(failed) > 0:
		return nil, 0, fmt.Errorf("the cell with %s failed: %s", where, strings.Join(slices.Compact(slices.Sorted(slices.Values(failed))), ", "))
	case len(values) == 0 && inDoubt > 0:
		return nil, 0, fmt.Errorf("all %d figures of the cell with %s are in doubt", inDoubt, where)
	case len(values) == 0:
		return nil, 0, fmt.Errorf("the cell with %s has no figures", where)
	}
	return values, left, nil
}

func (c Crossing) measure(doc report.SuiteDocument) measured {
	for _, found := range doc.Crossings {
		isIt := found.Axis == c.Axis && found.Between == c.Between && found.First == c.First && found.Second == c.Second && found.Of == c.Of
		if !isIt || !maps.Equal(found.Others, c.Where) {
			continue
		}
		if found.Crossing == nil {
			return measured{problem: fmt.Sprintf("%s and %s cannot be compared: %s", c.First, c.Second, cmp.Or(found.Problem, "the document says nothing of it"))}
		}
		for _, side := range []v1alpha1.AxisLabel{c.First, c.Second} {
			where := Where{c.Between: side}
			maps.Copy(where, c.Where)
			if problem := gaps(doc, c.Of, c.Axis, where); problem != "" {
				return measured{problem: problem}
			}
		}
		m := measured{words: found.Words(), crossing: found.Crossing.Result, estimate: found.Crossing.At}
		if m.estimate != nil {
			m.words += ", from " + withInterval(*m.estimate, "")
		}
		if found.LeftOut > 0 {
			m.note = fmt.Sprintf("%d figures are no values, and left out", found.LeftOut)
		}
		return m
	}
	return measured{problem: fmt.Sprintf("the document does not compare %s with %s over %s", c.First, c.Second, c.Axis)}
}

// judge compares the result with the expected one.
func (c Crossing) judge(m measured) (Verdict, string) {
	switch {
	case c.Result == "":
		return "", ""
	case m.crossing == analysis.Undecided:
		return CannotBeShown, "at some values no difference is shown: more repeats make the intervals narrower"
	case m.crossing != c.Result:
		return NotReproduced, "another result was expected: " + inWords[c.Result]
	case c.Result == analysis.Crosses && m.estimate == nil:
		return CannotBeShown, "the document does not say where they cross"
	case c.Result == analysis.Crosses:
		return c.Range.judge(*m.estimate)
	}
	return Reproduced, "it is certain at each value"
}

var inWords = map[analysis.CrossingResult]string{
	analysis.FirstAbove: "the first is higher at each value", analysis.SecondAbove: "the second is higher at each value", analysis.Crosses: "they cross",
}

// String writes values of axes as "backend=nftables, rules=5000".
func (w Where) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		out = append(out, name+"="+string(w[name]))
	}
	return cmp.Or(strings.Join(out, ", "), "all values")
}

// withInterval writes an estimate as "2.13 ns (2.01 to 2.25)".
func withInterval(e analysis.Estimate, unit string) string {
	return fmt.Sprintf("%s%s (%s to %s)", report.Significant(e.Value), unit, report.Significant(e.Low), report.Significant(e.High))
}

// Evaluate compares the documents of a study's suites, all of one size, with its claims.
func Evaluate(s Study, docs []report.SuiteDocument) (Report, error) {
	if len(docs) == 0 {
		return Report{}, errors.New("give the document of at least one suite: `kubectl vnfbench report suite/NAME -o json` writes it")
	}
	size, bySuite, err := s.sizeOf(docs)
	if err != nil {
		return Report{}, err
	}
	out := Report{
		APIVersion: report.APIVersion, Kind: Kind, Completeness: report.Complete, Study: s.Name, Title: s.Title, Question: s.Question, Published: s.Published,
		Size: size.Name, LeavesOut: size.LeavesOut, Answer: []Result{}, Claims: []Result{},
	}
	for _, doc := range docs {
		out.Executions = append(out.Executions, executionOf(doc))
		if doc.Completeness != report.Complete {
			out.Completeness = report.Partial
		}
	}
	if len(docs) < len(size.Suites) {
		out.Completeness = report.Partial
	}
	for _, f := range s.Answer {
		if because := f.whyNotShown(size); because != "" {
			out.Answer = append(out.Answer, Result{ID: f.ID, Text: f.Text, Why: because})
			continue
		}
		m, _, why := f.find(bySuite, size)
		out.Answer = append(out.Answer, Result{ID: f.ID, Text: f.Text, Measured: m.words, Estimate: m.estimate, Steps: m.steps, Why: whyNothing(m, why)})
	}
	for _, c := range s.Claims {
		m, verdict, why := c.find(bySuite, size)
		if because := c.whyNotShown(size); because != "" {
			verdict, why = CannotBeShown, because
		}
		switch verdict {
		case Reproduced:
			out.Counts.Reproduced++
		case NotReproduced:
			out.Counts.NotReproduced++
		default:
			out.Counts.CannotBeShown++
		}
		out.Claims = append(out.Claims, Result{ID: c.ID, Text: c.Text, Published: c.Value, Verdict: verdict, Measured: m.words, Estimate: m.estimate, Steps: m.steps, Why: why})
	}
	return out, nil
}

// whyNothing returns why a finding has no figure, or what its figure leaves out. A finding expects nothing.
func whyNothing(m measured, why string) string {
	if m.problem != "" {
		return why
	}
	return m.note
}

// sizeOf returns the size that documents are of, and the documents by the names of their suites.
func (s Study) sizeOf(docs []report.SuiteDocument) (Size, map[string]report.SuiteDocument, error) {
	var of *Size
	bySuite := map[string]report.SuiteDocument{}
	for _, doc := range docs {
		name := doc.Execution.Suite
		at := slices.IndexFunc(s.Sizes, func(size Size) bool { return slices.Contains(slices.Collect(maps.Values(size.Suites)), name) })
		switch _, twice := bySuite[name]; {
		case at < 0:
			return Size{}, nil, fmt.Errorf("suite %q is none of study %s, which has %s", name, s.Name, strings.Join(s.suites(), ", "))
		case twice:
			return Size{}, nil, fmt.Errorf("there are two documents of suite %q: give that of one execution", name)
		case of != nil && of.Name != s.Sizes[at].Name:
			return Size{}, nil, fmt.Errorf("suite %q is of size %s, and another document of size %s: give those of one size", name, s.Sizes[at].Name, of.Name)
		}
		of, bySuite[name] = &s.Sizes[at], doc
	}
	return *of, bySuite, nil
}

// suites returns the names of the suites of all sizes.
func (s Study) suites() []string {
	var out []string
	for _, size := range s.Sizes {
		out = slices.AppendSeq(out, maps.Values(size.Suites))
	}
	return slices.Sorted(slices.Values(out))
}

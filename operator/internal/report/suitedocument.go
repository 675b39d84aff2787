package report

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/suite"
)

// SuiteKind is the kind of the document of an execution.
const SuiteKind = "BenchmarkSuiteReport"

// SuiteDocument is what is known about an execution of a suite.
type SuiteDocument struct {
	APIVersion  string    `json:"apiVersion"`
	Kind        string    `json:"kind"`
	GeneratedAt time.Time `json:"generatedAt"`
	// Completeness is Complete where every measurement succeeded.
	Completeness Completeness `json:"completeness"`
	Execution    Execution    `json:"execution"`
	// Subject is what was tested; absent where the suite does not say it.
	Subject *v1alpha1.Subject `json:"subject,omitempty"`
	// Machines describe the nodes that the chains of its runs were on; absent where no run exists any more.
	Machines []string `json:"machines,omitempty"`
	// Planned and Succeeded are the execution's conditions.
	Planned   Outcome `json:"planned"`
	Succeeded Outcome `json:"succeeded"`
	// Suite is the condition Succeeded of the suite; absent where it says nothing of this execution. Ready is its condition Ready where that is False.
	Suite *Outcome `json:"suite,omitempty"`
	Ready *Outcome `json:"ready,omitempty"`
	// Gate is True where the gate of the suite passes the execution; absent without a gate.
	Gate   *Outcome                   `json:"gate,omitempty"`
	Counts v1alpha1.MeasurementCounts `json:"counts"`
	// Axes are those of the matrix.
	Axes []SuiteAxis `json:"axes,omitempty"`
	// ControlDifferencePartsPerMillion is that between the two means of the control cell; absent without one.
	ControlDifferencePartsPerMillion *int64      `json:"controlDifferencePartsPerMillion,omitempty"`
	Cells                            []SuiteCell `json:"cells"`
	// Fits are the lines through the figures over the numeric axes.
	Fits []AxisFit `json:"fits,omitempty"`
	// Crossings say where the cells of two values of an axis change places over the numeric axes.
	Crossings []AxisCrossing `json:"crossings,omitempty"`
	// Scalings say how rates grow over the axes that count cores.
	Scalings []AxisScaling `json:"scalings,omitempty"`
	// Regression is what the suite says of the series after the execution; absent where they were not judged.
	Regression *v1alpha1.RegressionStatus `json:"regression,omitempty"`
	// WrittenBy is the version of the program that wrote the document.
	WrittenBy string `json:"writtenBy"`
}

// Execution names an execution of a suite.
type Execution struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Suite is that of the execution, or the execution itself where it was made by hand.
	Suite string `json:"suite"`
	// Order and Seed make the same order again.
	Order          v1alpha1.MeasurementOrder `json:"order"`
	Seed           int64                     `json:"seed"`
	StartTime      *metav1.Time              `json:"startTime,omitempty"`
	CompletionTime *metav1.Time              `json:"completionTime,omitempty"`
	// Confirmation is the question that the runs answer; absent for an execution that is none.
	Confirmation *v1alpha1.SuiteConfirmation `json:"confirmation,omitempty"`
}

// SuiteAxis is an axis of the matrix. Figures can be fitted over a Numeric one.
type SuiteAxis struct {
	Name string            `json:"name"`
	Kind v1alpha1.AxisKind `json:"kind"`
	// Path is that of the field that the values are set to; absent for variants.
	Path string `json:"path,omitempty"`
}

// SuiteCell is a cell with its measurements.
type SuiteCell struct {
	Name   string                        `json:"name"`
	Values map[string]v1alpha1.AxisLabel `json:"values,omitempty"`
	State  v1alpha1.MeasurementState     `json:"state"`
	// Figure says which size and goal the figures are of. They are the means over the repeats whose figures are values.
	Figure          string `json:"figure,omitempty"`
	FramesPerSecond *int64 `json:"framesPerSecond,omitempty"`
	P99Nanoseconds  *int64 `json:"p99Nanoseconds,omitempty"`
	// GoodputBitsPerSecond is of the first number of TCP connections.
	GoodputBitsPerSecond *int64             `json:"goodputBitsPerSecond,omitempty"`
	Measurements         []SuiteMeasurement `json:"measurements"`
}

// SuiteMeasurement is one repeat of a cell.
type SuiteMeasurement struct {
	// Run names its last BenchmarkRun; absent where there was none.
	Run string `json:"run,omitempty"`
	v1alpha1.SuiteMeasurement
	// Message says why it failed; absent where its run was deleted.
	Message string `json:"message,omitempty"`
	// Acceptance are the verdicts of its run; absent where it was deleted.
	Acceptance []v1alpha1.Verdict `json:"acceptance,omitempty"`
	// Figures are those of the verdicts that have a value; absent where its run was deleted.
	Figures []CriterionFigure `json:"figures,omitempty"`
}

// CriterionFigure is a figure that a criterion names.
type CriterionFigure struct {
	Criterion string `json:"criterion"`
	// Value is in the unit of the metric. Note and Doubts say why it is no value; they are absent where it is one.
	Value  int64                `json:"value"`
	Note   v1alpha1.FigureNote  `json:"note,omitempty"`
	Doubts []v1alpha1.DoubtCode `json:"doubts,omitempty"`
}

// RunOutcome is what a document of an execution takes from a BenchmarkRun.
type RunOutcome struct {
	Message    string
	Acceptance []v1alpha1.Verdict
	// Figures are those of the verdicts.
	Figures []CriterionFigure
	// Machine describes the node that the chain was on; "" where that is not known.
	Machine string
}

// OutcomeOf returns what a document of an execution takes from a run.
func OutcomeOf(run *v1alpha1.BenchmarkRun) RunOutcome {
	return RunOutcome{
		Message:    outcome(run.Status.Conditions, v1alpha1.ConditionSucceeded).Message,
		Acceptance: slices.Clone(run.Status.Acceptance), Figures: criterionFigures(run), Machine: machineOf(run),
	}
}

// criterionFigures returns the figures of a run's verdicts. A verdict passes where a doubt is on the side that meets the threshold, so it does not say
// whether the figure is a value.
func criterionFigures(run *v1alpha1.BenchmarkRun) []CriterionFigure {
	if len(run.Status.Acceptance) == 0 {
		return nil
	}
	var out []CriterionFigure
	all := figure.Of(run.Status)
	for _, verdict := range run.Status.Acceptance {
		if value := figure.Find(all, verdict.FigureKey); value != nil {
			out = append(out, CriterionFigure{verdict.Criterion, *value, figure.NoteOf(all, verdict.FigureKey), figure.DoubtsOf(all, verdict.FigureKey)})
		}
	}
	return out
}

// machineOf describes the node that a run's chain was on, as "Example CPU, 8 CPUs, 6.12.0".
func machineOf(run *v1alpha1.BenchmarkRun) string {
	if run.Status.Device == nil || run.Status.Device.Fingerprint == nil {
		return ""
	}
	f := run.Status.Device.Fingerprint
	words := []string{f.Product, f.CPUModel, "", f.Kernel, ""}
	if f.CPUs > 0 {
		words[2] = fmt.Sprintf("%d CPUs", f.CPUs)
	}
	if f.Hypervisor != "" {
		words[4] = "a virtual machine"
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ", ")
}

// machinesOf returns those of all runs, each once.
func machinesOf(runs map[string]RunOutcome) []string {
	var out []string
	for _, run := range runs {
		if run.Machine != "" {
			out = append(out, run.Machine)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// BuildSuite makes the document of an execution from those of its runs that exist, by their names, and from its suite, which is nil where there is none.
func BuildSuite(execution *v1alpha1.BenchmarkSuiteRun, runs map[string]RunOutcome, of *v1alpha1.BenchmarkSuite, version string, now time.Time) SuiteDocument {
	status, state := execution.Status.DeepCopy(), StateOf(of, execution)
	doc := SuiteDocument{
		APIVersion: APIVersion, Kind: SuiteKind, GeneratedAt: now.UTC(), Completeness: Partial,
		Execution: Execution{
			Namespace: execution.Namespace, Name: execution.Name, UID: string(execution.UID), Suite: suiteName(execution),
			Order: execution.Spec.Template.Order, Seed: status.Seed, StartTime: status.StartTime, CompletionTime: status.CompletionTime,
			Confirmation: execution.Spec.Confirmation.DeepCopy(),
		},
		Subject: execution.Subject(), Machines: machinesOf(runs), Planned: outcome(status.Conditions, v1alpha1.ConditionPlanned), Succeeded: outcome(status.Conditions, v1alpha1.ConditionSucceeded),
		Suite: state.Suite, Ready: state.NotReady, Gate: GateOutcome(of, execution),
		Counts: status.Counts, ControlDifferencePartsPerMillion: status.ControlDifferencePartsPerMillion, Cells: []SuiteCell{}, Regression: state.Judged, WrittenBy: version,
	}
	for _, axis := range execution.Spec.Template.Matrix.Axes {
		doc.Axes = append(doc.Axes, SuiteAxis{Name: axis.Name, Kind: cmp.Or(axis.Kind, v1alpha1.AxisCategory), Path: axis.Path})
	}
	if doc.Succeeded.Status == metav1.ConditionTrue {
		doc.Completeness = Complete
	}
	for i := range status.Cells {
		cell := &status.Cells[i]
		described := SuiteCell{
			Name: cell.Name, Values: cell.Values, State: cell.State, Figure: cell.Figure,
			FramesPerSecond: cell.FramesPerSecond, P99Nanoseconds: cell.P99Nanoseconds, GoodputBitsPerSecond: cell.GoodputBitsPerSecond, Measurements: []SuiteMeasurement{},
		}
		for repeat, m := range cell.Measurements {
			measured := SuiteMeasurement{SuiteMeasurement: m}
			if m.Attempts > 0 {
				measured.Run = suite.RunName(execution.Name, cell.Name, repeat+1, int(m.Attempts))
				measured.Acceptance, measured.Figures = runs[measured.Run].Acceptance, runs[measured.Run].Figures
			}
			if m.State == v1alpha1.MeasurementFailed {
				measured.Message = runs[measured.Run].Message
			}
			described.Measurements = append(described.Measurements, measured)
		}
		doc.Cells = append(doc.Cells, described)
	}
	doc.Fits, doc.Crossings, doc.Scalings = fits(doc.Axes, doc.Cells), crossings(doc.Axes, doc.Cells), scalings(doc.Axes, doc.Cells)
	return doc
}

// Ended reports whether the execution has its outcome.
func (d SuiteDocument) Ended() bool { return d.Succeeded.Status != metav1.ConditionUnknown }

// suiteName returns the name of the suite of an execution, or the execution's own.
func suiteName(execution *v1alpha1.BenchmarkSuiteRun) string {
	if name := execution.Labels[v1alpha1.LabelSuite]; name != "" {
		return name
	}
	return execution.Name
}

// WriteSuiteReport renders an execution with the matrix of its cells, its verdicts and its failures.
func WriteSuiteReport(w io.Writer, execution *v1alpha1.BenchmarkSuiteRun, doc SuiteDocument, format Format, opts Options) error {
	switch format {
	case FormatTable:
		l := unicodeLetters
		if opts.ASCII {
			l = asciiLetters
		}
		return writeText(w, suiteReportSections(execution, doc, l), l.rule)
	case FormatMarkdown:
		return writeMarkdown(w, suiteReportSections(execution, doc, unicodeLetters))
	case FormatJSON:
		return encodeJSON(w, doc)
	case FormatCSV:
		return writeSuiteCSV(w, execution, doc.Regression)
	case FormatJUnit:
		return writeSuiteJUnit(w, doc)
	}
	_, err := ParseFormat(string(format))
	return err
}

func suiteReportSections(execution *v1alpha1.BenchmarkSuiteRun, doc SuiteDocument, l letters) []section {
	state := SuiteState{Suite: doc.Suite, NotReady: doc.Ready, Judged: doc.Regression}
	parts := suiteSections(execution, state, l)
	if len(doc.Machines) > 0 {
		parts[0].facts = append(parts[0].facts, fact{"Machine", strings.Join(doc.Machines, "; ")})
	}
	for _, part := range []section{matrixSection(execution, l), fitsSection(doc), crossingsSection(doc), scalingsSection(doc), numbersSection(doc), suiteVerdicts(doc), suiteFailures(doc)} {
		if len(part.rows)+len(part.notes) > 0 {
			parts = append(parts, part)
		}
	}
	return withSeries(parts, state)
}

// maxMatrixColumns is the most values that the last axis has in a table that people can read.
const maxMatrixColumns = 12

// matrixSection shows the throughput of the cells, or the goodput where no cell has a throughput, over the last axis, where there are two axes or more, or
// says why it does not. Cells that do not have all axes are in the table of cells alone.
func matrixSection(execution *v1alpha1.BenchmarkSuiteRun, l letters) section {
	axes := execution.Spec.Template.Matrix.Axes
	if len(axes) < 2 {
		return section{}
	}
	rest, last := axes[:len(axes)-1], axes[len(axes)-1].Name
	var cells []*v1alpha1.SuiteCell
	var values []v1alpha1.AxisLabel
	for i := range execution.Status.Cells {
		cell := &execution.Status.Cells[i]
		if len(cell.Values) != len(axes) {
			continue
		}
		if cells = append(cells, cell); !slices.Contains(values, cell.Values[last]) {
			values = append(values, cell.Values[last])
		}
	}
	if len(values) > maxMatrixColumns {
		return section{title: "Matrix", notes: []string{fmt.Sprintf(
			"It is left out: the last axis, %s, has %d values, and a table has at most %d. List another axis last, or take the CSV.", last, len(values), maxMatrixColumns)}}
	}
	figure, unit := repeatedRate, "kfps"
	if hasGoodput(execution.Status.Cells) && !hasRate(execution.Status.Cells) {
		figure, unit = repeatedGoodput, "Mbit/s"
	}
	s := section{title: "Matrix, " + unit + " by " + last}
	for _, axis := range rest {
		s.columns = append(s.columns, left(axis.Name))
	}
	for _, value := range values {
		s.columns = append(s.columns, number(string(value)))
	}
	rows := map[string][]string{}
	for _, cell := range cells {
		var names []string
		for _, axis := range rest {
			names = append(names, string(cell.Values[axis.Name]))
		}
		key := strings.Join(names, "/")
		if rows[key] == nil {
			rows[key] = append(names, slices.Repeat([]string{none}, len(values))...)
			s.rows = append(s.rows, rows[key])
		}
		// The first has the place: the control cell has the values of the one that it repeats.
		if place := &rows[key][len(rest)+slices.Index(values, cell.Values[last])]; *place == none {
			*place = figure(cell, l).text
		}
	}
	return s
}

// suiteVerdicts counts the verdicts of each cell's repeats.
func suiteVerdicts(doc SuiteDocument) section {
	s := section{title: "Verdicts", columns: []column{left("Cell"), left("Criterion"), left("Of"), number("Passed"), number("Failed"), number("Inconclusive")}}
	for _, cell := range doc.Cells {
		var order []judgedFigure
		counts := map[judgedFigure]map[v1alpha1.VerdictResult]int{}
		for _, m := range cell.Measurements {
			for _, v := range m.Acceptance {
				key := judgedFigure{v.Criterion, v.FigureKey}
				if counts[key] == nil {
					counts[key], order = map[v1alpha1.VerdictResult]int{}, append(order, key)
				}
				counts[key][v.Result]++
			}
		}
		for _, key := range order {
			n := counts[key]
			s.rows = append(s.rows, []string{cell.Name, key.criterion, acceptance.About(key.FigureKey),
				strconv.Itoa(n[v1alpha1.VerdictPassed]), strconv.Itoa(n[v1alpha1.VerdictFailed]), strconv.Itoa(n[v1alpha1.VerdictInconclusive])})
		}
	}
	return s
}

// suiteFailures lists the measurements that failed, with the reason of each.
func suiteFailures(doc SuiteDocument) section {
	s := section{title: "Failures", columns: []column{left("Run"), left("Reason"), left("Message")}}
	for _, cell := range doc.Cells {
		for _, m := range cell.Measurements {
			if m.State == v1alpha1.MeasurementFailed {
				s.rows = append(s.rows, []string{m.Run, m.Reason, orNone(m.Message)})
			}
		}
	}
	return s
}

// writeSuiteJUnit writes a test suite for the execution, with a case for its outcome, those of the gate and of the series, and one for each
// repeat of each cell. Names of cases have the suite's name and not the execution's, so that a CI system keeps their history. What has not ended fails.
func writeSuiteJUnit(w io.Writer, doc SuiteDocument) error {
	class := fmt.Sprintf("vnfbench.%s.%s", doc.Execution.Namespace, doc.Execution.Suite)
	out := junitSuite{
		Name: fmt.Sprintf("vnfbench %s/%s", doc.Execution.Namespace, doc.Execution.Name), Time: "0",
		Properties: []junitProperty{{"execution", doc.Execution.Name}, {"seed", strconv.FormatInt(doc.Execution.Seed, 10)}, {"generatedAt", doc.GeneratedAt.Format(time.RFC3339)}},
	}
	if doc.Subject != nil {
		out.Properties = append(out.Properties, junitProperty{"subject", subjectInWords(doc.Subject)})
	}
	if start, end := doc.Execution.StartTime, doc.Execution.CompletionTime; start != nil {
		out.Timestamp = start.UTC().Format("2006-01-02T15:04:05")
		if end != nil {
			out.Time = strconv.FormatFloat(end.Sub(start.Time).Seconds(), 'f', -1, 64)
		}
	}
	executed := junitCase{ClassName: class, Name: "executed", Time: "0"}
	switch doc.Succeeded.Status {
	case metav1.ConditionTrue:
	case metav1.ConditionFalse:
		executed.Failure = &junitFailure{Type: doc.Succeeded.Reason, Message: doc.Succeeded.Message}
	default:
		executed.Failure = &junitFailure{Type: v1alpha1.ReasonProgressing, Message: "the execution has not ended"}
	}
	out.Cases = append(append(out.Cases, executed), gateCases(class, doc)...)
	for _, cell := range doc.Cells {
		for repeat, m := range cell.Measurements {
			c := junitCase{ClassName: class + "." + cell.Name, Name: fmt.Sprintf("repeat %d", repeat+1), Time: strconv.FormatInt(m.Seconds, 10)}
			switch m.State {
			case v1alpha1.MeasurementSucceeded:
			case v1alpha1.MeasurementFailed:
				c.Failure = &junitFailure{Type: m.Reason, Message: strings.TrimSpace(m.Run + ": " + m.Message)}
			case v1alpha1.MeasurementSkipped:
				c.Skipped = &junitSkipped{Message: "the execution ended before: " + doc.Succeeded.Reason}
			default:
				c.Failure = &junitFailure{Type: v1alpha1.ReasonProgressing, Message: "the measurement has not ended"}
			}
			out.Cases = append(out.Cases, c)
		}
	}
	return encodeJUnit(w, out)
}

// Over returns the cells along an axis, by its values, that have all of some values of the other axes. The control cell has the values of another one, and
// comes after it.
func (d SuiteDocument) Over(axis string, others map[string]v1alpha1.AxisLabel) iter.Seq2[v1alpha1.AxisLabel, SuiteCell] {
	return func(yield func(v1alpha1.AxisLabel, SuiteCell) bool) {
		for _, cell := range d.Cells {
			label, on := cell.Values[axis]
			rest := maps.Clone(cell.Values)
			delete(rest, axis)
			if on && maps.Equal(rest, others) && !yield(label, cell) {
				return
			}
		}
	}
}

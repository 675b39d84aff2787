package report

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// Part is a part of a report for people, for a program that lays it out by itself: facts, sentences, and a table where it
// has columns.
type Part struct {
	Title   string
	Facts   []Fact
	Notes   []string
	Columns []TableColumn
	Rows    [][]string
}

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// TableColumn is a column of a table.
type TableColumn struct {
	Head string
	// Number aligns its cells to the right.
	Number bool
}

// Parts returns the report for people without its trials. The first part is its head.
func (d Document) Parts() []Part { return parts(sections(d, Options{}, unicodeLetters)) }

// Figures returns the figures that have samples, in the order of the results.
func (d Document) Figures() []figure.Figure { return d.figures() }

func parts(sections []section) []Part {
	out := make([]Part, len(sections))
	for i, s := range sections {
		out[i] = Part{Title: s.title, Notes: s.notes, Rows: s.rows}
		for _, f := range s.facts {
			out[i].Facts = append(out[i].Facts, Fact{f.name, f.value})
		}
		for _, c := range s.columns {
			out[i].Columns = append(out[i].Columns, TableColumn{c.head, c.right})
		}
	}
	return out
}

// Parts returns the report of an execution for people. The first part is its head.
func (d SuiteDocument) Parts() []Part {
	return parts(suiteReportSections(d.execution(), d, unicodeLetters))
}

// execution returns what a report reads of the execution.
func (d SuiteDocument) execution() *v1alpha1.BenchmarkSuiteRun {
	e := &v1alpha1.BenchmarkSuiteRun{}
	e.Namespace, e.Name = d.Execution.Namespace, d.Execution.Name
	e.Spec.Template.Order = d.Execution.Order
	e.Status.Subject, e.Status.Seed, e.Status.CompletionTime = d.Subject, d.Execution.Seed, d.Execution.CompletionTime
	e.Status.Counts, e.Status.ControlDifferencePartsPerMillion = d.Counts, d.ControlDifferencePartsPerMillion
	if d.Succeeded.Reason != "" {
		e.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: d.Succeeded.Status, Reason: d.Succeeded.Reason, Message: d.Succeeded.Message}}
	}
	for _, axis := range d.Axes {
		e.Spec.Template.Matrix.Axes = append(e.Spec.Template.Matrix.Axes, v1alpha1.Axis{Name: axis.Name, Kind: axis.Kind, Path: axis.Path})
	}
	for _, cell := range d.Cells {
		of := v1alpha1.SuiteCell{
			Name: cell.Name, Values: cell.Values, State: cell.State, Figure: cell.Figure,
			FramesPerSecond: cell.FramesPerSecond, P99Nanoseconds: cell.P99Nanoseconds, GoodputBitsPerSecond: cell.GoodputBitsPerSecond,
		}
		for _, m := range cell.Measurements {
			of.Measurements = append(of.Measurements, m.SuiteMeasurement)
		}
		e.Status.Cells = append(e.Status.Cells, of)
	}
	return e
}

// WriteParts writes parts as a table for a terminal or as Markdown. Other formats are no parts.
func WriteParts(w io.Writer, all []Part, format Format, opts Options) error {
	sections := make([]section, len(all))
	for i, p := range all {
		sections[i] = section{title: p.Title, notes: p.Notes, rows: p.Rows}
		for _, f := range p.Facts {
			sections[i].facts = append(sections[i].facts, fact{f.Name, f.Value})
		}
		for _, c := range p.Columns {
			sections[i].columns = append(sections[i].columns, column{c.Head, c.Number})
		}
	}
	switch format {
	case FormatTable:
		l := unicodeLetters
		if opts.ASCII {
			l = asciiLetters
		}
		return writeText(w, sections, l.rule)
	case FormatMarkdown:
		return writeMarkdown(w, sections)
	}
	return fmt.Errorf("parts cannot be written in format %q", format)
}

// Parts returns the comparison for people. The first part is its head.
func (c Comparison) Parts() []Part { return parts(c.sections(unicodeLetters)) }

package page

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plot"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/report"
)

// WriteRun writes the page of a run.
func WriteRun(w io.Writer, doc report.Document) error { return Write(w, Run(doc)) }

// run is a document with what its trials say.
type run struct {
	report.Document
	// known says that the document has trials that its plan explains; otherwise why says what is missing.
	known         bool
	why           string
	counted, made map[int]bool
	// column is the name of its column in a comparison.
	column string
}

// Run returns what the page of a run shows.
func Run(doc report.Document) View {
	r := newRun(doc)
	parts := doc.Parts()
	v := View{
		Kind: "Benchmark run", Title: doc.Run.Namespace + "/" + doc.Run.Name, Verdict: verdictOf(doc.Succeeded, doc.Headline()),
		Cards: r.cards(),
		Foot:  fmt.Sprintf("Written by kubectl vnfbench %s at %s.", orUnknown(doc.Versions.Report), doc.GeneratedAt.UTC().Format(time.RFC3339)),
	}
	// The verdict has the first fact.
	head := parts[0]
	head.Title, head.Facts = "", slices.DeleteFunc(head.Facts, func(f report.Fact) bool { return f.Name == "Result" })
	if doc.Completeness == report.Partial {
		v.Notes = append(v.Notes, "This report is partial: figures that are not here were not measured.")
	}
	if r.why != "" {
		v.Notes = append(v.Notes, r.why)
	}
	v.Sections = []Section{
		{ID: "summary", Title: "Summary", Lead: &head, Figures: r.topology()},
		r.throughput(), r.delay(), r.overTime(),
		{ID: "tcp", Title: "TCP and connections", Figures: slices.Concat(r.tcp(), r.connections())},
		r.processors(), r.differences(),
		{ID: "doubts", Title: "Warnings, doubts and deviations"},
		{ID: "environment", Title: "Environment", Parts: []report.Part{r.versions()}},
		r.again(),
	}
	place(&v, parts[1:])
	return v
}

// newRun reads what the trials say.
func newRun(doc report.Document) run {
	r := run{Document: doc}
	instructions, err := doc.Inputs.Instructions()
	switch {
	case len(doc.Trials) == 0 && doc.TrialSummary.Recorded == 0:
		r.why = "No trial has been recorded, so there are no pictures of trials."
	case len(doc.Trials) == 0:
		r.why = "The document has no trials, so the pictures of the searches, of the distributions of delay and of the time within trials are left out. A document that `kubectl vnfbench export` writes has them."
	case err != nil:
		r.why = fmt.Sprintf("The pictures of the trials are left out: %v.", err)
	default:
		r.known = true
		r.counted, r.made = procedure.Counted(instructions, doc.Trials), procedure.MadeAgain(instructions, doc.Trials)
	}
	return r
}

// orUnknown returns a version for a sentence.
func orUnknown(version string) string {
	if version == "" {
		return "of an unknown version"
	}
	return version
}

// verdictOf returns the verdict of a condition.
func verdictOf(o report.Outcome, sentence string) Verdict {
	v := Verdict{Sentence: sentence}
	switch {
	case o.Reason == v1alpha1.ReasonInconclusive:
		v.Word, v.Class = "Inconclusive", "unsure"
	case o.Status == metav1.ConditionTrue:
		v.Word, v.Class = "Succeeded", "good"
	case o.Status == metav1.ConditionFalse:
		v.Word, v.Class = "Failed", "bad"
	default:
		v.Word, v.Class = "Not ended yet", "open"
	}
	// The sentence begins with the same words where it has nothing to add.
	v.Sentence = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(v.Sentence, strings.ToUpper(v.Word)), strings.ToLower(v.Word)), ":, ")
	return v
}

// places say in which section the parts of a report are, by how their titles begin. Those of Folded sections are closed first.
var places = []struct {
	section string
	folded  bool
	titles  []string
}{
	{"summary", false, []string{"Acceptance", "Chain", "Deployments"}},
	{"throughput", false, []string{"Throughput"}},
	{"throughput", true, []string{"The device's time", "Packets in fragments", "Frame loss rate"}},
	{"delay", true, []string{"One-way latency", "Wait before", "Delay variation", "First frame", "Fixed loads"}},
	{"time", true, []string{"Soak"}},
	{"tcp", true, []string{"TCP", "Connections"}},
	{"processors", true, []string{"Cores used", "CPU time", "Counted by"}},
	{"differences", true, []string{"Neighbors", "Without and with", "Against the baseline"}},
	{"doubts", false, []string{"Doubts", "Warnings", "Deviations"}},
	{"environment", true, []string{"Generator", "Platform", "Virtual machine", "Not known"}},
}

// place puts each part into its section. Those that package figure describes are with the throughput, and what no section expects is in the one of the environment.
func place(v *View, parts []report.Part) {
	for _, p := range parts {
		id, folded := "environment", true
		if slices.ContainsFunc(figure.Tables(), func(of figure.Table) bool { return of.Title == p.Title }) {
			id = "throughput"
		}
		for _, of := range places {
			if slices.ContainsFunc(of.titles, func(begin string) bool { return strings.HasPrefix(p.Title, begin) }) {
				id, folded = of.section, of.folded
				break
			}
		}
		at := slices.IndexFunc(v.Sections, func(s Section) bool { return s.ID == id })
		p = limited(p)
		if folded {
			v.Sections[at].Folded = append(v.Sections[at].Folded, p)
		} else {
			v.Sections[at].Parts = append(v.Sections[at].Parts, p)
		}
	}
}

// Bounds of a page, whatever its document has.
const (
	// maxRows are those of a table, maxFigures the pictures of a section.
	maxRows, maxFigures = 1000, 64
	// maxDrawn is how many sizes, rows, lines or boxes are drawn, and maxPoints how many points a line has.
	maxDrawn, maxPoints = 32, 2048
)

// first returns at most so many items.
func first[T any](items []T, most int) []T { return items[:min(len(items), most)] }

// limited returns a part with at most maxRows rows and notes.
func limited(p report.Part) report.Part {
	more := len(p.Rows) - maxRows
	if more > 0 {
		p.Rows = p.Rows[:maxRows]
	}
	if extra := len(p.Notes) - maxRows; extra > 0 {
		p.Notes, more = p.Notes[:maxRows], max(more, extra)
	}
	if extra := len(p.Facts) - maxRows; extra > 0 {
		p.Facts, more = p.Facts[:maxRows], max(more, extra)
	}
	if more > 0 {
		p.Notes = append(slices.Clone(p.Notes), fmt.Sprintf("%d more lines are left out here; `kubectl vnfbench report -o csv` has all.", more))
	}
	return p
}

// draw returns a chart as a figure, and nothing for one without points.
func draw(caption, note string, chart plot.Chart) []Figure {
	if chart.Title == "" {
		chart.Title = caption
	}
	svg, err := chart.SVG()
	if errors.Is(err, plot.ErrNoData) {
		return nil
	}
	return []Figure{{Caption: caption, Note: note, Picture: template.HTML(svg)}}
}

// sizeName names what was sent: "64 bytes", "imix (354 bytes)".
func sizeName(frame v1alpha1.FrameResult) string {
	return nameOfSize(frame.Size, int(frame.FrameBytes))
}

func nameOfSize(size string, bytes int) string {
	if size == fmt.Sprint(bytes) || bytes == 0 {
		return size + " bytes"
	}
	return fmt.Sprintf("%s (%d bytes)", size, bytes)
}

// kilo returns thousands, for an axis in kfps.
func kilo(n int64) float64 { return float64(n) / 1e3 }

// micro returns microseconds.
func micro[T int64 | uint64](nanoseconds T) float64 { return float64(nanoseconds) / 1e3 }

// count describes how many things something is based on.
func count(n int, of string) string {
	if n == 1 {
		return "n = 1 " + of
	}
	return fmt.Sprintf("n = %d %ss", n, of)
}

// inDirection returns a direction with the way of its frames.
func inDirection(direction string) string {
	switch measure.Direction(direction) {
	case measure.Forward:
		return "forward (west to east)"
	case measure.Reverse:
		return "reverse (east to west)"
	}
	return direction
}

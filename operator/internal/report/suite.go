package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/regression"
	"vnfbench.io/operator/internal/series"
	"vnfbench.io/operator/internal/suite"
)

// SuiteFormats returns the formats of an execution of a suite.
func SuiteFormats() []Format { return []Format{FormatTable, FormatMarkdown, FormatCSV} }

// SuiteState is what there is around an execution. Each part may be absent.
type SuiteState struct {
	// Active is the run of the execution that is being measured.
	Active *v1alpha1.BenchmarkRun
	// Suite is the condition Succeeded of the suite, for its latest execution alone. NotReady is its condition Ready where that is False.
	Suite, NotReady *Outcome
	// Judged is what the suite says of the series after the execution.
	Judged *v1alpha1.RegressionStatus
	// IsToJudge says that the execution has ended, and its suite has not judged the series after it yet.
	IsToJudge bool
	// Confirmation is the execution by which the suite confirms a change, and Confirming its run that is being measured.
	Confirmation *v1alpha1.BenchmarkSuiteRun
	Confirming   *v1alpha1.BenchmarkRun
}

// WriteSuite renders an execution of a suite.
func WriteSuite(w io.Writer, execution *v1alpha1.BenchmarkSuiteRun, state SuiteState, format Format, opts Options) error {
	switch format {
	case FormatTable:
		l := unicodeLetters
		if opts.ASCII {
			l = asciiLetters
		}
		return writeText(w, withSeries(suiteSections(execution, state, l), state), l.rule)
	case FormatMarkdown:
		return writeMarkdown(w, withSeries(suiteSections(execution, state, unicodeLetters), state))
	case FormatCSV:
		return writeSuiteCSV(w, execution, state.Judged)
	}
	return fmt.Errorf("an execution of a suite cannot be written in format %q", format)
}

func suiteSections(execution *v1alpha1.BenchmarkSuiteRun, state SuiteState, l letters) []section {
	status, active := &execution.Status, state.Active
	head := section{title: "Suite run " + execution.Namespace + "/" + execution.Name}
	if state.NotReady != nil {
		head.facts = append(head.facts, fact{"Ready", outcomeInWords(*state.NotReady)})
	}
	if state.Suite != nil {
		head.facts = append(head.facts, fact{"Suite", outcomeInWords(*state.Suite)})
	}
	executed := outcome(status.Conditions, v1alpha1.ConditionSucceeded)
	if executed.Reason == "" {
		executed.Message = "waiting for the operator"
	}
	head.facts = append(head.facts, fact{"Execution", outcomeInWords(executed)})
	if subject := subjectInWords(execution.Subject()); subject != "" {
		head.facts = append(head.facts, fact{"Subject", subject})
	}
	if status.Seed > 0 && execution.Spec.Template.Order != v1alpha1.OrderDeclared {
		head.facts = append(head.facts, fact{"Order", fmt.Sprintf("random in each repeat, by seed %d", status.Seed)})
	}
	if status.CompletionTime == nil && status.RemainingSeconds > 0 {
		head.facts = append(head.facts, fact{"Time left", "about " + brief(suiteTimeLeft(status, active))})
	}
	head.facts = append(head.facts, nowMeasuring(active)...)
	if d := status.ControlDifferencePartsPerMillion; d != nil {
		head.facts = append(head.facts, fact{"Control", percent(*d) +
			" % between the two means of the control cell, which measure the same. It is one draw: about half of all equal pairs differ by more"})
	} else if execution.Spec.Template.ControlCell != "" && status.CompletionTime != nil {
		head.facts = append(head.facts, fact{"Control", "not known: the control cell, or the one that it repeats, has no value"})
	}
	cells := section{title: "Cells", columns: []column{
		left("Cell"), left("State"), number("Done"), left("Of"), number("kfps"), number("Range %"), number("P99 " + l.micro + "s"), number("Range %"),
	}}
	hasTCP := hasGoodput(status.Cells)
	if hasTCP {
		cells.columns = append(cells.columns, number("TCP Mbit/s"), number("Range %"))
	}
	verdicts := cellVerdicts(state.Judged)
	if verdicts != nil {
		cells.columns = append(cells.columns, left("Series"))
	}
	cells.columns = append(cells.columns, left("Why"))
	for i := range status.Cells {
		row, why := suiteRow(&status.Cells[i], hasTCP, l)
		if verdicts != nil {
			row = append(row, orNone(verdicts[status.Cells[i].Name]))
		}
		cells.rows = append(cells.rows, append(row, why))
	}
	if len(cells.rows) == 0 {
		return []section{head}
	}
	return []section{head, cells}
}

// nowMeasuring says what a run does at the moment.
func nowMeasuring(active *v1alpha1.BenchmarkRun) []fact {
	if active == nil || active.Status.Progress == nil {
		return nil
	}
	p := active.Status.Progress
	return []fact{{"Now", fmt.Sprintf("%s: %s, %d %%", active.Name, p.Stage, p.Percent)}}
}

// cellVerdicts returns the worst verdict of the series of each cell by its name; nil where nothing was judged.
func cellVerdicts(judged *v1alpha1.RegressionStatus) map[string]string {
	if judged == nil || len(judged.Cells) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, v := range judged.Cells {
		if out[v.Name] = v.Verdict; v.Gated {
			out[v.Name] += ", gated"
		}
	}
	return out
}

// withSeries adds what is known of the series. Those without a change, or with too few runs, are counted and not listed.
func withSeries(sections []section, state SuiteState) []section {
	judged := state.Judged
	if state.IsToJudge {
		return append(sections, section{title: "Series", facts: []fact{{"Verdicts", "the operator has not judged them yet"}}})
	}
	if judged == nil {
		return sections
	}
	s := section{title: "Series", columns: []column{left("Verdict"), left("Reason"), left("Cell"), left("Figure"), left("Why")}}
	if judged.Problem != "" {
		s.facts = append(s.facts, fact{"Not judged", judged.Problem})
	} else {
		s.facts = append(s.facts, fact{"Verdicts", judged.Message})
	}
	if judged.GateProblem != "" {
		s.facts = append(s.facts, fact{"Gate", judged.GateProblem})
	}
	if asked := judged.Confirmation; asked != nil {
		s.facts = append(s.facts, fact{"Confirming", fmt.Sprintf("%s measures the versions of runs %s and %s by turns, %d times each", asked.Name, asked.OldRun, asked.Run, asked.Pairs)})
		s.facts = append(s.facts, confirmationProgress(state)...)
	}
	for _, group := range judged.Groups {
		s.facts = append(s.facts, fact{"Change", group})
	}
	for _, v := range judged.Verdicts {
		switch regression.Verdict(v.Verdict) {
		case regression.VerdictPass, regression.VerdictNotEnoughData:
		default:
			s.rows = append(s.rows, []string{v.Verdict, v.Reason, v.Cell, v.Figure, v.Message})
		}
	}
	if len(s.rows) == 0 {
		s.columns = nil
	}
	return append(sections, s)
}

// confirmationProgress says how far the active confirmation is.
func confirmationProgress(state SuiteState) []fact {
	if state.Confirmation == nil {
		return []fact{{"Progress", "it is not made yet"}}
	}
	status := &state.Confirmation.Status
	c := status.Counts
	text := fmt.Sprintf("%d of %d runs have ended", c.Succeeded+c.Failed+c.Skipped, c.Total)
	switch {
	case state.Confirmation.Spec.Suspend:
		text += ", and it is suspended"
	case status.CompletionTime == nil && status.RemainingSeconds > 0:
		text += ", about " + brief(suiteTimeLeft(status, state.Confirming)) + " left"
	}
	return append([]fact{{"Progress", text}}, nowMeasuring(state.Confirming)...)
}

// suiteRow returns the row of a cell, with or without its goodput of TCP, and why measurements of it failed or have no value.
func suiteRow(cell *v1alpha1.SuiteCell, hasTCP bool, l letters) ([]string, string) {
	done := 0
	var why []string
	for _, m := range cell.Measurements {
		if m.State == v1alpha1.MeasurementSucceeded || m.State == v1alpha1.MeasurementFailed {
			done++
		}
		if m.State == v1alpha1.MeasurementFailed && !slices.Contains(why, m.Reason) {
			why = append(why, m.Reason)
		}
	}
	row := []string{cell.Name, string(cell.State), fmt.Sprintf("%d/%d", done, len(cell.Measurements)), orNone(cell.Figure)}
	figures := []repeatedCell{repeatedRate(cell, l), repeatedP99(cell, l)}
	if hasTCP {
		figures = append(figures, repeatedGoodput(cell, l))
	}
	for _, figure := range figures {
		row = append(row, figure.text, figure.spread)
		if figure.leftOut != "" {
			why = append(why, figure.leftOut)
		}
	}
	return row, strings.Join(why, ", ")
}

// suiteTimeLeft returns the status's estimate, with what the active run says of itself instead of its plan.
func suiteTimeLeft(status *v1alpha1.BenchmarkSuiteRunStatus, active *v1alpha1.BenchmarkRun) time.Duration {
	left := status.RemainingSeconds
	if active != nil && active.Status.Progress != nil {
		for i := range status.Cells {
			if status.Cells[i].Name == active.Labels[v1alpha1.LabelCell] {
				left += active.Status.Progress.RemainingSeconds - status.Cells[i].EstimatedSeconds
			}
		}
	}
	return time.Duration(max(left, 0)) * time.Second
}

func subjectInWords(subject *v1alpha1.Subject) string {
	if subject == nil {
		return ""
	}
	text := strings.TrimSpace(subject.Name + " " + subject.Version)
	if subject.Revision != "" {
		text += ", revision " + subject.Revision
	}
	if subject.Time != "" {
		text += ", of " + string(subject.Time)
	}
	if subject.URL != "" {
		text += ", " + subject.URL
	}
	if subject.Image != "" {
		text += ", image " + subject.Image
	}
	return text
}

// writeSuiteCSV writes a line for each measurement, with a column for each axis. judged, from which the verdicts of the cells are, may be nil.
func writeSuiteCSV(w io.Writer, execution *v1alpha1.BenchmarkSuiteRun, judged *v1alpha1.RegressionStatus) error {
	verdicts := map[string][]string{}
	if judged != nil {
		for _, v := range judged.Cells {
			verdicts[v.Name] = []string{v.Verdict, strconv.FormatBool(v.Gated)}
		}
	}
	axes := map[string]bool{}
	for i := range execution.Status.Cells {
		for axis := range execution.Status.Cells[i].Values {
			axes[axis] = true
		}
	}
	names := slices.Sorted(maps.Keys(axes))
	out := csv.NewWriter(w)
	// An error stays in the writer until the call of Error.
	_ = out.Write(slices.Concat([]string{"suiteRun", "cell"}, prefixed("axis:", names), []string{
		"repeat", "run", "state", "attempts", "reason", "seconds", "of", "framesPerSecond", "p99Nanoseconds", "rateNote", "p99Note", "cellVerdict", "cellGated", "goodputBitsPerSecond", "goodputNote",
		"rateDoubts", "p99Doubts", "goodputDoubts",
	}))
	for i := range execution.Status.Cells {
		cell := &execution.Status.Cells[i]
		for repeat, m := range cell.Measurements {
			line := []string{execution.Name, cell.Name}
			for _, name := range names {
				line = append(line, string(cell.Values[name]))
			}
			run := ""
			if m.Attempts > 0 {
				run = suite.RunName(execution.Name, cell.Name, repeat+1, int(m.Attempts))
			}
			verdict := []string{"", ""}
			if known, has := verdicts[cell.Name]; has {
				verdict = known
			}
			line = append(line, strconv.Itoa(repeat+1), run, string(m.State), fmt.Sprint(m.Attempts), m.Reason, fmt.Sprint(m.Seconds),
				cell.Figure, optional(m.FramesPerSecond), optional(m.P99Nanoseconds), string(m.RateNote), string(m.P99Note), verdict[0], verdict[1],
				optional(m.GoodputBitsPerSecond), string(m.GoodputNote), codes(m.RateDoubts), codes(m.P99Doubts), codes(m.GoodputDoubts))
			for i := range line {
				line[i] = series.Inert(line[i])
			}
			_ = out.Write(line)
		}
	}
	out.Flush()
	return out.Error()
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}

func optional(value *int64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatInt(*value, 10)
}

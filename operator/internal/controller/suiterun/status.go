package suiterun

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/controller/reporting"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/figure"
	"vnfbench.io/operator/internal/suite"
)

// maxNamedFailures is how many failed measurements a message names.
const maxNamedFailures = 3

// summarize computes the whole status from what was read and done.
func summarize(s *scope, d decision) v1alpha1.BenchmarkSuiteRunStatus {
	status := *s.execution.Status.DeepCopy()
	status.ObservedGeneration = s.execution.Generation
	if s.deleting() || s.ended() {
		return status
	}
	if status.StartTime == nil {
		status.StartTime = ptr.To(s.timestamp())
	}
	switch d.action {
	case actBegin:
		status.Seed, status.Cells = seedOf(s.execution), s.table()
	case actDescribe:
		status.Subject = d.subject
	case actPlan:
		for i, seconds := range d.estimates {
			status.Cells[int(status.PlannedCells)+i].EstimatedSeconds = seconds
		}
		status.PlannedCells += int32(len(d.estimates))
	case actStart:
		m := &status.Cells[d.next.Cell].Measurements[d.next.Repeat]
		m.State, m.Attempts = v1alpha1.MeasurementRunning, 1
		status.ActiveRun = suite.RunName(s.execution.Name, status.Cells[d.next.Cell].Name, d.next.Repeat+1, 1)
	case actRetry:
		m := &status.Cells[s.current.Cell].Measurements[s.current.Repeat]
		m.Attempts++
		status.ActiveRun = suite.RunName(s.execution.Name, status.Cells[s.current.Cell].Name, s.current.Repeat+1, int(m.Attempts))
	case actRecord:
		record(&status.Cells[s.current.Cell].Measurements[s.current.Repeat], s, d)
		setFigures(&status.Cells[s.current.Cell], s.run)
		status.ActiveRun = ""
	case actFinish:
		skipRest(status.Cells)
		status.ActiveRun, status.CompletionTime = "", ptr.To(s.timestamp())
	}
	for i := range status.Cells {
		status.Cells[i].State = suite.StateOf(status.Cells[i].Measurements)
	}
	status.Counts = count(status.Cells)
	status.EstimatedSeconds, status.RemainingSeconds = suite.EstimatedSeconds(status.Cells), suite.RemainingSeconds(status.Cells)
	status.ControlDifferencePartsPerMillion = s.controlDifference(status.Cells)
	s.setConditions(&status, d)
	return status
}

// timestamp returns now as the API stores it.
func (s *scope) timestamp() metav1.Time { return metav1.NewTime(s.now.Truncate(time.Second)) }

// seedOf returns the template's seed, or one that follows from the execution's UID.
func seedOf(execution *v1alpha1.BenchmarkSuiteRun) int64 {
	if seed := execution.Spec.Template.Seed; seed != nil {
		return *seed
	}
	sum := fnv.New64a()
	sum.Write([]byte(execution.UID))
	// Every number up to here survives JSON's floating point.
	return int64(sum.Sum64()%(1<<53-1)) + 1
}

// table returns the cells, of which no measurement has begun.
func (s *scope) table() []v1alpha1.SuiteCell {
	repeats := max(1, int(s.execution.Spec.Template.Repeats))
	cells := make([]v1alpha1.SuiteCell, len(s.suite.Cells))
	for i, cell := range s.suite.Cells {
		cells[i] = v1alpha1.SuiteCell{Name: cell.Name, Values: cell.Values, Measurements: make([]v1alpha1.SuiteMeasurement, repeats)}
		for repeat := range repeats {
			cells[i].Measurements[repeat].State = v1alpha1.MeasurementPending
		}
	}
	return cells
}

// record stores the outcome of the current measurement.
func record(m *v1alpha1.SuiteMeasurement, s *scope, d decision) {
	m.State, m.Reason = v1alpha1.MeasurementSucceeded, v1alpha1.ReasonSucceeded
	if d.failure != nil {
		m.State, m.Reason = v1alpha1.MeasurementFailed, d.failure.Reason
	}
	if s.run == nil {
		return
	}
	if start, end := s.run.Status.StartTime, s.run.Status.CompletionTime; start != nil && end != nil {
		m.Seconds = int64(end.Sub(start.Time) / time.Second)
	}
	figures := figure.Of(s.run.Status)
	if summary := s.run.Status.Summary; summary != nil {
		m.FramesPerSecond, m.RateNote = summary.FramesPerSecond, summary.RateNote
		m.RateDoubts = figure.DoubtsOf(figures, v1alpha1.FigureKey{Metric: v1alpha1.MetricThroughputFramesPerSecond, Size: summary.Size, Goal: summary.Goal})
		m.P99Nanoseconds, m.P99Note = summary.P99Nanoseconds, summary.P99Note
		m.P99Doubts = figure.DoubtsOf(figures, v1alpha1.FigureKey{Metric: v1alpha1.MetricLatencyP99, Size: summary.Size, Load: summary.Load})
	}
	if result := s.run.Status.TCP; result != nil && len(result.Streams) > 0 {
		key := v1alpha1.FigureKey{Metric: v1alpha1.MetricTCPGoodput, Streams: result.Streams[0].Streams}
		m.GoodputBitsPerSecond, m.GoodputNote, m.GoodputDoubts = figure.Find(figures, key), figure.NoteOf(figures, key), figure.DoubtsOf(figures, key)
	}
}

// setFigures sets what a cell's figures are and their means.
func setFigures(cell *v1alpha1.SuiteCell, run *v1alpha1.BenchmarkRun) {
	if run != nil && run.Status.Summary != nil {
		cell.Figure = strings.TrimSpace(run.Status.Summary.Size + " " + run.Status.Summary.Goal)
	}
	cell.FramesPerSecond = mean(cell.Measurements, v1alpha1.SuiteMeasurement.Rate)
	cell.P99Nanoseconds = mean(cell.Measurements, v1alpha1.SuiteMeasurement.P99)
	cell.GoodputBitsPerSecond = mean(cell.Measurements, v1alpha1.SuiteMeasurement.Goodput)
}

// mean returns that of the figures that are values, or nil where none is.
func mean(measurements []v1alpha1.SuiteMeasurement, of func(v1alpha1.SuiteMeasurement) v1alpha1.NotedFigure) *int64 {
	var sum float64
	var n int
	for _, m := range measurements {
		if f := of(m); f.Value != nil && f.Note == "" {
			sum, n = sum+float64(*f.Value), n+1
		}
	}
	if n == 0 {
		return nil
	}
	return ptr.To(int64(sum / float64(n)))
}

func skipRest(cells []v1alpha1.SuiteCell) {
	for i := range cells {
		for j := range cells[i].Measurements {
			if m := &cells[i].Measurements[j]; !suite.Ended(m.State) {
				m.State = v1alpha1.MeasurementSkipped
			}
		}
	}
}

// onlyMeans returns cells with their names, states and means.
func onlyMeans(cells []v1alpha1.SuiteCell) []v1alpha1.SuiteCell {
	short := make([]v1alpha1.SuiteCell, len(cells))
	for i, c := range cells {
		short[i] = v1alpha1.SuiteCell{
			Name: c.Name, State: c.State, Figure: c.Figure, FramesPerSecond: c.FramesPerSecond, P99Nanoseconds: c.P99Nanoseconds, GoodputBitsPerSecond: c.GoodputBitsPerSecond,
		}
	}
	return short
}

// noCells leaves out the table. The counts say how many measurements there were.
func noCells([]v1alpha1.SuiteCell) []v1alpha1.SuiteCell { return nil }

func count(cells []v1alpha1.SuiteCell) (counts v1alpha1.MeasurementCounts) {
	for i := range cells {
		for _, m := range cells[i].Measurements {
			counts.Total++
			switch m.State {
			case v1alpha1.MeasurementSucceeded:
				counts.Succeeded++
			case v1alpha1.MeasurementFailed:
				counts.Failed++
			case v1alpha1.MeasurementSkipped:
				counts.Skipped++
			}
		}
	}
	return counts
}

// controlDifference returns by how much the control cell differs from the one that it repeats, or nil.
func (s *scope) controlDifference(cells []v1alpha1.SuiteCell) *int64 {
	if s.suite == nil || len(cells) != len(s.suite.Cells) {
		return nil
	}
	for i, cell := range s.suite.Cells {
		if cell.Control < 0 {
			continue
		}
		control, repeated := cells[i].FramesPerSecond, cells[cell.Control].FramesPerSecond
		if control == nil || repeated == nil || *repeated == 0 {
			return nil
		}
		return ptr.To(int64(1e6 * (float64(*control) - float64(*repeated)) / float64(*repeated)))
	}
	return nil
}

func (s *scope) setConditions(status *v1alpha1.BenchmarkSuiteRunStatus, d decision) {
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: message,
			ObservedGeneration: s.execution.Generation, LastTransitionTime: s.timestamp(),
		})
	}
	if d.waiting != nil && d.waiting.Reason == v1alpha1.ReasonImageLabelsUnreadable {
		if was := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPlanned); was != nil && was.Reason != d.waiting.Reason {
			// The wait, which is bounded, begins with its reason.
			was.LastTransitionTime = s.timestamp()
		}
	}
	all, planned := len(status.Cells), int(status.PlannedCells)
	switch {
	case all > 0 && planned == all:
		set(v1alpha1.ConditionPlanned, metav1.ConditionTrue, v1alpha1.ReasonPlanned, plural(all, "cell")+" can be measured")
	case d.action == actFinish:
		set(v1alpha1.ConditionPlanned, metav1.ConditionFalse, d.outcome.Reason, d.outcome.Message)
	case d.waiting != nil:
		set(v1alpha1.ConditionPlanned, metav1.ConditionUnknown, d.waiting.Reason, d.waiting.Message)
	default:
		set(v1alpha1.ConditionPlanned, metav1.ConditionUnknown, v1alpha1.ReasonPlanning, fmt.Sprintf("%d of %s are planned", planned, plural(all, "cell")))
	}
	if d.action != actFinish {
		reason, message := v1alpha1.ReasonProgressing, sentence(status)
		if d.waiting != nil {
			reason, message = d.waiting.Reason, excerpt.Line(message+"; "+d.waiting.Message, reporting.MaxMessageBytes)
		}
		set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, reason, message)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
		if d.waiting != nil {
			reporting.TimeTheReason(s.execution.Status.Conditions, status.Conditions, v1alpha1.ConditionSucceeded, s.timestamp())
		}
		return
	}
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	message := outcomeMessage(status, d.outcome)
	if d.outcome.Reason == v1alpha1.ReasonSucceeded {
		set(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, d.outcome.Reason, message)
		return
	}
	set(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, d.outcome.Reason, message)
	set(v1alpha1.ConditionStalled, metav1.ConditionTrue, d.outcome.Reason, message)
}

// sentence says how far the execution is.
func sentence(status *v1alpha1.BenchmarkSuiteRunStatus) string {
	c := status.Counts
	if status.PlannedCells == 0 || int(status.PlannedCells) < len(status.Cells) {
		return fmt.Sprintf("%d of %s are planned", status.PlannedCells, plural(len(status.Cells), "cell"))
	}
	text := fmt.Sprintf("%d of %s have ended", c.Succeeded+c.Failed, plural(int(c.Total), "measurement"))
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed", c.Failed)
	}
	if status.ActiveRun != "" {
		text += fmt.Sprintf("; BenchmarkRun %q is active", status.ActiveRun)
	}
	return text
}

// outcomeMessage says how the execution ended, and names some of the measurements that failed.
func outcomeMessage(status *v1alpha1.BenchmarkSuiteRunStatus, outcome *reporting.Cause) string {
	c := status.Counts
	var parts []string
	if outcome.Message != "" {
		parts = append(parts, outcome.Message)
	}
	switch {
	case c.Total == 0:
	case c.Failed == 0 && c.Skipped == 0:
		parts = append(parts, fmt.Sprintf("%s of %s succeeded", plural(int(c.Total), "measurement"), plural(len(status.Cells), "cell")))
	default:
		text := fmt.Sprintf("%d of %s succeeded, %d failed, %d were skipped", c.Succeeded, plural(int(c.Total), "measurement"), c.Failed, c.Skipped)
		if named := failures(status.Cells); named != "" {
			text += ": " + named
		}
		parts = append(parts, text)
	}
	return excerpt.Line(strings.Join(parts, "; "), reporting.MaxMessageBytes)
}

// failures names the first measurements that failed.
func failures(cells []v1alpha1.SuiteCell) string {
	var named []string
	more := 0
	for i := range cells {
		for repeat, m := range cells[i].Measurements {
			switch {
			case m.State != v1alpha1.MeasurementFailed:
			case len(named) == maxNamedFailures:
				more++
			default:
				named = append(named, fmt.Sprintf("%s in repeat %d (%s)", cells[i].Name, repeat+1, m.Reason))
			}
		}
	}
	if more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// eventsBetween returns what changed from one status to the next. Equal statuses have no events, so that none is
// emitted twice.
func eventsBetween(before, after *v1alpha1.BenchmarkSuiteRunStatus, d decision) []reporting.Event {
	var events []reporting.Event
	for _, kind := range []string{v1alpha1.ConditionPlanned, v1alpha1.ConditionSucceeded} {
		was, is := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
		if is == nil || was != nil && was.Status == is.Status {
			continue
		}
		switch {
		case is.Status == metav1.ConditionTrue:
			events = append(events, reporting.Event{Kind: corev1.EventTypeNormal, Reason: is.Reason, Message: is.Message})
		case is.Status == metav1.ConditionFalse && kind == v1alpha1.ConditionSucceeded:
			events = append(events, reporting.Event{Kind: corev1.EventTypeWarning, Reason: is.Reason, Message: is.Message})
		}
	}
	if d.waiting != nil && slices.Contains([]string{v1alpha1.ReasonObjectTaken, v1alpha1.ReasonWaiting, v1alpha1.ReasonPointsNotKept, v1alpha1.ReasonImageLabelsUnreadable}, d.waiting.Reason) {
		if was := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionSucceeded); was == nil || was.Reason != d.waiting.Reason {
			events = append(events, reporting.Event{Kind: corev1.EventTypeWarning, Reason: d.waiting.Reason, Message: d.waiting.Message})
		}
	}
	switch {
	case d.action == actRetry:
		events = append(events, reporting.Event{Kind: corev1.EventTypeWarning, Reason: v1alpha1.ReasonMeasurementRetried, Message: d.failure.Message + "; the next attempt is " + after.ActiveRun})
	case d.action == actRecord && d.failure != nil:
		events = append(events, reporting.Event{Kind: corev1.EventTypeWarning, Reason: v1alpha1.ReasonMeasurementFailed, Message: d.failure.Message})
	}
	return events
}

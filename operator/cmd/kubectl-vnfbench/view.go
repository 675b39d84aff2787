package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// view is what users see of a run's state.
type view struct {
	// stage is a short sentence.
	stage string
	// queue is the position in the testbed's queue, 0 when the run does not wait.
	queue int32
	// progress is nil while nothing is measured.
	progress *v1alpha1.Progress
	// outcome is nil until the run has ended.
	outcome *metav1.Condition
}

// milestones are in the order in which a run reaches them.
var milestones = []string{v1alpha1.ConditionAdmitted, v1alpha1.ConditionPlanned, v1alpha1.ConditionChainReady, v1alpha1.ConditionMeasured}

func viewOf(run *v1alpha1.BenchmarkRun) view {
	v := view{outcome: outcomeOf(run), progress: run.Status.Progress}
	if run.Status.QueuePosition != nil {
		v.queue = *run.Status.QueuePosition
	}
	switch {
	case !run.DeletionTimestamp.IsZero():
		v.stage = "being deleted"
	case run.Spec.Suspend:
		v.stage = "suspended"
	case v.queue > 0:
		v.stage = "queued"
	case v.progress != nil && v.progress.Stage != "":
		v.stage = v.progress.Stage
	default:
		v.stage = waitingFor(run.Status.Conditions)
	}
	return v
}

// outcomeOf returns the condition Succeeded once it is decided.
func outcomeOf(run *v1alpha1.BenchmarkRun) *metav1.Condition {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil || c.Status == metav1.ConditionUnknown {
		return nil
	}
	return c
}

// waitingFor returns the first milestone that the run has not reached.
func waitingFor(conditions []metav1.Condition) string {
	if len(conditions) == 0 {
		return "waiting for the operator"
	}
	for _, kind := range milestones {
		c := meta.FindStatusCondition(conditions, kind)
		if c == nil || c.Status == metav1.ConditionTrue {
			continue
		}
		if c.Message != "" {
			return fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
		return c.Reason
	}
	return "running"
}

// text returns the view in one line, without a bar.
func (v view) text() string {
	parts := []string{v.stage}
	if v.queue > 0 {
		parts = append(parts, fmt.Sprintf("position %d", v.queue))
	} else if p := v.progress; p != nil {
		parts = append(parts, fmt.Sprintf("%d %%", p.Percent), plural(p.Trials, "trial"), left(p.RemainingSeconds))
		if p.MeasurerRestarts > 0 {
			parts = append(parts, plural(p.MeasurerRestarts, "measurer restart"))
		}
	}
	return strings.Join(parts, ", ")
}

const (
	barCells = 24
	minWidth = 20
)

// bar returns the view in one line of at most width characters, with a progress bar during a
// measurement.
func (v view) bar(width int) string {
	line := v.text()
	if v.progress != nil && v.queue == 0 {
		done := int(min(max(v.progress.Percent, 0), 100)) * barCells / 100
		line = "[" + strings.Repeat("#", done) + strings.Repeat(".", barCells-done) + "] " + line
	}
	return clip(line, max(width, minWidth))
}

// end returns a sentence with the run's name and verdict.
func (v view) end(run string) string {
	switch {
	case v.outcome.Status == metav1.ConditionTrue:
		return fmt.Sprintf("BenchmarkRun %s succeeded: %s", run, v.outcome.Message)
	case v.outcome.Reason == v1alpha1.ReasonInconclusive:
		return fmt.Sprintf("BenchmarkRun %s is inconclusive: %s", run, v.outcome.Message)
	}
	return fmt.Sprintf("BenchmarkRun %s failed: %s: %s", run, v.outcome.Reason, v.outcome.Message)
}

func left(seconds int64) string {
	return fmt.Sprintf("about %s left", (time.Duration(seconds) * time.Second).String())
}

func plural(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// clip shortens a line to one row of a terminal: a longer one cannot be redrawn.
func clip(line string, width int) string {
	line = strings.ReplaceAll(line, "\n", " ")
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + ">"
}

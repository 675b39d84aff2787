// Package matrix checks what an execution of a suite has made: every measurement once, in blocks, and kept.
package matrix

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// Measurement is one repeat of a cell.
type Measurement struct {
	Cell string
	// Repeat counts from 1.
	Repeat int
}

func (m Measurement) String() string { return fmt.Sprintf("%s, repeat %d", m.Cell, m.Repeat) }

// MeasurementOf returns what a run measures, by its labels.
func MeasurementOf(run *v1alpha1.BenchmarkRun) (Measurement, error) {
	repeat, err := strconv.Atoi(run.Labels[v1alpha1.LabelRepeat])
	if err != nil || run.Labels[v1alpha1.LabelCell] == "" {
		return Measurement{}, fmt.Errorf("run %s has the labels %v, of no measurement", run.Name, run.Labels)
	}
	return Measurement{run.Labels[v1alpha1.LabelCell], repeat}, nil
}

// ReasonOf returns the reason of a run's verdict, and whether the run succeeded.
func ReasonOf(run *v1alpha1.BenchmarkRun) (reason string, succeeded bool) {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil {
		return "", false
	}
	return c.Reason, c.Status == metav1.ConditionTrue
}

// Attempts returns the runs of each measurement, the first attempt first.
func Attempts(runs []v1alpha1.BenchmarkRun) (map[Measurement][]v1alpha1.BenchmarkRun, error) {
	out := map[Measurement][]v1alpha1.BenchmarkRun{}
	for _, run := range inOrder(runs) {
		m, err := MeasurementOf(&run)
		if err != nil {
			return nil, err
		}
		out[m] = append(out[m], run)
	}
	return out, nil
}

// Sequence returns the measurements in the order in which they were begun.
func Sequence(runs []v1alpha1.BenchmarkRun) ([]Measurement, error) {
	var out []Measurement
	for _, run := range inOrder(runs) {
		m, err := MeasurementOf(&run)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out, nil
}

// inOrder returns runs in the order in which they were made. An execution makes one after the other.
func inOrder(runs []v1alpha1.BenchmarkRun) []v1alpha1.BenchmarkRun {
	return slices.SortedStableFunc(slices.Values(runs), func(a, b v1alpha1.BenchmarkRun) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}

// CheckBlocks returns what is wrong with the order of measurements: each repeat has every cell once before the next one begins.
func CheckBlocks(sequence []Measurement, cells int) (problems []string) {
	if cells < 1 || len(sequence)%cells != 0 {
		return []string{fmt.Sprintf("%d measurements are no blocks of %d cells", len(sequence), cells)}
	}
	for i, block := range slices.Collect(slices.Chunk(sequence, cells)) {
		seen := map[string]bool{}
		for _, m := range block {
			if m.Repeat != i+1 || seen[m.Cell] {
				problems = append(problems, fmt.Sprintf("block %d has %s, want each cell once in repeat %d", i+1, m, i+1))
			}
			seen[m.Cell] = true
		}
	}
	return problems
}

// Check returns what is wrong with an execution that has ended: a measurement that did not succeed, has more or fewer runs than
// its table says, or more than maximumAttempts, or whose figures are not kept exactly once, of the run that succeeded.
func Check(e *v1alpha1.BenchmarkSuiteRun, runs []v1alpha1.BenchmarkRun, kept []v1alpha1.BenchmarkMeasurement, maximumAttempts int32) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	attempts, err := Attempts(runs)
	if err != nil {
		return []string{err.Error()}
	}
	figures := map[Measurement][]v1alpha1.BenchmarkMeasurement{}
	for _, k := range kept {
		// A measurement with many points has several objects.
		if m := (Measurement{k.Spec.Cell, int(k.Spec.Repeat)}); k.Spec.Part == 1 {
			figures[m] = append(figures[m], k)
		}
	}
	for _, cell := range e.Status.Cells {
		for i, row := range cell.Measurements {
			m := Measurement{cell.Name, i + 1}
			of, stored := attempts[m], figures[m]
			delete(attempts, m)
			delete(figures, m)
			if row.State != v1alpha1.MeasurementSucceeded {
				report("%s: %s with %q, want Succeeded", m, row.State, row.Reason)
			}
			if row.Attempts < 1 || row.Attempts > maximumAttempts {
				report("%s: %d attempts, want 1 to %d", m, row.Attempts, maximumAttempts)
			}
			if len(of) != int(row.Attempts) {
				report("%s: %d runs, and the table says %d", m, len(of), row.Attempts)
			}
			for j := range of {
				if reason, succeeded := ReasonOf(&of[j]); succeeded != (j == len(of)-1) {
					report("%s: run %s, number %d of %d, ended with %q", m, of[j].Name, j+1, len(of), reason)
				}
			}
			switch {
			case len(stored) != 1:
				report("%s: its figures are kept %d times, want once", m, len(stored))
			case len(of) > 0 && (stored[0].Spec.Run != of[len(of)-1].Name || stored[0].Spec.RunUID != string(of[len(of)-1].UID)):
				report("%s: the figures of run %s are kept, want those of %s", m, stored[0].Spec.Run, of[len(of)-1].Name)
			}
		}
	}
	for m := range attempts {
		report("%s: has runs, and is not in the table", m)
	}
	for m := range figures {
		report("%s: has figures, and is not in the table", m)
	}
	slices.Sort(problems)
	return problems
}

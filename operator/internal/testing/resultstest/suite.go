package resultstest

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/statistics"
	"vnfbench.io/operator/internal/suite"
)

// Device says what a repeat of a cell measures, by the values of the cell's axes.
type Device func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement

// Criteria says what the figures of a repeat are that criteria name, by the criteria's names.
type Criteria func(values v1alpha1.Combination, repeat int) map[string]float64

// Executed returns the document of an execution, begun at Day, of the BenchmarkSuite in a file, whose figures are simulated. The first size is always
// called 1500, and the goal PDR.
func Executed(t testing.TB, file string, device Device) report.SuiteDocument {
	return ExecutedWithCriteria(t, file, device, func(v1alpha1.Combination, int) map[string]float64 { return nil })
}

// ExecutedWithCriteria returns the same with the figures that the criteria of the suite's cells name.
func ExecutedWithCriteria(t testing.TB, file string, device Device, criteria Criteria) report.SuiteDocument {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var of v1alpha1.BenchmarkSuite
	if err := yaml.UnmarshalStrict(text, &of); err != nil {
		t.Fatal(err)
	}
	parsed, err := suite.Parse(&of.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	e := &v1alpha1.BenchmarkSuiteRun{}
	e.Namespace, e.Name, e.UID, e.Labels = of.Namespace, of.Name+"-1", "uid-1", map[string]string{v1alpha1.LabelSuite: of.Name}
	e.Spec.Template = of.Spec.Template
	e.Status.Seed, e.Status.StartTime, e.Status.CompletionTime = 1, new(metav1.NewTime(Day)), new(metav1.NewTime(Day.Add(time.Hour)))
	outcomes := map[string]report.RunOutcome{}
	for i, cell := range parsed.Cells {
		names := criteriaOf(t, parsed, i)
		status := v1alpha1.SuiteCell{Name: cell.Name, Values: cell.Values, Figure: "1500 PDR"}
		for repeat := range int(of.Spec.Template.Repeats) {
			m := device(cell.Values, repeat)
			m.Attempts = 1
			outcome := report.RunOutcome{}
			simulated := criteria(cell.Values, repeat)
			for _, name := range names {
				if value, has := simulated[name]; has {
					outcome.Figures = append(outcome.Figures, report.CriterionFigure{Criterion: name, Value: int64(value)})
				}
			}
			outcomes[suite.RunName(e.Name, cell.Name, repeat+1, 1)] = outcome
			status.Measurements = append(status.Measurements, m)
			e.Status.Counts.Total++
			if m.State == v1alpha1.MeasurementFailed {
				e.Status.Counts.Failed++
			} else {
				e.Status.Counts.Succeeded++
			}
		}
		status.State = suite.StateOf(status.Measurements)
		status.GoodputBitsPerSecond = mean(status.Measurements, v1alpha1.SuiteMeasurement.Goodput)
		status.FramesPerSecond, status.P99Nanoseconds = mean(status.Measurements, v1alpha1.SuiteMeasurement.Rate), mean(status.Measurements, v1alpha1.SuiteMeasurement.P99)
		e.Status.Cells = append(e.Status.Cells, status)
	}
	ended := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded}
	if e.Status.Counts.Failed > 0 {
		ended.Status, ended.Reason = metav1.ConditionFalse, v1alpha1.ReasonMeasurementsFailed
	}
	e.Status.Conditions = []metav1.Condition{ended, {Type: v1alpha1.ConditionPlanned, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded}}
	return report.BuildSuite(e, outcomes, nil, "1.2.3", Day.Add(time.Hour))
}

// criteriaOf returns the names of the criteria of a cell.
func criteriaOf(t testing.TB, parsed *suite.Suite, cell int) []string {
	t.Helper()
	experiment, err := parsed.Experiment(cell)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(experiment)
	if err != nil {
		t.Fatal(err)
	}
	var of struct{ Acceptance []v1alpha1.Criterion }
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, criterion := range of.Acceptance {
		names = append(names, criterion.Name)
	}
	return names
}

// mean returns that of the figures that are values; nil where none is.
func mean(measurements []v1alpha1.SuiteMeasurement, of func(v1alpha1.SuiteMeasurement) v1alpha1.NotedFigure) *int64 {
	var values []int64
	for _, m := range measurements {
		if figure := of(m); figure.Value != nil && figure.Note == "" {
			values = append(values, *figure.Value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return new(int64(statistics.Mean(values)))
}

// Measured returns a measurement that succeeded. A figure of 0 was not measured.
func Measured(framesPerSecond, p99Nanoseconds float64) v1alpha1.SuiteMeasurement {
	m := v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, Reason: v1alpha1.ReasonSucceeded}
	if framesPerSecond > 0 {
		m.FramesPerSecond = new(int64(framesPerSecond))
	}
	if p99Nanoseconds > 0 {
		m.P99Nanoseconds = new(int64(p99Nanoseconds))
	}
	return m
}

// Carried returns a measurement of TCP that succeeded.
func Carried(bitsPerSecond float64) v1alpha1.SuiteMeasurement {
	return v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, Reason: v1alpha1.ReasonSucceeded, GoodputBitsPerSecond: new(int64(bitsPerSecond))}
}

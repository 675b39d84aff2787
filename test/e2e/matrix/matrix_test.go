package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
)

// world is what an execution has made.
type world struct {
	execution v1alpha1.BenchmarkSuiteRun
	runs      []v1alpha1.BenchmarkRun
	kept      []v1alpha1.BenchmarkMeasurement
}

// add makes a run of a measurement, which ends with a reason.
func (w *world) add(cell string, repeat, attempt int, reason string) {
	run := v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("m-%s-%d-%d", cell, repeat, attempt), UID: types.UID(fmt.Sprint(len(w.runs))),
		CreationTimestamp: metav1.NewTime(time.Unix(int64(len(w.runs)), 0)),
		Labels:            map[string]string{v1alpha1.LabelCell: cell, v1alpha1.LabelRepeat: fmt.Sprint(repeat)},
	}}
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonSucceeded {
		status = metav1.ConditionTrue
		kept := v1alpha1.BenchmarkMeasurement{}
		kept.Spec.Cell, kept.Spec.Repeat, kept.Spec.Part, kept.Spec.Run, kept.Spec.RunUID = cell, int32(repeat), 1, run.Name, string(run.UID)
		w.kept = append(w.kept, kept)
	}
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: status, Reason: reason}}
	w.runs = append(w.runs, run)
}

// newWorld returns two cells with two repeats, of which one was cut off and measured again.
func newWorld() *world {
	w := &world{}
	for _, name := range []string{"a", "b"} {
		cell := v1alpha1.SuiteCell{Name: name}
		for range 2 {
			cell.Measurements = append(cell.Measurements, v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, Attempts: 1})
		}
		w.execution.Status.Cells = append(w.execution.Status.Cells, cell)
	}
	w.execution.Status.Cells[0].Measurements[0].Attempts = 2
	w.add("b", 1, 1, v1alpha1.ReasonSucceeded)
	w.add("a", 1, 1, v1alpha1.ReasonChainFailed)
	w.add("a", 1, 2, v1alpha1.ReasonSucceeded)
	w.add("a", 2, 1, v1alpha1.ReasonSucceeded)
	w.add("b", 2, 1, v1alpha1.ReasonSucceeded)
	return w
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		change func(*world)
		want   string
	}{
		"all is well":          {func(*world) {}, ""},
		"the order of a list":  {func(w *world) { slices.Reverse(w.runs) }, ""},
		"a second part":        {func(w *world) { w.kept = append(w.kept, w.kept[0]); w.kept[4].Spec.Part = 2 }, ""},
		"measured twice":       {func(w *world) { w.add("b", 2, 2, v1alpha1.ReasonSucceeded) }, "b, repeat 2: 2 runs, and the table says 1"},
		"kept twice":           {func(w *world) { w.kept = append(w.kept, w.kept[0]) }, "kept 2 times"},
		"not kept":             {func(w *world) { w.kept = w.kept[1:] }, "kept 0 times"},
		"kept of another run":  {func(w *world) { w.kept[0].Spec.RunUID = "x" }, "b, repeat 1: the figures of run"},
		"no run":               {func(w *world) { w.runs = w.runs[:4] }, "b, repeat 2: 0 runs"},
		"not succeeded":        {func(w *world) { w.execution.Status.Cells[1].Measurements[0].State = v1alpha1.MeasurementSkipped }, "b, repeat 1: Skipped"},
		"too many attempts":    {func(w *world) { w.execution.Status.Cells[0].Measurements[0].Attempts = 4 }, "a, repeat 1: 4 attempts, want 1 to 3"},
		"a success made again": {func(w *world) { w.runs[1].Status = w.runs[2].Status }, "number 1 of 2, ended with"},
		"a cell of no table":   {func(w *world) { w.add("c", 1, 1, v1alpha1.ReasonSucceeded) }, "c, repeat 1: has runs"},
		"figures of no table":  {func(w *world) { w.kept[0].Spec.Cell = "c" }, "c, repeat 1: has figures"},
		"a run without labels": {func(w *world) { w.runs[0].Labels = nil }, "of no measurement"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			test.change(w)
			got := strings.Join(Check(&w.execution, w.runs, w.kept, 3), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSequence(t *testing.T) {
	w := newWorld()
	slices.Reverse(w.runs)
	got, err := Sequence(w.runs)
	if want := []Measurement{{"b", 1}, {"a", 1}, {"a", 2}, {"b", 2}}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
	if problems := CheckBlocks(got, 2); len(problems) > 0 {
		t.Error(problems)
	}
	tests := map[string][]Measurement{
		"a cell twice in a block":  {{"b", 1}, {"b", 1}, {"a", 2}, {"b", 2}},
		"a repeat begins too soon": {{"b", 1}, {"a", 2}, {"a", 1}, {"b", 2}},
		"a measurement is missing": {{"b", 1}, {"a", 1}, {"a", 2}},
	}
	for name, sequence := range tests {
		if len(CheckBlocks(sequence, 2)) == 0 {
			t.Errorf("%s: nothing is wrong with %v", name, sequence)
		}
	}
}

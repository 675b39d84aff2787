package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"vnfbench.io/operator/api/v1alpha1"
)

func execution() *v1alpha1.BenchmarkSuiteRun {
	e := &v1alpha1.BenchmarkSuiteRun{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly-7"}}
	e.Spec.Template.Subject = &v1alpha1.SuiteSubject{Subject: v1alpha1.Subject{Name: "fw", Version: "1.4.2", Revision: "abc"}}
	e.Status = v1alpha1.BenchmarkSuiteRunStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing, Message: "3 of 4 measurements have ended, 1 failed"}},
		Seed:       7, RemainingSeconds: 240, ControlDifferencePartsPerMillion: ptr.To[int64](-1200),
		Cells: []v1alpha1.SuiteCell{
			{Name: "nftables-rules-0", Values: map[string]v1alpha1.AxisLabel{"backend": "nftables", "rules": "0"}, State: v1alpha1.MeasurementSucceeded, Figure: "64 NDR", EstimatedSeconds: 200,
				FramesPerSecond: ptr.To[int64](171_634), P99Nanoseconds: ptr.To[int64](254_780),
				Measurements: []v1alpha1.SuiteMeasurement{
					{State: v1alpha1.MeasurementSucceeded, Attempts: 1, Reason: "Succeeded", Seconds: 250, FramesPerSecond: ptr.To[int64](171_634), P99Nanoseconds: ptr.To[int64](254_780)},
					{State: v1alpha1.MeasurementSucceeded, Attempts: 2, Reason: "Succeeded", Seconds: 260}}},
			{Name: "iptables-rules-0", Values: map[string]v1alpha1.AxisLabel{"backend": "iptables", "rules": "0"}, State: v1alpha1.MeasurementRunning, EstimatedSeconds: 200,
				Measurements: []v1alpha1.SuiteMeasurement{
					{State: v1alpha1.MeasurementFailed, Attempts: 1, Reason: "NotAccepted"},
					{State: v1alpha1.MeasurementPending}}},
		},
	}
	return e
}

func TestSuiteTable(t *testing.T) {
	active := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "nightly-7-iptables-rules-0-2", Labels: map[string]string{v1alpha1.LabelCell: "iptables-rules-0"}}}
	active.Status.Progress = &v1alpha1.Progress{Stage: "throughput, 64 bytes", Percent: 40, RemainingSeconds: 120}
	var out bytes.Buffer
	if err := WriteSuite(&out, execution(), SuiteState{Active: active}, FormatTable, Options{ASCII: true}); err != nil {
		t.Fatal(err)
	}
	const want = `Suite run bench/nightly-7
Execution  Unknown, Progressing: 3 of 4 measurements have ended, 1 failed
Subject    fw 1.4.2, revision abc
Order      random in each repeat, by seed 7
Time left  about 2 min 40 s
Now        nightly-7-iptables-rules-0-2: throughput, 64 bytes, 40 %
Control    -0.12 % between the two means of the control cell, which measure the same. It is one draw: about half of all equal pairs differ by more

CELLS
Cell              State      Done  Of         kfps  Range %  P99 us  Range %  Why
----------------  ---------  ----  ------  -------  -------  ------  -------  -----------
nftables-rules-0  Succeeded   2/2  64 NDR  171.634        -  254.78        -
iptables-rules-0  Running     1/2  -             -        -       -        -  NotAccepted
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSuiteCSV(t *testing.T) {
	var out bytes.Buffer
	if err := WriteSuite(&out, execution(), SuiteState{}, FormatCSV, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `suiteRun,cell,axis:backend,axis:rules,repeat,run,state,attempts,reason,seconds,of,framesPerSecond,p99Nanoseconds,rateNote,p99Note,cellVerdict,cellGated,goodputBitsPerSecond,goodputNote,rateDoubts,p99Doubts,goodputDoubts
nightly-7,nftables-rules-0,nftables,0,1,nightly-7-nftables-rules-0-1,Succeeded,1,Succeeded,250,64 NDR,171634,254780,,,,,,,,,
nightly-7,nftables-rules-0,nftables,0,2,nightly-7-nftables-rules-0-2-attempt-2,Succeeded,2,Succeeded,260,64 NDR,,,,,,,,,,,
nightly-7,iptables-rules-0,iptables,0,1,nightly-7-iptables-rules-0-1,Failed,1,NotAccepted,0,,,,,,,,,,,,
nightly-7,iptables-rules-0,iptables,0,2,,Pending,0,,0,,,,,,,,,,,,
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestSuiteOfTCP checks that cells with a goodput of TCP have columns of it in the table, and lines in the CSV, and that the matrix has it where there
// is no other rate.
func TestSuiteOfTCP(t *testing.T) {
	e := execution()
	e.Spec.Template.Matrix.Axes = []v1alpha1.Axis{{Name: "backend"}, {Name: "rules"}}
	for i := range e.Status.Cells {
		cell := &e.Status.Cells[i]
		cell.FramesPerSecond, cell.P99Nanoseconds, cell.Figure, cell.GoodputBitsPerSecond = nil, nil, "", ptr.To[int64](950_000_000)
		for j := range cell.Measurements {
			m := &cell.Measurements[j]
			m.FramesPerSecond, m.P99Nanoseconds, m.GoodputBitsPerSecond = nil, nil, ptr.To(int64(945_000_000+10_000_000*j))
		}
	}
	e.Status.Cells[1].GoodputBitsPerSecond = ptr.To[int64](945_000_000)
	inDoubt := &e.Status.Cells[1].Measurements[1]
	inDoubt.GoodputNote, inDoubt.GoodputDoubts = v1alpha1.NoteDoubtful, []v1alpha1.DoubtCode{v1alpha1.DoubtEndpointCeiling}
	var table, csv bytes.Buffer
	if err := errors.Join(
		WriteSuiteReport(&table, e, BuildSuite(e, nil, nil, "v1", time.Time{}), FormatTable, Options{ASCII: true}), WriteSuite(&csv, e, SuiteState{}, FormatCSV, Options{}),
	); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MATRIX, MBIT/S BY RULES", "TCP Mbit/s  Range %", "1 of 2 goodputs are no values (1 in doubt: EndpointCeiling)", "nftables  950.0", "iptables  945.0"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is not in\n%s", want, table.String())
		}
	}
	for _, want := range []string{",250,,,,,,,,945000000,,,,\n", ",,,,,,,955000000,Doubtful,,,EndpointCeiling\n"} {
		if !strings.Contains(csv.String(), want) {
			t.Errorf("%q is not in\n%s", want, csv.String())
		}
	}
}

// TestSuiteCSVHasNoFormulas checks that a spreadsheet computes no cell, and that numbers and verdicts are as they are.
func TestSuiteCSVHasNoFormulas(t *testing.T) {
	e := execution()
	e.Status.Cells = e.Status.Cells[:1]
	e.Status.Cells[0].Measurements = e.Status.Cells[0].Measurements[:1]
	e.Status.Cells[0].Measurements[0].RateNote = v1alpha1.NoteAtLeast
	judged := &v1alpha1.RegressionStatus{Cells: []v1alpha1.CellVerdict{{Name: "nftables-rules-0", Verdict: "Regression", Gated: true}}}
	for value, want := range map[v1alpha1.AxisLabel]string{
		`=HYPERLINK("x")`: `"'=HYPERLINK(""x"")",`, "@a": ",'@a,", "+a": ",'+a,", "-a": ",'-a,", "\t=1": "'\t=1", "-0.5": ",-0.5,", "-7": ",-7,", "a": ",a,",
	} {
		e.Status.Cells[0].Values = map[string]v1alpha1.AxisLabel{"backend": value}
		var out bytes.Buffer
		if err := WriteSuite(&out, e, SuiteState{Judged: judged}, FormatCSV, Options{}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, want %s in\n%s", value, err, want, out.String())
		}
		if end := "171634,254780,AtLeast,,Regression,true,,,,,\n"; !strings.HasSuffix(out.String(), end) {
			t.Errorf("want %q at the end of\n%s", end, out.String())
		}
	}
}

// TestSuiteFiguresThatAreNoValues checks what a table shows of floors, doubtful figures and the range of values.
func TestSuiteFiguresThatAreNoValues(t *testing.T) {
	rate := func(value int64, note v1alpha1.FigureNote) v1alpha1.SuiteMeasurement {
		return v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, FramesPerSecond: &value, RateNote: note}
	}
	for name, test := range map[string]struct {
		mean    *int64
		repeats []v1alpha1.SuiteMeasurement
		want    repeatedCell
	}{
		"values":           {ptr.To[int64](102_000), []v1alpha1.SuiteMeasurement{rate(100_000, ""), rate(104_000, "")}, repeatedCell{"102.000", "3.92", ""}},
		"one value":        {ptr.To[int64](100_000), []v1alpha1.SuiteMeasurement{rate(100_000, "")}, repeatedCell{"100.000", "-", ""}},
		"nothing measured": {nil, []v1alpha1.SuiteMeasurement{{State: v1alpha1.MeasurementPending}}, repeatedCell{"-", "-", ""}},
		"a floor among values": {ptr.To[int64](102_000), []v1alpha1.SuiteMeasurement{rate(100_000, ""), rate(900_000, v1alpha1.NoteAtLeast), rate(104_000, "")},
			repeatedCell{"102.000", "3.92", "1 of 3 rates are no values (1 at least)"}},
		"floors":           {nil, []v1alpha1.SuiteMeasurement{rate(100_000, v1alpha1.NoteAtLeast), rate(102_000, v1alpha1.NoteAtLeast)}, repeatedCell{">= 101.000", "-", "2 of 2 rates are no values (2 at least)"}},
		"a floor, a doubt": {nil, []v1alpha1.SuiteMeasurement{rate(100_000, v1alpha1.NoteAtLeast), rate(102_000, v1alpha1.NoteDoubtful)}, repeatedCell{"? 101.000", "-", "2 of 2 rates are no values (1 at least, 1 in doubt)"}},
	} {
		cell := &v1alpha1.SuiteCell{Name: "base", FramesPerSecond: test.mean, Measurements: test.repeats}
		if got := repeatedRate(cell, asciiLetters); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if row, why := suiteRow(cell, false, asciiLetters); row[4] != test.want.text || row[5] != test.want.spread || why != test.want.leftOut {
			t.Errorf("%s: the row is %v, %q", name, row, why)
		}
	}
	e := execution()
	e.Spec.Template.Matrix.Axes = []v1alpha1.Axis{{Name: "backend"}, {Name: "rules"}}
	e.Status.Cells[0].FramesPerSecond, e.Status.Cells[0].Measurements[0].RateNote = nil, v1alpha1.NoteAtLeast
	if s := matrixSection(e, asciiLetters); s.rows[0][1] != ">= 171.634" {
		t.Errorf("the matrix has %v", s.rows)
	}
}

func TestSuiteFormats(t *testing.T) {
	for _, format := range SuiteFormats() {
		var out bytes.Buffer
		// An execution that the operator has not seen.
		if err := WriteSuite(&out, &v1alpha1.BenchmarkSuiteRun{}, SuiteState{}, format, Options{}); err != nil || out.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", format, out.Len(), err)
		}
	}
	if WriteSuite(&bytes.Buffer{}, execution(), SuiteState{}, FormatJUnit, Options{}) == nil {
		t.Error("a format that executions do not have is written")
	}
}

// TestSuiteSeries checks that a table has what is known of the series.
func TestSuiteSeries(t *testing.T) {
	judged := &v1alpha1.RegressionStatus{
		Message: "of 3 series of execution nightly-7, 1 became worse", Groups: []string{"Regression: 1 of 3 figures"},
		Confirmation: &v1alpha1.AskedConfirmation{Name: "nightly-7-confirm-1", OldRun: "nightly-5-base-1", Run: "nightly-7-base-1", Pairs: 2},
		Verdicts: []v1alpha1.SeriesVerdict{
			{Verdict: "Regression", Reason: "Confirmed", Cell: "base", Figure: "ThroughputFramesPerSecond 64 NDR", Message: "it fell by 5.0 %"},
			{Verdict: "Pass", Reason: "NoChange", Cell: "quiet"},
		},
	}
	sections := withSeries(nil, SuiteState{Judged: judged})
	var out bytes.Buffer
	if err := writeText(&out, sections, asciiLetters.rule); err != nil {
		t.Fatal(err)
	}
	const want = `Series
Verdicts    of 3 series of execution nightly-7, 1 became worse
Confirming  nightly-7-confirm-1 measures the versions of runs nightly-5-base-1 and nightly-7-base-1 by turns, 2 times each
Progress    it is not made yet
Change      Regression: 1 of 3 figures

Verdict     Reason     Cell  Figure                            Why
----------  ---------  ----  --------------------------------  ----------------
Regression  Confirmed  base  ThroughputFramesPerSecond 64 NDR  it fell by 5.0 %
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	judged = &v1alpha1.RegressionStatus{Problem: "too many points"}
	if facts := withSeries(nil, SuiteState{Judged: judged})[0].facts; len(facts) != 1 || facts[0] != (fact{"Not judged", "too many points"}) {
		t.Errorf("%+v", facts)
	}
}

// TestSuiteCellVerdicts checks the column of the cells' verdicts, in the table and in the report.
func TestSuiteCellVerdicts(t *testing.T) {
	e := execution()
	judged := &v1alpha1.RegressionStatus{Execution: e.Name, Message: "of 2 series", Cells: []v1alpha1.CellVerdict{{Name: "nftables-rules-0", Verdict: "Regression", Gated: true}}}
	const want = `
Cell              State      Done  Of         kfps  Range %  P99 us  Range %  Series             Why
----------------  ---------  ----  ------  -------  -------  ------  -------  -----------------  -----------
nftables-rules-0  Succeeded   2/2  64 NDR  171.634        -  254.78        -  Regression, gated
iptables-rules-0  Running     1/2  -             -        -       -        -  -                  NotAccepted
`
	var table, written bytes.Buffer
	if err := WriteSuite(&table, e, SuiteState{Judged: judged}, FormatTable, Options{ASCII: true}); err != nil || !strings.Contains(table.String(), want) {
		t.Errorf("%v\n%s", err, table.String())
	}
	doc := BuildSuite(e, nil, suiteOf(e, judged), "", time.Time{})
	if err := WriteSuiteReport(&written, e, doc, FormatTable, Options{ASCII: true}); err != nil || !strings.Contains(written.String(), want) || !strings.Contains(written.String(), "Verdicts  of 2 series") {
		t.Errorf("%v\n%s", err, written.String())
	}
}

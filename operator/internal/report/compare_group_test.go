package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/figure"
)

// groupOf returns a column of so many runs, whose throughput without loss of 64 bytes is a rate and something that differs from run to run.
func groupOf(t *testing.T, name string, count int, framesPerSecond int64) Column {
	column := Column{Name: name, IsGroup: true}
	for i := range count {
		doc := asPod(t)
		doc.Run.Name = fmt.Sprintf("%s-%d", name, i+1)
		doc.Run.UID = doc.Run.Name
		doc.Plan = nil
		rate := &doc.Results[0].Throughput[0]
		rate.FramesPerSecond = framesPerSecond + int64(300*(i%3))
		rate.LowerBoundFramesPerSecond, rate.UpperBoundFramesPerSecond = rate.FramesPerSecond, new(rate.FramesPerSecond+1000)
		p99 := &doc.Results[0].Latency[0].Directions[0].Latency.P99Nanoseconds
		*p99 += int64(50 * (i % 2))
		column.Documents = append(column.Documents, doc)
	}
	return column
}

func throughputOf(t *testing.T, c Comparison) ComparedFigure {
	t.Helper()
	for _, f := range c.Figures {
		if f.Metric == v1alpha1.MetricThroughputFramesPerSecond && f.key.Size == "64" && f.key.Goal == "NDR" {
			return f
		}
	}
	t.Fatal("there is no throughput")
	return ComparedFigure{}
}

// TestGroupsGolden checks what people and machines see of two groups of runs, of which the second is slower.
func TestGroupsGolden(t *testing.T) {
	c, err := Compare([]Column{groupOf(t, "before", 5, 231_000), groupOf(t, "after", 5, 220_000)}, comparison.AdjustHolm, now)
	if err != nil {
		t.Fatal(err)
	}
	c.Figures = c.Figures[:40]
	for name, format := range map[string]Format{"groups.txt": FormatTable, "groups.json": FormatJSON, "groups.csv": FormatCSV} {
		var got bytes.Buffer
		if err := WriteComparison(&got, c, format, Options{}); err != nil {
			t.Fatal(err)
		}
		text := got.String()
		if format == FormatJSON {
			text = linePerFigure(t, got.Bytes())
		}
		checkGolden(t, name, text)
	}
}

// TestGroups checks the verdict, the mean, n and the interval of groups, and that all of it is in the structure that pictures are drawn from.
func TestGroups(t *testing.T) {
	for name, tc := range map[string]struct {
		after int64
		want  comparison.Verdict
	}{"slower": {220_000, comparison.Worse}, "faster": {245_000, comparison.Better}, "alike": {231_000, comparison.Unclear}} {
		c, err := Compare([]Column{groupOf(t, "before", 5, 231_000), groupOf(t, "after", 4, tc.after)}, comparison.AdjustNone, now)
		if err != nil {
			t.Fatal(err)
		}
		f := throughputOf(t, c)
		cell, d := f.Cells[0], f.Differences[0]
		if d.Verdict != tc.want || d.Value == nil || d.Lower == nil || d.Upper == nil || d.PValuePartsPerMillion == nil || d.LowerPartsPerMillion == nil {
			t.Errorf("%s: %+v, want %s", name, d, tc.want)
		}
		if *cell.Value != 231_240 || cell.N != 5 || cell.Basis != comparison.BasisRuns || *cell.Lower > *cell.Value || *cell.Upper < *cell.Value || len(cell.Values) != 5 {
			t.Errorf("%s: the first column has %+v", name, cell)
		}
		if len(c.Runs) != 9 || len(c.Documents()) != 9 || c.Runs[8].Column != 1 || c.Columns[0].Runs != 5 || c.Tested == 0 || f.Better != figure.Higher {
			t.Errorf("%s: %d runs, %d documents, %+v, %d tested", name, len(c.Runs), len(c.Documents()), c.Columns, c.Tested)
		}
	}
}

// TestGroupErrors checks that runs that are no repeats of each other, or count twice, are no group.
func TestGroupErrors(t *testing.T) {
	with := func(change func(*Column)) []Column {
		columns := []Column{groupOf(t, "before", 3, 231_000), groupOf(t, "after", 3, 231_000)}
		change(&columns[1])
		return columns
	}
	for name, tc := range map[string]struct {
		columns []Column
		want    string
	}{
		"other traffic": {with(func(c *Column) { c.Documents[1].Experiment.Traffic.Flows = 7 }), "after has runs of different experiments: spec.experiment.traffic of after-2 is not that of after-1"},
		"other chain": {with(func(c *Column) {
			c.Documents[2].Experiment.Chain = append([]v1alpha1.NetworkFunction{}, c.Documents[2].Experiment.Chain...)
			c.Documents[2].Experiment.Chain[0].Runtime = v1alpha1.RuntimeVirtualMachine
		}), "spec.experiment.chain of after-3"},
		"a copy":      {with(func(c *Column) { c.Documents[1].Run.UID = "after-1" }), "twice in the comparison, in after and in after"},
		"in both":     {with(func(c *Column) { c.Documents[1].Run.UID = "before-1" }), "twice in the comparison, in before and in after"},
		"none ended":  {with(func(c *Column) { setAll(c, Partial) }), "after has no run that was measured to the end"},
		"none at all": {with(func(c *Column) { c.Documents = nil }), "after has no run"},
	} {
		if _, err := Compare(tc.columns, comparison.AdjustNone, now); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	seeds := with(func(c *Column) {
		c.Documents[1].Experiment.Measurements.Seed = new(int64(7))
		c.Documents[0].Completeness = Partial
	})
	c, err := Compare(seeds, comparison.AdjustNone, now)
	if err != nil || !strings.Contains(strings.Join(c.Notes, "\n"), "Left out of after, because they were not measured to the end: after-1.") || throughputOf(t, c).Cells[1].N != 2 {
		t.Errorf("another seed, and one that has not ended: %v, %q", err, c.Notes)
	}
	if _, err := Compare(seeds, "sidak", now); err == nil || !strings.Contains(err.Error(), "benjamini-hochberg") {
		t.Errorf("another adjustment: %v", err)
	}
}

func setAll(c *Column, to Completeness) {
	for i := range c.Documents {
		c.Documents[i].Completeness = to
	}
}

// TestRepeatsOfARun checks that repeats with their own deployments are tested, and those on one deployment are not.
func TestRepeatsOfARun(t *testing.T) {
	for scope, want := range map[v1alpha1.RepeatScope]comparison.Reason{v1alpha1.RepeatChain: "", v1alpha1.RepeatTrials: comparison.ReasonOneDeployment} {
		run, records := repeated(t)
		doc := mustBuild(t, run, records)
		doc.Experiment.Measurements.RepeatScope = scope
		c := mustCompare(t, doc, doc)
		tested := 0
		for _, f := range c.Figures {
			if f.Metric == v1alpha1.MetricLatencyP99 && f.key.Load == "idle" {
				if d := f.Differences[0]; d.WhyNotTested != want || f.Cells[0].N != 3 {
					t.Errorf("%s: %+v of %+v", scope, d, f.Cells[0])
				}
				tested++
			}
		}
		if tested == 0 {
			t.Errorf("%s: there are no delays", scope)
		}
	}
}

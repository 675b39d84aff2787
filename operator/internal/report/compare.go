package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/figure"
)

// KindComparison is the kind of a comparison, in the version of the reports.
const KindComparison = "BenchmarkComparison"

// MaxColumns is how many columns a comparison has at most.
const MaxColumns = 12

// Column is what one column of a comparison is made from: the document of a run, or those of several runs of one experiment.
type Column struct {
	Name string
	// IsGroup says that the runs are repeats of each other. Those that were not measured to the end are left out.
	IsGroup   bool
	Documents []Document
}

// Comparison shows the figures of runs side by side.
type Comparison struct {
	APIVersion  string    `json:"apiVersion"`
	Kind        string    `json:"kind"`
	GeneratedAt time.Time `json:"generatedAt"`
	// Columns are in the order in which they were named; the others are compared with the first.
	Columns []ComparedColumn `json:"columns"`
	// Runs are those of the first column, then those of the next.
	Runs []ComparedRun `json:"runs"`
	// Notes say in one sentence each what else differs besides the figures, and what
	// the figures do not show.
	Notes []string `json:"notes"`
	// Tested is how many differences were tested, and Adjustment how their p-values were made to hold together.
	Tested     int                   `json:"tested"`
	Adjustment comparison.Adjustment `json:"adjustment"`
	Figures    []ComparedFigure      `json:"figures"`

	documents []Document
}

// Documents returns those of Runs, in their order.
func (c Comparison) Documents() []Document { return c.documents }

// ComparedColumn is a column.
type ComparedColumn struct {
	Name string `json:"name"`
	// Runs is how many runs it has.
	Runs int `json:"runs"`
}

// ComparedRun is what a run's figures apply to.
type ComparedRun struct {
	// Column is the place of the run's column, counted from 0.
	Column       int          `json:"column"`
	Namespace    string       `json:"namespace"`
	Name         string       `json:"name"`
	Testbed      string       `json:"testbed"`
	Completeness Completeness `json:"completeness"`
	Succeeded    Outcome      `json:"succeeded"`
	// Chain is the requested chain, Functions the state of each function in the run,
	// and Device what it ran on.
	Chain     []v1alpha1.NetworkFunction `json:"chain"`
	Functions []v1alpha1.FunctionReport  `json:"functions"`
	Plan      *v1alpha1.PlanSummary      `json:"plan,omitempty"`
	Device    *v1alpha1.DeviceReport     `json:"device,omitempty"`
	Warnings  []string                   `json:"warnings"`
}

// ComparedFigure is one figure of each column.
type ComparedFigure struct {
	Metric v1alpha1.Metric `json:"metric"`
	Unit   figure.Unit     `json:"unit"`
	// Better is which value is wanted: Higher, Lower or Neither.
	Better figure.Better `json:"better"`
	// About describes what the figure is of, by the column names of a report's CSV
	// form; an empty column is absent.
	About map[string]string `json:"about"`
	// Values have one entry for each column, null where it has no such figure.
	Values []*int64 `json:"values"`
	// Floors mark the columns whose device may do better than the value: the search
	// tried no more, or the generator could not send more. Absent: none.
	Floors []bool `json:"floors,omitempty"`
	// Cells have what else is known of each value, and Differences those from the first column, with an entry for each column after it.
	Cells       []comparison.Cell       `json:"cells"`
	Differences []comparison.Difference `json:"differences"`

	key figure.Key
}

// ComparisonFormats returns the formats of comparisons; JUnit has no place for
// them.
func ComparisonFormats() []Format {
	return []Format{FormatTable, FormatMarkdown, FormatJSON, FormatCSV}
}

// Compare compares two or more columns with the first.
func Compare(columns []Column, adjustment comparison.Adjustment, now time.Time) (Comparison, error) {
	if len(columns) < 2 || len(columns) > MaxColumns {
		return Comparison{}, fmt.Errorf("comparing: there are %d columns; give 2 to %d", len(columns), MaxColumns)
	}
	columns, left, err := measured(columns)
	if err := errors.Join(err, checkColumns(columns)); err != nil {
		return Comparison{}, err
	}
	c := Comparison{APIVersion: APIVersion, Kind: KindComparison, GeneratedAt: now.UTC(), Adjustment: adjustment, Figures: []ComparedFigure{}}
	samples := make([]comparison.Column, len(columns))
	for i, column := range columns {
		c.Columns = append(c.Columns, ComparedColumn{Name: column.Name, Runs: len(column.Documents)})
		for _, doc := range column.Documents {
			c.Runs, c.documents = append(c.Runs, comparedRun(i, doc)), append(c.documents, doc)
			samples[i] = append(samples[i], comparison.Run{Figures: doc.figures(), Scope: doc.Experiment.Measurements.RepeatScope})
		}
	}
	result, err := comparison.Compare(samples, adjustment)
	if err != nil {
		return Comparison{}, err
	}
	c.Tested = result.Tested
	for _, f := range result.Figures {
		c.Figures = append(c.Figures, newComparedFigure(f))
	}
	c.group()
	c.Notes = orEmpty(slices.Concat(left, comparisonNotes(columns), c.testNotes()))
	return c, nil
}

func newComparedFigure(f comparison.Figure) ComparedFigure {
	metric := figure.Describe(f.Metric)
	out := ComparedFigure{Metric: f.Metric, Unit: metric.Unit, Better: metric.Better, About: map[string]string{}, Cells: f.Cells, Differences: f.Differences, key: f.Key}
	for _, c := range keyColumns {
		if value := c.of(f.Key); value != "" {
			out.About[c.name] = value
		}
	}
	for i, cell := range f.Cells {
		out.Values = append(out.Values, cell.Value)
		if cell.IsFloor {
			if out.Floors == nil {
				out.Floors = make([]bool, len(f.Cells))
			}
			out.Floors[i] = true
		}
	}
	return out
}

// group places figures that only later runs have next to those of their kind.
func (c *Comparison) group() {
	type place struct{ title, size, goal, load string }
	ranks := map[place]int{}
	rank := func(p place) int {
		if _, ok := ranks[p]; !ok {
			ranks[p] = len(ranks)
		}
		return ranks[p]
	}
	of := func(f ComparedFigure) (int, int) {
		title := comparedTitle(figure.Describe(f.Metric))
		return rank(place{title: title}), rank(place{title, f.key.Size, f.key.Goal, f.key.Load})
	}
	for _, f := range c.Figures {
		of(f)
	}
	slices.SortStableFunc(c.Figures, func(a, b ComparedFigure) int {
		aKind, aOrder := of(a)
		bKind, bOrder := of(b)
		if aKind != bKind {
			return aKind - bKind
		}
		return aOrder - bOrder
	})
}

func comparedRun(column int, doc Document) ComparedRun {
	r := ComparedRun{
		Column: column, Namespace: doc.Run.Namespace, Name: doc.Run.Name, Testbed: doc.Run.Testbed, Completeness: doc.Completeness,
		Succeeded: doc.Succeeded, Chain: doc.Experiment.Chain, Functions: orEmpty(doc.Chain), Plan: doc.Plan, Device: doc.Device, Warnings: []string{},
	}
	for _, w := range doc.Warnings {
		if !slices.Contains(r.Warnings, w.Code) {
			r.Warnings = append(r.Warnings, w.Code)
		}
	}
	return r
}

// measured returns columns whose groups have only runs that were measured to the end, with a note on the others.
func measured(columns []Column) (out []Column, notes []string, err error) {
	for _, column := range columns {
		var left []string
		if column.IsGroup {
			all := column.Documents
			column.Documents = nil
			for _, doc := range all {
				if doc.Completeness == Partial {
					left = append(left, doc.Run.Name)
				} else {
					column.Documents = append(column.Documents, doc)
				}
			}
		}
		if len(left) > 0 {
			notes = append(notes, fmt.Sprintf("Left out of %s, because they were not measured to the end: %s.", column.Name, namedRuns(left)))
		}
		if len(column.Documents) == 0 {
			err = errors.Join(err, fmt.Errorf("%s has no run that was measured to the end: wait for its runs, or name others", column.Name))
		}
		out = append(out, column)
	}
	return out, notes, err
}

// checkColumns returns an error where the runs of a group are no repeats of each other, or a run is in two samples.
func checkColumns(columns []Column) error {
	columnOf := map[string]Column{}
	for _, column := range columns {
		for i, doc := range column.Documents {
			if other, found := columnOf[doc.Run.UID]; found && doc.Run.UID != "" && (column.IsGroup || other.IsGroup) {
				return fmt.Errorf("run %s is twice in the comparison, in %s and in %s: each run counts once, so narrow the selectors or remove one document",
					doc.Run.Name, other.Name, column.Name)
			}
			columnOf[doc.Run.UID] = column
			if field := differingField(column.Documents[0].Experiment, doc.Experiment); i > 0 && field != "" {
				return fmt.Errorf("%s has runs of different experiments: spec.experiment.%s of %s is not that of %s. Make a column of each experiment, with a narrower selector or with --group-by",
					column.Name, field, doc.Run.Name, column.Documents[0].Run.Name)
			}
		}
	}
	return nil
}

// differingField returns the field that makes two runs different experiments, or "". The seed does not.
func differingField(a, b v1alpha1.Experiment) string {
	a.Measurements.Seed, b.Measurements.Seed = nil, nil
	for _, part := range []struct {
		field string
		same  bool
	}{
		{"testbedRef", equality.Semantic.DeepEqual(a.TestbedRef, b.TestbedRef)},
		{"chain", equality.Semantic.DeepEqual(a.Chain, b.Chain)},
		{"traffic", equality.Semantic.DeepEqual(a.Traffic, b.Traffic)},
		{"measurements", a.Measurements.SameAs(b.Measurements)},
		{"noisyNeighbors", equality.Semantic.DeepEqual(a.NoisyNeighbors, b.NoisyNeighbors)},
	} {
		if !part.same {
			return part.field
		}
	}
	return ""
}

// maxNamedRuns is how many runs a note names.
const maxNamedRuns = 6

func namedRuns(names []string) string {
	if more := len(names) - maxNamedRuns; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamedRuns], ", "), more)
	}
	return strings.Join(names, ", ")
}

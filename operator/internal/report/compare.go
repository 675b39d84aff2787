package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/figure"
)

// KindComparison is the kind of a comparison, in the version of the reports.
const KindComparison = "BenchmarkComparison"

// Comparison shows the figures of runs side by side.
type Comparison struct {
	APIVersion  string    `json:"apiVersion"`
	Kind        string    `json:"kind"`
	GeneratedAt time.Time `json:"generatedAt"`
	// Runs are in the order in which they were named; the others are compared with
	// the first.
	Runs []ComparedRun `json:"runs"`
	// Notes say in one sentence each what else differs besides the figures, and what
	// the figures do not show.
	Notes   []string         `json:"notes"`
	Figures []ComparedFigure `json:"figures"`
}

// ComparedRun is what a run's figures apply to.
type ComparedRun struct {
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

// ComparedFigure is one figure of each run.
type ComparedFigure struct {
	Metric v1alpha1.Metric `json:"metric"`
	Unit   figure.Unit     `json:"unit"`
	// About describes what the figure is of, by the column names of a report's CSV
	// form; an empty column is absent.
	About map[string]string `json:"about"`
	// Values have one entry for each run, null where it has no such figure.
	Values []*int64 `json:"values"`
	// Floors mark the runs whose device may do better than the value: the search
	// tried no more, or the generator could not send more. Absent: none.
	Floors []bool `json:"floors,omitempty"`

	key figure.Key
}

// ComparisonFormats returns the formats of comparisons; JUnit has no place for
// them.
func ComparisonFormats() []Format {
	return []Format{FormatTable, FormatMarkdown, FormatJSON, FormatCSV}
}

// Compare compares two or more documents. It leaves out the cores used, which do not compare; the time for each frame does.
func Compare(docs []Document, now time.Time) (Comparison, error) {
	if len(docs) < 2 {
		return Comparison{}, errors.New("comparing: name two runs or more")
	}
	c := Comparison{APIVersion: APIVersion, Kind: KindComparison, GeneratedAt: now.UTC(), Notes: orEmpty(comparisonNotes(docs)), Figures: []ComparedFigure{}}
	found := map[figure.Key]int{}
	for i, doc := range docs {
		c.Runs = append(c.Runs, comparedRun(doc))
		for _, f := range doc.figures() {
			if !f.Known() || figure.Describe(f.Metric).IsDiluted() {
				continue
			}
			at, ok := found[f.Key]
			if !ok {
				at = len(c.Figures)
				found[f.Key] = at
				c.Figures = append(c.Figures, newComparedFigure(f, len(docs)))
			}
			c.Figures[at].Values[i] = &f.Value
			if f.IsFloor() {
				if c.Figures[at].Floors == nil {
					c.Figures[at].Floors = make([]bool, len(docs))
				}
				c.Figures[at].Floors[i] = true
			}
		}
	}
	c.group()
	return c, nil
}

func newComparedFigure(f figure.Figure, runs int) ComparedFigure {
	about := map[string]string{}
	for _, c := range keyColumns {
		if value := c.of(f.Key); value != "" {
			about[c.name] = value
		}
	}
	return ComparedFigure{Metric: f.Metric, Unit: f.Unit, About: about, Values: make([]*int64, runs), key: f.Key}
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

func comparedRun(doc Document) ComparedRun {
	r := ComparedRun{
		Namespace: doc.Run.Namespace, Name: doc.Run.Name, Testbed: doc.Run.Testbed, Completeness: doc.Completeness,
		Succeeded: doc.Succeeded, Chain: doc.Experiment.Chain, Functions: orEmpty(doc.Chain), Plan: doc.Plan, Device: doc.Device, Warnings: []string{},
	}
	for _, w := range doc.Warnings {
		if !slices.Contains(r.Warnings, w.Code) {
			r.Warnings = append(r.Warnings, w.Code)
		}
	}
	return r
}

// comparisonNotes returns what a reader must know before a comparison.
func comparisonNotes(docs []Document) []string {
	var notes, partial, emulated []string
	for _, doc := range docs {
		if doc.Completeness == Partial {
			partial = append(partial, doc.Run.Name)
		}
		if isEmulated(doc) {
			emulated = append(emulated, doc.Run.Name)
		}
	}
	if len(partial) > 0 {
		notes = append(notes, fmt.Sprintf("Not everything was measured: %s.", strings.Join(partial, ", ")))
	}
	if len(emulated) > 0 {
		notes = append(notes, fmt.Sprintf("On an emulated processor (QEMU's TCG): %s. What a frame costs there is the emulator's work, many times that of a real processor and much the same for every NIC. Such figures say that frames pass, and not how fast a virtual machine or a NIC is; for that use nodes with KVM.", strings.Join(emulated, ", ")))
	}
	differs := func(what string, same func(a, b Document) bool) {
		var names []string
		for _, doc := range docs[1:] {
			if !same(docs[0], doc) {
				names = append(names, doc.Run.Name)
			}
		}
		if len(names) > 0 {
			notes = append(notes, fmt.Sprintf("Not the same %s as %s: %s.", what, docs[0].Run.Name, strings.Join(names, ", ")))
		}
	}
	floors := slices.ContainsFunc(docs, func(doc Document) bool {
		return slices.ContainsFunc(doc.figures(), figure.Figure.IsFloor)
	})
	if floors {
		notes = append(notes, "Some figures are lower limits, because the generator could not send more or no higher load was tried: the device may do better, so no change is given for them.")
	}
	differs("testbed", func(a, b Document) bool {
		return a.Run.Testbed == b.Run.Testbed
	})
	differs("nodes", func(a, b Document) bool {
		return a.Plan == nil || b.Plan == nil || a.Plan.GeneratorNode == b.Plan.GeneratorNode && a.Plan.DeviceNode == b.Plan.DeviceNode
	})
	differs("platform of the chain", func(a, b Document) bool {
		return fingerprintDigest(a) == "" || fingerprintDigest(b) == "" || fingerprintDigest(a) == fingerprintDigest(b)
	})
	differs("traffic", func(a, b Document) bool {
		return equality.Semantic.DeepEqual(a.Experiment.Traffic, b.Experiment.Traffic)
	})
	differs("measurements", func(a, b Document) bool {
		return a.Experiment.Measurements.SameAs(b.Experiment.Measurements)
	})
	return notes
}

func isEmulated(doc Document) bool {
	return doc.Device != nil && slices.ContainsFunc(doc.Device.Domains, func(d v1alpha1.DomainReport) bool {
		return strings.HasPrefix(d.Accelerator, "tcg")
	})
}

func fingerprintDigest(doc Document) string {
	if doc.Device == nil || doc.Device.Fingerprint == nil {
		return ""
	}
	return doc.Device.Fingerprint.Digest
}

package report

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"vnfbench.io/operator/api/v1alpha1"
)

// KindComparison is the kind of a comparison, in the version of the reports.
const KindComparison = "BenchmarkComparison"

// Comparison sets the figures of runs side by side.
type Comparison struct {
	APIVersion  string    `json:"apiVersion"`
	Kind        string    `json:"kind"`
	GeneratedAt time.Time `json:"generatedAt"`
	// Runs are in the order in which they were named; the first is what the
	// others are set beside.
	Runs []ComparedRun `json:"runs"`
	// Notes say in one sentence each what besides the figures is not the same,
	// and what the figures do not say.
	Notes   []string         `json:"notes"`
	Figures []ComparedFigure `json:"figures"`
}

// ComparedRun is what a run's figures hold for.
type ComparedRun struct {
	Namespace    string       `json:"namespace"`
	Name         string       `json:"name"`
	Testbed      string       `json:"testbed"`
	Completeness Completeness `json:"completeness"`
	Succeeded    Outcome      `json:"succeeded"`
	// Chain is the chain as it was asked for, Functions what each turned out to
	// be, and Device what it ran on.
	Chain     []v1alpha1.NetworkFunction `json:"chain"`
	Functions []v1alpha1.FunctionReport  `json:"functions"`
	Plan      *v1alpha1.PlanSummary      `json:"plan,omitempty"`
	Device    *v1alpha1.DeviceReport     `json:"device,omitempty"`
	Warnings  []string                   `json:"warnings"`
}

// ComparedFigure is one figure of each run. About and Metric are what the CSV
// form of a report calls its columns; a metric's name ends with its unit.
type ComparedFigure struct {
	About  map[string]string `json:"about"`
	Metric string            `json:"metric"`
	// Values have one entry for each run, null where it has no such figure.
	Values []*int64 `json:"values"`
	// Floors say for which runs the device may do better than the value: nobody
	// tried more, or the generator could not send more. Absent: for none.
	Floors []bool `json:"floors,omitempty"`
}

// columnCompared is the column "metric" of a report: what a difference is of. Here
// that word is each figure's own.
const columnCompared = "comparedMetric"

var (
	// originColumns tell whose a row is.
	originColumns = []string{"namespace", "run", "planDigest", "completeness"}
	// floorMetrics are those of a throughput that may be a floor.
	floorMetrics = []string{"framesPerSecond", "layer1BitsPerSecond", "lineRatePartsPerMillion", "fragmentsPerSecond"}
	// aboutColumns tell what a row's figures are of, in the order of their words.
	aboutColumns = []string{
		"figure", "frameBytes", "mix", "packetPayloadBytes", "goal", "load", "streams", "percentOfMaximum",
		"direction", "repeat", "startSeconds", "startMilliseconds", "function", "cpuKind", "counter", "neighbor", "stressor", columnCompared,
	}
)

// ComparisonFormats are those in which comparisons are written; JUnit has no
// place for them.
func ComparisonFormats() []Format {
	return []Format{FormatTable, FormatMarkdown, FormatJSON, FormatCSV}
}

// Compare sets two documents or more side by side.
func Compare(docs []Document, now time.Time) (Comparison, error) {
	if len(docs) < 2 {
		return Comparison{}, errors.New("comparing: name two runs or more")
	}
	c := Comparison{APIVersion: APIVersion, Kind: KindComparison, GeneratedAt: now.UTC(), Notes: orEmpty(comparisonNotes(docs)), Figures: []ComparedFigure{}}
	found := map[string]int{}
	for i, doc := range docs {
		c.Runs = append(c.Runs, comparedRun(doc))
		seen := map[string]int{}
		for _, r := range resultRows(doc) {
			c.add(r, i, len(docs), found, seen)
		}
	}
	c.group()
	return c, nil
}

// add puts a row's figures in the run's place. Rows of one run about the same
// thing are told apart by their number.
func (c *Comparison) add(r row, run, runs int, found, seen map[string]int) {
	about := map[string]string{}
	floor := isFloor(v1alpha1.ThroughputResult{UpperBoundCause: v1alpha1.UpperBoundCause(r["upperBoundCause"])})
	key := strings.Builder{}
	for _, name := range aboutColumns {
		value := r[name]
		if name == columnCompared {
			value = r["metric"]
		}
		if value != "" {
			about[name] = value
		}
		fmt.Fprintf(&key, "%q ", value)
	}
	seen[key.String()]++
	fmt.Fprint(&key, seen[key.String()], " ")
	for _, metric := range resultHead {
		if slices.Contains(originColumns, metric) || slices.Contains(aboutColumns, metric) {
			continue
		}
		value, err := strconv.ParseInt(r[metric], 10, 64)
		if err != nil {
			continue // empty, a word such as a search's regularity, or a list of each repeat's values
		}
		at, ok := found[key.String()+metric]
		if !ok {
			at = len(c.Figures)
			found[key.String()+metric] = at
			c.Figures = append(c.Figures, ComparedFigure{About: about, Metric: metric, Values: make([]*int64, runs)})
		}
		c.Figures[at].Values[run] = &value
		if floor && slices.Contains(floorMetrics, metric) {
			if c.Figures[at].Floors == nil {
				c.Figures[at].Floors = make([]bool, runs)
			}
			c.Figures[at].Floors[run] = true
		}
	}
}

// group puts figures that only later runs have beside those of their kind.
func (c *Comparison) group() {
	kinds, orders := map[string]int{}, make(map[string]int)
	rank := func(ranks map[string]int, name string) int {
		if _, ok := ranks[name]; !ok {
			ranks[name] = len(ranks)
		}
		return ranks[name]
	}
	of := func(f ComparedFigure) (int, int) {
		return rank(kinds, f.About["figure"]), rank(orders, strings.Join([]string{
			f.About["figure"], f.About["frameBytes"], f.About["mix"], f.About["goal"], f.About["load"],
		}, "\x00"))
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

// comparisonNotes name what a reader must know before he compares.
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
		return slices.ContainsFunc(doc.Results, func(frame v1alpha1.FrameResult) bool { return slices.ContainsFunc(frame.Throughput, isFloor) })
	})
	if floors {
		notes = append(notes, "Some throughputs are lower limits, because the generator could not send more or nobody asked for more: the device may do better, so no change is told for them.")
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
		return equality.Semantic.DeepEqual(a.Experiment.Measurements, b.Experiment.Measurements)
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
